//! `--authorization-config`: an AuthorizationConfiguration of the group `apiserver.config.k8s.io`.

use std::{collections::BTreeSet, fs, path::Path};

use bumpalo::Bump;
use ringbolt_apiserver::authorization::{MODE_CHOICES, Mode};
use ringbolt_machinery::{
    field::FieldError, json::quote::go_quote, validation::names::dns1123_subdomain_errors, value::Value,
};

use crate::{
    authentication_config::AUTHENTICATION,
    config_file::{self, Kind, Shape},
};

pub(crate) const AUTHORIZATION: Kind = Kind {
    name: "AuthorizationConfiguration",
    versions: &["v1alpha1", "v1beta1", "v1"],
    fields: &[(
        "authorizers",
        Shape::List(&Shape::Object(
            "AuthorizerConfiguration",
            &[("type", Shape::Text), ("name", Shape::Text), ("webhook", Shape::Any)],
        )),
    )],
};

/// The modes that a file names, in their order, and its text.
pub fn open(path: &Path) -> Result<(Vec<Mode>, Vec<u8>), String> {
    let text = fs::read(path).map_err(|e| {
        format!("failed to load AuthorizationConfiguration from file: open {}: {e}", path.display())
    })?;
    Ok((parse(&text)?, text))
}

/// The modes that a text names, in their order.
pub fn parse(text: &[u8]) -> Result<Vec<Mode>, String> {
    let arena = Bump::new();
    // Without any text there are no authorizers, which is said below.
    let file = match text {
        [] => None,
        text => Some(
            config_file::read(&arena, text, &AUTHORIZATION, &[&AUTHENTICATION])
                .map_err(|why| format!("failed to load AuthorizationConfiguration from file: {why}"))?,
        ),
    };
    let authorizers = file.as_ref().and_then(|file| file.path(&["authorizers"])).and_then(Value::as_list);
    let authorizers: Vec<_> = authorizers.into_iter().flatten().collect();
    let (mut errors, mut modes) = (Vec::new(), Vec::new());
    if authorizers.is_empty() {
        errors.push(FieldError::required("authorizers", "at least one authorization mode must be defined"));
    }
    let (mut types, mut names) = (BTreeSet::new(), BTreeSet::new());
    for (at, authorizer) in authorizers.into_iter().enumerate() {
        let field = |name: &str| format!("authorizers[{at}].{name}");
        let text = |name: &str| authorizer.str_at(&[name]).unwrap_or("");
        let (kind, name) = (text("type"), text("name"));
        if kind.is_empty() {
            errors.push(FieldError::required(field("type"), ""));
            continue;
        }
        if !MODE_CHOICES.contains(&kind) {
            let mut known = MODE_CHOICES;
            known.sort_unstable();
            errors.push(FieldError::not_supported(field("type"), kind, &known));
            continue;
        }
        if kind != "Webhook" && !types.insert(kind) {
            errors.push(FieldError::duplicate(field("type"), kind));
            continue;
        }
        let bad = dns1123_subdomain_errors(name);
        if name.is_empty() {
            errors.push(FieldError::required(field("name"), ""));
        } else if names.contains(name) {
            errors.push(FieldError::duplicate(field("name"), name));
        } else if !bad.is_empty() {
            let why = format!("authorizer name is invalid: {}", bad.join(", "));
            errors.push(FieldError::invalid(field("name"), name, why));
        }
        names.insert(name);
        let webhook = authorizer.path(&["webhook"]).is_some_and(|webhook| !webhook.is_null());
        match (kind, webhook) {
            ("Webhook", false) => {
                errors.push(FieldError::required(field("webhook"), "required when type=Webhook"));
            }
            ("Webhook", true) => {}
            (_, true) => errors.push(FieldError::invalid(
                field("webhook"),
                "non-null",
                "may only be specified when type=Webhook",
            )),
            _ => {}
        }
        modes.push((kind, name));
    }
    let mut said: Vec<_> = errors.iter().map(ToString::to_string).collect();
    if said.is_empty() {
        let named =
            modes.iter().filter(|(kind, name)| *kind != "Webhook" && kind.to_ascii_lowercase() != *name);
        let wrong = |(kind, name): &(&str, &str)| {
            let expected = kind.to_ascii_lowercase();
            format!("expected name {expected} for authorizer {kind} instead of {name}")
        };
        said.extend(named.map(wrong));
    }
    match &said[..] {
        [] => modes
            .into_iter()
            .map(|(kind, _)| {
                Mode::parse(kind).map_err(|_| {
                    format!(
                        "--authorization-config: authorizers of type {} are not built into Ringbolt yet",
                        go_quote(kind)
                    )
                })
            })
            .collect(),
        [one] => Err(one.clone()),
        several => Err(format!("[{}]", several.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files() {
        let check = |authorizers: &str, expect: Result<&[Mode], &str>| {
            let text = format!(
                "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\nauthorizers: {authorizers}\n"
            );
            assert_eq!(
                parse(text.as_bytes()),
                expect.map(<[Mode]>::to_vec).map_err(str::to_owned),
                "{authorizers}"
            );
        };
        check("[{type: Node, name: node}, {type: RBAC, name: rbac}]", Ok(&[Mode::Node, Mode::Rbac]));
        check("[{type: AlwaysAllow, name: alwaysallow, webhook: null}]", Ok(&[Mode::AlwaysAllow]));
        let none = "authorizers: Required value: at least one authorization mode must be defined";
        check("[]", Err(none));
        assert_eq!(parse(b""), Err(none.to_owned()));
        check("[{type: RBAC}]", Err("authorizers[0].name: Required value"));
        check(
            "[{type: RBAC, name: a}, {type: RBAC, name: b}]",
            Err("authorizers[1].type: Duplicate value: \"RBAC\""),
        );
        check(
            "[{type: RBAC, name: a}, {type: Node, name: a}]",
            Err("authorizers[1].name: Duplicate value: \"a\""),
        );
        check(
            "[{type: Foo, name: a}, {type: \"\", name: A_b}]",
            Err(
                "[authorizers[0].type: Unsupported value: \"Foo\": supported values: \"ABAC\", \"AlwaysAllow\", \
                 \"AlwaysDeny\", \"Node\", \"RBAC\", \"Webhook\", authorizers[1].type: Required value]",
            ),
        );
        check(
            "[{type: RBAC, name: a, webhook: {}}]",
            Err(
                "authorizers[0].webhook: Invalid value: \"non-null\": may only be specified when type=Webhook",
            ),
        );
        check(
            "[{type: Webhook, name: a}]",
            Err("authorizers[0].webhook: Required value: required when type=Webhook"),
        );
        check(
            "[{type: Webhook, name: a, webhook: {timeout: 3s}}]",
            Err("--authorization-config: authorizers of type \"Webhook\" are not built into Ringbolt yet"),
        );
        check(
            "[{typ: RBAC}]",
            Err("failed to load AuthorizationConfiguration from file: strict decoding error: unknown field \
                 \"authorizers[0].typ\""),
        );
    }
}
