//! The places of groups and versions in lists: priorities, and where they are equal names.

use std::cmp::Ordering;

/// `groupPriorityMinimum` and `versionPriority` of an APIService.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Priority {
    /// Of the group, among groups: the highest of its versions counts. Higher ones come first.
    pub group: i32,
    /// Of the version, within its group. Higher ones come first.
    pub version: i32,
}

impl Priority {
    /// Every group-version of custom resources.
    pub const CUSTOM: Priority = Priority { group: 1000, version: 100 };
    /// A group-version that nobody gave a place.
    pub const DEFAULT: Priority = Priority { group: 1000, version: 15 };
    /// The group of the APIServices themselves, which comes before all.
    pub const APISERVICES: Priority = Priority { group: 20_001, version: 0 };
}

/// A group, its priority, and its versions with theirs.
type Group = (&'static str, i32, &'static [(&'static str, i32)]);

/// Places of the built-in group-versions, as `DefaultGenericAPIServicePriorities` and kube-apiserver give them.
const BUILT_IN: [Group; 21] = [
    ("", 18_000, &[("v1", 1)]),
    ("apps", 17_800, &[("v1", 15)]),
    ("events.k8s.io", 17_750, &[("v1", 15)]),
    ("authentication.k8s.io", 17_700, &[("v1", 15)]),
    ("authorization.k8s.io", 17_600, &[("v1", 15)]),
    ("autoscaling", 17_500, &[("v1", 15), ("v2", 30)]),
    ("batch", 17_400, &[("v1", 15)]),
    ("certificates.k8s.io", 17_300, &[("v1", 15), ("v1beta1", 9), ("v1alpha1", 1)]),
    ("networking.k8s.io", 17_200, &[("v1", 15), ("v1beta1", 9)]),
    ("policy", 17_100, &[("v1", 15)]),
    ("rbac.authorization.k8s.io", 17_000, &[("v1", 15)]),
    ("storage.k8s.io", 16_800, &[("v1", 15), ("v1beta1", 9), ("v1alpha1", 1)]),
    ("admissionregistration.k8s.io", 16_700, &[("v1", 15), ("v1beta1", 12), ("v1alpha1", 9)]),
    ("apiextensions.k8s.io", 16_700, &[("v1", 15)]),
    ("scheduling.k8s.io", 16_600, &[("v1", 15)]),
    ("coordination.k8s.io", 16_500, &[("v1", 15), ("v1beta1", 13), ("v1alpha2", 12)]),
    ("node.k8s.io", 16_300, &[("v1", 15)]),
    ("discovery.k8s.io", 16_200, &[("v1", 15)]),
    ("resource.k8s.io", 16_200, &[("v1", 21), ("v1beta2", 15), ("v1beta1", 9), ("v1alpha3", 1)]),
    ("flowcontrol.apiserver.k8s.io", 16_100, &[("v1", 21)]),
    ("storagemigration.k8s.io", 15_800, &[("v1", 15), ("v1beta1", 9)]),
];

/// The place of a built-in group-version; `None` where it has none of its own.
pub fn built_in(group: &str, version: &str) -> Option<Priority> {
    if group == "apiregistration.k8s.io" {
        return Some(Priority::APISERVICES);
    }
    let (_, minimum, versions) = BUILT_IN.iter().find(|(name, ..)| *name == group)?;
    let (_, priority) = versions.iter().find(|(name, _)| *name == version)?;
    Some(Priority { group: *minimum, version: *priority })
}

/// Orders versions by what their names say, the most mature and latest last: `foo2` < `foo10` < … < `v1alpha1` <
/// `v11alpha2` < `v3beta1` < `v1` < `v10`. Names of another form come by their letters, and before all others.
pub fn compare_versions(a: &str, b: &str) -> Ordering {
    match (parse(a), parse(b)) {
        (Some(a), Some(b)) => a.cmp(&b),
        (Some(_), None) => Ordering::Greater,
        (None, Some(_)) => Ordering::Less,
        // What comes first by its letters is the greater one.
        (None, None) => b.cmp(a),
    }
}

/// Stability, major version, and the number behind `alpha` or `beta`.
fn parse(version: &str) -> Option<(u8, u64, u64)> {
    // As Go's int takes it, without a sign.
    let number = |digits: &str| {
        let plain = digits.bytes().all(|b| b.is_ascii_digit());
        if plain { digits.parse::<i64>().ok()?.try_into().ok() } else { None }
    };
    let rest = version.strip_prefix('v')?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (major, rest) = rest.split_at(digits);
    let major: u64 = number(major)?;
    if rest.is_empty() {
        return Some((2, major, 0));
    }
    let (stability, minor) = match (rest.strip_prefix("alpha"), rest.strip_prefix("beta")) {
        (Some(minor), _) => (0, minor),
        (_, Some(minor)) => (1, minor),
        _ => return None,
    };
    Some((stability, major, number(minor)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_by_maturity() {
        let order = [
            "v10",
            "v2",
            "v1",
            "v11beta2",
            "v10beta3",
            "v3beta1",
            "v12alpha1",
            "v11alpha2",
            "foo1",
            "foo10",
            "v1gamma1",
        ];
        let mut sorted = order;
        sorted.reverse();
        sorted.sort_by(|a, b| compare_versions(b, a));
        assert_eq!(sorted, order);
        assert_eq!(compare_versions("v1", "v1"), Ordering::Equal);
        assert_eq!(compare_versions("v01", "v1"), Ordering::Equal);
        assert_eq!(parse("v1beta"), None);
        assert_eq!(parse("v99999999999999999999"), None);
    }

    #[test]
    fn places_of_built_in_groups() {
        let check = |group: &str, version: &str, expect: Option<(i32, i32)>| {
            assert_eq!(built_in(group, version).map(|p| (p.group, p.version)), expect, "{group}/{version}");
        };
        check("", "v1", Some((18_000, 1)));
        check("autoscaling", "v2", Some((17_500, 30)));
        check("apiregistration.k8s.io", "v1", Some((20_001, 0)));
        check("apps", "v2", None);
        check("example.com", "v1", None);
    }
}
