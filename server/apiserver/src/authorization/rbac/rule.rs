//! A rule of a role (`PolicyRule`), and what it allows.

use ringbolt_machinery::{protobuf::field_len, value::Value};

use super::{asked::Asked, names::Names};
use crate::limits::RULE_ENTRIES_PER_NAME;

/// All verbs, groups, resources or paths.
pub(super) const ALL: &str = "*";

/// Verbs that have a bit of their own, in the order of their bits.
const VERBS: [&str; 8] = ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"];
/// The bit of all verbs that have none of their own.
const OTHER_VERB: u16 = 1 << VERBS.len();

/// What one rule of a role gives.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct PolicyRule {
    /// Verbs, `*` for all.
    pub(crate) verbs: Names,
    /// API groups, `*` for all.
    pub(crate) api_groups: Names,
    /// Resources: `pods`, `pods/log`, `*/scale`, or `*` for all.
    pub(crate) resources: Names,
    /// Names of objects; none for all.
    pub(crate) resource_names: Names,
    /// Paths, with `*` for any end.
    pub(crate) non_resource_urls: Names,
    /// The bits of `verbs`.
    verb_bits: u16,
}

/// The bit of a verb that is asked for.
pub(super) fn verb_bit(verb: &str) -> u16 {
    VERBS.iter().position(|known| *known == verb).map_or(OTHER_VERB, |at| 1 << at)
}

/// The strings of a list.
fn names(tree: &Value<'_>, field: &str) -> Names {
    let list = tree.path(&[field]).and_then(Value::as_list);
    list.into_iter().flatten().filter_map(Value::as_str).collect()
}

impl PolicyRule {
    /// A rule of these lists.
    pub(super) fn new(
        verbs: Names,
        api_groups: Names,
        resources: Names,
        resource_names: Names,
        non_resource_urls: Names,
    ) -> PolicyRule {
        let bits = |verb: &str| if verb == ALL { u16::MAX } else { verb_bit(verb) };
        let verb_bits = verbs.iter().fold(0, |sum, verb| sum | bits(verb));
        PolicyRule { verbs, api_groups, resources, resource_names, non_resource_urls, verb_bits }
    }

    /// Two rules that allow everything, one about resources and one about paths.
    pub(crate) fn everything() -> [PolicyRule; 2] {
        let (all, none) = (|| Names::from_iter([ALL]), Names::default);
        [
            PolicyRule::new(all(), all(), all(), none(), none()),
            PolicyRule::new(all(), none(), none(), none(), all()),
        ]
    }

    /// As it stands in a role.
    pub(super) fn read(tree: &Value<'_>) -> PolicyRule {
        PolicyRule::new(
            names(tree, "verbs"),
            names(tree, "apiGroups"),
            names(tree, "resources"),
            names(tree, "resourceNames"),
            names(tree, "nonResourceURLs"),
        )
    }

    /// How many entries a table has for it by group and resource; `None` where those are too many.
    pub(super) fn keys(&self) -> Option<usize> {
        let (groups, resources) = (self.api_groups.len(), self.resources.len());
        let keys = groups.saturating_mul(resources);
        (keys <= RULE_ENTRIES_PER_NAME * (groups + resources)).then_some(keys)
    }

    /// How many it has by group, resource, verb and name of the object; `None` where those are too many.
    pub(super) fn exact_keys(&self) -> Option<usize> {
        let (verbs, names) = (self.verbs.len(), self.resource_names.len());
        let keys = self.keys()?.saturating_mul(verbs).saturating_mul(names.max(1));
        let listed = self.api_groups.len() + self.resources.len() + verbs + names;
        (keys <= RULE_ENTRIES_PER_NAME * listed).then_some(keys)
    }

    /// How many it has by group, resource and name of the object; `None` where it names none, or where those are too many.
    pub(super) fn named_keys(&self) -> Option<usize> {
        let names = self.resource_names.len();
        let keys = self.keys()?.saturating_mul(names);
        let listed = self.api_groups.len() + self.resources.len() + names;
        (names > 0 && keys <= RULE_ENTRIES_PER_NAME * listed).then_some(keys)
    }

    /// Bytes of the message that reviews tell it in, `ResourceRule` or `NonResourceRule`.
    pub(crate) fn message_len(&self, is_about_paths: bool) -> usize {
        let size = |names: &Names| names.iter().map(|name| field_len(name.len())).sum::<usize>();
        size(&self.verbs)
            + match is_about_paths {
                true => size(&self.non_resource_urls),
                false => size(&self.api_groups) + size(&self.resources) + size(&self.resource_names),
            }
    }

    /// Whether what is asked is allowed by this rule alone.
    pub(super) fn allows(&self, asked: &Asked<'_>) -> bool {
        if !self.has_verb(asked) {
            return false;
        }
        match asked.is_resource {
            true => self.has_group(asked) && self.has_resource(asked) && self.has_name(asked),
            false => self.has_path(asked.path),
        }
    }

    fn has_verb(&self, asked: &Asked<'_>) -> bool {
        if self.verb_bits & asked.verb_bit == 0 {
            return false;
        }
        // Bits tell known verbs apart, and nothing else.
        let is_it = |verb: &str| verb == ALL || verb == asked.verb;
        asked.verb_bit != OTHER_VERB || self.verbs.any(is_it, || [[ALL, "", ""], [asked.verb, "", ""]])
    }

    fn has_group(&self, asked: &Asked<'_>) -> bool {
        let is_it = |group: &str| group == asked.group || group == ALL;
        self.api_groups.any(is_it, || [[asked.group, "", ""], [ALL, "", ""]])
    }

