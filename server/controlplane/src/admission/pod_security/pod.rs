//! A pod, or the template of one, as checks look at it.

use ringbolt_machinery::value::{Map, Value};

use crate::tree::Members;

/// Metadata and spec of a pod or of a template of pods.
#[derive(Clone, Copy)]
pub(super) struct Pod<'v, 'a> {
    metadata: Option<&'v Map<'a>>,
    spec: Option<&'v Map<'a>>,
}

impl<'v, 'a> Pod<'v, 'a> {
    /// That of an object with `metadata` and `spec`.
    pub(super) fn of(object: &'v Value<'a>) -> Self {
        let part = |name: &str| object.as_map().and_then(|o| o.child(name));
        Pod { metadata: part("metadata"), spec: part("spec") }
    }

    /// Annotations in no particular order.
    pub(super) fn annotations(&self) -> impl Iterator<Item = (&'a str, &'a str)> + use<'v, 'a> {
        let annotations = self.metadata.and_then(|m| m.child("annotations"));
        annotations.into_iter().flat_map(Map::iter).filter_map(|(key, value)| Some((key, value.as_str()?)))
    }

    /// One annotation.
    pub(super) fn annotation(&self, key: &str) -> Option<&'a str> {
        self.metadata?.child("annotations")?.get(key)?.as_str()
    }

    /// Whether a switch of the spec is on.
    pub(super) fn has(&self, flag: &str) -> bool {
        self.spec.is_some_and(|spec| spec.flag(flag))
    }

    /// The volumes.
    pub(super) fn volumes(&self) -> impl Iterator<Item = &'v Map<'a>> + use<'v, 'a> {
        self.items("volumes")
    }

    /// The security context of the whole pod.
    pub(super) fn security_context(&self) -> Option<&'v Map<'a>> {
        self.spec?.child("securityContext")
    }

    /// All containers: those that begin, those that stay, and those that were sent after it.
    pub(super) fn containers(&self) -> impl Iterator<Item = Container<'v, 'a>> + use<'v, 'a> {
        let (init, main) = (self.items("initContainers"), self.items("containers"));
        init.chain(main).chain(self.items("ephemeralContainers")).map(Container)
    }

    /// Whether it says that it is for Windows.
    pub(super) fn is_for_windows(&self) -> bool {
        self.spec.and_then(|spec| spec.child("os")).is_some_and(|os| os.text("name") == "windows")
    }

    /// Whether it has a user namespace of its own, in which root is nobody outside.
    pub(super) fn has_own_users(&self) -> bool {
        self.spec.and_then(|spec| spec.get("hostUsers")).and_then(Value::as_bool) == Some(false)
    }

    /// The class of its runtime, empty for none.
    pub(super) fn runtime_class(&self) -> &'a str {
        self.spec.map_or("", |spec| spec.text("runtimeClassName"))
    }

    fn items(&self, list: &str) -> impl Iterator<Item = &'v Map<'a>> + use<'v, 'a> {
        let items: &'v [Value<'a>] = self.spec.map_or(&[], |spec| spec.items(list));
        items.iter().filter_map(Value::as_map)
    }
}

/// A container of any sort.
#[derive(Clone, Copy)]
pub(super) struct Container<'v, 'a>(&'v Map<'a>);

impl<'v, 'a> Container<'v, 'a> {
    /// Its name.
    pub(super) fn name(self) -> &'a str {
        self.0.text("name")
    }

    /// A map of it.
    pub(super) fn child(self, name: &str) -> Option<&'v Map<'a>> {
        self.0.child(name)
    }

    /// What it says of its security.
    pub(super) fn security_context(self) -> Option<&'v Map<'a>> {
        self.child("securityContext")
    }

    /// The ports it opens.
    pub(super) fn ports(self) -> impl Iterator<Item = &'v Map<'a>> + use<'v, 'a> {
        let ports: &'v [Value<'a>] = self.0.items("ports");
        ports.iter().filter_map(Value::as_map)
    }
}

/// The names in a list of strings.
pub(super) fn strings<'v, 'a>(of: &'v Map<'a>, list: &str) -> impl Iterator<Item = &'a str> + use<'v, 'a> {
    let items: &'v [Value<'a>] = of.items(list);
    items.iter().filter_map(Value::as_str)
}
