//! What all connections of a core share.

use std::{cell::Cell, rc::Rc, sync::Arc, time::Duration};

use super::uploads::Uploads;
use crate::{
    authentication::UserInfo,
    core::CoreContext,
    filters::Handler,
    server::{director::Director, draining::Draining, lifecycle_signals::LifecycleSignals},
};

/// The place a connection lives in.
pub struct Site {
    /// The core.
    pub core: CoreContext,
    /// The whole chain, its type erased once.
    pub chain: Rc<dyn Handler>,
    /// The end of the chain alone, for requests of the server itself.
    pub director: Director,
    /// Memory of bodies on their way in, shared by all cores.
    pub uploads: Arc<Uploads>,
    /// `--request-timeout`: how long a body may take.
    pub request_timeout: Duration,
    /// `--http2-max-streams-per-connection`
    pub http2_streams_max: u32,
    /// Who asks before authentication has looked.
    pub nobody: UserInfo,
    /// The server's life.
    pub signals: Arc<LifecycleSignals>,
    /// What a shutdown waits for.
    pub shutdown: Arc<Draining>,
    /// The server is going down: watches end.
    pub draining: Cell<bool>,
}
