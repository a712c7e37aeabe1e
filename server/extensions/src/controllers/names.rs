//! Which of the names that a definition asks for it gets: what another one of its group has is taken.

use std::collections::HashSet;

use ringbolt_machinery::field::quote;

use crate::definition::{Condition, Names};

/// Names that the definitions of a group have, one set for resources and one for kinds.
#[derive(Debug, Default)]
pub(super) struct Taken<'n> {
    resources: HashSet<&'n str>,
    kinds: HashSet<&'n str>,
}

impl<'n> Taken<'n> {
    /// Adds what a definition of the group has.
    pub(super) fn add(&mut self, names: &'n Names) {
        self.resources.extend([&*names.plural, &*names.singular]);
        self.resources.extend(names.short_names.iter().map(|name| &**name));
        self.kinds.extend([&*names.kind, &*names.list_kind]);
    }
}

/// What became of a request for names.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Decision {
    /// Names that the definition has from now on.
    pub(super) accepted: Names,
    /// Whether it has all that it asks for.
    pub(super) condition: Condition,
}

/// Decides on what is asked for by a definition that has `accepted` so far.
pub(super) fn decide(asked: &Names, accepted: &Names, taken: &Taken<'_>) -> Decision {
    let mut conflict: Option<(&'static str, String)> = None;
    let fresh = |name: &str, own: &str, taken: &HashSet<&str>| {
        let is_free = name == own || !taken.contains(name);
        if is_free { None } else { Some(format!("{} is already in use", quote(name))) }
    };
    let mut new = accepted.clone();
    let mut single = |reason, asked: &String, slot: &mut String, taken: &HashSet<&str>| {
        match fresh(asked, slot, taken) {
            // The last one is told.
            Some(why) => conflict = Some((reason, why)),
            None => slot.clone_from(asked),
        }
    };
    single("PluralConflict", &asked.plural, &mut new.plural, &taken.resources);
    single("SingularConflict", &asked.singular, &mut new.singular, &taken.resources);
    if asked.short_names != accepted.short_names {
        let mut errors: Vec<String> = Vec::new();
        for name in asked.short_names.iter().filter(|name| !accepted.short_names.contains(name)) {
            // The same is told once.
            errors.extend(fresh(name, "", &taken.resources).filter(|why| !errors.contains(why)));
        }
        match errors.as_slice() {
            [] => new.short_names.clone_from(&asked.short_names),
            [one] => conflict = Some(("ShortNamesConflict", one.clone())),
            all => conflict = Some(("ShortNamesConflict", format!("[{}]", all.join(", ")))),
        }
    }
    let mut single =
        |reason, asked: &String, slot: &mut String, taken: &HashSet<&str>| match fresh(asked, slot, taken) {
            Some(why) => conflict = Some((reason, why)),
            None => slot.clone_from(asked),
        };
    single("KindConflict", &asked.kind, &mut new.kind, &taken.kinds);
    single("ListKindConflict", &asked.list_kind, &mut new.list_kind, &taken.kinds);
    new.categories.clone_from(&asked.categories);
    let condition = match conflict {
        Some((reason, why)) => Condition::new("NamesAccepted", "False", reason, why),
        None => Condition::new("NamesAccepted", "True", "NoConflicts", "no conflicts found"),
    };
    Decision { accepted: new, condition }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(plural: &str, kind: &str, short: &[&str]) -> Names {
        Names {
            plural: plural.into(),
            singular: kind.to_lowercase(),
            short_names: short.iter().map(|name| (*name).to_owned()).collect(),
            kind: kind.into(),
            list_kind: format!("{kind}List"),
            categories: vec!["all".to_owned()],
        }
    }

    #[test]
    fn what_is_taken_is_not_given() {
        let other = names("widgets", "Widget", &["w", "wd"]);
        let check = |asked: &Names, accepted: &Names, expect: &Names, reason: &str, message: &str| {
            let mut taken = Taken::default();
            taken.add(&other);
            taken.add(accepted);
            let decision = decide(asked, accepted, &taken);
            assert_eq!(decision.accepted, *expect);
            assert_eq!((decision.condition.reason, &*decision.condition.message), (reason, message));
            assert_eq!(decision.condition.status, if reason == "NoConflicts" { "True" } else { "False" });
        };
        let none = Names::default();
        let fine = names("gadgets", "Gadget", &["g"]);
        check(&fine, &none, &fine, "NoConflicts", "no conflicts found");
        check(&fine, &fine, &fine, "NoConflicts", "no conflicts found");
        let short = names("gadgets", "Gadget", &["w", "g", "wd"]);
        let expect = Names { short_names: Vec::new(), ..short.clone() };
        let both = "[\"w\" is already in use, \"wd\" is already in use]";
        check(&short, &none, &expect, "ShortNamesConflict", both);
        let kind = names("gadgets", "Widget", &[]);
        let expect =
            Names { plural: "gadgets".into(), categories: vec!["all".to_owned()], ..Names::default() };
        check(&kind, &none, &expect, "ListKindConflict", "\"WidgetList\" is already in use");
        // A name that was its own may change to one that is free, and others stay.
        let renamed = names("gadgets", "Gadget", &["g", "h"]);
        check(&renamed, &fine, &renamed, "NoConflicts", "no conflicts found");
    }
}
