//! Bootstrap tokens: what a node that joins has before it has a certificate. Each lies in a secret of `kube-system`.

use std::sync::Arc;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use ringbolt_machinery::{scan, time};
use ringbolt_storage::object::{Object, ResourceId};

use super::{UserInfo, service_account::Lookup};

const SECRET_TYPE: &str = "bootstrap.kubernetes.io/token";
const USER_PREFIX: &str = "system:bootstrap:";
const GROUP: &str = "system:bootstrappers";
const EXTRA_GROUP_PREFIX: &str = "system:bootstrappers:";
/// Characters of what a group of a token may have after its prefix.
const EXTRA_GROUP_MAX: usize = 256;
const ID_LEN: usize = 6;
const SECRET_LEN: usize = 16;

/// `--enable-bootstrap-token-auth`
#[derive(Clone, Copy, Debug)]
pub struct BootstrapTokens {
    /// The resource of secrets.
    pub secrets: ResourceId,
}

impl BootstrapTokens {
    /// Whom a token stands for. `None` for all that is wrong with one: who guesses hears nothing.
    pub(super) fn user(self, token: &str, at: &Lookup<'_>) -> Option<Arc<UserInfo>> {
        let (id, secret) = parse(token)?;
        let stored = at.storage.get(self.secrets, &format!("kube-system/bootstrap-token-{id}"))?;
        match user_of(&stored, id, secret, at.now) {
            Ok(user) => Some(Arc::new(user)),
            Err(why) => {
                tracing::info!(secret = stored.name(), why, "the bootstrap token does not count");
                None
            }
        }
    }
}

/// Takes `ID.SECRET` apart.
fn parse(token: &str) -> Option<(&str, &str)> {
    let (id, secret) = token.split_once('.')?;
    let is_good = |part: &str| part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    (id.len() == ID_LEN && secret.len() == SECRET_LEN && is_good(id) && is_good(secret))
        .then_some((id, secret))
}

/// The user, or what the secret lacks.
fn user_of(stored: &Object, id: &str, secret: &str, now: i64) -> Result<UserInfo, &'static str> {
    if stored.attributes.terminating {
        return Err("it is being deleted");
    }
    if scan::scalar(&stored.json, &["type"]).as_deref() != Some(SECRET_TYPE) {
        return Err("the secret is of another type");
    }
    let data = |key: &str| {
        let encoded = scan::scalar(&stored.json, &["data", key])?;
        BASE64_STANDARD.decode(encoded.as_bytes()).ok()
    };
    let held = data("token-secret").unwrap_or_default();
    if aws_lc_rs::constant_time::verify_slices_are_equal(&held, secret.as_bytes()).is_err() {
        return Err("the token-secret is another one");
    }
    if data("token-id").as_deref() != Some(id.as_bytes()) {
        return Err("the token-id is another one");
    }
    if let Some(expiration) = data("expiration").filter(|expiration| !expiration.is_empty()) {
        // What is no time is taken for one that is over.
        let ends = std::str::from_utf8(&expiration).ok().and_then(seconds);
        if ends.is_none_or(|ends| ends <= now) {
            return Err("it has expired");
        }
    }
    if data("usage-bootstrap-authentication").as_deref() != Some(b"true") {
        return Err("it is not for authentication");
    }
    let groups =
        groups(&data("auth-extra-groups").unwrap_or_default()).ok_or("its auth-extra-groups are invalid")?;
    let user = UserInfo { name: format!("{USER_PREFIX}{id}"), groups, ..UserInfo::default() };
    Ok(user.authenticated())
}

/// The end of a token, rounded up to a second: up to there it is good.
fn seconds(text: &str) -> Option<i64> {
    time::parse_time(text).ok()?;
    let time = text.parse::<jiff::Timestamp>().ok()?;
    Some(time.as_second() + i64::from(time.subsec_nanosecond() > 0))
}

/// The groups of a token, sorted and each once. `None` where one is not that of a token.
fn groups(extra: &[u8]) -> Option<Vec<String>> {
    let mut groups = vec![GROUP.to_owned()];
    if !extra.is_empty() {
        for group in std::str::from_utf8(extra).ok()?.split(',') {
            let name = group.strip_prefix(EXTRA_GROUP_PREFIX)?;
            let is_good = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b':' | b'-');
            let ends_well = name.bytes().last().is_some_and(|b| b.is_ascii_alphanumeric());
            if name.len() > EXTRA_GROUP_MAX || !name.bytes().all(is_good) || !ends_well {
                return None;
            }
            groups.push(group.to_owned());
        }
    }
    groups.sort();
    groups.dedup();
    Some(groups)
}

#[cfg(test)]
#[path = "bootstrap_token_tests.rs"]
mod tests;
