//! Why a webhook kept a request from being carried out.

use ringbolt_machinery::{
    field::quote,
    status::{Reason, Status},
};

use super::response::Result as Given;

/// What a call came to, where that is not to go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// It could not be asked, or did not answer in a way that means something: `failurePolicy` decides.
    Calling {
        /// Why.
        reason: String,
        /// What metrics say of it.
        code: u16,
    },
    /// It refuses.
    Rejection(Status),
    /// What it was asked for, or said, cannot be done.
    Other(Status),
}

impl Failure {
    pub(crate) fn calling(reason: impl Into<String>, code: u16) -> Self {
        Failure::Calling { reason: reason.into(), code }
    }

    /// 500 for what is wrong with what a webhook wants.
    pub(crate) fn internal(why: impl Into<String>) -> Self {
        Failure::Other(Status::internal_error(why))
    }

    /// What the client is told.
    pub(crate) fn into_status(self, webhook: &str) -> Status {
        match self {
            Failure::Calling { reason, .. } => {
                Status::internal_error(format!("failed calling webhook {}: {reason}", quote(webhook)))
            }
            Failure::Rejection(status) | Failure::Other(status) => status,
        }
    }
}

/// The refusal of a webhook that said no (`ToStatusErr`).
pub(crate) fn refusal(webhook: &str, given: Option<Given>) -> Status {
    let denied = format!("admission webhook {} denied the request", quote(webhook));
    let mut status = given.map_or_else(|| Status::failure(0, Reason::Unknown, ""), |given| given.status);
    if status.code < 400 {
        status.code = 400;
    }
    status.success = false;
    status.message = match (&*status.message, status.reason.as_str()) {
        ("", "") => format!("{denied} without explanation"),
        ("", reason) => format!("{denied}: {reason}"),
        (message, _) => format!("{denied}: {message}"),
    };
    status
}

/// 400 for a dry run that a webhook cannot take part in.
pub(crate) fn no_dry_run(webhook: &str) -> Status {
    Status::bad_request(format!("admission webhook {} does not support dry run", quote(webhook)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals() {
        let check = |given: Option<(u16, Reason, &str)>, code: u16, message: &str| {
            let given =
                given.map(|(code, reason, message)| Given { status: Status::failure(code, reason, message) });
            let status = refusal("a.b.c", given);
            assert_eq!((status.code, &*status.message), (code, message));
        };
        check(None, 400, "admission webhook \"a.b.c\" denied the request without explanation");
        check(Some((200, Reason::Unknown, "no")), 400, "admission webhook \"a.b.c\" denied the request: no");
        check(
            Some((403, Reason::Forbidden, "")),
            403,
            "admission webhook \"a.b.c\" denied the request: Forbidden",
        );
        check(Some((599, Reason::Unknown, "m")), 599, "admission webhook \"a.b.c\" denied the request: m");
    }

    #[test]
    fn failed_calls_are_internal_errors() {
        let status = Failure::calling("failed to call webhook: x", 503).into_status("a.b.c");
        let message = "Internal error occurred: failed calling webhook \"a.b.c\": failed to call webhook: x";
        assert_eq!((status.code, &*status.message), (500, message));
    }
}
