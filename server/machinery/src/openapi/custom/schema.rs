//! The schemas of custom kinds: what their definitions say, with what every kind has.
//!
//! v2 cannot say all that v3 can, and some of what it can say confuses clients that read it: what
//! `ToStructuralOpenAPIV2` of the extensions server leaves out is left out here.

use std::borrow::Cow;

use super::{CustomResource, META, name_of};
use crate::openapi::{Describe, Form, node::Node};
use crate::value::{Map, Value};

/// Writes schemas.
#[derive(Clone, Copy)]
pub(super) struct Writer<'w> {
    pub(super) form: Form,
    pub(super) describe: &'w Describe<'w>,
}

const PRESERVE_UNKNOWN: &str = "x-kubernetes-preserve-unknown-fields";
const EMBEDDED: &str = "x-kubernetes-embedded-resource";
const INT_OR_STRING: &str = "x-kubernetes-int-or-string";

/// Where a schema stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    /// That of the object itself.
    Root,
    /// That of a value.
    Value,
    /// Inside of `allOf`, `anyOf`, `oneOf` or `not`: it says nothing of the structure.
    Validation,
}

impl Writer<'_> {
    /// The schema of a kind.
    pub(super) fn kind(self, resource: &CustomResource<'_>) -> Node {
        let mut node = match resource.schema {
            Some(schema) if self.form == Form::V3 || !flag(schema, PRESERVE_UNKNOWN) => {
                self.schema(schema, Level::Root)
            }
            // Whatever else it said, clients of v2 would refuse fields that are not named.
            _ => Node::map([("type", Node::text("object"))]),
        };
        self.mark(&mut node, resource, resource.kind);
        node
    }

    /// The schema of the kind's lists.
    pub(super) fn list(self, resource: &CustomResource<'_>) -> Node {
        let (kind, list_kind) = (resource.kind, resource.list_kind);
        let items = Node::map([
            ("description", owned(format!("Items is the list of {}.", resource.plural))),
            ("type", Node::text("array")),
            ("items", self.form.reference(&name_of(resource, kind))),
        ]);
        let about = (self.describe)("io.k8s.api.core.v1.ConfigMapList", Some("metadata"));
        let properties = vec![
            (Cow::Borrowed("apiVersion"), self.type_meta("apiVersion")),
            (Cow::Borrowed("items"), items),
            (Cow::Borrowed("kind"), self.type_meta("kind")),
            (Cow::Borrowed("metadata"), self.reference("ListMeta", about)),
        ];
        let mut node = Node::map([
            ("description", owned(format!("{list_kind} is a list of {kind}"))),
            ("type", Node::text("object")),
            ("required", Node::texts(&["items"])),
            ("properties", Node::Map(properties)),
        ]);
        self.mark(&mut node, resource, list_kind);
        node
    }

    /// Says which kind a schema is of, and which fields can be selected on.
    fn mark(self, node: &mut Node, resource: &CustomResource<'_>, kind: &str) {
        let name = [("group", resource.group), ("kind", kind), ("version", resource.version)];
        let name = Node::map(name.map(|(key, text)| (key, owned(text.to_owned()))));
        node.put("x-kubernetes-group-version-kind", Node::List(vec![name]));
        if !resource.selectable_fields.is_empty() {
            let field = |path: &&str| {
                let path = path.strip_prefix('.').unwrap_or(path).to_owned();
                Node::map([("fieldPath", owned(path))])
            };
            let fields = resource.selectable_fields.iter().map(field).collect();
            node.put("x-kubernetes-selectable-fields", Node::List(fields));
        }
    }

    /// `apiVersion` or `kind`, as every object has them.
    fn type_meta(self, name: &'static str) -> Node {
        let about = (self.describe)(&format!("{META}DeleteOptions"), Some(name));
        let node = Node::map([("type", Node::text("string"))]);
        described(about, node)
    }

    /// A reference to a type of metadata.
    fn reference(self, name: &str, about: Option<String>) -> Node {
        let reference = self.form.reference(&format!("{META}{name}"));
        match (self.form, about) {
            (_, None) => reference,
            // Beside a reference nothing else counts in v3.
            (Form::V3, about) => described(about, Node::map([("allOf", Node::List(vec![reference]))])),
            (Form::V2, about) => described(about, reference),
        }
    }

    fn object_meta(self) -> Node {
        let about = (self.describe)("io.k8s.api.core.v1.ConfigMap", Some("metadata"));
        self.reference("ObjectMeta", about)
    }

    fn schema(self, schema: &Value<'_>, level: Level) -> Node {
        let is_v2 = self.form == Form::V2;
        let structural = level != Level::Validation;
        let (preserve, nullable) = (flag(schema, PRESERVE_UNKNOWN), flag(schema, "nullable"));
        // Clients of v2 take a schema with a structure for one that is complete.
        let is_opaque = is_v2 && structural && (preserve || nullable);
        let mut node = Node::Map(Vec::new());
        let text = |name: &str| schema.str_at(&[name]).filter(|text| !text.is_empty());
        let mut put_text = |name: &'static str, text: Option<&str>| {
            if let Some(text) = text {
                node.put(name, owned(text.to_owned()));
            }
        };
        let ty = text("type").filter(|ty| match *ty {
            "array" => !is_v2 || !is_opaque && schema.path(&["items"]).is_some_and(|items| !items.is_null()),
            "object" => !is_opaque,
            _ => !(is_v2 && structural && nullable),
        });
        put_text("description", text("description"));
        put_text("type", ty);
        if nullable && !is_v2 {
            node.put("nullable", Node::Bool(true));
        }
        for name in ["format", "title"] {
            if let Some(text) = text(name) {
                node.put(name, owned(text.to_owned()));
            }
        }
        if !is_v2 && let Some(default) = given(schema, "default") {
            node.put("default", Node::json(default));
        }
        for name in VALIDATIONS {
            if let Some(value) = given(schema, name).filter(|value| says_something(name, value)) {
                node.put(name, Node::of(value));
            }
        }
        if let Some(values) = schema.path(&["enum"]).and_then(Value::as_list).filter(|l| !l.is_empty()) {
            node.put("enum", Node::List(values.iter().map(Node::of).collect()));
        }
        let adds_metadata =
            level == Level::Root || structural && flag(schema, EMBEDDED) && !(is_v2 && preserve);
        let mut required = self.required(schema, is_v2 && structural && !is_opaque);
        if adds_metadata && level != Level::Root {
            let missing = ["kind", "apiVersion"].into_iter().filter(|name| !required.contains(name));
            let missing: Vec<_> = missing.collect();
            required.extend(missing);
        }
        if !required.is_empty() {
            let required = required.iter().map(|name| owned((*name).to_owned()));
            node.put("required", Node::List(required.collect()));
        }
        if !is_opaque && let Some(items @ Value::Map(_)) = schema.path(&["items"]) {
            node.put("items", self.schema(items, level.below()));
        }
        if !(is_v2 && structural) {
            self.junctors(&mut node, schema, level);
        }
        self.properties(&mut node, schema, level, (is_opaque, adds_metadata));
        match given(schema, "additionalProperties") {
            Some(Value::Bool(any)) if structural => node.put("additionalProperties", Node::Bool(*any)),
            Some(of @ Value::Map(_)) if structural => {
                node.put("additionalProperties", self.schema(of, Level::Value));
            }
            _ => {}
        }
        for name in ["externalDocs", "example"] {
            if let Some(value) = given(schema, name) {
                node.put(name, Node::json(value));
            }
        }
        extensions(&mut node, schema);
        node
    }

    /// The names of required members; of those that v2 does not show as what they are, none has to be there.
    fn required<'v>(self, schema: &Value<'v>, shows_members: bool) -> Vec<&'v str> {
        let names = schema.path(&["required"]).and_then(Value::as_list);
        let mut names: Vec<_> = names.into_iter().flatten().filter_map(Value::as_str).collect();
        if shows_members {
            names.retain(|name| !schema.path(&["properties", name]).is_some_and(|p| flag(p, "nullable")));
        }
        let of = schema.path(&["additionalProperties"]);
        if self.form == Form::V2 && of.is_some_and(|of| flag(of, "nullable")) {
            names.clear();
        }
        names
    }

    fn junctors(self, node: &mut Node, schema: &Value<'_>, level: Level) {
        let below = |list: &Value<'_>| -> Vec<Node> {
            let list = list.as_list().into_iter().flatten();
            list.map(|schema| self.schema(schema, Level::Validation)).collect()
        };
        let of = |name: &str| given(schema, name).map_or_else(Vec::new, below);
        let (mut all, mut any) = (of("allOf"), of("anyOf"));
        if level != Level::Validation && flag(schema, INT_OR_STRING) && !says_int_or_string(schema) {
            let of_type = |name: &'static str| Node::map([("type", Node::text(name))]);
            let either = vec![of_type("integer"), of_type("string")];
            if any.is_empty() {
                any = either;
            } else {
                all.insert(0, Node::map([("anyOf", Node::List(either))]));
            }
        }
        for (name, list) in [("allOf", all), ("oneOf", of("oneOf")), ("anyOf", any)] {
            if !list.is_empty() {
                node.put(name, Node::List(list));
            }
        }
        if let Some(not @ Value::Map(_)) = given(schema, "not") {
            node.put("not", self.schema(not, Level::Validation));
        }
    }

    fn properties(
        self,
        node: &mut Node,
        schema: &Value<'_>,
        level: Level,
        (is_opaque, adds_metadata): (bool, bool),
    ) {
        let given = schema.path(&["properties"]).and_then(Value::as_map).filter(|_| !is_opaque);
        let is_added = |name: &str| adds_metadata && matches!(name, "apiVersion" | "kind" | "metadata");
        let mut properties: Vec<(Cow<'static, str>, Node)> = Vec::new();
        for (name, property) in given.into_iter().flat_map(Map::iter).filter(|(name, _)| !is_added(name)) {
            properties.push((Cow::Owned(name.to_owned()), self.schema(property, level.below())));
        }
        if adds_metadata {
            for name in ["apiVersion", "kind"] {
                properties.push((Cow::Borrowed(name), self.type_meta(name)));
            }
            properties.push((Cow::Borrowed("metadata"), self.object_meta()));
        }
        if !properties.is_empty() {
            properties.sort_by(|a, b| a.0.cmp(&b.0));
            node.put("properties", Node::Map(properties));
        }
    }
}

