//! The cases of the comparison: what each asks of both sides.

mod get;
mod lists;

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
    /// An empty store to write to.
    Writes,
    /// An almost empty store that is watched.
    Watches,
    /// The case starts the side itself, alone.
    Alone,
}

impl Stage {
    /// All, in the order they run.
    pub const ALL: [Stage; 5] = [Stage::Small, Stage::Writes, Stage::Watches, Stage::Large, Stage::Alone];

    /// What it is called in messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Stage::Small => "small store",
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

/// All cases, in the order they run within their stages.
#[must_use]
pub fn all() -> Vec<Case> {
    let mut all = get::cases();
    all.extend(lists::cases());
    all
}
