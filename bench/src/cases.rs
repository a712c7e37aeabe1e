//! The cases of the comparison: what each asks of both sides.

mod alone;
mod custom;
mod get;
mod large;
mod lists;
mod store;
mod watches;
mod writes;

pub use custom::WIDGETS;
pub use get::CONFIG_MAP;
pub use lists::SMALL as SMALL_PODS;

use crate::{
    compare::bench::Bench,
    compare::server::Server,
    error::Result,
    result::{Measurement, Shape, Side},
};

/// What stores hold while a case runs. Cases of a stage share servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stage {
    /// A ConfigMap and 1,000 pods in one namespace.
    Small,
    /// 10,000 pods in 10 namespaces over 100 nodes.
    Large,
    /// A definition of custom resources, and 1,000 of them.
    Custom,
    /// An empty store to write to.
    Writes,
    /// An almost empty store that is watched.
    Watches,
    /// The case starts the side itself, alone.
    Alone,
}

impl Stage {
    /// All, in the order they run.
    pub const ALL: [Stage; 6] =
        [Stage::Small, Stage::Custom, Stage::Writes, Stage::Watches, Stage::Large, Stage::Alone];

    /// What it is called in messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Stage::Small => "small store",
            Stage::Custom => "custom resources",
            Stage::Large => "large store",
            Stage::Writes => "writes",
            Stage::Watches => "watches",
            Stage::Alone => "one side alone",
        }
    }
}

/// One case.
pub struct Case {
    /// Its name, kebab-case, never changed: results of years are compared by it.
    pub name: String,
    /// What it does, in a sentence.
    pub about: String,
    /// What stores hold.
    pub stage: Stage,
    /// Shape of the load.
    pub shape: Shape,
    /// Whether nginx answers too.
    pub nginx: bool,
    /// How often it is run at most; a case that starts from the same state each time needs as many as all others.
    pub runs_max: u32,
    /// Sides it runs on.
    pub sides: &'static [Side],
    /// What is done.
    pub work: Box<dyn Work>,
}

/// What a case does to a side.
pub trait Work {
    /// Programs other than this one that it needs.
    fn programs(&self) -> &'static [&'static str];

    /// Refuses to compare sides that would not do the same work. Called once a case, with all sides going.
    fn check(&self, bench: &Bench, servers: &[Server]) -> Result<()>;

    /// Runs once on `server`. `None` only in [`Stage::Alone`].
    fn run(&self, bench: &Bench, case: &Case, side: Side, server: Option<&Server>) -> Result<Measurement>;
}

/// All cases, in the order they run within their stages; `large` pods are in the large store.
#[must_use]
pub fn all(large: usize) -> Vec<Case> {
    // Of the large store, memory at rest comes before anything is asked of it.
    [
        get::cases(),
        large::cases(large),
        lists::cases(large),
        custom::cases(),
        writes::cases(),
        watches::cases(),
        alone::cases(),
        store::cases(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::budget::BUDGETS;

    #[test]
    fn names_are_one_each_and_kebab_case() {
        let cases = super::all(10_000);
        let names: BTreeSet<&str> = cases.iter().map(|case| case.name.as_str()).collect();
        assert_eq!(names.len(), cases.len());
        let good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        assert!(names.iter().all(|name| name.chars().all(good)), "{names:?}");
    }

    #[test]
    fn every_budget_has_its_case() {
        let cases = super::all(10_000);
        for budget in BUDGETS {
            assert!(cases.iter().any(|case| case.name == budget.case), "{}", budget.case);
        }
    }
}
