//! The kind APIService: what is decided about its objects, and how the aggregator reads them.

use ringbolt_controlplane::registry::Foreign;

mod condition;
mod defaults;
mod printer;
mod strategy;
mod validation;
mod view;

pub use self::{
    condition::{Available, local_available},
    defaults::fill,
    printer::PRINTER,
    strategy::{ApiServiceStrategy, STRATEGY},
    view::{AUTOMANAGED, ApiService, ServiceReference},
};

/// The group.
pub const GROUP: &str = "apiregistration.k8s.io";
/// The version.
pub const VERSION: &str = "v1";
/// The resource.
pub const RESOURCE: &str = "apiservices";
/// Where the objects are.
pub const PATH: &str = "/apis/apiregistration.k8s.io/v1/apiservices";
/// The APIService of the core group, which has no name.
pub const LEGACY: &str = "v1.";

/// What the registry of resources is told of the kind.
pub fn served() -> Foreign {
    Foreign { group: GROUP, resource: RESOURCE, strategy: &STRATEGY, defaulter: fill, printer: &PRINTER }
}
