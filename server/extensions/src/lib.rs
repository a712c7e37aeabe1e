//! The extensions server: CustomResourceDefinitions, and the resources that they define.
#![forbid(unsafe_code)]

pub mod custom_resource;
pub mod definition;
pub mod limits;
