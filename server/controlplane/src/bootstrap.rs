//! Objects the server makes sure of at start.

/// One object to create at start where it is not there yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BootstrapObject {
    /// API group, empty for core.
    pub group: &'static str,
    /// Version of `json`.
    pub version: &'static str,
    /// Plural name of the resource.
    pub resource: &'static str,
    /// Namespace, empty for cluster-scoped resources.
    pub namespace: &'static str,
    /// Name.
    pub name: &'static str,
    /// The object as a client would send it: it goes through the server's own write path.
    pub json: &'static str,
}

const fn namespace(name: &'static str, json: &'static str) -> BootstrapObject {
    BootstrapObject { group: "", version: "v1", resource: "namespaces", namespace: "", name, json }
}

/// The system namespaces, in the order kube-apiserver makes them.
const SYSTEM_NAMESPACES: [BootstrapObject; 4] = [
    namespace("kube-system", r#"{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"kube-system"}}"#),
    namespace("kube-public", r#"{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"kube-public"}}"#),
    namespace(
        "kube-node-lease",
        r#"{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"kube-node-lease"}}"#,
    ),
    namespace("default", r#"{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"default"}}"#),
];

/// Everything to create at start, in order: an object's namespace comes before the object.
pub fn objects() -> &'static [BootstrapObject] {
    &SYSTEM_NAMESPACES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_what_they_say() {
        for object in objects() {
            let json: serde_json::Value = serde_json::from_str(object.json).unwrap();
            assert_eq!(json["metadata"]["name"], object.name);
            assert_eq!(json["apiVersion"], object.version);
        }
    }
}
