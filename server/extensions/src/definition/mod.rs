//! The kind CustomResourceDefinition: what is decided about its objects, and how the server reads them.

mod approval;
mod condition;
mod defaults;
mod internal;
mod printer;
mod strategy;
mod validation;
mod view;
mod walk;
mod warnings;

use ringbolt_controlplane::registry::Foreign;

pub(crate) use self::{
    approval::{ANNOTATION, Approval, is_protected},
    condition::{Condition, find as find_condition, remove as remove_condition},
    view::{Definition, Names},
};
pub use self::{
    defaults::fill,
    printer::PRINTER,
    strategy::{DefinitionStrategy, STRATEGY},
};

/// CustomResourceDefinitions, as the registry serves them.
pub fn served() -> Foreign {
    Foreign { group: GROUP, resource: RESOURCE, strategy: &STRATEGY, defaulter: fill, printer: &PRINTER }
}

/// The group.
pub const GROUP: &str = "apiextensions.k8s.io";
/// The version.
pub const VERSION: &str = "v1";
/// The resource.
pub const RESOURCE: &str = "customresourcedefinitions";
/// Where the objects are.
pub const PATH: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
/// The finalizer that holds a definition until its objects are gone.
pub const CLEANUP_FINALIZER: &str = "customresourcecleanup.apiextensions.k8s.io";
