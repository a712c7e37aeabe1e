//! Which parts of some rules others do not allow (`Covers`).

use super::PolicyRule;

/// More would have to be compared than one request may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooMany;

/// The parts of `rules` that no rule of `held` allows, in the order of the rules: a part is one verb on one resource of
/// one group, maybe of one name, or one verb on one path. Compares at most `comparisons_max` parts with rules.
pub(crate) fn uncovered<'a>(
    held: &[PolicyRule<'_>],
    rules: &[PolicyRule<'a>],
    comparisons_max: usize,
) -> Result<Vec<PolicyRule<'a>>, TooMany> {
    let mut missing = Vec::new();
    let mut left = comparisons_max;
    for rule in rules {
        left = left.checked_sub(held.len()).ok_or(TooMany)?;
        if held.iter().any(|held| allows_whole(held, rule)) {
            continue;
        }
        for part in parts(rule) {
            left = left.checked_sub(held.len() + 1).ok_or(TooMany)?;
            if !held.iter().any(|held| allows(held, &part)) {
                missing.push(part.to_rule());
            }
        }
    }
    Ok(missing)
}

/// One part of a rule.
#[derive(Clone, Copy)]
enum Part<'a> {
    Resource { group: &'a str, resource: &'a str, verb: &'a str, name: Option<&'a str> },
    Url { url: &'a str, verb: &'a str },
}

impl<'a> Part<'a> {
    fn to_rule(self) -> PolicyRule<'a> {
        match self {
            Part::Resource { group, resource, verb, name } => PolicyRule {
                verbs: vec![verb],
                api_groups: vec![group],
                resources: vec![resource],
                resource_names: name.into_iter().collect(),
                ..PolicyRule::default()
            },
            Part::Url { url, verb } => {
                PolicyRule { verbs: vec![verb], non_resource_urls: vec![url], ..PolicyRule::default() }
            }
        }
    }
}

/// The parts of a rule, names changing first, groups last.
fn parts<'r, 'a>(rule: &'r PolicyRule<'a>) -> impl Iterator<Item = Part<'a>> + use<'r, 'a> {
    let named = rule.resource_names.iter().map(|name| Some(*name));
    let unnamed = rule.resource_names.is_empty().then_some(None);
    let names = named.chain(unnamed);
    let resources = rule.api_groups.iter().flat_map(move |group| {
        let names = names.clone();
        rule.resources.iter().flat_map(move |resource| {
            let names = names.clone();
            rule.verbs.iter().flat_map(move |verb| {
                names.clone().map(move |name| Part::Resource { group, resource, verb, name })
            })
        })
    });
    let urls = rule
        .non_resource_urls
        .iter()
        .flat_map(move |url| rule.verbs.iter().map(move |verb| Part::Url { url, verb }));
    resources.chain(urls)
}

fn allows(held: &PolicyRule<'_>, part: &Part<'_>) -> bool {
    match *part {
        Part::Resource { group, resource, verb, name } => {
            has(&held.verbs, verb)
                && has(&held.api_groups, group)
                && has_resource(&held.resources, resource)
                && (held.resource_names.is_empty()
                    || name.is_some_and(|name| held.resource_names.contains(&name)))
        }
        Part::Url { url, verb } => {
            // A rule with names is about resources, whatever else it says.
            has(&held.verbs, verb)
                && held.resource_names.is_empty()
                && held.non_resource_urls.iter().any(|held| has_url(held, url))
        }
    }
}

/// Whether one rule allows all parts of another that is about resources alone: then the parts, which may be very many,
/// need not be looked at.
fn allows_whole(held: &PolicyRule<'_>, rule: &PolicyRule<'_>) -> bool {
    let names = || {
        held.resource_names.is_empty()
            || (!rule.resource_names.is_empty()
                && rule.resource_names.iter().all(|name| held.resource_names.contains(name)))
    };
    rule.non_resource_urls.is_empty()
        && rule.verbs.iter().all(|verb| has(&held.verbs, verb))
        && rule.api_groups.iter().all(|group| has(&held.api_groups, group))
        && rule.resources.iter().all(|resource| has_resource(&held.resources, resource))
        && names()
}

fn has(held: &[&str], one: &str) -> bool {
    held.iter().any(|held| *held == "*" || *held == one)
}

/// `*/scale` stands for that subresource of all resources.
fn has_resource(held: &[&str], resource: &str) -> bool {
    let subresource = resource.split_once('/').map(|(_, subresource)| subresource);
    held.iter().any(|held| {
        *held == "*"
            || *held == resource
            || subresource.is_some_and(|subresource| held.strip_prefix("*/") == Some(subresource))
    })
}

