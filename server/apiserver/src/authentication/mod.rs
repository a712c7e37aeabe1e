//! Who asks: client certificates, tokens, the anonymous user, in the order kube-apiserver tries them.

mod csv;
pub mod service_account;
pub mod token_file;
pub mod user;
pub mod x509;

use std::{cell::RefCell, sync::Arc};

use ringbolt_protocol::head::Head;
use rustls_pki_types::CertificateDer;

pub use self::user::UserInfo;
use self::{
    service_account::{Lookup, ServiceAccountTokens},
    token_file::TokenFile,
    x509::ClientCertificates,
};
use crate::limits;

/// The other end of a connection, as far as TLS has proved it.
#[derive(Debug, Default)]
pub struct Peer {
    certificates: Vec<CertificateDer<'static>>,
    verdict: RefCell<Option<Verdict>>,
}

/// What was found of the peer's certificate, and until when that may be believed.
#[derive(Debug)]
struct Verdict {
    user: Option<Arc<UserInfo>>,
    until: i64,
}

impl Peer {
    /// A peer that showed these certificates, its own first; none for a peer without.
    pub fn new(certificates: Vec<CertificateDer<'static>>) -> Self {
        Peer { certificates, verdict: RefCell::default() }
    }
}

/// The union of all authenticators that are set up.
#[derive(Debug)]
pub struct Authenticators {
    /// `--client-ca-file`
    pub client_certificates: Option<ClientCertificates>,
    /// `--token-auth-file`
    pub tokens: Option<TokenFile>,
    /// Tokens that this server issues.
    pub service_accounts: Option<ServiceAccountTokens>,
    /// `--anonymous-auth`
    pub anonymous: bool,
    anonymous_user: Arc<UserInfo>,
}

/// What the headers say of a bearer token.
#[derive(Debug, PartialEq, Eq)]
enum Bearer<'h> {
    None,
    /// More than one blank in front of the token: it is ignored, with a warning.
    ExtraSpace,
    Token(&'h str),
}

const EXTRA_SPACE: &str =
    "the provided Authorization header contains extra space before the bearer token, and is ignored";

impl Authenticators {
    /// A union of what is given.
    pub fn new(
        client_certificates: Option<ClientCertificates>,
        tokens: Option<TokenFile>,
        anonymous: bool,
    ) -> Self {
        let anonymous_user = Arc::new(UserInfo::anonymous());
        Authenticators { client_certificates, tokens, service_accounts: None, anonymous, anonymous_user }
    }

    /// Who asks; `None` is a 401. A bad credential is forgiven where another one is good, and else never turns into the
    /// anonymous user.
    pub fn authenticate(
        &self,
        peer: &Peer,
        head: &Head<'_>,
        warnings: &RefCell<Vec<String>>,
        at: &Lookup<'_>,
    ) -> Option<Arc<UserInfo>> {
        let mut failed = false;
        match self.by_certificate(peer, at.now) {
            Ok(Some(user)) => return Some(user),
            Ok(None) => {}
            Err(()) => failed = true,
        }
        if self.tokens.is_some() || self.service_accounts.is_some() {
            match bearer(head) {
                Bearer::None => {}
                Bearer::ExtraSpace => warnings.borrow_mut().push(EXTRA_SPACE.to_owned()),
                Bearer::Token(token) => match self.by_token(token, at) {
                    Some(user) => return Some(user),
                    None => failed = true,
                },
            }
        }
        (self.anonymous && !failed).then(|| self.anonymous_user.clone())
    }

    fn by_token(&self, token: &str, at: &Lookup<'_>) -> Option<Arc<UserInfo>> {
        if let Some(user) = self.tokens.as_ref().and_then(|tokens| tokens.authenticate(token)) {
            return Some(user.clone());
        }
        self.service_accounts.as_ref()?.user(token, at).unwrap_or_else(|error| {
            tracing::info!(%error, "unable to authenticate the request");
            None
        })
    }

