//! The compiled Schema: what the server knows of every kind it serves.
//!
//! Built-in kinds come from a table of facts that `schemagen` writes (`builtin.tbl`); see [`Schema::builtin`].

mod builtin;
mod lookup;
mod names;
mod placed;
mod spelling;
#[cfg(test)]
mod tests;

pub use builtin::Malformed;
pub(crate) use names::{Head, NameIndex};
pub(crate) use placed::{Placed, bits};
pub(crate) use spelling::Spelling;

/// Index of a struct type in [`Schema::structs`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StructId(pub u16);

/// Index of a composite (list or map) type in [`Schema::composites`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CompositeId(pub u16);

/// Index of a type in [`Schema::alternatives`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AlternativeId(pub u16);

/// The type of a field or element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// Go `string` and named strings.
    String,
    /// Go `bool`.
    Bool,
    /// Go `int32`.
    Int32,
    /// Go `int64`, `int`.
    Int64,
    /// Go `float64`.
    Float64,
    /// Go `[]byte`: base64 in JSON.
    Bytes,
    /// `resource.Quantity`: kept in canonical form.
    Quantity,
    /// `metav1.Time`: RFC 3339 to the second, UTC.
    Time,
    /// `metav1.MicroTime`: RFC 3339 with six digits.
    MicroTime,
    /// `metav1.Duration`: Go duration text.
    Duration,
    /// `intstr.IntOrString`.
    IntOrString,
    /// `runtime.RawExtension` and `runtime.Object`: any object, kept as it is.
    RawExtension,
    /// `metav1.FieldsV1`: any object, kept as it is.
    FieldsV1,
    /// `apiextensions.JSON`: any value.
    Json,
    /// A struct.
    Struct(StructId),
    /// A list or a map.
    Composite(CompositeId),
    /// An object or something else.
    Alternative(AlternativeId),
}

/// A list or map type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Composite {
    /// Go slice.
    List(Element),
    /// Go map with string keys.
    Map(Element),
}

/// A type that in JSON is an object of a struct or something else, and in Go and protobuf a struct that has room for
/// both: `JSONSchemaPropsOrBool`, `JSONSchemaPropsOrArray`, `JSONSchemaPropsOrStringArray`.
#[derive(Clone, Copy, Debug)]
pub struct Alternative {
    /// Go type name.
    pub name: &'static str,
    /// Go package name.
    pub package: &'static str,
    /// OpenAPI name.
    pub openapi_name: &'static str,
    /// What the object is.
    pub object: StructId,
    /// Protobuf number of the object.
    pub object_number: u32,
    /// What else it may be: a bool (the object then says true), or a list.
    pub other: Type,
    /// Protobuf number of what else it may be.
    pub other_number: u32,
}

/// What a list or map holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element {
    /// Element type.
    pub ty: Type,
    /// Whether the element is a Go pointer (null allowed).
    pub pointer: bool,
    /// In protobuf the list is a message of its own, `{ repeated items = 1 }`, wherever it stands: the named slices
    /// `ExtraValue` and `Verbs`. Such a list as a field is one message, as a map value it is what the entry holds.
    pub wrapped: bool,
}

/// How server-side apply and validation treat a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ListType {
    /// One value (default).
    #[default]
    Atomic,
    /// Unique scalars.
    Set,
    /// Unique by [`Field::list_map_keys`].
    Map,
}

/// One field of a struct.
#[derive(Clone, Debug)]
pub struct Field {
    /// JSON name: within [`Struct::spelled`] in a schema that is loaded.
    pub name: &'static str,
    /// Type.
    pub ty: Type,
    /// Go pointer: absent differs from zero.
    pub pointer: bool,
    /// `omitempty`: left out when zero, empty or nil.
    pub omit_empty: bool,
    /// `omitzero`: left out when the struct is zero.
    pub omit_zero: bool,
    /// Listed as required in OpenAPI.
    pub required: bool,
    /// Protobuf field number, 0 where the field has none (`kind`, `apiVersion`: they stand in the envelope).
    pub proto: u32,
    /// Numbers of the messages around the field, outermost first. An embedded Go struct is flat in JSON and a message
    /// of its own in protobuf: `hostPath` of `Volume` is field 1 of the message in field 2. Such a message is always
    /// written, even an empty one. Empty for a field that stands in its struct's own message.
    pub proto_path: &'static [u32],
    /// `+default` value as JSON, as OpenAPI shows it; empty where there is none.
    pub default: &'static str,
    /// Enum values; empty where it is not an enum.
    pub enumeration: &'static [&'static str],
    /// `x-kubernetes-list-type`.
    pub list_type: ListType,
    /// `x-kubernetes-list-type` was given.
    pub list_type_given: bool,
    /// `x-kubernetes-list-map-keys`.
    pub list_map_keys: &'static [&'static str],
    /// `x-kubernetes-map-type: atomic` (also of a struct field).
    pub atomic: bool,
    /// `x-kubernetes-map-type: granular` was given (it is what a map is anyway).
    pub granular: bool,
    /// `x-kubernetes-patch-strategy`, comma separated; empty where none.
    pub patch_strategy: &'static str,
    /// `x-kubernetes-patch-merge-key`; empty where none.
    pub patch_merge_key: &'static str,
    /// OpenAPI `format` where it is not implied by the type; empty otherwise.
    pub format: &'static str,
    /// Go type as decode errors print it, pointer taken off (`v1.RestartPolicy`, `[]v1.IPFamily`), where it is not
    /// what [`Schema::go_type`] derives from `ty`; empty otherwise.
    pub go_type: &'static str,
    /// `,"name":`, the field behind another one in JSON. Made at load.
    pub(crate) member: Spelling,
    /// `,"f:name":{`, the same in a `FieldsV1`. Made at load.
    pub(crate) step: Spelling,
}

