//! Tokens that lie in secrets of the type `kubernetes.io/service-account-token`: a controller signs them with the
//! same key, for ever, and they count as long as they lie there.

use std::sync::Arc;

use ringbolt_machinery::value::Map;

use super::{
    BoundKinds, TokenError, account_user,
    bound::{Bound, Role},
    claims::{Claims, Reference, text},
    verified::VerifiedToken,
};

/// The issuer that they all name.
pub(super) const ISSUER: &str = "kubernetes/serviceaccount";

/// Reads the claims of a token whose signature is good.
pub(super) fn read(payload: &Map<'_>, kinds: &BoundKinds, lookup: bool) -> Result<VerifiedToken, TokenError> {
    let claim = |name: &str, what: &str| match text(payload, name) {
        missing if missing.is_empty() => Err(TokenError::new(format!("{what} claim is missing"))),
        value => Ok(value),
    };
    let subject = claim("sub", "sub")?;
    let namespace = claim("kubernetes.io/serviceaccount/namespace", "namespace")?;
    let secret = claim("kubernetes.io/serviceaccount/secret.name", "secretName")?;
    let name = claim("kubernetes.io/serviceaccount/service-account.name", "serviceAccountName")?;
    let uid = claim("kubernetes.io/serviceaccount/service-account.uid", "serviceAccountUID")?;
    if subject != format!("system:serviceaccount:{namespace}:{name}") {
        return Err(TokenError::new("sub claim is invalid"));
    }
    let account = Reference { name, uid };
    let mut bound = Vec::new();
    if lookup {
        let secret = Reference { name: secret, uid: String::new() };
        bound.push(Bound::new(Role::LegacySecret, kinds.secrets, &namespace, &secret));
        bound.push(Bound::new(Role::LegacyAccount, kinds.service_accounts, &namespace, &account));
    }
    let user = Arc::new(account_user(&namespace, &account).authenticated());
    // They say nothing of times and audiences.
    let claims = Claims { issuer: ISSUER.to_owned(), subject, namespace, account, ..Claims::default() };
    Ok(VerifiedToken { claims, user, bound, for_server: true })
}
