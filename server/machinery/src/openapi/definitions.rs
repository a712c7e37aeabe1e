//! Definitions: the schemas of types, and which of them a document needs.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use super::operations::{Paths, Payload};
use super::{Contents, Describe, Form, Node};
use crate::schema::{Composite, Field, ListType, Schema, Struct, StructId, Type};

/// Groups of kinds that only answers are made of: OpenAPI does not name them.
const UNNAMED: [&str; 2] = ["apidiscovery.k8s.io", "meta.k8s.io"];

/// OpenAPI name of a type that is a definition and no struct.
fn special(schema: &Schema, ty: Type) -> Option<&'static str> {
    Some(match ty {
        Type::Quantity => "io.k8s.apimachinery.pkg.api.resource.Quantity",
        Type::Time => "io.k8s.apimachinery.pkg.apis.meta.v1.Time",
        Type::MicroTime => "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime",
        Type::Duration => "io.k8s.apimachinery.pkg.apis.meta.v1.Duration",
        Type::IntOrString => "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
        Type::RawExtension => "io.k8s.apimachinery.pkg.runtime.RawExtension",
        Type::FieldsV1 => "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1",
        Type::Json => "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON",
        Type::Alternative(id) => schema.alternative(id).openapi_name,
        _ => return None,
    })
}

fn of_type(name: &'static str) -> Node {
    Node::map([("type", Node::text(name))])
}

/// Schema of a special type. v3 can say that a value is one of two types, v2 says string.
fn special_schema(form: Form, ty: Type) -> Node {
    let either = |a, b| Node::List(vec![of_type(a), of_type(b)]);
    match (ty, form) {
        (Type::Quantity, Form::V3) => Node::map([("oneOf", either("string", "number"))]),
        (Type::IntOrString, Form::V3) => {
            Node::map([("format", Node::text("int-or-string")), ("oneOf", either("integer", "string"))])
        }
        (Type::IntOrString, Form::V2) => {
            Node::map([("type", Node::text("string")), ("format", Node::text("int-or-string"))])
        }
        (Type::Time | Type::MicroTime, _) => {
            Node::map([("type", Node::text("string")), ("format", Node::text("date-time"))])
        }
        (Type::Quantity | Type::Duration, _) => of_type("string"),
        (Type::Json | Type::Alternative(_), _) => Node::Map(Vec::new()),
        _ => of_type("object"),
    }
}

/// Gathers the definitions of a document.
pub(super) struct Definitions<'a> {
    schema: &'a Schema,
    form: Form,
    describe: &'a Describe<'a>,
    /// Kinds that a struct is, as indices.
    kinds: HashMap<StructId, Vec<usize>>,
    found: BTreeMap<&'static str, Node>,
    todo: Vec<StructId>,
}

impl<'a> Definitions<'a> {
    /// `only`: a type that is a kind in many group-versions (`DeleteOptions`) is named as such in the core group and in
    /// this group-version; in all of them where it is `None`.
    pub(super) fn new(contents: &Contents<'a>, form: Form, only: Option<(&str, &str)>) -> Self {
        let Contents { schema, describe, .. } = *contents;
        let mut kinds: HashMap<StructId, Vec<usize>> = HashMap::new();
        for (at, kind) in schema.kinds.iter().enumerate() {
            if !UNNAMED.contains(&kind.group) {
                kinds.entry(kind.ty).or_default().push(at);
            }
        }
        if let Some(only) = only {
            for kinds in kinds.values_mut().filter(|kinds| kinds.len() > 1) {
                kinds.retain(|&at| {
                    let kind = &schema.kinds[at];
                    kind.group.is_empty() || (kind.group, kind.version) == only
                });
            }
        }
        Definitions { schema, form, describe, kinds, found: BTreeMap::new(), todo: Vec::new() }
    }

    /// Takes kinds of these groups for none of theirs.
    pub(super) fn without(mut self, groups: &[&str]) -> Self {
        for kinds in self.kinds.values_mut() {
            kinds.retain(|&at| !groups.contains(&self.schema.kinds[at].group));
        }
        self.kinds.retain(|_, kinds| !kinds.is_empty());
        self
    }

    /// All definitions that `paths` speak of and those that they lead to, sorted by name.
    pub(super) fn gather(self, paths: &Paths) -> Node {
        self.gather_with(paths, [].into_iter())
    }

