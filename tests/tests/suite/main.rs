//! Everything that needs a running server, in one binary so that it links once.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod aggregation;
mod authentication;
mod bootstrap;
mod clients;
mod cluster;
mod compat;
mod connections;
mod controllers;
mod conversion;
mod crash;
mod custom_kinds;
mod custom_resources;
mod definitions;
mod documents;
mod flow_schemas;
mod h2spec;
mod kubelets;
mod list_options;
mod matrix;
mod objects;
mod opaque;
mod overload;
mod policies;
mod roles;
mod serving_certificates;
mod shutdown;
mod startup;
mod token_request;
mod watchers;
mod webhooks;
mod wire;
