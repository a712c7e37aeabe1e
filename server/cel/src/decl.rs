//! Declared types: what an expression may know of the objects of a schema, with the sizes that costs are estimated from.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use crate::{
    checker::Env,
    escaping::{escape, is_reserved},
    limits::REQUEST_BYTES_MAX,
    schema::{Format, Kind, Schema},
    types::Type,
};

/// Characters of a duration or a date with a time in JSON, quotes included, at most.
const TIME_SIZE_MAX: i64 = 32;
const DURATION_SIZE_MIN: i64 = 3;
const DATE_SIZE: i64 = 12;
const DATE_TIME_SIZE_MIN: i64 = 21;

/// A type with the most elements (characters, items, entries) that a value has, and the fewest bytes that it takes.
#[derive(Debug)]
pub(crate) struct DeclType {
    pub(crate) shape: Shape,
    pub(crate) elements_max: i64,
    pub(crate) bytes_min: i64,
}

/// What a declared type is made of.
#[derive(Debug)]
pub(crate) enum Shape {
    Scalar(Type),
    List(Arc<DeclType>),
    /// Keys are strings.
    Map(Arc<DeclType>),
    Object {
        /// Unique within the schema.
        name: Arc<str>,
        /// By identifier.
        fields: BTreeMap<String, Arc<DeclType>>,
    },
}

impl DeclType {
    pub(crate) fn cel_type(&self) -> Type {
        match &self.shape {
            Shape::Scalar(t) => t.clone(),
            Shape::List(of) => Type::list(of.cel_type()),
            Shape::Map(of) => Type::map(Type::String, of.cel_type()),
            Shape::Object { name, .. } => Type::Struct(name.clone()),
        }
    }

    /// The same under another name, which objects in it are named after.
    pub(crate) fn renamed(&self, name: &str) -> DeclType {
        let shape = match &self.shape {
            Shape::Scalar(t) => Shape::Scalar(t.clone()),
            Shape::List(of) => Shape::List(Arc::new(of.renamed(&format!("{name}.@idx")))),
            Shape::Map(of) => Shape::Map(Arc::new(of.renamed(&format!("{name}.@elem")))),
            Shape::Object { fields, .. } => {
                let renamed = |(identifier, field): (&String, &Arc<DeclType>)| {
                    (identifier.clone(), Arc::new(field.renamed(&format!("{name}.{identifier}"))))
                };
                Shape::Object { name: name.into(), fields: fields.iter().map(renamed).collect() }
            }
        };
        DeclType { shape, elements_max: self.elements_max, bytes_min: self.bytes_min }
    }

    /// A field of an object.
    pub(crate) fn field(&self, identifier: &str) -> Option<&Arc<DeclType>> {
        match &self.shape {
            Shape::Object { fields, .. } => fields.get(identifier),
            _ => None,
        }
    }

    /// A field as it may be selected: reserved words without their underscores, too.
    pub(crate) fn selectable(&self, identifier: &str) -> Option<&Arc<DeclType>> {
        self.field(identifier)
            .or_else(|| is_reserved(identifier).then(|| self.field(&format!("__{identifier}__"))).flatten())
    }

    /// The type of items or values.
    pub(crate) fn element(&self) -> Option<&Arc<DeclType>> {
        match &self.shape {
            Shape::List(of) | Shape::Map(of) => Some(of),
            _ => None,
        }
    }

    /// What a rule on this type may refer to.
    pub(crate) fn env(&self, optional_old_self: bool, stored: bool) -> Env<'_> {
        let mut objects = HashMap::new();
        self.collect(&mut objects);
        let own = self.cel_type();
        let old = if optional_old_self { Type::optional(own.clone()) } else { own.clone() };
        Env { variables: vec![("self", own), ("oldSelf", old)], objects, stored, patch_types: false }
    }

    pub(crate) fn collect<'d>(&'d self, objects: &mut HashMap<&'d str, &'d DeclType>) {
        match &self.shape {
            Shape::Scalar(_) => {}
            Shape::List(of) | Shape::Map(of) => of.collect(objects),
            Shape::Object { name, fields } => {
                objects.insert(name, self);
                fields.values().for_each(|field| field.collect(objects));
            }
        }
    }

    /// How often a rule on this type may run over one request, where nothing around it bounds that.
    pub(crate) fn cardinality_max(&self) -> u64 {
        (REQUEST_BYTES_MAX / (self.bytes_min + 1)) as u64
    }
}

