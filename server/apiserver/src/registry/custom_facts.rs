//! The facts of custom resources. Handlers have facts for as long as the server runs, and so do those of resources that
//! come and go: each distinct set is made once, and comes back with the definition that it is of.

use std::{
    collections::HashMap,
    fmt,
    sync::{LazyLock, Mutex, PoisonError},
};

use ringbolt_machinery::schema::{Resource, Schema, Subresource};

use crate::limits::{CUSTOM_FACTS_BYTES, CUSTOM_FACTS_MAX};

/// What of a custom resource in one version its handlers know besides its kind.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CustomFacts {
    /// Group.
    pub group: String,
    /// Version.
    pub version: String,
    /// Plural name.
    pub resource: String,
    /// Singular name.
    pub singular: String,
    /// Kind.
    pub kind: String,
    /// Whether it lives in namespaces.
    pub namespaced: bool,
    /// Whether it has the subresource `status`.
    pub status: bool,
    /// Whether it has the subresource `scale`.
    pub scale: bool,
}

/// There were more distinct custom resources since the server started than it keeps facts of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyKinds;

impl fmt::Display for TooManyKinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "more than {CUSTOM_FACTS_MAX} custom resources, or names of more than {CUSTOM_FACTS_BYTES} bytes, came and \
             went since the server was started; restart it to forget those that are gone"
        )
    }
}

impl std::error::Error for TooManyKinds {}

#[derive(Default)]
struct Known {
    facts: HashMap<CustomFacts, &'static Resource>,
    /// Bytes of their texts.
    bytes: usize,
}

static KNOWN: LazyLock<Mutex<Known>> = LazyLock::new(Mutex::default);

impl CustomFacts {
    /// The facts as handlers have them.
    ///
    /// # Errors
    /// There were too many.
    pub fn intern(self, schema: &Schema) -> Result<&'static Resource, TooManyKinds> {
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(facts) = known.facts.get(&self) {
            return Ok(facts);
        }
        let bytes = known.bytes + self.bytes();
        if known.facts.len() >= CUSTOM_FACTS_MAX || bytes > CUSTOM_FACTS_BYTES {
            return Err(TooManyKinds);
        }
        let facts: &'static Resource = Box::leak(Box::new(self.resource(schema)));
        known.facts.insert(self, facts);
        known.bytes = bytes;
        Ok(facts)
    }

    fn bytes(&self) -> usize {
        [&self.group, &self.version, &self.resource, &self.singular, &self.kind].map(String::len).iter().sum()
    }

    fn resource(&self, schema: &Schema) -> Resource {
        // Texts are of one resource, which is made once; the bound above is theirs too.
        let text = |text: &str| -> &'static str { Box::leak(text.to_owned().into_boxed_str()) };
        let (group, version, kind) = (text(&self.group), text(&self.version), text(&self.kind));
        let subresource = |name, kind, foreign| Subresource { name, verbs: SUBRESOURCE_VERBS, kind, foreign };
        let scale = self.scale.then(|| subresource("scale", ("autoscaling", "v1", "Scale"), true));
        let status = self.status.then(|| subresource("status", (group, version, kind), false));
        let partial = schema.kind("meta.k8s.io", "v1", "PartialObjectMetadata");
        Resource {
            group,
            version,
            resource: text(&self.resource),
            singular: text(&self.singular),
            kind,
            ty: partial.expect("the built-in table has the kinds of meta.k8s.io").ty,
            namespaced: self.namespaced,
            delete_returns_object: false,
            short_names: &[],
            categories: &[],
            verbs: VERBS,
            storage_version_hash: "",
            subresources: scale.into_iter().chain(status).collect(),
            columns: Vec::new(),
            on_by_default: true,
        }
    }
}

const VERBS: &[&str] = &["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
const SUBRESOURCE_VERBS: &[&str] = &["get", "patch", "update"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_made_once() {
        let schema = Schema::builtin();
        let facts = || CustomFacts {
            group: "facts.example.com".into(),
            version: "v1".into(),
            resource: "widgets".into(),
            singular: "widget".into(),
            kind: "Widget".into(),
            namespaced: true,
            status: true,
            scale: false,
        };
        let first = facts().intern(schema).unwrap();
        assert!(std::ptr::eq(first, facts().intern(schema).unwrap()));
        assert_eq!((first.kind, first.namespaced, first.subresources.len()), ("Widget", true, 1));
        let scaled = CustomFacts { scale: true, ..facts() }.intern(schema).unwrap();
        assert!(!std::ptr::eq(first, scaled));
        let names: Vec<_> = scaled.subresources.iter().map(|s| s.name).collect();
        assert_eq!(names, ["scale", "status"]);
        let long = CustomFacts { singular: "x".repeat(CUSTOM_FACTS_BYTES), ..facts() };
        assert_eq!(long.intern(schema).unwrap_err(), TooManyKinds);
    }
}
