//! Who issues tokens, and for how long.

use super::{claims::Claims, jwt, keys::SigningKey};

/// What kubelets ask for a pod that only needs to reach this server. Clients of old did not read their token anew, so
/// it may be used longer, with a note (`WarnOnlyBoundTokenExpirationSeconds`).
pub const WARN_ONLY_SECONDS: i64 = 3607;
/// How long those are good (`ExpirationExtensionSeconds`).
pub const EXTENDED_SECONDS: i64 = 365 * 24 * 3600;

/// Issues tokens.
pub struct Issuer {
    /// `--service-account-signing-key-file`
    pub key: SigningKey,
    /// The first of `--service-account-issuer`.
    pub name: String,
    /// `--service-account-max-token-expiration` in seconds, 0 for none.
    pub longest_seconds: i64,
    /// `--service-account-extend-token-expiration`
    pub extends: bool,
}

impl Issuer {
    /// Signs claims; fills in who issues them.
    pub fn sign(&self, mut claims: Claims) -> Option<String> {
        claims.issuer.clone_from(&self.name);
        jwt::sign(&self.key, &claims.write())
    }
}
