//! What the filters and handlers get to see of a request.

use std::{cell::RefCell, time::Instant};

use bytes::Bytes;
use ringbolt_protocol::{head::Head, request_info::RequestInfo};

use crate::{authentication::UserInfo, core::CoreContext};

/// A request on its way through the filter chain. Borrows from the connection's buffers; whatever must outlive
/// the first poll of a handler is copied by that handler.
pub struct Request<'r> {
    /// The head.
    pub head: Head<'r>,
    /// What Kubernetes reads from method, path and query.
    pub info: RequestInfo<'r>,
    /// The whole body; empty where none was sent.
    pub body: Bytes,
    /// Who asks. The anonymous user until authentication has run.
    pub user: &'r UserInfo,
    /// When the head was complete.
    pub received: Instant,
    /// When the answer must be there; `None` for long-running requests.
    pub deadline: Option<Instant>,
    /// The core it runs on.
    pub core: &'r CoreContext,
    /// Texts for `Warning: 299` headers.
    pub warnings: &'r RefCell<Vec<String>>,
}
