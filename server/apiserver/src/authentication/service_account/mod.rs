//! Tokens of service accounts: issued by this server, and known again.
//!
//! A token is a JSON Web Token. It counts if a key of this server signed it, it is for this server and of this time,
//! and its account and what else it is bound to are still there.

mod bound;
mod claims;
mod counts;
mod issue;
mod jwt;
pub mod keys;
mod legacy;
mod legacy_uses;
pub mod openid;
mod verified;

use std::{cell::RefCell, fmt, rc::Rc, sync::Arc};

use bumpalo::Bump;
use ringbolt_storage::{object::ResourceId, storage::Storage};

use self::{
    bound::{Bound, LEEWAY_SECONDS, Role},
    claims::BadClaim,
    counts::count,
    keys::PublicKey,
    verified::{VerifiedToken, digest},
};
pub use self::{
    claims::{Claims, Reference},
    counts::TokenCounts,
    issue::{EXTENDED_SECONDS, Issuer, WARN_ONLY_SECONDS},
    legacy_uses::{LAST_USED_LABEL, LegacyTokenUse, LegacyTokenUses},
    verified::VerifiedTokens,
};
use crate::{
    authentication::{UserInfo, user},
    limits::TOKEN_COUNTED_SECONDS,
};

/// Why a token does not count. Clients hear of it from a TokenReview only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenError(String);

impl TokenError {
    fn new(why: impl Into<String>) -> Self {
        TokenError(why.into())
    }
}

impl fmt::Display for TokenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TokenError {}

/// Whom a token stands for, and for which audiences it is.
pub type Accepted = (Arc<UserInfo>, Vec<String>);

/// The resources of what tokens are bound to.
#[derive(Clone, Copy, Debug)]
pub struct BoundKinds {
    /// Service accounts.
    pub service_accounts: ResourceId,
    /// Pods.
    pub pods: ResourceId,
    /// Secrets.
    pub secrets: ResourceId,
    /// Nodes.
    pub nodes: ResourceId,
}

/// Where a token is checked: the state it is held against, and what this core knows of tokens.
pub struct Lookup<'c> {
    /// The store.
    pub storage: &'c dyn Storage,
    /// The core's verified tokens.
    pub verified: &'c VerifiedTokens,
    /// Seconds since the epoch.
    pub now: i64,
    /// Texts for `Warning: 299` headers, where somebody reads them.
    pub warnings: Option<&'c RefCell<Vec<String>>>,
}

impl<'c> Lookup<'c> {
    /// A place where nobody reads warnings.
    pub fn new(storage: &'c dyn Storage, verified: &'c VerifiedTokens, now: i64) -> Self {
        Lookup { storage, verified, now, warnings: None }
    }

    pub(super) fn warn(&self, text: &str) {
        if let Some(warnings) = self.warnings {
            warnings.borrow_mut().push(text.to_owned());
        }
    }
}

/// Issues and checks tokens of service accounts.
pub struct ServiceAccountTokens {
    /// `--service-account-issuer`: those whose tokens count. The first is the one of new tokens.
    pub issuers: Vec<String>,
    /// `--service-account-key-file`
    pub keys: Vec<PublicKey>,
    /// `--api-audiences`, else the issuers: who this server is to tokens.
    pub audiences: Arc<[String]>,
    /// `--service-account-lookup`: whether tokens that lie in secrets are held against them.
    pub lookup: bool,
    /// Who issues new ones.
    pub issuer: Issuer,
    /// What tokens are bound to.
    pub kinds: BoundKinds,
    /// Uses of tokens that lie in secrets, to be written down there.
    pub uses: Arc<LegacyTokenUses>,
    /// What is counted.
    pub counts: Arc<TokenCounts>,
}

impl fmt::Debug for ServiceAccountTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServiceAccountTokens").field("issuers", &self.issuers).finish_non_exhaustive()
    }
}

