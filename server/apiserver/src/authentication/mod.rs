//! Who asks: front proxies, client certificates, tokens, the anonymous user, in the order kube-apiserver tries them.

mod anonymous;
mod bearer;
pub mod bootstrap_token;
mod csv;
pub mod current;
mod peer;
pub mod request_header;
pub mod service_account;
pub mod token_file;
pub mod user;
mod websocket;
pub mod x509;
mod x509_path;

use std::sync::Arc;

use ringbolt_protocol::head::Head;

pub use self::{anonymous::Anonymous, peer::Peer, user::UserInfo};
use self::{
    bearer::{Bearer, EXTRA_SPACE},
    bootstrap_token::BootstrapTokens,
    current::Current,
    peer::Bad,
    request_header::RequestHeader,
    service_account::{Accepted, Lookup, ServiceAccountTokens},
    token_file::TokenFile,
    x509::ClientCertificates,
};

/// The union of all authenticators that are set up.
#[derive(Debug)]
pub struct Authenticators {
    /// `--requestheader-client-ca-file`
    pub request_header: Option<RequestHeader>,
    /// `--client-ca-file`
    pub client_certificates: Option<Arc<Current<ClientCertificates>>>,
    /// `--token-auth-file`
    pub tokens: Option<Arc<Current<TokenFile>>>,
    /// Tokens that this server issues.
    pub service_accounts: Option<ServiceAccountTokens>,
    /// `--enable-bootstrap-token-auth`
    pub bootstrap_tokens: Option<BootstrapTokens>,
    /// `--anonymous-auth`, or what `--authentication-config` says of it.
    pub anonymous: Anonymous,
}

/// Why nobody is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Nothing was shown, and the anonymous user may not ask for this.
    Unknown,
    /// What was shown is no good.
    Failed,
}

impl Authenticators {
    /// Whether a header, by its name in lower case, is one of those in which front proxies say who asks.
    pub fn is_of_front_proxies(&self, name: &str) -> bool {
        self.request_header.as_ref().is_some_and(|proxies| proxies.reads(name))
    }

    /// A union of what every server has; the rest is set in it.
    pub fn new(
        client_certificates: Option<ClientCertificates>,
        tokens: Option<TokenFile>,
        anonymous: Anonymous,
    ) -> Self {
        Authenticators {
            request_header: None,
            client_certificates: client_certificates.map(|trust| Arc::new(Current::new(trust))),
            tokens: tokens.map(|tokens| Arc::new(Current::new(tokens))),
            service_accounts: None,
            bootstrap_tokens: None,
            anonymous,
        }
    }

    /// Who asks for `path`; a refusal is a 401. A bad credential is forgiven where another one is good, and else never
    /// turns into the anonymous user.
    pub fn authenticate(
        &self,
        peer: &Peer,
        head: &Head<'_>,
        path: &str,
        at: &Lookup<'_>,
    ) -> Result<Arc<UserInfo>, Refusal> {
        let mut failed = false;
        let mut known = |found: Result<Option<Arc<UserInfo>>, Bad>| {
            found.unwrap_or_else(|Bad| {
                failed = true;
                None
            })
        };
        let found = known(self.by_request_header(peer, head, at.now))
            .or_else(|| known(self.by_certificate(peer, at.now)))
            .or_else(|| known(self.by_header(head, at)))
            .or_else(|| known(self.by_subprotocol(head, at)));
        match found {
            Some(user) => Ok(user),
            None if failed => Err(Refusal::Failed),
            None => self.anonymous.user(path).ok_or(Refusal::Unknown),
        }
    }

