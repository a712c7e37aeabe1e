//! JSON Web Tokens in their compact form (RFC 7515 §7.1): three texts in base64url with dots between them.

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use bumpalo::Bump;
use ringbolt_machinery::{
    json,
    value::{Map, Value},
};

use super::keys::SigningKey;

/// A token that was taken apart. Nothing of it is proved.
pub(super) struct Unverified<'t, 'a> {
    /// What the signature is over: header and payload as they were sent.
    pub(super) signed: &'t str,
    pub(super) signature: Vec<u8>,
    /// The algorithm the header names.
    pub(super) algorithm: &'a str,
    /// The key the header names, empty for none.
    pub(super) key: &'a str,
    /// The header names extensions that must be understood. None is.
    pub(super) is_extended: bool,
    pub(super) payload: Map<'a>,
    /// What the payload says twice: the first of it.
    pub(super) twice: Option<String>,
}

/// Takes a token apart. `None` where it is none.
pub(super) fn parse<'t, 'a>(arena: &'a Bump, token: &'t str) -> Option<Unverified<'t, 'a>> {
    let (signed, signature) = token.rsplit_once('.')?;
    let (header, payload) = signed.split_once('.')?;
    let (header, None) = object(arena, header)? else { return None };
    // None where it is there and no text.
    let text = |member: &str| match header.get(member) {
        None | Some(Value::Null) => Some(""),
        Some(value) => value.as_str(),
    };
    let (payload, twice) = object(arena, payload)?;
    Some(Unverified {
        signed,
        signature: BASE64_URL_SAFE_NO_PAD.decode(signature).ok()?,
        algorithm: text("alg")?,
        key: text("kid")?,
        is_extended: header.get("crit").is_some(),
        payload,
        twice,
    })
}

/// The issuer that a token claims, before anything costly is done with it.
pub(super) fn issuer(token: &str, is_known: impl FnOnce(&str) -> bool) -> bool {
    let mut parts = token.split('.');
    let (Some(_), Some(payload), Some(_), None) = (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return false;
    };
    let arena = Bump::new();
    object(&arena, payload)
        .is_some_and(|(payload, _)| is_known(payload.get("iss").and_then(Value::as_str).unwrap_or("")))
}

/// An object, and the first member that is in it twice.
fn object<'a>(arena: &'a Bump, text: &str) -> Option<(Map<'a>, Option<String>)> {
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(text).ok()?;
    let decoded =
        json::decode_untyped_strict(arena, arena.alloc_slice_copy(&bytes), json::Mode::Strict).ok()?;
    let twice = decoded.strict_errors.into_iter().next().map(|error| error.path);
    match decoded.value {
        Value::Map(map) => Some((map, twice)),
        _ => None,
    }
}

/// Signs a payload. `None` where the key cannot.
pub(super) fn sign(key: &SigningKey, payload: &[u8]) -> Option<String> {
    let public = key.public();
    let header = format!(r#"{{"alg":"{}","kid":"{}"}}"#, public.algorithm(), public.id());
    let mut token = BASE64_URL_SAFE_NO_PAD.encode(header);
    token.push('.');
    BASE64_URL_SAFE_NO_PAD.encode_string(payload, &mut token);
    let signature = key.sign(token.as_bytes())?;
    token.push('.');
    BASE64_URL_SAFE_NO_PAD.encode_string(signature, &mut token);
    Some(token)
}
