//! Stacks with a weight each: folded, and by function.

use std::{
    collections::{HashMap, HashSet},
    fmt::Write as _,
    rc::Rc,
};

use crate::{limits, script::Sample, symbols::Symbols};

/// Stacks, outermost function first, with their weight.
#[derive(Debug, Default)]
pub struct Stacks {
    stacks: HashMap<Vec<Rc<str>>, u64>,
    total: u64,
}

impl Stacks {
    /// Adds a sample. The thread's name is the outermost frame.
    pub fn add(&mut self, sample: &Sample, symbols: &mut Symbols, weight: u64) {
        let mut stack: Vec<Rc<str>> = Vec::with_capacity(sample.frames.len() + 8);
        for (i, frame) in sample.frames.iter().enumerate() {
            stack.extend(symbols.of(frame, i == 0).iter().cloned());
        }
        stack.push(Rc::from(sample.thread.as_str()));
        stack.reverse();
        self.push(stack, weight);
    }

    fn push(&mut self, stack: Vec<Rc<str>>, weight: u64) {
        *self.stacks.entry(stack).or_default() += weight;
        self.total += weight;
    }

    /// The weight of all.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// All stacks, outermost function first.
    pub fn iter(&self) -> impl Iterator<Item = (&[Rc<str>], u64)> {
        self.stacks.iter().map(|(stack, weight)| (stack.as_slice(), *weight))
    }

    /// One line a stack, as flamegraphs are made from.
    pub fn folded(&self) -> String {
        let mut lines: Vec<String> = self
            .iter()
            .filter(|(_, weight)| *weight > 0)
            .map(|(stack, weight)| format!("{} {weight}", stack.join(";")))
            .collect();
        lines.sort();
        lines.iter().fold(String::new(), |mut text, line| {
            // Writing to a String does not fail.
            let _ = writeln!(text, "{line}");
            text
        })
    }

    /// Weight by the innermost function that is not passed over.
    fn own(&self, passed_over: fn(&str) -> bool) -> Vec<(Rc<str>, u64)> {
        let mut own: HashMap<Rc<str>, u64> = HashMap::new();
        for (stack, weight) in self.iter() {
            if let Some(innermost) = stack.iter().rev().find(|name| !passed_over(name)) {
                *own.entry(innermost.clone()).or_default() += weight;
            }
        }
        sorted(own)
    }

    /// Weight by function, with all that it called. A function that called itself counts once.
    fn inclusive(&self) -> Vec<(Rc<str>, u64)> {
        let mut inclusive: HashMap<Rc<str>, u64> = HashMap::new();
        for (stack, weight) in self.iter() {
            let functions: HashSet<&Rc<str>> = stack.iter().skip(1).collect();
            for function in functions {
                *inclusive.entry(function.clone()).or_default() += weight;
            }
        }
        sorted(inclusive)
    }

    /// The tables of functions, as text. `scale` is what a share of 1 is worth in `unit`.
    pub fn top(&self, scale: f64, unit: &str) -> String {
        let mut text = String::new();
        let tables = [
            ("Own", self.own(|_| false)),
            ("Own, with the standard library's, copies and allocations for them", self.own(is_common)),
            ("With what they call", self.inclusive()),
        ];
        for (title, functions) in tables {
            let _ = writeln!(text, "## {title}\n\n   share {unit:>12}  function");
            for (function, weight) in functions.iter().take(limits::TOP) {
                let share = *weight as f64 / self.total.max(1) as f64;
                let _ = writeln!(text, "{:7.2}% {:12.3}  {function}", share * 100.0, share * scale);
            }
            text.push('\n');
        }
        text
    }
}

/// Functions that everything uses: what they cost says more beside who called them.
fn is_common(name: &str) -> bool {
    const COMMON: [&str; 12] = [
        "core::",
        "alloc::",
        "std::",
        "core_arch::",
        "hashbrown::",
        "__mem",
        "mi_",
        "_mi_",
        "mimalloc::",
        "__rust",
        "ringbolt::__rust",
        "memchr::",
    ];
    let name = name.trim_start_matches(['<', '&', '*']).trim_start_matches("mut ");
    COMMON.iter().any(|begin| name.starts_with(begin))
}

fn sorted(weights: HashMap<Rc<str>, u64>) -> Vec<(Rc<str>, u64)> {
    let mut sorted: Vec<_> = weights.into_iter().collect();
    sorted.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stacks(of: &[(&str, u64)]) -> Stacks {
        let mut stacks = Stacks::default();
        for (stack, weight) in of {
            stacks.push(stack.split(';').map(Rc::from).collect(), *weight);
        }
        stacks
    }

    #[test]
    fn own_and_inclusive_weights() {
        let stacks =
            stacks(&[("core-0;a;b", 3), ("core-0;a", 1), ("core-0;a;b;a", 1), ("core-0;a;b;a;__memcpy", 1)]);
        let get =
            |of: Vec<(Rc<str>, u64)>, name: &str| of.iter().find(|(f, _)| &**f == name).map(|(_, w)| *w);
        assert_eq!(get(stacks.own(|_| false), "a"), Some(2));
        assert_eq!(get(stacks.own(is_common), "a"), Some(3));
        assert_eq!(get(stacks.own(|_| false), "b"), Some(3));
        assert_eq!(get(stacks.inclusive(), "a"), Some(6));
        assert_eq!(get(stacks.inclusive(), "b"), Some(5));
        assert_eq!(get(stacks.inclusive(), "core-0"), None);
        assert_eq!(stacks.total(), 6);
    }

    #[test]
    fn equal_stacks_are_one_line() {
        let stacks = stacks(&[("core;b", 1), ("core;a", 1), ("core;b", 2)]);
        assert_eq!(stacks.folded(), "core;a 1\ncore;b 3\n");
    }
}
