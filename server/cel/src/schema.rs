//! A schema as expressions see it: what is needed to type them, and to read objects as their values.

use std::sync::Arc;

use ringbolt_machinery::structural::{self, Node, Type};

/// `type`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Any,
    Object,
    Array,
    String,
    Number,
    Integer,
    Boolean,
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Any => "",
            Kind::Object => "object",
            Kind::Array => "array",
            Kind::String => "string",
            Kind::Number => "number",
            Kind::Integer => "integer",
            Kind::Boolean => "boolean",
        }
    }
}

/// Formats of strings that are values of another type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Plain,
    Byte,
    Duration,
    Date,
    DateTime,
}

/// `x-kubernetes-list-type`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListType {
    Atomic,
    Set,
    Map,
}

/// Properties by name, sorted.
pub(crate) type Properties = Box<[(Box<str>, Arc<Schema>)]>;

/// One node.
#[derive(Clone, Debug)]
pub(crate) struct Schema {
    pub(crate) kind: Kind,
    pub(crate) format: Format,
    pub(crate) nullable: bool,
    pub(crate) int_or_string: bool,
    pub(crate) preserves_unknown: bool,
    pub(crate) embedded: bool,
    /// `None` where there are none.
    pub(crate) properties: Option<Properties>,
    pub(crate) required: Box<[Box<str>]>,
    pub(crate) additional: Option<Arc<Schema>>,
    pub(crate) items: Option<Arc<Schema>>,
    pub(crate) list_type: ListType,
    pub(crate) list_map_keys: Box<[Box<str>]>,
    pub(crate) max_length: Option<i64>,
    pub(crate) max_items: Option<i64>,
    pub(crate) max_properties: Option<i64>,
    /// Bytes of the longest string of `enum`, where there is an `enum`.
    pub(crate) enum_length: Option<i64>,
    pub(crate) has_default: bool,
    /// Of a resource: what its schema says itself.
    declared: Option<Arc<Schema>>,
}

/// Characters that a name may have (`DNS1123SubdomainMaxLength`).
const NAME_MAX: i64 = 253;

impl Schema {
    /// A schema that says nothing but a type.
    pub(crate) fn plain(kind: Kind) -> Schema {
        Schema {
            kind,
            format: Format::Plain,
            nullable: false,
            int_or_string: false,
            preserves_unknown: false,
            embedded: false,
            properties: None,
            required: Box::default(),
            additional: None,
            items: None,
            list_type: ListType::Atomic,
            list_map_keys: Box::default(),
            max_length: None,
            max_items: None,
            max_properties: None,
            enum_length: None,
            has_default: false,
            declared: None,
        }
    }

    /// The schema of a node and all below it. Those of resources within have what all resources have.
    pub(crate) fn of(node: Node<'_>) -> Arc<Schema> {
        let mut schema = Schema::plain(match node.ty() {
            Type::Object => Kind::Object,
            Type::Array => Kind::Array,
            Type::String => Kind::String,
            Type::Number => Kind::Number,
            Type::Integer => Kind::Integer,
            Type::Boolean => Kind::Boolean,
            Type::Any | Type::Null | Type::Unknown => Kind::Any,
        });
        schema.nullable = node.nullable();
        schema.int_or_string = node.is_int_or_string();
        schema.preserves_unknown = node.preserves_unknown_fields();
        schema.embedded = node.is_embedded_resource();
        if node.property_count() > 0 {
            let properties = node.properties().map(|(name, node)| (Box::from(name), Schema::of(node)));
            schema.properties = Some(properties.collect());
        }
        schema.additional = node.additional_schema().map(Schema::of);
        schema.items = node.items().map(Schema::of);
        schema.list_type = match node.list_type() {
            Some(structural::ListType::Map) => ListType::Map,
            Some(structural::ListType::Set) => ListType::Set,
            Some(structural::ListType::Atomic) | None => ListType::Atomic,
        };
        schema.list_map_keys = node.list_map_keys().map(Box::from).collect();
        schema.has_default = node.default().is_some_and(|default| !default.is_null());
        if let Some(validation) = node.validation() {
            schema.format = match validation.format() {
                "byte" => Format::Byte,
                "duration" => Format::Duration,
                "date" => Format::Date,
                "date-time" => Format::DateTime,
                _ => Format::Plain,
            };
            schema.required = validation.required().map(Box::from).collect();
            schema.max_length = validation.max_length();
            schema.max_items = validation.max_items();
            schema.max_properties = validation.max_properties();
            let values = validation.enumeration();
            let longest = values.iter().filter_map(|value| value.as_str()).map(str::len).max();
            schema.enum_length = (!values.is_empty()).then(|| longest.unwrap_or(0) as i64);
        }
        let schema = Arc::new(schema);
        if schema.embedded { schema.as_resource() } else { schema }
    }

    /// One of `properties`.
    pub(crate) fn property(&self, name: &str) -> Option<&Arc<Schema>> {
        let properties = self.properties.as_deref()?;
        let at = properties.binary_search_by(|(n, _)| (**n).cmp(name)).ok()?;
        Some(&properties[at].1)
    }

    /// One of `properties` as they are declared, without what all resources have.
    pub(crate) fn declared_property(&self, name: &str) -> Option<&Arc<Schema>> {
        self.declared.as_deref().unwrap_or(self).property(name)
    }

    /// The schema of a resource: with `apiVersion`, `kind` and the names of `metadata`, and no more of the latter.
    pub(crate) fn as_resource(self: &Arc<Self>) -> Arc<Schema> {
        let is = |schema: Option<&Arc<Schema>>, kind| schema.is_some_and(|s| s.kind == kind);
        let metadata = self.property("metadata");
        let whole = is(self.property("kind"), Kind::String)
            && is(self.property("apiVersion"), Kind::String)
            && is(metadata, Kind::Object)
            && metadata.is_some_and(|m| {
                is(m.property("name"), Kind::String) && is(m.property("generateName"), Kind::String)
            });
        if whole {
            return self.clone();
        }
        let named = |name: &str, max: i64| {
            let given = metadata.and_then(|m| m.property(name)).and_then(|s| s.max_length);
            let mut schema = Schema::plain(Kind::String);
            schema.max_length = Some(given.map_or(max, |given| given.min(max)));
            (Box::from(name), Arc::new(schema))
        };
        let mut meta = Schema::plain(Kind::Object);
        meta.properties = Some(Box::new([named("generateName", NAME_MAX - 1), named("name", NAME_MAX)]));
        let mut out = Schema::clone(self);
        let mut properties: Vec<_> = out.properties.take().map_or_else(Vec::new, Vec::from);
        properties.retain(|(name, _)| !matches!(&**name, "kind" | "apiVersion" | "metadata"));
        let text = Arc::new(Schema::plain(Kind::String));
        properties.push(("kind".into(), text.clone()));
        properties.push(("apiVersion".into(), text));
        properties.push(("metadata".into(), Arc::new(meta)));
        properties.sort_by(|a, b| a.0.cmp(&b.0));
        out.properties = Some(properties.into());
        out.declared = Some(self.clone());
        Arc::new(out)
    }
}
