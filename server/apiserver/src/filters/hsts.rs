//! `Strict-Transport-Security`: `--strict-transport-security-directives`.

use bytes::Bytes;

use super::{Filter, Handler};
use crate::{request::Request, response::Outcome};

/// Has every answer say that this host speaks TLS only.
pub struct Hsts {
    directives: Option<Bytes>,
}

impl Hsts {
    /// Without directives it does nothing.
    pub fn new(directives: &[String]) -> Self {
        Hsts { directives: (!directives.is_empty()).then(|| directives.join("; ").into()) }
    }
}

impl Filter for Hsts {
    #[inline]
    fn filter<N: Handler>(&self, request: &Request<'_>, next: &N) -> Outcome {
        // The second time around it has been said.
        if let Some(directives) = &self.directives
            && !request.state.is_known()
        {
            request.state.headers.borrow_mut().push(("strict-transport-security", directives.clone()));
        }
        next.serve(request)
    }
}