impl ServiceAccountTokens {
    /// Whom a token stands for in a request to this server; `None` where it is not a token of an account.
    ///
    /// # Errors
    /// It is one, and does not count.
    pub fn user(&self, token: &str, at: &Lookup<'_>) -> Result<Option<Arc<UserInfo>>, TokenError> {
        let Some(verified) = self.verify(token, at)? else { return Ok(None) };
        if !verified.for_server {
            return Err(wrong_audience(self.audiences_of(&verified.claims), &self.audiences));
        }
        self.check(&verified, token, at)?;
        Ok(Some(verified.user.clone()))
    }

    /// Whom a token stands for, and for which of `asked` it is; of this server's own audiences where none are asked.
    ///
    /// # Errors
    /// It does not count.
    pub fn review(
        &self,
        token: &str,
        asked: &[String],
        at: &Lookup<'_>,
    ) -> Result<Option<Accepted>, TokenError> {
        let Some(verified) = self.verify(token, at)? else { return Ok(None) };
        let (own, asked) =
            (self.audiences_of(&verified.claims), if asked.is_empty() { &*self.audiences } else { asked });
        let both: Vec<String> = own.iter().filter(|a| asked.contains(a)).cloned().collect();
        if both.is_empty() {
            return Err(wrong_audience(own, asked));
        }
        self.check(&verified, token, at)?;
        Ok(Some((verified.user.clone(), both)))
    }

    /// Whom a token is for: old ones that do not say are for this server.
    fn audiences_of<'t>(&'t self, claims: &'t Claims) -> &'t [String] {
        if claims.audiences.is_empty() { &self.audiences } else { &claims.audiences }
    }

    /// Finds out whether a key of this server signed a token. `None` where it claims to be of nobody known here.
    fn verify(&self, token: &str, at: &Lookup<'_>) -> Result<Option<Rc<VerifiedToken>>, TokenError> {
        let digest = digest(token);
        if let Some(known) = at.verified.get(&digest) {
            return Ok(Some(known));
        }
        let is_known = |issuer: &str| issuer == legacy::ISSUER || self.issuers.iter().any(|i| i == issuer);
        if !jwt::issuer(token, is_known) {
            return Ok(None);
        }
        let arena = Bump::new();
        let Some(parsed) = jwt::parse(&arena, token) else { return Ok(None) };
        let mut keys =
            self.keys.iter().filter(|key| parsed.key.is_empty() || key.id() == parsed.key).peekable();
        if keys.peek().is_none() {
            return Err(TokenError::new("invalid signature, no keys found"));
        }
        let is_signed =
            keys.any(|key| key.verify(parsed.algorithm, parsed.signed.as_bytes(), &parsed.signature));
        if !is_signed || parsed.is_extended {
            return Err(TokenError::new("go-jose/go-jose: error in cryptographic primitive"));
        }
        if let Some(member) = parsed.twice {
            return Err(TokenError::new(format!("json: duplicate key '{member}' in object")));
        }
        let bad = |claim: BadClaim| TokenError::new(claim.to_string());
        let verified = if parsed.payload.get("iss").and_then(|i| i.as_str()) == Some(legacy::ISSUER) {
            legacy::read(&parsed.payload, &self.kinds, self.lookup).map_err(bad)?
        } else {
            let claims = Claims::read(&parsed.payload).map_err(bad)?;
            let bound = self.bound(&claims);
            let user = Arc::new(user_of(&claims));
            VerifiedToken::new(claims, user, bound)
        };
        let for_server = self.audiences_of(&verified.claims).iter().any(|a| self.audiences.contains(a));
        let verified = Rc::new(VerifiedToken { for_server, ..verified });
        at.verified.put(digest, verified.clone());
        Ok(Some(verified))
    }

    fn bound(&self, claims: &Claims) -> Vec<Bound> {
        let kinds = &self.kinds;
        let mut bound =
            vec![Bound::new(Role::Account, kinds.service_accounts, &claims.namespace, &claims.account)];
        if let Some(secret) = &claims.secret {
            bound.push(Bound::new(Role::Secret, kinds.secrets, &claims.namespace, secret));
        }
        if let Some(pod) = &claims.pod {
            bound.push(Bound::new(Role::Pod, kinds.pods, &claims.namespace, pod));
        }
        // With a pod, the node is only told.
        if let (Some(node), None) = (&claims.node, &claims.pod) {
            bound.push(Bound::new(Role::Node, kinds.nodes, "", node));
        }
        bound
    }

