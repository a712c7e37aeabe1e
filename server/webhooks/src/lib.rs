//! Admission webhooks: servers that `MutatingWebhookConfiguration` and `ValidatingWebhookConfiguration` name, which are
//! asked about writes before they are carried out.
#![forbid(unsafe_code)]

mod ask;
mod base64;
mod conditions;
mod configuration;
mod failure;
mod invoke;
pub mod limits;
mod metrics;
mod mutating;
mod patch;
mod plugin;
mod response;
mod source;
mod stored;
mod validating;

use self::plugin::{Hooks, Plugin};
pub use self::{
    metrics::Metrics,
    plugin::{WebhookResources, Webhooks, install},
};
