//! `--authentication-config`: an AuthenticationConfiguration of the group `apiserver.config.k8s.io`.

use std::{fs, path::Path};

use bumpalo::Bump;
use ringbolt_apiserver::authentication::Anonymous;
use ringbolt_machinery::{json::quote, value::Value};

use crate::config_file::{self, Kind, Shape};

pub(crate) const AUTHENTICATION: Kind = Kind {
    name: "AuthenticationConfiguration",
    versions: &["v1alpha1", "v1beta1", "v1"],
    fields: &[
        (
            "anonymous",
            Shape::Object(
                "AnonymousAuthConfig",
                &[
                    ("enabled", Shape::Bool),
                    (
                        "conditions",
                        Shape::List(&Shape::Object("AnonymousAuthCondition", &[("path", Shape::Text)])),
                    ),
                ],
            ),
        ),
        ("jwt", Shape::List(&Shape::Any)),
    ],
};

/// What the file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuthenticationConfiguration {
    /// Who may come without credentials; `None` where the file leaves that to the flag.
    pub anonymous: Option<AnonymousAuthConfig>,
}

/// `anonymous` of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnonymousAuthConfig {
    /// `enabled`
    pub enabled: bool,
    /// The paths of `conditions`.
    pub paths: Vec<String>,
}

impl AuthenticationConfiguration {
    /// Reads and checks a file.
    pub fn open(path: &Path) -> Result<(Self, Vec<u8>), String> {
        let name = quote::go_quote(&path.display().to_string());
        let load =
            |why: String| format!("failed to load authentication configuration from file {name}: {why}");
        let text = fs::read(path).map_err(|e| load(format!("open {}: {e}", path.display())))?;
        let configuration = Self::parse(&text).map_err(load)?;
        configuration.check().map_err(|why| format!("invalid authentication configuration: {why}"))?;
        Ok((configuration, text))
    }

    /// Reads the text of a file.
    pub fn parse(text: &[u8]) -> Result<Self, String> {
        let arena = Bump::new();
        let file =
            config_file::read(&arena, text, &AUTHENTICATION, &[&crate::authorization_config::AUTHORIZATION])?;
        if file.path(&["jwt"]).and_then(Value::as_list).is_some_and(|jwt| !jwt.is_empty()) {
            return Err("jwt: authenticators of other issuers' tokens are not built into Ringbolt yet: leave the list \
                        empty"
                .to_owned());
        }
        let anonymous = file.path(&["anonymous"]).filter(|a| !a.is_null()).map(|anonymous| {
            let conditions = anonymous.path(&["conditions"]).and_then(Value::as_list).into_iter().flatten();
            AnonymousAuthConfig {
                enabled: matches!(anonymous.path(&["enabled"]), Some(Value::Bool(true))),
                paths: conditions.map(|c| c.str_at(&["path"]).unwrap_or("").to_owned()).collect(),
            }
        });
        Ok(AuthenticationConfiguration { anonymous })
    }

    /// Whether it makes sense.
    pub fn check(&self) -> Result<(), String> {
        match &self.anonymous {
            Some(anonymous) if !anonymous.enabled && !anonymous.paths.is_empty() => {
                let mut shown = Vec::new();
                for (at, path) in anonymous.paths.iter().enumerate() {
                    shown.extend_from_slice(if at == 0 { b"[{\"Path\":" } else { b",{\"Path\":" });
                    quote::write_string(&mut shown, path);
                    shown.push(b'}');
                }
                shown.push(b']');
                let shown = String::from_utf8_lossy(&shown);
                Err(format!(
                    "anonymous.conditions: Invalid value: {shown}: enabled should be set to true when conditions are \
                     defined"
                ))
            }
            _ => Ok(()),
        }
    }
}

impl AnonymousAuthConfig {
    /// As authentication has it.
    pub fn admitted(&self) -> Anonymous {
        if self.enabled { Anonymous::with_paths(self.paths.clone()) } else { Anonymous::new(false) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\n";

    #[test]
    fn files() {
        let check = |body: &str, expect: Result<Option<(bool, &[&str])>, &str>| {
            let found = AuthenticationConfiguration::parse(format!("{HEAD}{body}").as_bytes());
            let found = found.and_then(|found| found.check().map(|()| found.anonymous));
            let expect = expect.map(|anonymous| {
                anonymous.map(|(enabled, paths)| AnonymousAuthConfig {
                    enabled,
                    paths: paths.iter().map(|path| (*path).to_owned()).collect(),
                })
            });
            assert_eq!(found, expect.map_err(str::to_owned), "{body}");
        };
        check("", Ok(None));
        check("jwt: []\n", Ok(None));
        check("anonymous: null\n", Ok(None));
        check("anonymous: {}\n", Ok(Some((false, &[]))));
        check("anonymous: {enabled: true}\n", Ok(Some((true, &[]))));
        check(
            "anonymous:\n  enabled: true\n  conditions:\n  - path: /livez\n  - path: /readyz\n",
            Ok(Some((true, &["/livez", "/readyz"]))),
        );
        check(
            "anonymous:\n  enabled: false\n  conditions: [{path: /livez}]\n",
            Err(
                "anonymous.conditions: Invalid value: [{\"Path\":\"/livez\"}]: enabled should be set to true when \
                 conditions are defined",
            ),
        );
        check(
            "anonymous:\n  enabled: true\n  foo: 1\n  conditions: [{pth: /livez}]\n",
            Err(
                "strict decoding error: unknown field \"anonymous.conditions[0].pth\", unknown field \"anonymous.foo\"",
            ),
        );
        check(
            "anonymous:\n  enabled: \"yes\"\n",
            Err(
                "json: cannot unmarshal string into Go struct field AnonymousAuthConfig.anonymous.enabled of type bool",
            ),
        );
        check(
            "anonymous: 1\n",
            Err(
                "json: cannot unmarshal number into Go struct field AuthenticationConfiguration.anonymous of type \
                 v1.AnonymousAuthConfig",
            ),
        );
        check(
            "jwt: [{issuer: {url: https://x}}]\n",
            Err(
                "jwt: authenticators of other issuers' tokens are not built into Ringbolt yet: leave the list empty",
            ),
        );
    }

    #[test]
    fn what_is_no_such_file() {
        let check = |text: &str, expect: &str| {
            assert_eq!(AuthenticationConfiguration::parse(text.as_bytes()), Err(expect.to_owned()), "{text}");
        };
        check("", "empty config data");
        check("a: b\n", "Object 'Kind' is missing in 'a: b\n'");
        check("kind: Pod\n", "Object 'apiVersion' is missing in 'kind: Pod\n'");
        check("apiVersion: v1\nkind: Pod\n", "no kind \"Pod\" is registered for version \"v1\"");
        check(
            "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\n",
            "expected AuthenticationConfiguration, got *apiserver.AuthorizationConfiguration",
        );
        let duplicates = AuthenticationConfiguration::parse(format!("{HEAD}jwt: []\njwt: []\n").as_bytes());
        assert!(duplicates.is_err_and(|why| why.starts_with("strict decoding error: yaml: ")));
    }
}