    /// Verifies once and believes the verdict for a while: a connection makes many requests.
    fn by_certificate(&self, peer: &Peer, now: i64) -> Result<Option<Arc<UserInfo>>, ()> {
        let Some(trust) = &self.client_certificates else { return Ok(None) };
        if peer.certificates.is_empty() {
            return Ok(None);
        }
        if let Some(verdict) = &*peer.verdict.borrow()
            && now < verdict.until
        {
            return Ok(verdict.user.clone());
        }
        match trust.authenticate(&peer.certificates, now) {
            Ok(found) => {
                let until = found.not_after.min(now + limits::CERTIFICATE_VERDICT_SECONDS);
                let user = found.user.map(Arc::new);
                *peer.verdict.borrow_mut() = Some(Verdict { user: user.clone(), until });
                Ok(user)
            }
            Err(error) => {
                *peer.verdict.borrow_mut() = None;
                tracing::info!(%error, "unable to authenticate the request");
                Err(())
            }
        }
    }
}

/// The bearer token of the first `Authorization` header.
fn bearer<'h>(head: &Head<'h>) -> Bearer<'h> {
    let Some(value) = head.header("authorization").and_then(|v| std::str::from_utf8(v).ok()) else {
        return Bearer::None;
    };
    let mut words = value.trim().splitn(3, ' ');
    match (words.next(), words.next(), words.next()) {
        (Some(scheme), Some(token), third) if scheme.eq_ignore_ascii_case("bearer") => match (token, third) {
            ("", Some(_)) => Bearer::ExtraSpace,
            ("", None) => Bearer::None,
            (token, _) => Bearer::Token(token),
        },
        _ => Bearer::None,
    }
}

#[cfg(test)]
mod tests {
    use ringbolt_protocol::head::{BodyLength, HeaderSpan, Span, Version};

    use super::*;

    fn with_authorization<T>(value: &str, test: impl FnOnce(&Head<'_>) -> T) -> T {
        let buffer = format!("Authorization{value}");
        let name = Span { start: 0, end: 13 };
        let value = Span { start: 13, end: buffer.len() as u32 };
        test(&Head {
            buffer: buffer.as_bytes(),
            method: "GET",
            target: "/",
            authority: "",
            version: Version::Http11,
            headers: &[HeaderSpan { name, value }],
            body: BodyLength::None,
        })
    }

    #[test]
    fn bearer_tokens() {
        let check = |value: &str, expect: Bearer<'_>| {
            with_authorization(value, |head| assert_eq!(bearer(head), expect, "{value:?}"));
        };
        check("Bearer t", Bearer::Token("t"));
        check("bearer t", Bearer::Token("t"));
        check("BEARER t more", Bearer::Token("t"));
        check("Bearer", Bearer::None);
        check("Bearer ", Bearer::None);
        check("Bearer  t", Bearer::ExtraSpace);
        check("Basic t", Bearer::None);
        check("", Bearer::None);
    }

    #[test]
    fn union() {
        let check = |anonymous: bool, value: &str, expect: Option<&str>| {
            let tokens = TokenFile::parse("good,alice,1").expect("three columns");
            let union = Authenticators::new(None, Some(tokens), anonymous);
            let warnings = RefCell::default();
            let storage = service_account::empty_store();
            let verified = service_account::VerifiedTokens::default();
            let at = Lookup { storage: &*storage, verified: &verified, now: 0 };
            let found =
                with_authorization(value, |head| union.authenticate(&Peer::default(), head, &warnings, &at));
            assert_eq!(found.as_ref().map(|u| u.name.as_str()), expect, "{value:?}");
            warnings.into_inner()
        };
        assert!(check(true, "Bearer good", Some("alice")).is_empty());
        check(true, "Bearer bad", None);
        check(true, "Basic bad", Some("system:anonymous"));
        check(false, "Basic bad", None);
        check(false, "Bearer good", Some("alice"));
        assert_eq!(check(true, "Bearer  good", Some("system:anonymous")), [EXTRA_SPACE]);
    }
}
