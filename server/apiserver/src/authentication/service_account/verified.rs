//! Tokens whose signatures were found good, kept so that a client's next request costs a digest instead of a signature.
//!
//! A signature does not age, so nothing here does. What can change, the time and the objects that a token is bound to,
//! is looked at with every request.

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    rc::Rc,
    sync::Arc,
};

use sha2::{Digest, Sha256};

use super::{TokenError, bound::Bound, claims::Claims, legacy::LegacyToken};
use crate::{authentication::UserInfo, limits::VERIFIED_TOKENS};

/// A token whose signature is good.
#[derive(Debug)]
pub(super) struct VerifiedToken {
    pub(super) claims: Claims,
    /// Whom it stands for.
    pub(super) user: Arc<UserInfo>,
    /// What must be there for it to count.
    pub(super) bound: Vec<Bound>,
    /// Whether it is for this server.
    pub(super) for_server: bool,
    /// What is wrong with it, whenever it comes.
    pub(super) flaw: Option<TokenError>,
    /// What else is known of a token that lies in a secret.
    pub(super) legacy: Option<LegacyToken>,
    /// When it was last counted.
    pub(super) counted: Cell<i64>,
}

impl VerifiedToken {
    pub(super) fn new(claims: Claims, user: Arc<UserInfo>, bound: Vec<Bound>) -> Self {
        VerifiedToken {
            claims,
            user,
            bound,
            for_server: true,
            flaw: None,
            legacy: None,
            counted: Cell::new(i64::MIN),
        }
    }
}

type Digested = [u8; 32];

/// The verified tokens of one core: at most [`VERIFIED_TOKENS`], of which those go first that were not used for the
/// longest time.
#[derive(Debug, Default)]
pub struct VerifiedTokens {
    kept: RefCell<Generations>,
}

/// What was used lately, and what was used before that. When the first is full, it becomes the second.
#[derive(Debug, Default)]
struct Generations {
    young: HashMap<Digested, Rc<VerifiedToken>>,
    old: HashMap<Digested, Rc<VerifiedToken>>,
}

/// What a token is known by; the token itself is not kept.
pub(super) fn digest(token: &str) -> Digested {
    Sha256::digest(token).into()
}

impl VerifiedTokens {
    pub(super) fn get(&self, digest: &Digested) -> Option<Rc<VerifiedToken>> {
        let mut kept = self.kept.borrow_mut();
        if let Some(token) = kept.young.get(digest) {
            return Some(token.clone());
        }
        let token = kept.old.remove(digest)?;
        kept.put(*digest, token.clone());
        Some(token)
    }

    pub(super) fn put(&self, digest: Digested, token: Rc<VerifiedToken>) {
        self.kept.borrow_mut().put(digest, token);
    }

    pub(super) fn forget(&self, digest: &Digested) {
        let mut kept = self.kept.borrow_mut();
        kept.young.remove(digest);
        kept.old.remove(digest);
    }
}

impl Generations {
    fn put(&mut self, digest: Digested, token: Rc<VerifiedToken>) {
        if self.young.len() >= VERIFIED_TOKENS / 2 {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(digest, token);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token() -> Rc<VerifiedToken> {
        Rc::new(VerifiedToken::new(Claims::default(), Arc::default(), Vec::new()))
    }

    #[test]
    fn the_least_used_go_first() {
        let tokens = VerifiedTokens::default();
        let name = |n: usize| digest(&n.to_string());
        tokens.put(name(0), token());
        for n in 1..10 * VERIFIED_TOKENS {
            tokens.put(name(n), token());
            assert!(tokens.get(&name(0)).is_some(), "{n}: the first is used all the time");
            let kept = tokens.kept.borrow();
            assert!(kept.young.len() + kept.old.len() <= VERIFIED_TOKENS, "{n}");
        }
        assert!(tokens.get(&name(1)).is_none());
        tokens.forget(&name(0));
        assert!(tokens.get(&name(0)).is_none());
    }
}
