//! The main server: built-in groups, strategies, bootstrap objects.
#![forbid(unsafe_code)]

pub mod admission;
mod base64;
pub mod bootstrap;
mod clock;
mod conversion;
mod defaults;
pub mod dynamic;
mod limits;
mod network;
mod pod_resources;
pub mod policies;
mod printers;
mod quality_of_service;
mod quantity;
pub mod quota;
mod rbac;
pub mod registry;
mod seen;
mod semantic;
pub mod services;
mod strategy;
pub mod tree;
mod validation;
mod warnings;
pub mod webhook_client;