fn has_url(held: &str, url: &str) -> bool {
    held == url || (held.ends_with('*') && url.starts_with(held.trim_end_matches('*')))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A rule as the table of the bootstrap policy has it: verbs, groups, resources, names; or verbs and paths.
    fn rule(line: &'static str) -> PolicyRule<'static> {
        let texts = |column: &'static str| column.split(',').collect::<Vec<_>>();
        let columns: Vec<_> = line.split_whitespace().collect();
        match columns[..] {
            [verbs, urls] => {
                PolicyRule { verbs: texts(verbs), non_resource_urls: texts(urls), ..PolicyRule::default() }
            }
            [verbs, groups, resources, ref names @ ..] => PolicyRule {
                verbs: texts(verbs),
                api_groups: texts(groups),
                resources: texts(resources),
                resource_names: names.iter().flat_map(|names| texts(names)).collect(),
                ..PolicyRule::default()
            },
            _ => panic!("{line}"),
        }
    }

    fn check(held: &[&'static str], rules: &[&'static str], expect: &[&'static str]) {
        let all = |lines: &[&'static str]| lines.iter().map(|line| rule(line)).collect::<Vec<_>>();
        assert_eq!(uncovered(&all(held), &all(rules), 1000), Ok(all(expect)), "{held:?} {rules:?}");
    }

    #[test]
    fn parts_that_are_not_held() {
        check(&["get,list g pods"], &["get g pods"], &[]);
        check(&["get g pods"], &["get,list g pods"], &["list g pods"]);
        check(&["get g pods", "list g pods"], &["get,list g pods"], &[]);
        check(&["get g pods"], &["get g,h pods,secrets"], &["get g secrets", "get h pods", "get h secrets"]);
        check(&["* * *"], &["get g pods", "* * *", "get g pods n"], &[]);
        check(&["get * *"], &["* g pods"], &["* g pods"]);
        check(&[], &["a,b g r n,m"], &["a g r n", "a g r m", "b g r n", "b g r m"]);
    }

    #[test]
    fn subresources() {
        check(&["get g */scale"], &["get g pods/scale"], &[]);
        check(&["get g */scale"], &["get g pods", "get g pods/status"], &["get g pods", "get g pods/status"]);
        check(&["get g pods/*"], &["get g pods/scale"], &["get g pods/scale"]);
        check(&["get g pods"], &["get g pods/scale"], &["get g pods/scale"]);
        check(&["get g */a/b"], &["get g pods/a/b"], &[]);
    }

    #[test]
    fn names() {
        check(&["get g r a,b"], &["get g r b"], &[]);
        check(&["get g r a"], &["get g r a,b"], &["get g r b"]);
        check(&["get g r a"], &["get g r"], &["get g r"]);
        check(&["get g r"], &["get g r a"], &[]);
        check(&["get g r a", "get g r b"], &["get g r a,b"], &[]);
    }

    #[test]
    fn paths() {
        check(&["get /a"], &["get /a", "get /a/"], &["get /a/"]);
        check(&["get /a/*"], &["get /a/b,/a/*,/a"], &["get /a"]);
        check(&["get /a**"], &["get /ab"], &[]);
        check(&["get *"], &["get,put /x"], &["put /x"]);
        check(&["* * *"], &["get /x"], &["get /x"]);
        check(&["* *"], &["get g pods"], &["get g pods"]);
    }

    #[test]
    fn a_rule_about_both_has_parts_of_both() {
        let both = PolicyRule { non_resource_urls: vec!["/x"], ..rule("get g pods n") };
        let missing = uncovered(&[], std::slice::from_ref(&both), 1000).unwrap();
        assert_eq!(missing, [rule("get g pods n"), rule("get /x")]);
        // It allows no path to others, as it has names.
        assert_eq!(uncovered(&[both], &[rule("get /x")], 1000).unwrap(), [rule("get /x")]);
    }

    #[test]
    fn what_is_compared_is_bounded() {
        let held = [rule("get g pods"), rule("get g secrets")];
        let rules = [rule("a,b,c g pods")];
        assert!(uncovered(&held, &rules, 11).is_ok());
        assert_eq!(uncovered(&held, &rules, 10), Err(TooMany));
        // What is allowed as a whole is not taken apart.
        assert_eq!(uncovered(&[rule("* * *")], &rules, 1), Ok(vec![]));
    }
}