    fn has_resource(&self, asked: &Asked<'_>) -> bool {
        let is_it = |resource: &str| {
            resource == ALL
                || match asked.subresource {
                    "" => resource == asked.resource,
                    subresource => {
                        let slashed = resource.strip_suffix(subresource).and_then(|r| r.strip_suffix('/'));
                        slashed.is_some_and(|of| of == ALL || of == asked.resource)
                    }
                }
        };
        let slash = if asked.subresource.is_empty() { "" } else { "/" };
        let ways =
            || [[asked.resource, slash, asked.subresource], [ALL, "", ""], [ALL, slash, asked.subresource]];
        self.resources.any(is_it, ways)
    }

    fn has_name(&self, asked: &Asked<'_>) -> bool {
        let names = &self.resource_names;
        names.is_empty() || names.any(|name| name == asked.name, || [[asked.name, "", ""]])
    }

    fn has_path(&self, path: &str) -> bool {
        self.non_resource_urls
            .iter()
            .any(|url| **url == *path || url.ends_with('*') && path.starts_with(url.trim_end_matches('*')))
    }
}

#[cfg(test)]
mod tests {
    use ringbolt_protocol::request_info::RequestInfo;

    use super::{super::super::hash::Seed, *};

    fn names(text: &str) -> Names {
        text.split(',').filter(|name| !name.is_empty()).map(str::trim).collect()
    }

    /// `verbs|groups|resources|names|paths`, a group `core` being the empty one.
    fn rule(text: &str) -> PolicyRule {
        let mut parts = text.split('|').map(names);
        let mut next = || parts.next().unwrap_or_default();
        let (verbs, groups, resources) = (next(), next(), next());
        let groups = groups.iter().map(|g| if **g == *"core" { "" } else { g }).collect();
        PolicyRule::new(verbs, groups, resources, next(), next())
    }

    /// `group resource subresource name`, `-` for none.
    fn check(text: &str, verb: &str, about: &str, expect: bool) {
        let mut parts = about.split(' ').map(|part| if part == "-" { "" } else { part });
        let mut next = || parts.next().unwrap_or_default();
        let info = match about.starts_with('/') {
            true => RequestInfo { path: about, ..RequestInfo::default() },
            false => RequestInfo {
                is_resource_request: true,
                api_group: next(),
                resource: next(),
                subresource: next(),
                name: next(),
                ..RequestInfo::default()
            },
        };
        let asked = Asked::new(Seed::new(), verb, &info);
        assert_eq!(rule(text).allows(&asked), expect, "{text}: {verb} {about}");
    }

    #[test]
    fn verbs() {
        check("get,list|core|pods", "get", "- pods - a", true);
        check("get,list|core|pods", "watch", "- pods - a", false);
        check("*|core|pods", "watch", "- pods - a", true);
        check("*|core|pods", "use", "- pods - a", true);
        check("use|core|pods", "use", "- pods - a", true);
        check("use|core|pods", "sign", "- pods - a", false);
        check("use|core|pods", "*", "- pods - a", false);
        check("use|core|pods", "", "- pods - a", false);
        check("*|core|pods", "", "- pods - a", true);
        check("|core|pods", "get", "- pods - a", false);
    }

    #[test]
    fn groups_and_resources() {
        check("get|core|pods", "get", "apps pods - a", false);
        check("get|apps,*|pods", "get", "any pods - a", true);
        check("get||pods", "get", "- pods - a", false);
        check("get|core|*", "get", "- pods log a", true);
        check("get|core|pods", "get", "- pods log a", false);
        check("get|core|pods/log", "get", "- pods log a", true);
        check("get|core|pods/log", "get", "- pods - a", false);
        check("get|core|*/log", "get", "- pods log a", true);
        check("get|core|*/log", "get", "- pods - a", false);
        check("get|core|*/log", "get", "- pods og a", false);
        check("get|core|pods/*", "get", "- pods log a", false);
        check("get|core|pods/*", "get", "- pods * a", true);
        check("get|core|xpods/log", "get", "- pods log a", false);
        // A review may name anything.
        check("get|core|pods/log", "get", "- pods/log - a", true);
        check("get|core|pods/a/b", "get", "- pods a/b a", true);
        check("get|core|pods/a/b", "get", "- pods/a b a", true);
        check("get|core|*/a/b", "get", "- pods a/b a", true);
        check("get|core|*/a/b", "get", "- pods/a b a", false);
        check("get|core|x", "get", "- * - a", false);
    }

    #[test]
    fn object_names() {
        check("get|core|pods|a,b", "get", "- pods - b", true);
        check("get|core|pods|a,b", "get", "- pods - c", false);
        check("get|core|pods|a,b", "list", "- pods - -", false);
        check("get|core|pods|*", "get", "- pods - a", false);
    }

    #[test]
    fn paths() {
        check("get||||/healthz", "get", "/healthz", true);
        check("get||||/healthz", "get", "/healthz/", false);
        check("get||||/healthz/*", "get", "/healthz/", true);
        check("get||||/healthz/*", "get", "/healthz", false);
        check("get||||/healthz*", "get", "/healthzx", true);
        check("get||||/healthz**", "get", "/healthzx", true);
        check("get||||*", "get", "/x", true);
        check("get||||*", "post", "/x", false);
        check("get||||/*/x", "get", "/a/x", false);
        // Rules about resources say nothing of paths, and the other way round.
        check("*|*|*", "get", "/x", false);
        check("*||||*", "get", "- pods - a", false);
    }
}
