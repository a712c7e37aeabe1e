//! Admission plugins: the names that flags may give, and the file that sets them up.

use ringbolt_controlplane::admission::{self, Configurations, Plugin};

use crate::flags::Flags;

/// What `--admission-control-config-file` says of the plugins, in the words that kube-apiserver ends with where it cannot
/// be read.
pub fn configurations(flags: &Flags, errors: &mut Vec<String>) -> Configurations {
    let mut configurations = Configurations::default();
    let Some(file) = flags.path("admission-control-config-file") else { return configurations };
    let read = std::fs::read(&file).map_err(|error| {
        let file = file.display();
        format!("unable to read admission control configuration from \"{file}\" [{error}]")
    });
    match read.and_then(|text| admission::plugins(&file, &text)) {
        Err(why) => errors.push(format!("failed to read plugin config: {why}")),
        Ok(plugins) => {
            let read = plugins.iter().map(|(name, text)| configurations.read(name, text));
            errors.extend(read.filter_map(Result::err));
        }
    }
    configurations
}

/// Refuses names that no plugin has, and plugins both enabled and disabled.
pub fn check(enable: &[String], disable: &[String], errors: &mut Vec<String>) {
    for (flag, names) in [("enable-admission-plugins", enable), ("disable-admission-plugins", disable)] {
        let unknown = names.iter().filter(|name| !Plugin::ALL.iter().any(|(_, known, _)| known == name));
        errors.extend(unknown.map(|name| format!("{flag} plugin {name:?} is unknown")));
    }
    let mut both: Vec<_> = enable.iter().filter(|name| disable.contains(name)).map(String::as_str).collect();
    both.sort_unstable();
    both.dedup();
    if !both.is_empty() {
        let both = both.join(" ");
        errors.push(format!("[{both}] in enable-admission-plugins and disable-admission-plugins overlapped"));
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn check() {
        let check = |enable: &str, disable: &str, expect: &[&str]| {
            let names = |list: &str| list.split_terminator(',').map(str::to_owned).collect::<Vec<_>>();
            let mut errors = Vec::new();
            super::check(&names(enable), &names(disable), &mut errors);
            assert_eq!(errors, expect, "{enable} {disable}");
        };
        check("", "", &[]);
        check("NodeRestriction", "ServiceAccount,ServiceAccount", &[]);
        check("noderestriction", "", &[r#"enable-admission-plugins plugin "noderestriction" is unknown"#]);
        check(
            "",
            "X,Y",
            &[
                r#"disable-admission-plugins plugin "X" is unknown"#,
                r#"disable-admission-plugins plugin "Y" is unknown"#,
            ],
        );
        check(
            "RuntimeClass,Priority",
            "Priority,RuntimeClass,Priority",
            &["[Priority RuntimeClass] in enable-admission-plugins and disable-admission-plugins overlapped"],
        );
    }
}