/// A struct type.
#[derive(Clone, Debug)]
pub struct Struct {
    /// Go type name (`ObjectMeta`), as decode errors quote it.
    pub name: &'static str,
    /// Go package name (`v1`): decode errors print the type as `v1.ObjectMeta`.
    pub package: &'static str,
    /// OpenAPI v3 name (`io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta`).
    pub openapi_name: &'static str,
    /// Fields in Go declaration order, embedded structs flattened, `kind` and `apiVersion` first for kinds.
    pub fields: Vec<Field>,
    /// `x-kubernetes-map-type: atomic` on the type.
    pub atomic: bool,
    /// `x-kubernetes-map-type: granular` on the type (it is what a struct is anyway).
    pub granular: bool,
    /// `x-kubernetes-unions`, as JSON; empty where none.
    pub unions: &'static str,
    /// Names of `fields`, close together: a walk over an object's entries looks at nothing else of the fields that the
    /// object does not have. Made at load.
    pub names: Vec<&'static str>,
    /// The texts of all `fields`, in which their names stand, each three bytes behind its field's index. A key that
    /// lies in here, as those of trees that were decoded by the Schema do, so tells which field it names. Made at load.
    pub(crate) spelled: &'static str,
    /// Finds fields by name. Made at load.
    pub(crate) index: NameIndex,
    /// The `fields` that are encoded even where they were never set, by the bit of their index. Made at load.
    pub(crate) always: u64,
    /// Indices of `fields`, sorted by name, made at load.
    pub by_name: Vec<u16>,
    /// Places of the `fields` in `by_name`. Made at load.
    pub rank: Vec<u16>,
    /// Indices of the `fields` that protobuf has, sorted by (`proto_path`, `proto`) as bytes on the wire stand: the
    /// fields of an embedded message are neighbours, in the place of that message. Made at load.
    pub by_proto: Vec<u16>,
    /// For each small protobuf number the index of the field that has it in the struct's own message, and one; 0 where
    /// none has. Made at load.
    pub(crate) own_proto: Vec<u8>,
    /// The `fields` of which protobuf says something even where they were never set, by the bit of their index. Made at
    /// load.
    pub(crate) proto_always: u64,
    /// Whether protobuf has all of them in the struct's own message, and in the order of the fields. Made at load.
    pub(crate) proto_in_order: bool,
}

/// Fields that a struct may have: sets of them are the bits of one number. The largest built-in one, `PodSpec`, has 43.
pub(crate) const FIELDS_MAX: usize = 64;

/// Whether two names are the same. Most that are not differ in their length or first byte, which costs no call.
#[inline]
pub(crate) fn same_text(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.as_bytes().first() == b.as_bytes().first() && a == b
}

impl Struct {
    /// The field of a JSON name, with its index.
    pub fn field(&self, name: &str) -> Option<(usize, &Field)> {
        let index = self.index_of(name)?;
        Some((index, &self.fields[index]))
    }

    /// The index of the field that a key names.
    #[inline]
    pub(crate) fn index_of(&self, key: &str) -> Option<usize> {
        match self.own_index(key) {
            Some(index) => Some(index),
            None => self.index_of_other(key),
        }
    }

    /// The same of a text that is not the Schema's.
    fn index_of_other(&self, key: &str) -> Option<usize> {
        self.index_of_head(key, Head::of(key))
    }

    /// The same of a key with its head.
    #[inline]
    pub(crate) fn index_of_head(&self, key: &str, head: Head) -> Option<usize> {
        self.index.find(&self.names, key, head)
    }

