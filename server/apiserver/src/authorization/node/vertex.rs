//! What can be related to a node: an object by its kind, namespace and name, and the bytes that stand for it.

use std::sync::Arc;

/// Kinds of objects that the graph knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub(crate) enum Kind {
    ConfigMap,
    ResourceSlice,
    Pod,
    PersistentVolumeClaim,
    PersistentVolume,
    ResourceClaim,
    Secret,
    VolumeAttachment,
    ServiceAccount,
    PodCertificateRequest,
}

/// An object: kind, length of the namespace, namespace, name. No two objects have the same bytes.
pub(crate) type Vertex = Arc<[u8]>;

/// Longest namespace and name together: a label and a subdomain of DNS, and some room. No longer name is that of an
/// object, so whoever refers to one refers to nothing.
const NAMES_MAX_BYTES: usize = 510;

/// The bytes of an object on the stack, so that a question allocates nothing.
pub(crate) struct Key {
    bytes: [u8; NAMES_MAX_BYTES + 2],
    len: usize,
}

impl Key {
    /// `None` where the names are longer than any object's.
    pub(crate) fn new(kind: Kind, namespace: &str, name: &str) -> Option<Key> {
        let len = 2 + namespace.len() + name.len();
        let mut bytes = [0; NAMES_MAX_BYTES + 2];
        bytes[0] = kind as u8;
        bytes[1] = u8::try_from(namespace.len()).ok()?;
        bytes.get_mut(2..2 + namespace.len())?.copy_from_slice(namespace.as_bytes());
        bytes.get_mut(2 + namespace.len()..len)?.copy_from_slice(name.as_bytes());
        Some(Key { bytes, len })
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// Whether an object is of a kind.
pub(crate) fn is_of(vertex: &[u8], kind: Kind) -> bool {
    vertex.first() == Some(&(kind as u8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_do_not_share_bytes() {
        let of = |kind, namespace: &str, name: &str| {
            Key::new(kind, namespace, name).map(|key| key.as_bytes().to_vec())
        };
        assert_ne!(of(Kind::Secret, "a", "bc"), of(Kind::Secret, "ab", "c"));
        assert_ne!(of(Kind::Secret, "a", "b"), of(Kind::ConfigMap, "a", "b"));
        assert_ne!(of(Kind::Secret, "", "a/b"), of(Kind::Secret, "a", "b"));
        assert_eq!(of(Kind::Secret, &"n".repeat(256), "a"), None);
        assert_eq!(of(Kind::Secret, "n", &"a".repeat(510)), None);
        assert!(of(Kind::Secret, "n", &"a".repeat(509)).is_some());
    }
}
