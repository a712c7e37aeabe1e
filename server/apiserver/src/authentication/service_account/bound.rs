//! Objects that a token lives no longer than.

use std::cell::Cell;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use ringbolt_machinery::scan;
use ringbolt_storage::{
    object::{Object, ResourceId},
    storage::Storage,
};

use super::{TokenError, claims::Reference};

/// How long a token outlives the deletion of what it is bound to, and how far clocks may be apart
/// (`jwt.DefaultLeeway`).
pub(super) const LEEWAY_SECONDS: i64 = 60;

/// What an object is to the token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// The account it stands for.
    Account,
    Pod,
    Secret,
    Node,
    /// The account of a token that lies in a secret.
    LegacyAccount,
    /// The secret it lies in.
    LegacySecret,
}

/// An object that must be there.
#[derive(Debug)]
pub(super) struct Bound {
    role: Role,
    resource: ResourceId,
    /// As the store knows it.
    key: Box<str>,
    /// Length of the namespace in `key`.
    namespace_len: usize,
    uid: String,
    /// The revision that was found good. While the object has it, there is nothing to read.
    good: Cell<u64>,
}

impl Bound {
    pub(super) fn new(role: Role, resource: ResourceId, namespace: &str, to: &Reference) -> Self {
        let key = if namespace.is_empty() { to.name.clone() } else { format!("{namespace}/{}", to.name) };
        Bound {
            role,
            resource,
            key: key.into(),
            namespace_len: namespace.len(),
            uid: to.uid.clone(),
            good: Cell::new(0),
        }
    }

    fn name(&self) -> &str {
        if self.namespace_len == 0 { &self.key } else { &self.key[self.namespace_len + 1..] }
    }

    /// Whether the object is there, is the one that was meant, and is not long deleted.
    pub(super) fn check(&self, storage: &dyn Storage, token: &str, now: i64) -> Result<(), TokenError> {
        let Some(object) = storage.get(self.resource, &self.key) else { return Err(self.absent()) };
        if object.revision != self.good.get() {
            self.check_identity(&object, token)?;
            self.good.set(object.revision);
        }
        if object.attributes.terminating && self.is_over(&object, now) {
            return Err(self.deleted());
        }
        Ok(())
    }

    fn check_identity(&self, object: &Object, token: &str) -> Result<(), TokenError> {
        if self.role == Role::LegacySecret {
            let held = scan::scalar(&object.json, &["data", "token"]);
            if held.is_none_or(|held| *held != *BASE64_STANDARD.encode(token)) {
                return Err(TokenError::new("Token does not match server's copy"));
            }
            return Ok(());
        }
        let uid = scan::scalar(&object.json, &["metadata", "uid"]).unwrap_or_default();
        if uid == self.uid {
            return Ok(());
        }
        let claim = &self.uid;
        Err(TokenError::new(match self.role {
            Role::Account => format!("service account UID ({uid}) does not match claim ({claim})"),
            Role::LegacyAccount | Role::LegacySecret => {
                format!("ServiceAccount UID ({uid}) does not match claim ({claim})")
            }
            Role::Pod => format!("pod UID ({uid}) does not match service account pod ref claim ({claim})"),
            Role::Secret => {
                format!("secret UID ({uid}) does not match service account secret ref claim ({claim})")
            }
            Role::Node => format!("node UID ({uid}) does not match service account node ref claim ({claim})"),
        }))
    }

    /// Whether an object that is marked deleted counts as gone.
    fn is_over(&self, object: &Object, now: i64) -> bool {
        if matches!(self.role, Role::LegacyAccount | Role::LegacySecret) {
            return true;
        }
        let deleted = scan::scalar(&object.json, &["metadata", "deletionTimestamp"]);
        let deleted = deleted.and_then(|text| text.parse::<jiff::Timestamp>().ok());
        deleted.is_none_or(|deleted| deleted.as_second() < now - LEEWAY_SECONDS)
    }

    fn absent(&self) -> TokenError {
        match self.role {
            // What kube-apiserver's client says before it asks, and a server whose path makes no sense.
            Role::Account if self.name().is_empty() => TokenError::new("resource name may not be empty"),
            Role::Account if self.namespace_len == 0 => {
                TokenError::new("the server could not find the requested resource")
            }
            Role::Account | Role::LegacyAccount => {
                TokenError::new(format!("serviceaccounts {:?} not found", self.name()))
            }
            Role::LegacySecret => TokenError::new("Token has been invalidated"),
            Role::Pod | Role::Secret | Role::Node => {
                TokenError::new("service account token has been invalidated")
            }
        }
    }

    fn deleted(&self) -> TokenError {
        match self.role {
            Role::Account => TokenError::new(format!("service account {} has been deleted", self.key)),
            Role::LegacyAccount => TokenError::new(format!("ServiceAccount {} has been deleted", self.key)),
            _ => self.absent(),
        }
    }
}