    /// What can change from one request to the next: the time, and what the token is bound to.
    fn check(&self, verified: &VerifiedToken, token: &str, at: &Lookup<'_>) -> Result<(), TokenError> {
        if let Some(flaw) = &verified.flaw {
            return Err(flaw.clone());
        }
        let claims = &verified.claims;
        if claims.not_before.is_some_and(|time| at.now + LEEWAY_SECONDS < time) {
            return Err(TokenError::new("service account token is not valid yet"));
        }
        if claims.expires.is_some_and(|time| at.now - LEEWAY_SECONDS > time) {
            return Err(TokenError::new("service account token has expired"));
        }
        if claims.issued.is_some_and(|time| at.now + LEEWAY_SECONDS < time) {
            return Err(TokenError::new("service account token is issued in the future"));
        }
        let found = verified.bound.iter().try_for_each(|bound| bound.check(at.storage, token, at.now));
        if found.is_err() {
            // What is gone seldom comes back: others have better use for the place.
            at.verified.forget(&digest(token));
        }
        found?;
        if claims.for_webhook {
            return Err(TokenError::new(
                "feature gate \"APIServerWebhookAuthenticationToken\" is disabled, but token is webhook bound",
            ));
        }
        let is_counted = at.now.saturating_sub(verified.counted.get()) >= TOKEN_COUNTED_SECONDS;
        if is_counted {
            verified.counted.set(at.now);
            if claims.audiences.is_empty() {
                count(&self.counts.legacy);
            }
            if let Some(warn_after) = claims.warn_after.filter(|time| *time != 0) {
                count(if at.now > warn_after { &self.counts.stale } else { &self.counts.valid });
            }
        }
        match &verified.legacy {
            Some(legacy) => legacy.used(self, claims, is_counted, at),
            None => Ok(()),
        }
    }
}

fn wrong_audience(own: &[String], asked: &[String]) -> TokenError {
    let show = |list: &[String]| {
        let quoted: Vec<_> = list.iter().map(|a| ringbolt_machinery::json::quote::go_quote(a)).collect();
        format!("[{}]", quoted.join(" "))
    };
    TokenError::new(format!(
        "token audiences {} is invalid for the target audiences {}",
        show(own),
        show(asked)
    ))
}

/// The user that an account is (`serviceaccount.UserInfo`).
pub fn account_user(namespace: &str, account: &Reference) -> UserInfo {
    UserInfo {
        name: format!("system:serviceaccount:{namespace}:{}", account.name),
        uid: account.uid.clone(),
        groups: vec!["system:serviceaccounts".to_owned(), format!("system:serviceaccounts:{namespace}")],
        extra: Vec::new(),
    }
}

fn user_of(claims: &Claims) -> UserInfo {
    let mut found = account_user(&claims.namespace, &claims.account);
    let mut add = |key: &str, value: String| found.extra.push((key.to_owned(), vec![value]));
    if !claims.id.is_empty() {
        add(user::CREDENTIAL_ID_KEY, format!("JTI={}", claims.id));
    }
    if let Some(node) = &claims.node {
        add(user::SERVICE_ACCOUNT_NODE_NAME_KEY, node.name.clone());
        if !node.uid.is_empty() {
            add("authentication.kubernetes.io/node-uid", node.uid.clone());
        }
    }
    if let Some(pod) = claims.pod.as_ref().filter(|pod| !pod.name.is_empty() && !pod.uid.is_empty()) {
        add("authentication.kubernetes.io/pod-name", pod.name.clone());
        add("authentication.kubernetes.io/pod-uid", pod.uid.clone());
    }
    found.authenticated()
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
#[cfg(test)]
pub(crate) use tests::empty_store;