impl Level {
    fn below(self) -> Self {
        if self == Level::Validation { Level::Validation } else { Level::Value }
    }
}

/// Validations that both versions have, in their order; `enum` and `required` follow.
const VALIDATIONS: [&str; 14] = [
    "maximum",
    "exclusiveMaximum",
    "minimum",
    "exclusiveMinimum",
    "maxLength",
    "minLength",
    "pattern",
    "maxItems",
    "minItems",
    "uniqueItems",
    "multipleOf",
    "maxProperties",
    "minProperties",
    "x-kubernetes-validations",
];

/// Extensions that stay, in their order.
const EXTENSIONS: [&str; 6] = [
    EMBEDDED,
    INT_OR_STRING,
    "x-kubernetes-list-map-keys",
    "x-kubernetes-list-type",
    "x-kubernetes-map-type",
    PRESERVE_UNKNOWN,
];

fn extensions(node: &mut Node, schema: &Value<'_>) {
    for name in EXTENSIONS {
        if let Some(value) = given(schema, name).filter(|value| says_something(name, value)) {
            node.put(name, Node::of(value));
        }
    }
}

/// Whether a value says more than leaving it out would.
fn says_something(name: &str, value: &Value<'_>) -> bool {
    match value {
        Value::Bool(value) => *value,
        Value::List(list) => !list.is_empty(),
        Value::String(text) => name != "pattern" || !text.is_empty(),
        _ => true,
    }
}