    /// The same, and those that types of these names lead to.
    pub(super) fn gather_with<'n>(mut self, paths: &Paths, names: impl Iterator<Item = &'n str>) -> Node {
        self.todo.extend(names.filter_map(|name| Some(self.schema.by_openapi_name(name)?.0)));
        for operation in paths.values().flatten() {
            let body = operation.body.as_ref().map(|body| &body.payload);
            for payload in body.into_iter().chain([&operation.answer]) {
                if let Payload::Definition(name) = payload
                    && let Some((id, _)) = self.schema.by_openapi_name(name)
                {
                    self.todo.push(id);
                }
            }
        }
        while let Some(id) = self.todo.pop() {
            let s = self.schema.get(id);
            if !self.found.contains_key(s.openapi_name) {
                // Holds the place: a type may lead to itself.
                self.found.insert(s.openapi_name, Node::Bool(true));
                let node = self.structure(id, s);
                self.found.insert(s.openapi_name, node);
            }
        }
        Node::Map(self.found.into_iter().map(|(name, node)| (Cow::Borrowed(name), node)).collect())
    }

    fn structure(&mut self, id: StructId, s: &'a Struct) -> Node {
        let mut node = described((self.describe)(s.openapi_name, None), of_type("object"));
        let required: Vec<_> = s.fields.iter().filter(|f| f.required).map(|f| f.name).collect();
        if !required.is_empty() {
            node.put("required", Node::texts(&required));
        }
        if !s.fields.is_empty() {
            let properties = s.by_name.iter().map(|&i| &s.fields[i as usize]);
            let properties =
                properties.map(|f| (Cow::Borrowed(f.name), self.property(s.openapi_name, f))).collect();
            node.put("properties", Node::Map(properties));
        }
        if let Some(kinds) = self.kinds.get(&id) {
            let kinds = kinds.iter().map(|&at| &self.schema.kinds[at]);
            let kinds = kinds.map(|k| kind_node((k.group, k.version, k.kind))).collect();
            node.put("x-kubernetes-group-version-kind", Node::List(kinds));
        }
        map_type(&mut node, s.atomic, s.granular);
        if !s.unions.is_empty() {
            node.put("x-kubernetes-unions", Node::Json(s.unions.into()));
        }
        node
    }

    fn property(&mut self, of: &str, f: &Field) -> Node {
        let default = (self.form == Form::V3 && !f.default.is_empty()).then_some(f.default);
        let description = (self.describe)(of, Some(f.name));
        let mut node = match self.reference(f.ty) {
            // Beside a reference nothing else counts in v3, so it is wrapped where something is to be said.
            Some(reference) if self.form == Form::V3 && (default.is_some() || description.is_some()) => {
                let mut node = Node::Map(Vec::new());
                if let Some(default) = default {
                    node.put("default", Node::Json(default.into()));
                }
                node.put("allOf", Node::List(vec![reference]));
                node
            }
            Some(reference) => reference,
            None => self.value(f.ty, f, default),
        };
        node = described(description, node);
        if !f.list_map_keys.is_empty() {
            node.put("x-kubernetes-list-map-keys", Node::texts(f.list_map_keys));
        }
        if f.list_type_given {
            let list_type = match f.list_type {
                ListType::Atomic => "atomic",
                ListType::Set => "set",
                ListType::Map => "map",
            };
            node.put("x-kubernetes-list-type", Node::text(list_type));
        }
        map_type(&mut node, f.atomic, f.granular);
        if !f.patch_merge_key.is_empty() {
            node.put("x-kubernetes-patch-merge-key", Node::text(f.patch_merge_key));
        }
        if !f.patch_strategy.is_empty() {
            node.put("x-kubernetes-patch-strategy", Node::text(f.patch_strategy));
        }
        node
    }

    /// A reference, where the type has a definition of its own.
    fn reference(&mut self, ty: Type) -> Option<Node> {
        if let Some(name) = special(self.schema, ty) {
            let (form, describe) = (self.form, self.describe);
            self.found
                .entry(name)
                .or_insert_with(|| described(describe(name, None), special_schema(form, ty)));
            return Some(self.form.reference(name));
        }
        let Type::Struct(id) = ty else { return None };
        self.todo.push(id);
        Some(self.form.reference(self.schema.get(id).openapi_name))
    }

    /// The schema of a value in place. The enum of `f` is that of its innermost elements.
    fn value(&mut self, ty: Type, f: &Field, default: Option<&'static str>) -> Node {
        let (name, format) = match ty {
            Type::Bool => ("boolean", ""),
            Type::Int32 => ("integer", "int32"),
            Type::Int64 => ("integer", "int64"),
            Type::Float64 => ("number", "double"),
            Type::Bytes => ("string", "byte"),
            Type::Composite(id) => match self.schema.composite(id) {
                Composite::List(_) => ("array", ""),
                Composite::Map(_) => ("object", ""),
            },
            _ => ("string", ""),
        };
        let mut node = of_type(name);
        let format = if f.format.is_empty() { format } else { f.format };
        if !format.is_empty() {
            node.put("format", Node::text(format));
        }
        if let Some(default) = default {
            node.put("default", Node::Json(default.into()));
        }
        if let Type::Composite(id) = ty {
            let (key, element) = match self.schema.composite(id) {
                Composite::List(element) => ("items", element),
                Composite::Map(element) => ("additionalProperties", element),
            };
            let element = match self.reference(element.ty) {
                Some(reference) => reference,
                None => self.value(element.ty, f, None),
            };
            node.put(key, element);
        } else if !f.enumeration.is_empty() {
            node.put("enum", Node::texts(f.enumeration));
        }
        node
    }
}

/// The schema `node` with a description, where there is one, in front.
fn described(description: Option<String>, node: Node) -> Node {
    match (description, node) {
        (Some(text), Node::Map(mut entries)) => {
            entries.insert(0, (Cow::Borrowed("description"), Node::Text(Cow::Owned(text))));
            Node::Map(entries)
        }
        (_, node) => node,
    }
}

fn map_type(node: &mut Node, atomic: bool, granular: bool) {
    if atomic || granular {
        node.put("x-kubernetes-map-type", Node::text(if atomic { "atomic" } else { "granular" }));
    }
}

/// A group, version and kind as extensions show it.
fn kind_node((group, version, kind): (&'static str, &'static str, &'static str)) -> Node {
    Node::map([("group", Node::text(group)), ("kind", Node::text(kind)), ("version", Node::text(version))])
}