    /// The same of a key that is the very text that the Schema has.
    #[inline]
    fn own_index(&self, key: &str) -> Option<usize> {
        let at = (key.as_ptr() as usize).wrapping_sub(self.spelled.as_ptr() as usize);
        let index = usize::from(*self.spelled.as_bytes().get(at.wrapping_sub(spelling::INDEX_BEFORE))?);
        // It may be but a part of such a text.
        self.names.get(index).filter(|name| std::ptr::eq(**name, key)).map(|_| index)
    }
}

/// A kind in one version. `List` kinds, options kinds (`DeleteOptions`, …) and `Status` are kinds as well.
#[derive(Clone, Debug)]
pub struct Kind {
    /// API group, empty for core.
    pub group: &'static str,
    /// Version.
    pub version: &'static str,
    /// Kind.
    pub kind: &'static str,
    /// Its struct.
    pub ty: StructId,
}

/// A verb of discovery.
pub type Verbs = &'static [&'static str];

/// A subresource.
#[derive(Clone, Debug)]
pub struct Subresource {
    /// Name (`status`).
    pub name: &'static str,
    /// Verbs, sorted as discovery shows them.
    pub verbs: Verbs,
    /// Response kind as (group, version, kind).
    pub kind: (&'static str, &'static str, &'static str),
    /// Whether discovery names the kind's group and version (it does where they differ from the resource's).
    pub foreign: bool,
}

/// A column of the Table form.
#[derive(Clone, Debug)]
pub struct Column {
    /// Header.
    pub name: &'static str,
    /// OpenAPI type.
    pub ty: &'static str,
    /// OpenAPI format.
    pub format: &'static str,
    /// Description.
    pub description: &'static str,
    /// 0 is always shown, 1 with `-o wide`.
    pub priority: i32,
}

/// A resource in one version.
#[derive(Clone, Debug)]
pub struct Resource {
    /// API group, empty for core.
    pub group: &'static str,
    /// Version.
    pub version: &'static str,
    /// Plural name.
    pub resource: &'static str,
    /// Singular name as discovery shows it.
    pub singular: &'static str,
    /// Kind.
    pub kind: &'static str,
    /// The struct of the kind.
    pub ty: StructId,
    /// Whether it lives in namespaces.
    pub namespaced: bool,
    /// A delete answers the object as it was, not a Status.
    pub delete_returns_object: bool,
    /// Short names.
    pub short_names: &'static [&'static str],
    /// Categories.
    pub categories: &'static [&'static str],
    /// Verbs, sorted as discovery shows them.
    pub verbs: Verbs,
    /// `storageVersionHash` of discovery; empty where none.
    pub storage_version_hash: &'static str,
    /// Subresources, sorted by name.
    pub subresources: Vec<Subresource>,
    /// Table columns.
    pub columns: Vec<Column>,
    /// Whether the group-version is on by default.
    pub on_by_default: bool,
}

/// A group and its versions.
#[derive(Clone, Debug)]
pub struct Group {
    /// Name, empty for core.
    pub name: &'static str,
    /// Versions, preferred first.
    pub versions: Vec<&'static str>,
}

/// Everything.
#[derive(Debug, Default)]
pub struct Schema {
    /// Struct types, sorted by OpenAPI name.
    pub structs: Vec<Struct>,
    /// List and map types.
    pub composites: Vec<Composite>,
    /// Types that are an object or something else, sorted by OpenAPI name.
    pub alternatives: Vec<Alternative>,
    /// Kinds, sorted by (group, version, kind).
    pub kinds: Vec<Kind>,
    /// Resources in discovery order within a group-version.
    pub resources: Vec<Resource>,
    /// Groups in discovery order with the versions that are on by default; a group that has none is left out.
    pub groups: Vec<Group>,
    /// Groups in discovery order with all versions that can be turned on.
    pub all_groups: Vec<Group>,
}

impl Schema {
    /// The struct of an id.
    pub fn get(&self, id: StructId) -> &Struct {
        &self.structs[id.0 as usize]
    }
    /// The composite of an id.
    pub fn composite(&self, id: CompositeId) -> Composite {
        self.composites[id.0 as usize]
    }
    /// The alternative of an id.
    pub fn alternative(&self, id: AlternativeId) -> &Alternative {
        &self.alternatives[id.0 as usize]
    }
    /// The kind of a group, version and kind.
    pub fn kind(&self, group: &str, version: &str, kind: &str) -> Option<&Kind> {
        let at = self
            .kinds
            .binary_search_by(|k| (k.group, k.version, k.kind).cmp(&(group, version, kind)))
            .ok()?;
        Some(&self.kinds[at])
    }
    /// The resource of a group, version and plural name.
    pub fn resource(&self, group: &str, version: &str, resource: &str) -> Option<&Resource> {
        self.resources.iter().find(|r| r.group == group && r.version == version && r.resource == resource)
    }
}