/// Whether a schema says itself that its value is an integer or a text.
fn says_int_or_string(schema: &Value<'_>) -> bool {
    let says = |schema: &Value<'_>| {
        let Some(any) = schema.path(&["anyOf"]).and_then(Value::as_list) else { return false };
        let types: Vec<_> = any
            .iter()
            .map(|of| if of.as_map().is_some_and(|of| of.len() == 1) { of.str_at(&["type"]) } else { None })
            .collect();
        types == [Some("integer"), Some("string")]
    };
    let first = schema.path(&["allOf"]).and_then(Value::as_list).and_then(|all| all.first());
    says(schema) || first.is_some_and(says)
}

fn flag(schema: &Value<'_>, name: &str) -> bool {
    schema.path(&[name]).and_then(Value::as_bool) == Some(true)
}

fn given<'v, 'a>(schema: &'v Value<'a>, name: &str) -> Option<&'v Value<'a>> {
    schema.path(&[name]).filter(|value| !value.is_null())
}

fn owned(text: String) -> Node {
    Node::Text(Cow::Owned(text))
}

/// The schema `node` with a description, where there is one, in front.
fn described(about: Option<String>, node: Node) -> Node {
    match (about, node) {
        (Some(text), Node::Map(mut entries)) => {
            entries.insert(0, (Cow::Borrowed("description"), owned(text)));
            Node::Map(entries)
        }
        (_, node) => node,
    }
}
