//! One node of a structural schema: what is stored, and the handle it is read by.

use super::{
    Structural,
    json::Json,
    value_validation::{ValidationData, ValueValidation},
};

/// A stretch of the schema's texts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Text {
    pub(super) at: u32,
    pub(super) len: u32,
}

/// The position of a node. Parts of a schema that are the same are one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub(super) u32);

impl NodeId {
    /// As an index, below [`Structural::node_count`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// `type`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// None given: anything, an integer or a string, or part of a value validation.
    Any,
    /// `object`
    Object,
    /// `array`
    Array,
    /// `string`
    String,
    /// `integer`
    Integer,
    /// `number`
    Number,
    /// `boolean`
    Boolean,
    /// `null`, which no new schema may have.
    Null,
    /// Another, which no new schema may have.
    Unknown,
}

impl Type {
    /// The name; empty for [`Type::Any`] and [`Type::Unknown`].
    pub fn name(self) -> &'static str {
        match self {
            Type::Any | Type::Unknown => "",
            Type::Object => "object",
            Type::Array => "array",
            Type::String => "string",
            Type::Integer => "integer",
            Type::Number => "number",
            Type::Boolean => "boolean",
            Type::Null => "null",
        }
    }

    pub(super) fn of(name: &str) -> Type {
        match name {
            "" => Type::Any,
            "object" => Type::Object,
            "array" => Type::Array,
            "string" => Type::String,
            "integer" => Type::Integer,
            "number" => Type::Number,
            "boolean" => Type::Boolean,
            "null" => Type::Null,
            _ => Type::Unknown,
        }
    }
}

/// `x-kubernetes-list-type`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ListType {
    /// Replaced as a whole.
    Atomic,
    /// Of values that are there once.
    Set,
    /// Of objects with keys.
    Map,
}

/// `x-kubernetes-map-type`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MapType {
    /// Replaced as a whole.
    Atomic,
    /// Of fields that are independent.
    Granular,
}

/// `additionalProperties` as it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Additional {
    None,
    Bool(bool),
    Node(NodeId),
}

/// `additionalProperties`
#[derive(Clone, Copy, Debug)]
pub enum AdditionalProperties<'s> {
    /// Not given.
    None,
    /// Any, or no others.
    Bool(bool),
    /// Of a schema.
    Schema(Node<'s>),
}

pub(super) const NULLABLE: u8 = 1;
pub(super) const PRESERVE: u8 = 1 << 1;
pub(super) const EMBEDDED: u8 = 1 << 2;
pub(super) const INT_OR_STRING: u8 = 1 << 3;

/// What is stored of a node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct NodeData {
    pub(super) ty: Type,
    pub(super) flags: u8,
    pub(super) list_type: Option<ListType>,
    pub(super) map_type: Option<MapType>,
    pub(super) items: Option<NodeId>,
    pub(super) additional: Additional,
    /// Sorted by the name's text.
    pub(super) properties: Box<[(Text, NodeId)]>,
    pub(super) rest: Option<Box<Rest>>,
}

/// What few nodes have.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Rest {
    pub(super) default: Option<Json>,
    /// The name of a type that is unknown.
    pub(super) type_name: Text,
    pub(super) list_map_keys: Box<[Text]>,
    pub(super) rules: Box<[Rule]>,
    pub(super) validation: ValidationData,
}

/// One of `x-kubernetes-validations`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rule {
    /// `rule`
    pub rule: Box<str>,
    /// `message`
    pub message: Box<str>,
    /// `messageExpression`
    pub message_expression: Box<str>,
    /// `reason`
    pub reason: Option<Box<str>>,
    /// `fieldPath`
    pub field_path: Box<str>,
    /// `optionalOldSelf`
    pub optional_old_self: Option<bool>,
}

/// A node of a [`Structural`].
#[derive(Clone, Copy)]
pub struct Node<'s> {
    pub(super) of: &'s Structural,
    pub(super) id: NodeId,
    pub(super) data: &'s NodeData,
}

impl std::fmt::Debug for Node<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Node").field("id", &self.id).field("type", &self.data.ty).finish_non_exhaustive()
    }
}

