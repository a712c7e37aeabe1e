//! The aggregator: APIServices, and the servers behind them.
#![forbid(unsafe_code)]
