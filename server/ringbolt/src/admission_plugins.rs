//! Admission plugins: the names that flags may give, and the file that sets them up.

use std::path::Path;

use ringbolt_controlplane::admission::{self, Configurations, Enabled, Plugin};

use crate::flags::Flags;

/// What `--admission-control-config-file` says of the plugins, in the words that kube-apiserver ends with where it cannot
/// be read.
pub fn configurations(flags: &Flags, enabled: Enabled, errors: &mut Vec<String>) -> Configurations {
    let texts = flags.path("admission-control-config-file").map(|file| texts(&file));
    let texts = texts.unwrap_or_else(|| Ok(Vec::new()));
    let texts = texts.map_err(|why| errors.push(format!("failed to read plugin config: {why}")));
    Configurations::new(enabled, &texts.unwrap_or_default(), errors)
}

/// The configuration of each plugin that a file names.
fn texts(file: &Path) -> Result<Vec<(String, Vec<u8>)>, String> {
    let text = std::fs::read(file).map_err(|error| {
        let file = file.display();
        format!("unable to read admission control configuration from \"{file}\" [{error}]")
    })?;
    admission::plugins(file, &text)
}

/// Plugins that do nothing yet and that nobody enables without counting on them: a server that takes their names and
/// lets everything through would be worse than one that does not start.
const NOT_BUILT: [Plugin; 2] = [Plugin::ImagePolicyWebhook, Plugin::NamespaceAutoProvision];

/// Refuses names that no plugin has or that are not built, and plugins both enabled and disabled.
pub fn check(enable: &[String], disable: &[String], errors: &mut Vec<String>) {
    for (flag, names) in [("enable-admission-plugins", enable), ("disable-admission-plugins", disable)] {
        let unknown = names.iter().filter(|name| !Plugin::ALL.iter().any(|(_, known, _)| known == name));
        errors.extend(unknown.map(|name| format!("{flag} plugin {name:?} is unknown")));
    }
    let built = |name: &String| !Plugin::ALL.iter().any(|(p, n, _)| NOT_BUILT.contains(p) && n == name);
    let not_built = enable.iter().filter(|name| !built(name));
    errors.extend(
        not_built
            .map(|name| format!("enable-admission-plugins plugin {name:?} is not built into Ringbolt yet")),
    );
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
        check(
            "ImagePolicyWebhook,AlwaysPullImages",
            "NamespaceAutoProvision",
            &[r#"enable-admission-plugins plugin "ImagePolicyWebhook" is not built into Ringbolt yet"#],
        );
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
