//! The extensions server: CustomResourceDefinitions, and the resources that they define.
#![forbid(unsafe_code)]

mod catalog;
mod controllers;
pub mod conversion;
pub mod custom_resource;
pub mod definition;
mod ending;
pub mod limits;
mod server;

pub use conversion::ConverterFactory;
pub use server::ExtensionsServer;
