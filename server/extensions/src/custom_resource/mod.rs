//! Custom resources: what a CustomResourceDefinition makes of the generic server.
//!
//! [`CustomResource::compile`] reads a definition once; what comes of it never changes. A definition that changes is
//! compiled anew, and what its objects were stored in before says the new one whether it has to look at them again.

mod compile;
mod kind;
mod openapi;
mod schemas;
mod strategy;

pub use self::{
    compile::{CompileError, CustomResource, Version},
    kind::Kind,
    openapi::describe,
    strategy::CustomStrategy,
};
