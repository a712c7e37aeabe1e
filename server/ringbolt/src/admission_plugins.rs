//! Names of the admission plugins that the flags may name.

use ringbolt_controlplane::admission::Plugin;

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
