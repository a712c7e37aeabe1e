//! Marks requests that came before all paths were installed.

use std::sync::Arc;

use super::{Filter, Handler};
use crate::{request::Request, response::Outcome, server::lifecycle_signals::LifecycleSignals};

/// Marks a request while [`LifecycleSignals::mux_and_discovery_complete`] has not happened, so that the not-found
/// handler answers 503 instead of 404.
pub struct MuxAndDiscoveryComplete(pub Arc<LifecycleSignals>);

impl Filter for MuxAndDiscoveryComplete {
    #[inline]
    fn filter<N: Handler>(&self, request: &Request<'_>, next: &N) -> Outcome {
        if !self.0.mux_and_discovery_complete.is_signaled() {
            request.state.discovery_incomplete.set(true);
        }
        next.serve(request)
    }
}
