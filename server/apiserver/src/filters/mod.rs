//! The filter chain. [`chain`] shows it whole, outermost first.
//!
//! A chain is one static type: [`Layer`] inside [`Layer`] down to the director, with nothing erased and nothing
//! allocated between them. A filter works on the way in; what it must do when the answer leaves, possibly much
//! later, it leaves in the request's [`RequestState`](crate::request::RequestState).

pub mod audit_init;
pub mod authentication;
pub mod authorization;
pub mod cache_control;
pub mod chain;
pub mod cors;
pub mod goaway;
pub mod hsts;
pub mod impersonation;
pub mod max_in_flight;
pub mod mux_and_discovery;
pub mod panic_recovery;
pub mod priority_and_fairness;
pub mod request_body;
pub mod request_deadline;
pub mod request_info;
pub mod retry_after;
pub mod timeout;
pub mod wait_group;
pub mod warning;
pub mod watch_termination;

use crate::{request::Request, response::Outcome};

/// Whatever answers requests: a whole chain, or the director at its end.
pub trait Handler {
    /// Answers a request, or promises to.
    fn serve(&self, request: &Request<'_>) -> Outcome;
    /// Whether another server answers a request, whose body then goes there as it comes.
    fn relays(&self, request: &Request<'_>) -> bool {
        let _ = request;
        false
    }
}

/// One filter.
pub trait Filter {
    /// Answers itself, or lets `next` answer.
    fn filter<N: Handler>(&self, request: &Request<'_>, next: &N) -> Outcome;
}

/// A filter around a handler.
pub struct Layer<F, N> {
    /// The filter.
    pub filter: F,
    /// What it lets answer.
    pub next: N,
}

impl<F: Filter, N: Handler> Handler for Layer<F, N> {
    #[inline]
    fn serve(&self, request: &Request<'_>) -> Outcome {
        self.filter.filter(request, &self.next)
    }
    #[inline]
    fn relays(&self, request: &Request<'_>) -> bool {
        self.next.relays(request)
    }
}

impl<H: Handler + ?Sized> Handler for std::rc::Rc<H> {
    #[inline]
    fn serve(&self, request: &Request<'_>) -> Outcome {
        (**self).serve(request)
    }
    #[inline]
    fn relays(&self, request: &Request<'_>) -> bool {
        (**self).relays(request)
    }
}

/// Nests filters: `layers![a, b, c => handler]` asks `a` first.
#[macro_export]
macro_rules! layers {
    (=> $handler:expr) => { $handler };
    ($filter:expr, $($rest:tt)*) => {
        $crate::filters::Layer { filter: $filter, next: $crate::layers!($($rest)*) }
    };
}
