//! What counts against a ResourceQuota, and how much: shared by the admission of writes and by the controller that
//! counts again.

mod calculator;
mod evaluator;
mod list;
mod pods;
mod scopes;

pub use calculator::Calculator;
pub(crate) use evaluator::Evaluator;
pub(crate) use list::ResourceList;
pub(crate) use scopes::selectors;
