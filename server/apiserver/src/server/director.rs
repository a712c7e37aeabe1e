//! The end of the filter chain: the route table.

use std::sync::Arc;

use arc_swap::ArcSwap;

use super::monitor;
use crate::{
    filters::Handler,
    metrics::Metrics,
    request::Request,
    response::Outcome,
    response_writers,
    routes::{Route, RouteTable},
};

/// Routes by the table that was published last, and counts what comes of it.
#[derive(Clone)]
pub struct Director {
    /// The table.
    pub table: Arc<ArcSwap<RouteTable>>,
    /// What is counted.
    pub metrics: Arc<Metrics>,
}

impl Handler for Director {
    #[inline]
    fn serve(&self, request: &Request<'_>) -> Outcome {
        let table = self.table.load();
        if request.state.discovery_incomplete.get()
            && matches!(table.lookup(request.info, request.info.path), Route::NotFound)
        {
            return Outcome::Ready(response_writers::discovery_incomplete(request.head));
        }
        let outcome = table.serve(request);
        monitor::observe(&self.metrics, request, &outcome, || table.knows(request.info));
        outcome
    }

    #[inline]
    fn relays(&self, request: &Request<'_>) -> bool {
        self.table.load().relays(request.info, request.info.path)
    }
}
