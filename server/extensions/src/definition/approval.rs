//! Groups of the Kubernetes community: who defines kinds in them says where that was approved.

use ringbolt_machinery::field::quote;

/// The annotation.
pub(crate) const ANNOTATION: &str = "api-approved.kubernetes.io";

const WHERE: &str = "see https://github.com/kubernetes/enhancements/pull/1111";

/// What the annotation says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Approval {
    Invalid,
    Approved,
    Bypassed,
    Missing,
}

/// Whether a group is the community's.
pub(crate) fn is_protected(group: &str) -> bool {
    ["k8s.io", "kubernetes.io"]
        .iter()
        .any(|domain| group.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.')))
}

impl Approval {
    /// What an annotation says, and in words.
    pub(crate) fn of(annotation: &str) -> (Approval, String) {
        let must = format!("protected groups must have approval annotation {}", quote(ANNOTATION));
        if annotation.is_empty() {
            return (Approval::Missing, format!("{must}, {WHERE}"));
        }
        if annotation.starts_with("unapproved") {
            return (Approval::Bypassed, format!("not approved: {}", quote(annotation)));
        }
        if is_url(annotation) {
            return (Approval::Approved, format!("approved in {annotation}"));
        }
        let or = "with either a URL or a reason starting with \"unapproved\"";
        (Approval::Invalid, format!("{must} {or}, {WHERE}"))
    }
}

/// Whether a text is a request URI with scheme and host to Go's `url.ParseRequestURI`.
fn is_url(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once("://") else { return false };
    let mut bytes = scheme.bytes();
    let scheme = bytes.next().is_some_and(|b| b.is_ascii_alphabetic())
        && bytes.all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b));
    let host = rest.split(['/', '?']).next().unwrap_or("");
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    let plain = |c: char| !c.is_ascii() || c.is_ascii_alphanumeric() || "-._~$&+=:!'()*,;[]<>\"%".contains(c);
    let port = match host.rsplit_once(':') {
        Some((_, port)) if !host.ends_with(']') => port.bytes().all(|b| b.is_ascii_digit()),
        _ => true,
    };
    let escaped = text.split('%').skip(1).all(|rest| {
        rest.len() >= 2 && rest.is_char_boundary(2) && rest[..2].bytes().all(|b| b.is_ascii_hexdigit())
    });
    let control = text.bytes().any(|b| b < 0x20 || b == 0x7f);
    scheme && !host.is_empty() && host.chars().all(plain) && port && escaped && !control
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups() {
        for (group, expect) in [
            ("k8s.io", true),
            ("a.k8s.io", true),
            ("kubernetes.io", true),
            ("a.b.kubernetes.io", true),
            ("xk8s.io", false),
            ("k8s.io.example.com", false),
            ("example.com", false),
        ] {
            assert_eq!(is_protected(group), expect, "{group}");
        }
    }

    #[test]
    fn annotations() {
        for (annotation, expect) in [
            ("", Approval::Missing),
            ("unapproved, experimental", Approval::Bypassed),
            ("https://github.com/kubernetes/enhancements/pull/1", Approval::Approved),
            ("https://", Approval::Invalid),
            ("github.com/x", Approval::Invalid),
            ("/x", Approval::Invalid),
            ("1a://b", Approval::Invalid),
            ("a://b c", Approval::Invalid),
            ("a://b/%zz", Approval::Invalid),
        ] {
            assert_eq!(Approval::of(annotation).0, expect, "{annotation}");
        }
    }
}
