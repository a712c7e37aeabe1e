//! What policies and webhooks have in common: what they are told of a request, whom their expressions ask, and the match
//! conditions of both.

mod asker;
mod conditions;
mod metrics;
mod review;
mod view;

pub(crate) use self::view::{NamespaceView, shown, stored_value};
pub use self::{
    asker::Asker,
    conditions::{MatchConditions, Matches},
    metrics::{ConditionMetrics, Counted},
    review::Review,
    view::View,
};
