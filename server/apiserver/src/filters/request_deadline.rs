//! When an answer must be there: `--request-timeout`, or less by the `timeout` parameter.

use std::time::Duration;

use ringbolt_machinery::status::Status;
use ringbolt_protocol::query;

use super::{Filter, Handler};
use crate::{
    duration,
    request::{Request, is_long_running},
    response::Outcome,
    response_writers,
};

/// Sets [`Request::deadline`] of requests that are not long-running.
pub struct RequestDeadline {
    /// `--request-timeout`
    pub maximum: Duration,
}

impl Filter for RequestDeadline {
    #[inline]
    fn filter<N: Handler>(&self, request: &Request<'_>, next: &N) -> Outcome {
        if is_long_running(request.info) {
            return next.serve(request);
        }
        match self.timeout(request.head.query()) {
            Ok(timeout) => {
                let deadline = request.received.checked_add(timeout);
                request.state.deadline.set(deadline);
                next.serve(&Request { deadline, ..request.clone() })
            }
            Err(why) => {
                let status =
                    Status::bad_request(format!("invalid timeout specified in the request URL - {why}"));
                Outcome::Ready(response_writers::error(request.head, &status))
            }
        }
    }
}

impl RequestDeadline {
    /// No more than the maximum; 0 and less leave it to the server.
    fn timeout(&self, query: &str) -> Result<Duration, String> {
        if !query.contains("timeout") {
            return Ok(self.maximum);
        }
        let Some(text) = query::get(query, "timeout").filter(|text| !text.is_empty()) else {
            return Ok(self.maximum);
        };
        match u64::try_from(duration::parse(&text)?) {
            Ok(asked) if asked > 0 => Ok(Duration::from_nanos(asked).min(self.maximum)),
            _ => Ok(self.maximum),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts() {
        let filter = RequestDeadline { maximum: Duration::from_secs(60) };
        let check = |query: &str, expect: Result<u64, &str>| {
            let found = filter.timeout(query).map(|t| t.as_millis() as u64);
            assert_eq!(found, expect.map_err(str::to_owned), "{query}");
        };
        check("", Ok(60_000));
        check("timeout=", Ok(60_000));
        check("timeout=5s", Ok(5_000));
        check("watch=0&timeout=1500ms", Ok(1_500));
        check("timeout=5m", Ok(60_000));
        check("timeout=0s", Ok(60_000));
        check("timeout=-3s", Ok(60_000));
        check("timeoutSeconds=x", Ok(60_000));
        check("timeout=5", Err("time: missing unit in duration \"5\""));
    }
}
