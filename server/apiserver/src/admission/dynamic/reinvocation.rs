//! A second run of the mutating plugins, where a later one changed what an earlier one had seen.

use std::{
    any::Any,
    cell::{Cell, RefCell},
    collections::HashMap,
};

/// What is known of the runs of one request (`admission.ReinvocationContext`).
#[derive(Default)]
pub struct Reinvocation {
    wanted: Cell<bool>,
    under_way: Cell<bool>,
    kept: RefCell<HashMap<&'static str, Box<dyn Any>>>,
}

impl Reinvocation {
    /// Asks for a second run, of the built-in plugins too. During that one nobody can ask for a third.
    pub fn want(&self) {
        self.wanted.set(true);
    }

    /// Whether this is the second run.
    pub fn is_under_way(&self) -> bool {
        self.under_way.get()
    }

    /// Whether a second run is due; it begins with this.
    pub(super) fn begin(&self) -> bool {
        self.wanted.get() && !self.under_way.replace(true)
    }

    /// Lends what `plugin` keeps from run to run, which at first is its default.
    pub fn with<T: Default + 'static, R>(&self, plugin: &'static str, work: impl FnOnce(&mut T) -> R) -> R {
        let mut kept = self.kept.borrow_mut();
        let slot = kept.entry(plugin).or_insert_with(|| Box::<T>::default());
        match slot.downcast_mut::<T>() {
            Some(own) => work(own),
            None => work(&mut T::default()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_one_second_run() {
        let runs = Reinvocation::default();
        assert!(!runs.begin());
        assert!(!runs.is_under_way());
        runs.want();
        assert!(runs.begin());
        assert!(runs.is_under_way());
        runs.want();
        assert!(!runs.begin());
    }

    #[test]
    fn plugins_keep_what_is_theirs() {
        let runs = Reinvocation::default();
        runs.with("a", |seen: &mut Vec<u32>| seen.push(1));
        runs.with("b", |seen: &mut Vec<u32>| seen.push(2));
        let of_a = runs.with("a", |seen: &mut Vec<u32>| seen.clone());
        assert_eq!(of_a, [1]);
    }
}
