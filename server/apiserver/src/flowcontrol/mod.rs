//! API Priority and Fairness (KEP-1040): which requests run now, which wait, which are turned away.

pub mod builtin;
pub mod config;
pub mod consumer;
pub mod objects;

use std::sync::Arc;

use arc_swap::ArcSwap;

use config::Config;

/// The one of the server: what it is configured to do. Cores look at it.
pub struct FlowControl {
    config: ArcSwap<Config>,
}

impl Default for FlowControl {
    fn default() -> Self {
        FlowControl { config: ArcSwap::from_pointee(Config::builtin()) }
    }
}

impl FlowControl {
    /// The configuration in force: that of a new cluster until another is published.
    pub fn config(&self) -> Arc<Config> {
        self.config.load_full()
    }

    /// Puts a configuration in force. Whoever reads the objects calls this after each change.
    pub fn publish(&self, config: Config) {
        self.config.store(Arc::new(config));
    }
}
