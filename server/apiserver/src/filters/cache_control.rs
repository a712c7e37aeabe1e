//! `Cache-Control`: nothing of an API is for caches.

use super::{Filter, Handler};
use crate::{request::Request, response::Outcome};

/// Has the answer say `no-cache, private`, unless a handler says something else.
pub struct CacheControl;

/// What it says.
pub const VALUE: &[u8] = b"no-cache, private";

impl Filter for CacheControl {
    #[inline]
    fn filter<N: Handler>(&self, request: &Request<'_>, next: &N) -> Outcome {
        request.state.cache_control.set(true);
        next.serve(request)
    }
}
