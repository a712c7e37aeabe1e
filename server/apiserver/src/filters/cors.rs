//! Lets pages of other origins ask: `--cors-allowed-origins`.

use std::sync::Arc;

use bytes::Bytes;
use regex::Regex;

use super::{Filter, Handler};
use crate::{
    request::Request,
    response::{Outcome, Response},
};

/// Tells browsers whether a page may read the answer, and answers their questions before the request itself.
pub struct Cors {
    allowed_origins: Arc<[Regex]>,
}

impl Cors {
    /// Without origins it does nothing.
    pub fn new(allowed_origins: Arc<[Regex]>) -> Self {
        Cors { allowed_origins }
    }

    fn allows(&self, origin: &[u8]) -> bool {
        // Like Go's, which takes bytes that are no UTF-8 for replacement characters.
        let origin = String::from_utf8_lossy(origin);
        self.allowed_origins.iter().any(|allowed| allowed.is_match(&origin))
    }
}

impl Filter for Cors {
    #[inline]
    fn filter<N: Handler>(&self, request: &Request<'_>, next: &N) -> Outcome {
        if self.allowed_origins.is_empty() || request.state.is_known() {
            return next.serve(request);
        }
        let origin = request.head.header("origin").filter(|origin| !origin.is_empty());
        let Some(origin) = origin.filter(|origin| self.allows(origin)) else { return next.serve(request) };
        let fixed = |text: &'static str| Bytes::from_static(text.as_bytes());
        request.state.headers.borrow_mut().extend([
            ("access-control-allow-origin", Bytes::copy_from_slice(origin)),
            ("access-control-allow-methods", fixed("POST, GET, OPTIONS, PUT, DELETE, PATCH")),
            (
                "access-control-allow-headers",
                fixed(
                    "Content-Type, Content-Length, Accept-Encoding, X-CSRF-Token, Authorization, \
                     X-Requested-With, If-Modified-Since",
                ),
            ),
            ("access-control-expose-headers", fixed("Date")),
            ("access-control-allow-credentials", fixed("true")),
        ]);
        if request.head.method == "OPTIONS" {
            return Outcome::Ready(Response { status: 204, ..Response::default() });
        }
        next.serve(request)
    }
}
