//! The server as a whole: configuration, delegation, hooks, life.

pub mod config;
pub mod cores;
pub mod delegation;
pub mod director;
pub mod draining;
pub mod generic_api_server;
pub mod health;
pub mod hooks;
pub mod lifecycle_signals;
pub mod monitor;
pub mod shutdown;
pub mod watched_files;

pub use self::{
    config::{CompletedConfig, Config, InsecureBench, SecureServing},
    delegation::{DelegationTarget, NotFound},
    generic_api_server::{GenericApiServer, PreparedGenericApiServer, RunningServer},
};
