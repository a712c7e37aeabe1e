//! `PodSecurityConfiguration`: what namespaces without labels ask, and whom nothing is asked of.

use bumpalo::Bump;
use ringbolt_machinery::{
    field::{FieldError, child, index},
    validation::names::{dns1123_label_errors, dns1123_subdomain_errors},
};

use super::policy::{Level, Mode, Policy, Version};
use crate::admission::configuration::{ConfigurationError, Kind, Shape, texts_of};

const KIND: Kind = Kind {
    group: "pod-security.admission.config.k8s.io",
    versions: &["v1", "v1beta1", "v1alpha1"],
    kind: "PodSecurityConfiguration",
    is_strict: true,
    fields: &[
        (
            "defaults",
            Shape::Fields(&[
                ("enforce", Shape::Text),
                ("enforce-version", Shape::Text),
                ("audit", Shape::Text),
                ("audit-version", Shape::Text),
                ("warn", Shape::Text),
                ("warn-version", Shape::Text),
            ]),
        ),
        (
            "exemptions",
            Shape::Fields(&[
                ("usernames", Shape::List(&Shape::Text)),
                ("namespaces", Shape::List(&Shape::Text)),
                ("runtimeClasses", Shape::List(&Shape::Text)),
            ]),
        ),
    ],
};

/// How the plugin is set up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::admission) struct Configuration {
    /// What a namespace asks by itself.
    pub(super) defaults: Policy,
    /// Users that nothing is asked of.
    pub(super) users: Vec<String>,
    /// Namespaces that nothing is asked of.
    pub(super) namespaces: Vec<String>,
    /// Classes of runtimes whose pods nothing is asked of.
    pub(super) runtime_classes: Vec<String>,
}

impl Default for Configuration {
    /// Nothing is asked of anybody.
    fn default() -> Self {
        let (users, namespaces, runtime_classes) = Default::default();
        Configuration { defaults: Policy::PRIVILEGED, users, namespaces, runtime_classes }
    }
}

impl Configuration {
    /// Reads one.
    ///
    /// # Errors
    /// What is wrong with it, in the words of kube-apiserver.
    pub(in crate::admission) fn read(text: &[u8]) -> Result<Self, ConfigurationError> {
        let arena = Bump::new();
        let object = KIND.read(&arena, text)?;
        let (mut configuration, mut wrong) = (Configuration::default(), Vec::new());
        for mode in Mode::ALL {
            let asked = configuration.defaults.of_mut(mode);
            let given = |name: &str| object.str_at(&["defaults", name]).filter(|text| !text.is_empty());
            let (level, version) = (mode.name().to_owned(), format!("{}-version", mode.name()));
            match given(&level).map_or(Ok(Level::Privileged), Level::parse) {
                Ok(level) => asked.level = level,
                Err(why) => wrong.push(format!("{level}: {why}")),
            }
            match given(&version).map_or(Ok(Version::Latest), Version::parse) {
                Ok(version) => asked.version = version,
                Err(why) => wrong.push(format!("{version}: {why}")),
            }
        }
        if !wrong.is_empty() {
            let why = format!("configuration error: {}", aggregate(&wrong));
            return Err(ConfigurationError::Invalid(why));
        }
        configuration.users = texts_of(&object, &["exemptions", "usernames"]);
        configuration.namespaces = texts_of(&object, &["exemptions", "namespaces"]);
        configuration.runtime_classes = texts_of(&object, &["exemptions", "runtimeClasses"]);
        let wrong: Vec<String> = configuration.errors().iter().map(ToString::to_string).collect();
        match wrong.as_slice() {
            [] => Ok(configuration),
            wrong => Err(ConfigurationError::Invalid(format!("invalid: {}", aggregate(wrong)))),
        }
    }

    /// What is wrong with the names of who is exempt.
    fn errors(&self) -> Vec<FieldError> {
        let mut errors = Vec::new();
        names(&mut errors, "namespaces", &self.namespaces, dns1123_label_errors);
        names(&mut errors, "runtimeClasses", &self.runtime_classes, dns1123_subdomain_errors);
        names(&mut errors, "usernames", &self.users, |name| {
            if name.is_empty() { vec!["username must not be empty".to_owned()] } else { Vec::new() }
        });
        errors
    }
}

fn names(errors: &mut Vec<FieldError>, list: &str, names: &[String], check: impl Fn(&str) -> Vec<String>) {
    for (at, name) in names.iter().enumerate() {
        let path = index(&child("exemptions", list), at);
        let wrong = check(name);
        if !wrong.is_empty() {
            errors.push(FieldError::invalid(path, name, wrong.join(", ")));
        } else if names[..at].contains(name) {
            errors.push(FieldError::duplicate(path, name));
        }
    }
}

/// Several errors as Go writes them.
fn aggregate(errors: &[String]) -> String {
    match errors {
        [one] => one.clone(),
        many => format!("[{}]", many.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configurations() {
        fn check(rest: &str, expect: Result<(&str, [usize; 3]), &str>) {
            let text = format!(
                "apiVersion: pod-security.admission.config.k8s.io/v1\nkind: PodSecurityConfiguration\n{rest}"
            );
            let read = Configuration::read(text.as_bytes()).map(|read| {
                let asked = Mode::ALL.map(|mode| read.defaults.of(mode).to_string()).join(" ");
                (asked, [read.users.len(), read.namespaces.len(), read.runtime_classes.len()])
            });
            let read = read.map_err(|error| error.of("PodSecurity"));
            assert_eq!(read, expect.map(|(asked, n)| (asked.to_owned(), n)).map_err(str::to_owned), "{rest}");
        }
        let none = "privileged:latest privileged:latest privileged:latest";
        check("", Ok((none, [0, 0, 0])));
        check("defaults: {enforce: ''}\nexemptions: {usernames: null}", Ok((none, [0, 0, 0])));
        check(
            "defaults: {enforce: baseline, enforce-version: v1.3, warn: restricted}\n\
             exemptions: {usernames: [a, b], namespaces: [c], runtimeClasses: [d.e]}",
            Ok(("baseline:v1.3 privileged:latest restricted:latest", [2, 1, 1])),
        );
        check(
            "defaults: {auditt: x}",
            Err(
                r#"couldn't init admission plugin "PodSecurity": strict decoding error: unknown field "defaults.auditt""#,
            ),
        );
        check(
            "exemptions: {usernames: 5}",
            Err(
                r#"couldn't init admission plugin "PodSecurity": json: cannot unmarshal number into Go struct field exemptions.usernames of type []string"#,
            ),
        );
        check(
            "defaults: {enforce: base, enforce-version: v30}",
            Err(
                r#"failed to initialize admission plugin "PodSecurity": PodSecurity configuration error: [enforce: must be one of privileged, baseline, restricted, enforce-version: must be "latest" or "v1.x"]"#,
            ),
        );
        check(
            "exemptions: {usernames: [bob, bob, '']}",
            Err(
                r#"failed to initialize admission plugin "PodSecurity": PodSecurity invalid: [exemptions.usernames[1]: Duplicate value: "bob", exemptions.usernames[2]: Invalid value: "": username must not be empty]"#,
            ),
        );
    }
}