impl<'s> Node<'s> {
    /// The schema it belongs to.
    pub fn structural(&self) -> &'s Structural {
        self.of
    }
    /// Its position.
    pub fn id(&self) -> NodeId {
        self.id
    }
    /// `type`
    pub fn ty(&self) -> Type {
        self.data.ty
    }
    /// The name of `type`, also of one that is unknown.
    pub fn type_name(&self) -> &'s str {
        match (self.data.ty, self.data.rest.as_deref()) {
            (Type::Unknown, Some(rest)) => self.of.text(rest.type_name),
            (ty, _) => ty.name(),
        }
    }
    fn flag(&self, flag: u8) -> bool {
        self.data.flags & flag != 0
    }
    /// `nullable`
    pub fn nullable(&self) -> bool {
        self.flag(NULLABLE)
    }
    /// `x-kubernetes-preserve-unknown-fields`
    pub fn preserves_unknown_fields(&self) -> bool {
        self.flag(PRESERVE)
    }
    /// `x-kubernetes-embedded-resource`
    pub fn is_embedded_resource(&self) -> bool {
        self.flag(EMBEDDED)
    }
    /// `x-kubernetes-int-or-string`
    pub fn is_int_or_string(&self) -> bool {
        self.flag(INT_OR_STRING)
    }
    /// `x-kubernetes-list-type`; `None` is atomic.
    pub fn list_type(&self) -> Option<ListType> {
        self.data.list_type
    }
    /// `x-kubernetes-map-type`; `None` is granular.
    pub fn map_type(&self) -> Option<MapType> {
        self.data.map_type
    }
    /// `x-kubernetes-list-map-keys`
    pub fn list_map_keys(&self) -> impl ExactSizeIterator<Item = &'s str> + Clone + use<'s> {
        let of = self.of;
        let keys: &'s [Text] = self.data.rest.as_deref().map_or(&[], |rest| &rest.list_map_keys);
        keys.iter().map(move |key| of.text(*key))
    }
    /// `x-kubernetes-validations`
    pub fn rules(&self) -> &'s [Rule] {
        self.data.rest.as_deref().map_or(&[], |rest| &rest.rules)
    }
    /// `default`
    pub fn default(&self) -> Option<&'s Json> {
        self.data.rest.as_deref()?.default.as_ref()
    }
    /// `items`
    pub fn items(&self) -> Option<Node<'s>> {
        self.data.items.map(|id| self.of.node(id))
    }
    /// `additionalProperties`
    pub fn additional_properties(&self) -> AdditionalProperties<'s> {
        match self.data.additional {
            Additional::None => AdditionalProperties::None,
            Additional::Bool(any) => AdditionalProperties::Bool(any),
            Additional::Node(id) => AdditionalProperties::Schema(self.of.node(id)),
        }
    }
    /// The schema of `additionalProperties`, where there is one.
    pub fn additional_schema(&self) -> Option<Node<'s>> {
        match self.data.additional {
            Additional::Node(id) => Some(self.of.node(id)),
            _ => None,
        }
    }
    /// Whether `additionalProperties` is given, be it `false`.
    pub fn has_additional_properties(&self) -> bool {
        self.data.additional != Additional::None
    }
    /// How many `properties` there are.
    pub fn property_count(&self) -> usize {
        self.data.properties.len()
    }
    /// `properties`, sorted by name.
    pub fn properties(&self) -> impl ExactSizeIterator<Item = (&'s str, Node<'s>)> + use<'s> {
        let of = self.of;
        self.data.properties.iter().map(move |(name, id)| (of.text(*name), of.node(*id)))
    }
    /// One of `properties`.
    pub fn property(&self, name: &str) -> Option<Node<'s>> {
        let at = self.data.properties.binary_search_by(|(text, _)| self.of.text(*text).cmp(name)).ok()?;
        Some(self.of.node(self.data.properties[at].1))
    }
    /// The schema of the member `key`: a property's, or that of `additionalProperties`.
    pub fn member(&self, key: &str) -> Option<Node<'s>> {
        self.property(key).or_else(|| self.additional_schema())
    }
    /// What values must be beyond the structure; `None` where nothing is said.
    pub fn validation(&self) -> Option<ValueValidation<'s>> {
        let data = &self.data.rest.as_deref()?.validation;
        Some(ValueValidation { of: self.of, data })
    }
}

impl NodeData {
    /// Bytes on the heap.
    pub(super) fn heap(&self) -> usize {
        let rest = self.rest.as_deref().map_or(0, |rest| {
            let validation = &rest.validation;
            let values = validation.enumeration.as_deref().unwrap_or_default();
            let nodes = validation.all_of.len() + validation.any_of.len() + validation.one_of.len();
            size_of::<Rest>()
                + rest.default.as_ref().map_or(0, Json::heap)
                + (rest.list_map_keys.len() + validation.required.len()) * size_of::<Text>()
                + nodes * size_of::<NodeId>()
                + values.iter().map(|value| size_of::<Json>() + value.heap()).sum::<usize>()
                + rest.rules.iter().map(Rule::size).sum::<usize>()
        });
        self.properties.len() * size_of::<(Text, NodeId)>() + rest
    }
}

impl Rule {
    fn size(&self) -> usize {
        let texts = [&self.rule, &self.message, &self.message_expression, &self.field_path];
        size_of::<Rule>()
            + texts.iter().map(|text| text.len()).sum::<usize>()
            + self.reason.as_ref().map_or(0, |reason| reason.len())
    }
}