/// The declared type of a schema; `None` where expressions see nothing of it.
pub(crate) fn decl_type(schema: &Arc<Schema>, resource: bool, name: &str) -> Option<DeclType> {
    let scalar =
        |t, elements_max, bytes_min| Some(DeclType { shape: Shape::Scalar(t), elements_max, bytes_min });
    if schema.int_or_string {
        let max = schema.max_length.map_or(REQUEST_BYTES_MAX - 2, in_bytes);
        return scalar(Type::Dyn, max, 1);
    }
    let whole;
    let mut schema = schema;
    if resource {
        whole = schema.as_resource();
        schema = &whole;
    }
    match schema.kind {
        Kind::Array => {
            let items = schema.items.as_ref()?;
            let of = decl_type(items, items.embedded, &format!("{name}.@idx"))?;
            let max = schema.max_items.map_or((REQUEST_BYTES_MAX - 2) / (of.bytes_min + 1), |n| n.max(0));
            Some(DeclType { shape: Shape::List(Arc::new(of)), elements_max: max, bytes_min: 2 })
        }
        Kind::Object => match &schema.additional {
            Some(values) => {
                let of = decl_type(values, values.embedded, &format!("{name}.@elem"))?;
                let max =
                    schema.max_properties.map_or((REQUEST_BYTES_MAX - 2) / (of.bytes_min + 6), |n| n.max(0));
                Some(DeclType { shape: Shape::Map(Arc::new(of)), elements_max: max, bytes_min: 2 })
            }
            None => Some(object(schema, name)),
        },
        Kind::String => match schema.format {
            Format::Byte => {
                let max = schema.max_length.map_or(REQUEST_BYTES_MAX - 2, |n| n.max(0));
                scalar(Type::Bytes, max, 2)
            }
            Format::Duration => scalar(Type::Duration, TIME_SIZE_MAX, DURATION_SIZE_MIN),
            Format::Date => scalar(Type::Timestamp, DATE_SIZE, DATE_SIZE),
            Format::DateTime => scalar(Type::Timestamp, TIME_SIZE_MAX, DATE_TIME_SIZE_MIN),
            Format::Plain => {
                let max = match (schema.max_length, schema.enum_length) {
                    (Some(length), _) => in_bytes(length),
                    (None, Some(longest)) => longest,
                    (None, None) => REQUEST_BYTES_MAX - 2,
                };
                scalar(Type::String, max, 2)
            }
        },
        Kind::Boolean => scalar(Type::Bool, 0, 4),
        Kind::Number => scalar(Type::Double, 0, 1),
        Kind::Integer => scalar(Type::Int, 0, 1),
        Kind::Any => None,
    }
}

/// `maxLength` counts characters, of which each may take four bytes.
fn in_bytes(length: i64) -> i64 {
    length.max(0).wrapping_mul(4)
}

fn object(schema: &Schema, name: &str) -> DeclType {
    let mut fields = BTreeMap::new();
    let mut bytes_min = 2;
    for (property, schema_of) in schema.properties.iter().flatten() {
        let identifier = escape(property);
        let path = format!("{name}.{}", identifier.as_deref().unwrap_or(property));
        let Some(of) = decl_type(schema_of, schema_of.embedded, &path) else { continue };
        if schema.required.contains(property) && !schema_of.has_default {
            bytes_min += property.len() as i64 + of.bytes_min + 4;
        }
        if let Some(identifier) = identifier {
            fields.insert(identifier, Arc::new(of));
        }
    }
    DeclType { shape: Shape::Object { name: name.into(), fields }, elements_max: 0, bytes_min }
}
