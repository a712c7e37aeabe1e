//! Tokens that lie in secrets of the type `kubernetes.io/service-account-token`: a controller signs them with the
//! same key, for ever, and they count as long as they lie there.

use std::{cell::Cell, sync::Arc};

use bumpalo::Bump;
use ringbolt_machinery::{
    json, scan,
    value::{Map, Value},
};
use ringbolt_storage::object::Object;

use super::{
    BoundKinds, Lookup, ServiceAccountTokens, TokenError, account_user,
    bound::{Bound, Role},
    claims::{BadClaim, Claims, Reference, text},
    counts::count,
    legacy_uses::{LAST_USED_LABEL, LegacyTokenUse},
    verified::VerifiedToken,
};

/// The issuer that they all name.
pub(super) const ISSUER: &str = "kubernetes/serviceaccount";

const INVALID_SINCE_LABEL: &str = "kubernetes.io/legacy-token-invalid-since";
const AUTO_GENERATED: &str = "Use tokens from the TokenRequest API or manually created secret-based tokens instead of auto-generated secret-based tokens.";
const DAY_SECONDS: i64 = 24 * 3600;

/// What is known of such a token besides what every token has.
#[derive(Debug)]
pub(super) struct LegacyToken {
    /// The secret's name.
    secret: String,
    /// The account's revision, and whether it lists the secret: a controller that made a secret did that.
    listed: Cell<(u64, bool)>,
    /// The secret's revision and the day for which its label was found good or was seen to.
    labelled: Cell<(u64, i64)>,
}

/// Reads the claims of a token whose signature is good. Times in it count for nothing.
pub(super) fn read(payload: &Map<'_>, kinds: &BoundKinds, lookup: bool) -> Result<VerifiedToken, BadClaim> {
    let Claims { audiences, subject, .. } = Claims::read_public(payload)?;
    let namespace = text(payload, "kubernetes.io/serviceaccount/namespace")?;
    let secret = text(payload, "kubernetes.io/serviceaccount/secret.name")?;
    let name = text(payload, "kubernetes.io/serviceaccount/service-account.name")?;
    let uid = text(payload, "kubernetes.io/serviceaccount/service-account.uid")?;
    let missing = [
        (&subject, "sub"),
        (&namespace, "namespace"),
        (&secret, "secretName"),
        (&name, "serviceAccountName"),
        (&uid, "serviceAccountUID"),
    ];
    let missing = missing.into_iter().find(|(claim, _)| claim.is_empty());
    let flaw = match missing {
        Some((_, what)) => Some(TokenError::new(format!("{what} claim is missing"))),
        None if subject != format!("system:serviceaccount:{namespace}:{name}") => {
            Some(TokenError::new("sub claim is invalid"))
        }
        None => None,
    };
    let account = Reference { name, uid };
    let (mut bound, mut legacy) = (Vec::new(), None);
    if lookup && flaw.is_none() {
        let named = Reference { name: secret.clone(), uid: String::new() };
        bound.push(Bound::new(Role::LegacySecret, kinds.secrets, &namespace, &named));
        bound.push(Bound::new(Role::LegacyAccount, kinds.service_accounts, &namespace, &account));
        // No object has revision 0.
        legacy = Some(LegacyToken { secret, listed: Cell::new((0, false)), labelled: Cell::new((0, 0)) });
    }
    let user = Arc::new(account_user(&namespace, &account).authenticated());
    let claims =
        Claims { issuer: ISSUER.to_owned(), audiences, subject, namespace, account, ..Claims::default() };
    Ok(VerifiedToken { flaw, legacy, ..VerifiedToken::new(claims, user, bound) })
}

impl LegacyToken {
    /// The token is used: notes the day, and says where better ones are. It may have been marked as invalid.
    pub(super) fn used(
        &self,
        tokens: &ServiceAccountTokens,
        claims: &Claims,
        is_counted: bool,
        at: &Lookup<'_>,
    ) -> Result<(), TokenError> {
        let (namespace, account, secret) = (&claims.namespace, &claims.account.name, &self.secret);
        let kinds = &tokens.kinds;
        let stored = (
            at.storage.get(kinds.secrets, &format!("{namespace}/{secret}")),
            at.storage.get(kinds.service_accounts, &format!("{namespace}/{account}")),
        );
        // They were there a moment ago.
        let (Some(held), Some(holder)) = stored else {
            return Err(TokenError::new("Token has been invalidated"));
        };
        if label(&held, INVALID_SINCE_LABEL).is_some_and(|since| !since.is_empty()) {
            count(&tokens.counts.invalidated);
            self.note(tokens, namespace, &held, at.now);
            return Err(TokenError::new(format!(
                "the token in secret {namespace}/{secret} for service account {namespace}/{account} has been marked \
                 invalid. Use tokens from the TokenRequest API or manually created secret-based tokens, or remove the \
                 '{INVALID_SINCE_LABEL}' label from the secret to temporarily allow use of this token"
            )));
        }
        if self.listed.get().0 != holder.revision {
            self.listed.set((holder.revision, lists(&holder, secret)));
        }
        let (_, auto_generated) = self.listed.get();
        if auto_generated {
            at.warn(AUTO_GENERATED);
        }
        if is_counted {
            count(if auto_generated { &tokens.counts.auto_generated } else { &tokens.counts.manual });
        }
        self.note(tokens, namespace, &held, at.now);
        Ok(())
    }

    /// Sees to it that the label tells of today, or of tomorrow where another server's day has begun.
    fn note(&self, tokens: &ServiceAccountTokens, namespace: &str, held: &Object, now: i64) {
        let seen = (held.revision, now.div_euclid(DAY_SECONDS));
        if self.labelled.get() == seen {
            return;
        }
        let (Some(today), Some(tomorrow)) = (date(now), date(now + DAY_SECONDS)) else { return };
        let last_used = label(held, LAST_USED_LABEL);
        let is_good = last_used.is_some_and(|day| day == today || day == tomorrow);
        let found = || LegacyTokenUse {
            namespace: namespace.to_owned(),
            secret: self.secret.clone(),
            uid: scan::scalar(&held.json, &["metadata", "uid"]).unwrap_or_default().into_owned(),
            day: today.clone(),
        };
        if is_good || tokens.uses.note(found()) {
            self.labelled.set(seen);
        }
    }
}

fn label<'o>(object: &'o Object, key: &str) -> Option<&'o str> {
    object.labels().find(|(name, _)| *name == key).map(|(_, value)| value)
}

/// The day of a time in UTC.
fn date(seconds: i64) -> Option<String> {
    let time = jiff::Timestamp::from_second(seconds).ok()?;
    Some(time.to_zoned(jiff::tz::TimeZone::UTC).date().to_string())
}

/// Whether an account lists a secret.
fn lists(account: &Object, secret: &str) -> bool {
    let arena = Bump::new();
    let text = arena.alloc_slice_fill_with(account.json.len() + 1, |at| match at {
        0 => b'{',
        at => account.json[at - 1],
    });
    let Ok(account) = json::decode_untyped(&arena, text) else { return false };
    let secrets = account.path(&["secrets"]).and_then(Value::as_list);
    secrets.into_iter().flatten().any(|listed| listed.str_at(&["name"]) == Some(secret))
}
