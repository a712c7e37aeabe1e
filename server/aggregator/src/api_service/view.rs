//! What the aggregator reads of a stored APIService.

use bumpalo::Bump;
use bytes::Bytes;
use ringbolt_machinery::{json, value::Value};
use ringbolt_storage::object::Object;

/// The service that answers for an API.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ServiceReference {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The port of the service.
    pub port: u16,
}

/// An APIService as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiService {
    /// `version.group`.
    pub name: String,
    /// Which one of that name.
    pub uid: String,
    /// The revision of its last change.
    pub revision: u64,
    /// `kube-aggregator.kubernetes.io/automanaged`, empty where users look after it.
    pub automanaged: String,
    /// The group; empty for the core group.
    pub group: String,
    /// The version.
    pub version: String,
    /// Order of groups, the highest first.
    pub group_priority: i64,
    /// Order of versions within the group, the highest first.
    pub version_priority: i64,
    /// Who answers; nobody where it is this server.
    pub service: Option<ServiceReference>,
    /// PEM of the authorities its certificate is verified by, base64 as it stands there.
    pub ca_bundle: Bytes,
    /// Its certificate is not looked at.
    pub insecure_skip_tls_verify: bool,
    /// Whether the condition `Available` is `True`.
    pub available: bool,
}

/// Who looks after an APIService: the label.
pub const AUTOMANAGED: &str = "kube-aggregator.kubernetes.io/automanaged";

impl ApiService {
    /// Reads a stored object. `None` where the store holds what is no JSON, which it never wrote.
    pub fn read(object: &Object) -> Option<ApiService> {
        let arena = Bump::new();
        let mut text = Vec::with_capacity(object.json.len() + 1);
        text.push(b'{');
        text.extend_from_slice(&object.json);
        let tree = json::decode_untyped(&arena, arena.alloc_slice_copy(&text)).ok()?;
        Some(Self::of_tree(&tree, object.revision))
    }

    /// Reads the tree of one.
    fn of_tree(tree: &Value<'_>, revision: u64) -> ApiService {
        let text = |path: &[&str]| tree.str_at(path).unwrap_or("").to_owned();
        let int = |path: &[&str]| tree.path(path).and_then(Value::as_i64).unwrap_or(0);
        let conditions = tree.path(&["status", "conditions"]).and_then(Value::as_list);
        let available = conditions.into_iter().flatten().any(|condition| {
            condition.str_at(&["type"]) == Some("Available") && condition.str_at(&["status"]) == Some("True")
        });
        ApiService {
            name: text(&["metadata", "name"]),
            uid: text(&["metadata", "uid"]),
            revision,
            automanaged: text(&["metadata", "labels", AUTOMANAGED]),
            group: text(&["spec", "group"]),
            version: text(&["spec", "version"]),
            group_priority: int(&["spec", "groupPriorityMinimum"]),
            version_priority: int(&["spec", "versionPriority"]),
            service: tree.path(&["spec", "service"]).filter(|s| !s.is_null()).map(|_| ServiceReference {
                namespace: text(&["spec", "service", "namespace"]),
                name: text(&["spec", "service", "name"]),
                port: u16::try_from(int(&["spec", "service", "port"])).unwrap_or(0),
            }),
            ca_bundle: Bytes::from(text(&["spec", "caBundle"])),
            insecure_skip_tls_verify: tree.path(&["spec", "insecureSkipTLSVerify"]).and_then(Value::as_bool)
                == Some(true),
            available,
        }
    }

    /// Where what it stands for begins: `/api`, or `/apis/GROUP/VERSION`.
    pub fn path(&self) -> String {
        if self.name == super::LEGACY {
            "/api".to_owned()
        } else {
            format!("/apis/{}/{}", self.group, self.version)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> ApiService {
        let arena = Bump::new();
        let tree = json::decode_untyped(&arena, arena.alloc_slice_copy(text.as_bytes())).unwrap();
        ApiService::of_tree(&tree, 7)
    }

    #[test]
    fn read_in_full() {
        let read = read(
            r#"{"metadata":{"name":"v1.a.b","uid":"u","labels":{"kube-aggregator.kubernetes.io/automanaged":"true"}},
                "spec":{"group":"a.b","version":"v1","groupPriorityMinimum":1000,"versionPriority":100,
                "service":{"namespace":"n","name":"s","port":8443},"caBundle":"YQ==","insecureSkipTLSVerify":true},
                "status":{"conditions":[{"type":"Available","status":"True"}]}}"#,
        );
        let expect = ApiService {
            name: "v1.a.b".to_owned(),
            uid: "u".to_owned(),
            revision: 7,
            automanaged: "true".to_owned(),
            group: "a.b".to_owned(),
            version: "v1".to_owned(),
            group_priority: 1000,
            version_priority: 100,
            service: Some(ServiceReference { namespace: "n".to_owned(), name: "s".to_owned(), port: 8443 }),
            ca_bundle: Bytes::from_static(b"YQ=="),
            insecure_skip_tls_verify: true,
            available: true,
        };
        assert_eq!(read, expect);
        assert_eq!(read.path(), "/apis/a.b/v1");
    }

    #[test]
    fn read_with_nothing_in_it() {
        let read = read(r#"{"metadata":{"name":"v1."},"spec":{"version":"v1"}}"#);
        assert!(read.service.is_none() && !read.available && !read.insecure_skip_tls_verify);
        assert_eq!((read.path().as_str(), read.automanaged.as_str()), ("/api", ""));
    }
}
