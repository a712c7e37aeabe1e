//! Reads what the request is about.

use ringbolt_protocol::{path, request_info::RequestInfo};

use super::{Filter, Handler};
use crate::{request::Request, response::Outcome, response_writers};

/// Fills [`Request::info`].
pub struct WithRequestInfo;

impl Filter for WithRequestInfo {
    #[inline]
    fn filter<N: Handler>(&self, request: &Request<'_>, next: &N) -> Outcome {
        // Neither allocates unless something is escaped.
        let (mut path_scratch, mut name_scratch) = (Vec::new(), Vec::new());
        let head = &request.head;
        let Ok(path) = path::decode(head.path(), &mut path_scratch) else {
            return Outcome::Ready(response_writers::plain_error(400, "400 Bad Request").closing());
        };
        match RequestInfo::with_scratch(head.method, path, head.query(), &mut name_scratch) {
            Ok(info) => next.serve(&Request { info: &info, ..request.clone() }),
            Err(error) => {
                let why = format!("failed to create RequestInfo: {error}");
                Outcome::Ready(response_writers::internal_error(request.head, &why))
            }
        }
    }
}
