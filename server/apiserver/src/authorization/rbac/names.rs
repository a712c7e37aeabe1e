//! A list of names in a rule.

use std::ops::Deref;

use super::{super::hash::Pieces, table::KeyTable};
use crate::limits::RULE_NAMES_WALKED;

/// Names of a rule in its order. Where there are many they are found by a table: a role can list a hundred thousand, and
/// each question about it would compare them all.
#[derive(Debug, Default)]
pub(crate) struct Names {
    list: Box<[Box<str>]>,
    /// From hashes to places, for a long list.
    table: Option<Box<KeyTable>>,
}

impl Deref for Names {
    type Target = [Box<str>];

    fn deref(&self) -> &[Box<str>] {
        &self.list
    }
}

impl PartialEq for Names {
    fn eq(&self, other: &Names) -> bool {
        self.list == other.list
    }
}

impl Eq for Names {}

impl<'n> IntoIterator for &'n Names {
    type Item = &'n Box<str>;
    type IntoIter = std::slice::Iter<'n, Box<str>>;

    fn into_iter(self) -> Self::IntoIter {
        self.list.iter()
    }
}

impl<'t> FromIterator<&'t str> for Names {
    fn from_iter<I: IntoIterator<Item = &'t str>>(names: I) -> Names {
        let list: Box<[Box<str>]> = names.into_iter().map(Box::from).collect();
        let hashed = || (0u32..).zip(&list).map(|(place, name)| (Pieces::new().with(name).finish(), place));
        let table = (list.len() > RULE_NAMES_WALKED).then(|| Box::new(KeyTable::new(hashed().collect())));
        Names { list, table }
    }
}

impl Names {
    /// Whether `is_it` says so of a name. Those for which it may are, in pieces that follow each other, among `ways`.
    #[inline]
    pub(super) fn any<'w, const N: usize>(
        &self,
        is_it: impl Fn(&str) -> bool,
        ways: impl FnOnce() -> [[&'w str; 3]; N],
    ) -> bool {
        match &self.table {
            None => self.list.iter().any(|name| is_it(name)),
            Some(table) => ways().iter().any(|way| {
                let hash = way.iter().fold(Pieces::new(), |hash, piece| hash.with(piece)).finish();
                table.find(hash).any(|place| is_it(&self.list[place as usize]))
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_and_long_lists_say_the_same() {
        for count in [3, RULE_NAMES_WALKED, RULE_NAMES_WALKED + 1, 500] {
            let texts: Vec<String> = (0..count).map(|n| format!("pods{n}/log")).collect();
            let names: Names = texts.iter().map(String::as_str).collect();
            assert_eq!(names.table.is_some(), count > RULE_NAMES_WALKED);
            let check = |way: [&str; 3], expect| {
                let wanted = way.concat();
                let found = names.any(|name| name == wanted, || [["x", "", ""], way]);
                assert_eq!(found, expect, "{count} {way:?}");
            };
            check(["pods0/log", "", ""], true);
            check(["pods2", "/", "log"], true);
            check(["pods2", "", "/log"], true);
            check(["pods2", "/", "lo"], false);
            check(["pods2", "/log", "s"], false);
            check(["", "", ""], false);
            check([&texts[count - 1], "", ""], true);
            check([&format!("pods{count}/log"), "", ""], false);
        }
    }
}