    /// Whom a token stands for, and for which of `asked` it is; of `own`, whom this server is to tokens, where none are
    /// asked. Not the other authenticators: a review has no connection.
    ///
    /// # Errors
    /// It does not count: all that the authenticators have to say about it. Nothing is said where there is no token.
    pub fn review(
        &self,
        token: &str,
        asked: &[String],
        own: &[String],
        at: &Lookup<'_>,
    ) -> Result<Accepted, String> {
        const INVALID: &str = "invalid bearer token";
        let header = format!("Bearer {token}");
        let Bearer::Token(token) = bearer::parse(header.as_bytes()) else {
            // What is no token is nothing bad either.
            let user = self.anonymous.user_without_path().ok_or_else(String::new)?;
            return Ok((user, if asked.is_empty() { own } else { asked }.to_vec()));
        };
        let token = std::str::from_utf8(token).map_err(|_| INVALID)?;
        // Those that say nothing of audiences are for the server's own.
        let for_all: Vec<String> = match asked {
            [] => own.to_vec(),
            asked => own.iter().filter(|audience| asked.contains(audience)).cloned().collect(),
        };
        let is_for_any = !for_all.is_empty() || (own.is_empty() && asked.is_empty());
        let fixed = || self.tokens.as_ref().and_then(|tokens| tokens.load().authenticate(token).cloned());
        if let Some(user) = is_for_any.then(fixed).flatten() {
            return Ok((user, for_all));
        }
        let issued = self.service_accounts.as_ref().map_or(Ok(None), |a| a.review(token, asked, at));
        let error = match issued {
            Ok(Some(accepted)) => return Ok(accepted),
            Ok(None) => INVALID.to_owned(),
            Err(error) => format!("[{INVALID}, {error}]"),
        };
        let bootstrap = || self.bootstrap_tokens.and_then(|tokens| tokens.user(token, at));
        is_for_any.then(bootstrap).flatten().map(|user| (user, for_all)).ok_or(error)
    }

    fn by_request_header(
        &self,
        peer: &Peer,
        head: &Head<'_>,
        now: i64,
    ) -> Result<Option<Arc<UserInfo>>, Bad> {
        self.request_header.as_ref().map_or(Ok(None), |proxies| proxies.authenticate(peer, head, now))
    }

    fn by_certificate(&self, peer: &Peer, now: i64) -> Result<Option<Arc<UserInfo>>, Bad> {
        let Some(trust) = &self.client_certificates else { return Ok(None) };
        if peer.certificates.is_empty() {
            return Ok(None);
        }
        peer.user.by(trust, now, |authorities| {
            let found = authorities.authenticate(&peer.certificates, now)?;
            Ok((found.user.map(Arc::new), found.not_after))
        })
    }

    /// Whether tokens are looked at.
    fn take_tokens(&self) -> bool {
        self.tokens.is_some() || self.service_accounts.is_some() || self.bootstrap_tokens.is_some()
    }

    fn by_header(&self, head: &Head<'_>, at: &Lookup<'_>) -> Result<Option<Arc<UserInfo>>, Bad> {
        if !self.take_tokens() {
            return Ok(None);
        }
        match bearer::of_head(head) {
            Bearer::None => Ok(None),
            Bearer::ExtraSpace => {
                at.warn(EXTRA_SPACE);
                Ok(None)
            }
            Bearer::Token(token) => {
                let token = std::str::from_utf8(token).map_err(|_| Bad)?;
                self.by_token(token, at).map(Some)
            }
        }
    }

    fn by_subprotocol(&self, head: &Head<'_>, at: &Lookup<'_>) -> Result<Option<Arc<UserInfo>>, Bad> {
        if !self.take_tokens() {
            return Ok(None);
        }
        websocket::token(head)?.map(|token| self.by_token(&token, at)).transpose()
    }

    fn by_token(&self, token: &str, at: &Lookup<'_>) -> Result<Arc<UserInfo>, Bad> {
        let fixed = self.tokens.as_ref().and_then(|tokens| tokens.load().authenticate(token).cloned());
        if let Some(user) = fixed {
            return Ok(user);
        }
        let issued = self.service_accounts.as_ref().map_or(Ok(None), |tokens| tokens.user(token, at));
        let issued = issued.unwrap_or_else(|error| {
            tracing::info!(%error, "unable to authenticate the request");
            None
        });
        issued.or_else(|| self.bootstrap_tokens.and_then(|tokens| tokens.user(token, at))).ok_or(Bad)
    }
}

#[cfg(test)]
mod tests;
