//! The end of the filter chain: the route table.

use std::sync::Arc;

use arc_swap::ArcSwap;

use crate::{
    filters::Handler,
    request::Request,
    response::Outcome,
    response_writers,
    routes::{Route, RouteTable},
};

/// Routes by the table that was published last.
#[derive(Clone)]
pub struct Director(pub Arc<ArcSwap<RouteTable>>);

impl Handler for Director {
    #[inline]
    fn serve(&self, request: &Request<'_>) -> Outcome {
        let table = self.0.load();
        if request.state.discovery_incomplete.get()
            && matches!(
                table.lookup(&request.info, request.info.path),
                Route::NotFound | Route::UnknownResource
            )
        {
            return Outcome::Ready(response_writers::discovery_incomplete(&request.head));
        }
        table.serve(request)
    }
}
