//! The aggregator: APIServices, and the servers behind them.
#![forbid(unsafe_code)]

pub mod api_service;
