//! Why a call came to nothing, in the words that people know from Go.

use std::{error::Error, fmt, io};

/// What went wrong, for who decides by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// There is no connection.
    Dial,
    /// Nobody knows the host's address.
    Lookup,
    /// The other end is not who it should be, or does not speak TLS.
    Tls,
    /// The connection ended.
    Closed,
    /// What came is no answer.
    Protocol,
    /// It took too long.
    Timeout,
    /// There are too many calls.
    Busy,
    /// The answer is longer than it may be.
    TooLong,
    /// It would have gone where it must not.
    NotAllowed,
}

/// A failed call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallError {
    /// What went wrong.
    pub failure: Failure,
    /// How, for people.
    pub text: String,
}

impl CallError {
    pub(crate) fn new(failure: Failure, text: impl Into<String>) -> Self {
        CallError { failure, text: text.into() }
    }

    pub(crate) fn busy() -> Self {
        CallError::new(Failure::Busy, "too many calls are in work")
    }

    pub(crate) fn not_allowed() -> Self {
        CallError::new(Failure::NotAllowed, "address not allowed")
    }

    /// A connection to `address` that did not come about.
    pub(crate) fn dial(address: &str, error: &io::Error) -> Self {
        CallError::new(Failure::Dial, format!("dial tcp {address}: {}", dial_text(error)))
    }

    /// A host whose address nobody knows.
    pub(crate) fn lookup(host: &str) -> Self {
        CallError::new(Failure::Lookup, format!("dial tcp: lookup {host}: no such host"))
    }

    /// A handshake that failed.
    pub(crate) fn tls(error: &io::Error) -> Self {
        let of_tls = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
        match of_tls {
            Some(error) => CallError::new(Failure::Tls, tls_text(error)),
            None => CallError::new(Failure::Closed, io_text(error)),
        }
    }

    /// An exchange that failed.
    pub(crate) fn exchange(error: &hyper::Error) -> Self {
        if let Some(of_io) = source_of::<io::Error>(error) {
            if let Some(of_tls) = of_io.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
                return CallError::new(Failure::Tls, tls_text(of_tls));
            }
            return CallError::new(Failure::Closed, io_text(of_io));
        }
        if error.is_incomplete_message() || error.is_canceled() || error.is_closed() {
            return CallError::new(Failure::Closed, "EOF");
        }
        if error.is_timeout() {
            return CallError::new(Failure::Timeout, "http2: client connection lost");
        }
        let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
        CallError::new(Failure::Protocol, format!("malformed HTTP response: {error}{cause}"))
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Error for CallError {}

/// The first error of a type behind another.
fn source_of<'e, T: Error + 'static>(error: &'e (dyn Error + 'static)) -> Option<&'e T> {
    let mut next = error.source();
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        next = error.source();
    }
    None
}

fn dial_text(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::TimedOut => "i/o timeout".to_owned(),
        _ => format!("connect: {}", io_text(error)),
    }
}

fn io_text(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => "connection refused",
        io::ErrorKind::ConnectionReset => "connection reset by peer",
        io::ErrorKind::HostUnreachable => "no route to host",
        io::ErrorKind::NetworkUnreachable => "network is unreachable",
        io::ErrorKind::BrokenPipe => "broken pipe",
        io::ErrorKind::UnexpectedEof => "EOF",
        _ => return error.to_string(),
    }
    .to_owned()
}

/// What was wrong with a handshake.
pub(crate) fn tls_text(error: &rustls::Error) -> String {
    use rustls::{AlertDescription, CertificateError, Error, InvalidMessage};
    let verify = |why: String| format!("tls: failed to verify certificate: x509: {why}");
    match error {
        Error::InvalidCertificate(why) => match why {
            CertificateError::NotValidForName => verify("certificate is not valid for any names".to_owned()),
            CertificateError::NotValidForNameContext { expected, presented } => {
                let name = expected.to_str();
                verify(match presented.is_empty() {
                    true => format!("certificate is not valid for any names, but wanted to match {name}"),
                    false => format!("certificate is valid for {}, not {name}", names(presented)),
                })
            }
            CertificateError::Expired
            | CertificateError::ExpiredContext { .. }
            | CertificateError::NotValidYet
            | CertificateError::NotValidYetContext { .. } => {
                verify("certificate has expired or is not yet valid".to_owned())
            }
            CertificateError::UnknownIssuer | CertificateError::BadSignature => {
                verify("certificate signed by unknown authority".to_owned())
            }
            other => verify(format!("{other:?}")),
        },
        Error::AlertReceived(alert) => format!(
            "remote error: tls: {}",
            match alert {
                AlertDescription::BadCertificate => "bad certificate",
                AlertDescription::CertificateRequired => "certificate required",
                AlertDescription::CertificateUnknown => "unknown certificate",
                AlertDescription::CertificateExpired => "expired certificate",
                AlertDescription::UnknownCA => "unknown certificate authority",
                AlertDescription::HandshakeFailure => "handshake failure",
                AlertDescription::ProtocolVersion => "protocol version not supported",
                AlertDescription::UnrecognisedName => "unrecognized name",
                AlertDescription::InternalError => "internal error",
                other => return format!("remote error: tls: {other:?}"),
            }
        ),
        Error::InvalidMessage(
            InvalidMessage::InvalidContentType | InvalidMessage::UnknownProtocolVersion,
        ) => "http: server gave HTTP response to HTTPS client".to_owned(),
        other => format!("tls: {other}"),
    }
}

/// Names of a certificate as a list, without what kind of name each is.
fn names(presented: &[String]) -> String {
    let bare = |name: &String| {
        let inner = name.split_once("(\"").and_then(|(_, rest)| rest.strip_suffix("\")"));
        let inner = inner.or_else(|| name.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')')));
        inner.unwrap_or(name).to_owned()
    };
    presented.iter().map(bare).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_handshakes() {
        use rustls::{CertificateError, Error};
        let check = |error: Error, expect: &str| assert_eq!(tls_text(&error), expect);
        check(
            Error::InvalidCertificate(CertificateError::UnknownIssuer),
            "tls: failed to verify certificate: x509: certificate signed by unknown authority",
        );
        check(
            Error::InvalidCertificate(CertificateError::NotValidForNameContext {
                expected: "api.ns.svc".try_into().unwrap(),
                presented: vec!["DnsName(\"a\")".to_owned(), "IpAddress(127.0.0.1)".to_owned()],
            }),
            "tls: failed to verify certificate: x509: certificate is valid for a, 127.0.0.1, not api.ns.svc",
        );
        check(
            Error::InvalidMessage(rustls::InvalidMessage::InvalidContentType),
            "http: server gave HTTP response to HTTPS client",
        );
        check(
            Error::AlertReceived(rustls::AlertDescription::UnknownCA),
            "remote error: tls: unknown certificate authority",
        );
    }

    #[test]
    fn texts_of_dials() {
        let check = |kind: io::ErrorKind, expect: &str| {
            assert_eq!(CallError::dial("10.0.0.1:443", &kind.into()).text, expect);
        };
        check(io::ErrorKind::ConnectionRefused, "dial tcp 10.0.0.1:443: connect: connection refused");
        check(io::ErrorKind::TimedOut, "dial tcp 10.0.0.1:443: i/o timeout");
        check(io::ErrorKind::HostUnreachable, "dial tcp 10.0.0.1:443: connect: no route to host");
    }
}
