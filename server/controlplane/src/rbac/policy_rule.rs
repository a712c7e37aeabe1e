//! One rule of a role (`PolicyRule`).

use std::fmt;

use bumpalo::Bump;
use ringbolt_machinery::{field::quote, value::Value};

use crate::tree::{list, map};

/// What a role allows: verbs on resources of groups, maybe on some names alone, or verbs on paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PolicyRule<'a> {
    /// Verbs, `*` for all.
    pub(crate) verbs: Vec<&'a str>,
    /// Groups, `*` for all.
    pub(crate) api_groups: Vec<&'a str>,
    /// Resources and subresources, `*` for all.
    pub(crate) resources: Vec<&'a str>,
    /// Names of objects, none for all.
    pub(crate) resource_names: Vec<&'a str>,
    /// Paths, `*` at the end for any end.
    pub(crate) non_resource_urls: Vec<&'a str>,
}

impl<'a> PolicyRule<'a> {
    /// The rules of a role, which need not be valid.
    pub(crate) fn all_of(role: &Value<'a>) -> Vec<Self> {
        let rules = role.path(&["rules"]).and_then(Value::as_list);
        rules.into_iter().flatten().map(Self::read).collect()
    }

    /// One rule, which need not be valid.
    pub(crate) fn read(rule: &Value<'a>) -> Self {
        let texts = |member| {
            let texts = rule.path(&[member]).and_then(Value::as_list);
            texts.into_iter().flatten().filter_map(Value::as_str).collect()
        };
        PolicyRule {
            verbs: texts("verbs"),
            api_groups: texts("apiGroups"),
            resources: texts("resources"),
            resource_names: texts("resourceNames"),
            non_resource_urls: texts("nonResourceURLs"),
        }
    }

    /// The rule as a part of a role, in the order that the fields have in one. Empty lists are left out, but for verbs,
    /// which every rule has.
    pub(crate) fn to_value(&self, arena: &'a Bump) -> Value<'a> {
        let members = [
            ("verbs", &self.verbs),
            ("apiGroups", &self.api_groups),
            ("resources", &self.resources),
            ("resourceNames", &self.resource_names),
            ("nonResourceURLs", &self.non_resource_urls),
        ];
        let said = members.into_iter().filter(|(name, texts)| *name == "verbs" || !texts.is_empty());
        map(arena, said.map(|(name, texts)| (name, list(arena, texts.iter().map(|t| Value::String(t))))))
    }
}

/// As messages about rules name one (`CompactString`).
impl fmt::Display for PolicyRule<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let members = [
            ("APIGroups", &self.api_groups),
            ("Resources", &self.resources),
            ("NonResourceURLs", &self.non_resource_urls),
            ("ResourceNames", &self.resource_names),
            ("Verbs", &self.verbs),
        ];
        f.write_str("{")?;
        let said = members.into_iter().filter(|(_, texts)| !texts.is_empty());
        for (number, (name, texts)) in said.enumerate() {
            let separator = if number > 0 { ", " } else { "" };
            write!(f, "{separator}{name}:{}", quoted(texts))?;
        }
        f.write_str("}")
    }
}

/// A list of texts as Go's `%q` writes it.
pub(crate) fn quoted<T: AsRef<str>>(texts: &[T]) -> String {
    let texts: Vec<_> = texts.iter().map(|text| quote(text.as_ref())).collect();
    format!("[{}]", texts.join(" "))
}

#[cfg(test)]
mod tests {
    use ringbolt_machinery::json;

    use super::*;

    #[test]
    fn rules_are_read_and_written() {
        let arena = Bump::new();
        let text = br#"{"rules":[{"verbs":["get"],"apiGroups":["","apps"],"resources":["pods"],"resourceNames":["a"]},{"verbs":["*"],"nonResourceURLs":["/x"]},{"verbs":[]}]}"#;
        let role = json::decode_in_order(&arena, text).unwrap();
        let rules = PolicyRule::all_of(&role);
        let shown: Vec<_> = rules.iter().map(ToString::to_string).collect();
        assert_eq!(
            shown,
            [
                r#"{APIGroups:["" "apps"], Resources:["pods"], ResourceNames:["a"], Verbs:["get"]}"#,
                r#"{NonResourceURLs:["/x"], Verbs:["*"]}"#,
                "{}",
            ]
        );
        let written = map(&arena, [("rules", list(&arena, rules.iter().map(|r| r.to_value(&arena))))]);
        let mut again = Vec::new();
        json::encode_in_order(&written, &mut again);
        assert_eq!(again, text);
    }

    #[test]
    fn what_is_no_role_has_no_rules() {
        assert_eq!(PolicyRule::all_of(&Value::Null), []);
    }
}
