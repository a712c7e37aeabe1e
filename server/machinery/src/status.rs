//! `metav1.Status`: every failure a client sees, by reason, with the HTTP code that goes with it.

mod constructors;
mod encode;
mod reasons;
#[cfg(test)]
mod tests;

pub use constructors::{OBJECT_MODIFIED, qualified};

/// `metav1.StatusReason`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// "" (no reason given)
    Unknown,
    /// 401
    Unauthorized,
    /// 403
    Forbidden,
    /// 404
    NotFound,
    /// 409, on create
    AlreadyExists,
    /// 409
    Conflict,
    /// 410, a list token or version too old
    Expired,
    /// 410
    Gone,
    /// 422
    Invalid,
    /// 504, retry
    ServerTimeout,
    /// 504, or 408 from the client
    Timeout,
    /// 429
    TooManyRequests,
    /// 400
    BadRequest,
    /// 405
    MethodNotAllowed,
    /// 406
    NotAcceptable,
    /// 413
    RequestEntityTooLarge,
    /// 415
    UnsupportedMediaType,
    /// 500
    InternalError,
    /// 503
    ServiceUnavailable,
    /// 507
    StoreReadError,
    /// One that somebody else gave.
    Other(&'static str),
}

impl Reason {
    /// As it stands in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Reason::Unknown => "",
            Reason::Unauthorized => "Unauthorized",
            Reason::Forbidden => "Forbidden",
            Reason::NotFound => "NotFound",
            Reason::AlreadyExists => "AlreadyExists",
            Reason::Conflict => "Conflict",
            Reason::Expired => "Expired",
            Reason::Gone => "Gone",
            Reason::Invalid => "Invalid",
            Reason::ServerTimeout => "ServerTimeout",
            Reason::Timeout => "Timeout",
            Reason::TooManyRequests => "TooManyRequests",
            Reason::BadRequest => "BadRequest",
            Reason::MethodNotAllowed => "MethodNotAllowed",
            Reason::NotAcceptable => "NotAcceptable",
            Reason::RequestEntityTooLarge => "RequestEntityTooLarge",
            Reason::UnsupportedMediaType => "UnsupportedMediaType",
            Reason::InternalError => "InternalError",
            Reason::ServiceUnavailable => "ServiceUnavailable",
            Reason::StoreReadError => "StorageReadError",
            Reason::Other(text) => text,
        }
    }
}

/// One cause of an Invalid status: `metav1.StatusCause`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// `FieldValueInvalid`, `FieldValueRequired`, …
    pub reason: &'static str,
    /// Message.
    pub message: String,
    /// Field path.
    pub field: String,
}

impl Cause {
    /// A cause that somebody else gave.
    pub fn given(reason: &str, message: String, field: String) -> Cause {
        Cause { reason: reasons::keep(reason), message, field }
    }
}

/// `metav1.StatusDetails`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Details {
    /// Name of the object.
    pub name: String,
    /// Group.
    pub group: String,
    /// Kind, or the plural resource where the error is about a resource.
    pub kind: String,
    /// Uid.
    pub uid: String,
    /// Causes.
    pub causes: Vec<Cause>,
    /// Seconds to wait; also sent as `Retry-After`. 0 is none.
    pub retry_after_seconds: u32,
}

/// A `metav1.Status`; `success` only in answers to DELETE and the like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// Success or Failure.
    pub success: bool,
    /// HTTP code.
    pub code: u16,
    /// Reason.
    pub reason: Reason,
    /// Message a person reads.
    pub message: String,
    /// `metadata.continue`: where a list whose token is too old may go on. Empty for none.
    pub continue_token: String,
    /// Details.
    pub details: Option<Box<Details>>,
}
