//! Names every request: the `Audit-ID` header.

use super::{Filter, Handler};
use crate::{
    request::{AuditId, Request},
    response::Outcome,
};

/// Takes the client's `Audit-ID`, or makes one.
pub struct AuditInit;

impl Filter for AuditInit {
    #[inline]
    fn filter<N: Handler>(&self, request: &Request<'_>, next: &N) -> Outcome {
        if request.state.is_known() {
            return next.serve(request);
        }
        let given = request.head.header("audit-id").filter(|id| !id.is_empty());
        *request.state.audit_id.borrow_mut() = match given {
            Some(id) => AuditId::Given(id.into()),
            None => AuditId::Made(request.core.uuid()),
        };
        next.serve(request)
    }
}
