//! Dynamic admission: what objects of `admissionregistration.k8s.io` say about other writes.
#![forbid(unsafe_code)]

mod authorizer;
mod base64;
pub mod limits;
mod metrics;
mod review;
mod stored;
mod webhook;

pub use self::{
    authorizer::{RequestAuthorizer, request_resource},
    metrics::Metrics,
    review::Review,
    webhook::{WebhookResources, Webhooks, install},
};
