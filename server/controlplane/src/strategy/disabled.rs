//! Members of features that are off by default in this release: not taken from writers, but kept where the old
//! object has them already.

use ringbolt_machinery::value::{Map, Value};

use crate::tree::Members;

/// Where a member stands; `*` is every item of a list or every entry of a map.
pub(super) type Member = &'static [&'static str];

/// Members by the steps that they have in common, so that each step is looked for once.
#[derive(Default)]
pub(super) struct Disabled(Vec<Branch>);

struct Branch {
    step: &'static str,
    /// What it leads to: the end of this member, or the steps of others.
    end: Option<Member>,
    below: Disabled,
    /// Whether they are below every item or entry of what is here.
    each: bool,
}

impl Disabled {
    /// Of a list of members.
    pub(super) fn new(members: &[Member]) -> Self {
        let mut all = Disabled::default();
        for member in members {
            let mut at = &mut all;
            let mut steps = member.iter().copied().peekable();
            while let Some(step) = steps.next() {
                let each = steps.next_if_eq(&"*").is_some();
                let end = steps.peek().is_none().then_some(*member);
                at = at.branch(step, each, end);
            }
        }
        all
    }

    fn branch(&mut self, step: &'static str, each: bool, end: Option<Member>) -> &mut Disabled {
        let is_same = |b: &Branch| (b.step, b.each, b.end.is_some()) == (step, each, end.is_some());
        let at = self.0.iter().position(is_same).unwrap_or(self.0.len());
        if at == self.0.len() {
            self.0.push(Branch { step, end, below: Disabled::default(), each });
        }
        &mut self.0[at].below
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Drops members that the old object does not use.
    pub(super) fn remove_from(&self, map: &mut Map<'_>, old: Option<&Map<'_>>) {
        self.remove_unless(map, &|path| old.is_some_and(|o| in_use(o, path)));
    }

    /// Drops members but those that are to be kept, which is asked only where one is set.
    pub(super) fn remove_unless(&self, map: &mut Map<'_>, is_kept: &dyn Fn(Member) -> bool) {
        for branch in &self.0 {
            let Some(found) = map.get_mut(branch.step) else { continue };
            match (branch.end, found) {
                (Some(member), _) if is_kept(member) => {}
                (Some(_), _) => {
                    map.remove(branch.step);
                }
                (None, Value::Map(below)) if !branch.each => branch.below.remove_unless(below, is_kept),
                (None, Value::List(items)) if branch.each => {
                    let below = items.iter_mut().filter_map(Value::as_map_mut);
                    below.for_each(|below| branch.below.remove_unless(below, is_kept));
                }
                (None, Value::Map(entries)) if branch.each => {
                    let below = entries.iter_mut().filter_map(|(_, value)| value.as_map_mut());
                    below.for_each(|below| branch.below.remove_unless(below, is_kept));
                }
                _ => {}
            }
        }
    }
}

/// Whether a member is set anywhere.
pub(super) fn in_use(map: &Map<'_>, path: &[&str]) -> bool {
    match path {
        [] => true,
        [last] => map.has(last),
        [many, "*", rest @ ..] => match map.get(many) {
            Some(Value::List(items)) => items.iter().filter_map(Value::as_map).any(|m| in_use(m, rest)),
            Some(Value::Map(entries)) => {
                entries.iter().filter_map(|(_, v)| v.as_map()).any(|m| in_use(m, rest))
            }
            _ => false,
        },
        [step, rest @ ..] => map.child(step).is_some_and(|m| in_use(m, rest)),
    }
}

#[cfg(test)]
mod tests {
    use bumpalo::Bump;
    use ringbolt_machinery::{field::write_json, json};

    use super::*;

    const MEMBERS: &[Member] = &[
        &["plain"],
        &["many", "*", "one", "leaf"],
        &["many", "*", "two", "leaf"],
        &["nested", "leaf"],
        &["many", "*", "one", "deep", "*", "leaf"],
        &["many", "*", "leaf"],
    ];

    fn check(object: &str, old: Option<&str>, expect: &str) {
        let arena = Bump::new();
        let tree =
            |text: &str| json::decode_untyped(&arena, arena.alloc_slice_copy(text.as_bytes())).unwrap();
        let (mut value, old) = (tree(object), old.map(tree));
        Disabled::new(MEMBERS).remove_from(value.as_map_mut().unwrap(), old.as_ref().and_then(Value::as_map));
        let mut text = String::new();
        write_json(&value, &mut text);
        assert_eq!(text, expect, "{object} {old:?}");
    }

    #[test]
    fn members_go_wherever_they_are_set() {
        check(r#"{"plain":1,"other":2}"#, None, r#"{"other":2}"#);
        let all =
            r#"{"many":[{"one":{"leaf":1,"deep":[{"leaf":1,"a":2}]},"leaf":3},{"two":{"leaf":1,"b":1}},4]}"#;
        check(all, None, r#"{"many":[{"one":{"deep":[{"a":2}]}},{"two":{"b":1}},4]}"#);
        check(
            r#"{"many":{"x":{"leaf":1},"y":{"one":{"leaf":null}}}}"#,
            None,
            r#"{"many":{"x":{},"y":{"one":{}}}}"#,
        );
        check(r#"{"nested":{"leaf":1,"c":1},"plain":null}"#, None, r#"{"nested":{"c":1}}"#);
    }

    #[test]
    fn members_in_use_stay_everywhere() {
        let object = r#"{"plain":1,"many":[{"one":{"leaf":1},"two":{"leaf":1}},{"one":{"leaf":2}}]}"#;
        let old = r#"{"many":[{},{"one":{"leaf":9}}]}"#;
        check(object, Some(old), r#"{"many":[{"one":{"leaf":1},"two":{}},{"one":{"leaf":2}}]}"#);
        // What is written as nothing is not in use.
        check(r#"{"plain":1}"#, Some(r#"{"plain":null}"#), "{}");
        check(r#"{"plain":1}"#, Some(r#"{"plain":0}"#), r#"{"plain":1}"#);
    }
}
