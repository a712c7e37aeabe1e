//! Look-ups in the [`Schema`] beyond those by group, version and kind.

use std::borrow::Cow;

use super::{Composite, Element, Field, Kind, Resource, Schema, Struct, StructId, Subresource, Type};

impl Schema {
    /// The struct of an OpenAPI name.
    pub fn by_openapi_name(&self, name: &str) -> Option<(StructId, &Struct)> {
        let at = self.structs.binary_search_by(|s| s.openapi_name.cmp(name)).ok()?;
        Some((StructId(u16::try_from(at).ok()?), &self.structs[at]))
    }

    /// The kind of a `TypeMeta`: `apiVersion` is `group/version`, or the version alone for the core group.
    pub fn kind_of(&self, api_version: &str, kind: &str) -> Option<&Kind> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        self.kind(group, version, kind)
    }

    /// Kinds of one group-version, sorted by name.
    pub fn kinds_of(&self, group: &str, version: &str) -> &[Kind] {
        let start = self.kinds.partition_point(|k| (k.group, k.version) < (group, version));
        let len = self.kinds[start..].partition_point(|k| (k.group, k.version) == (group, version));
        &self.kinds[start..start + len]
    }

    /// Resources of one group-version, in discovery order.
    pub fn resources_of(&self, group: &str, version: &str) -> impl Iterator<Item = &Resource> {
        self.resources.iter().filter(move |r| r.group == group && r.version == version)
    }

    /// The kind of a resource's collection: `PodList` of pods. `None` for resources without one (reviews, bindings).
    pub fn list_kind(&self, resource: &Resource) -> Option<&Kind> {
        self.kinds_of(resource.group, resource.version)
            .iter()
            .find(|k| k.kind.strip_suffix("List") == Some(resource.kind))
    }

    /// Whether objects of a type have text that only their users understand. It is stored as it came, spaces included,
    /// so such objects are not stored as they are shown. (`FieldsV1` is the server's own to write.)
    pub fn holds_opaque(&self, ty: StructId) -> bool {
        let mut seen = vec![false; self.structs.len()];
        let mut open = vec![Type::Struct(ty)];
        while let Some(ty) = open.pop() {
            match ty {
                Type::RawExtension => return true,
                Type::Struct(id) if !std::mem::replace(&mut seen[id.0 as usize], true) => {
                    open.extend(self.get(id).fields.iter().map(|field| field.ty));
                }
                Type::Composite(id) => {
                    let (Composite::List(element) | Composite::Map(element)) = self.composite(id);
                    open.push(element.ty);
                }
                Type::Alternative(id) => {
                    let alternative = self.alternative(id);
                    open.extend([Type::Struct(alternative.object), alternative.other]);
                }
                _ => {}
            }
        }
        false
    }

    /// The kind a subresource is read and written as.
    pub fn subresource_kind(&self, subresource: &Subresource) -> Option<&Kind> {
        let (group, version, kind) = subresource.kind;
        self.kind(group, version, kind)
    }

    /// The Go type of a field as decode errors print it, pointer taken off: `string`, `v1.RestartPolicy`,
    /// `[]v1.Container`, `map[string]string`.
    pub fn go_type(&self, field: &Field) -> Cow<'static, str> {
        match field.go_type {
            "" => self.go_type_of(field.ty),
            named => Cow::Borrowed(named),
        }
    }

    /// The Go type that a type stands for where nobody named it otherwise.
    pub fn go_type_of(&self, ty: Type) -> Cow<'static, str> {
        Cow::Borrowed(match ty {
            Type::String => "string",
            Type::Bool => "bool",
            Type::Int32 => "int32",
            Type::Int64 => "int64",
            Type::Float64 => "float64",
            Type::Bytes => "[]uint8",
            Type::Quantity => "resource.Quantity",
            Type::Time => "v1.Time",
            Type::MicroTime => "v1.MicroTime",
            Type::Duration => "v1.Duration",
            Type::IntOrString => "intstr.IntOrString",
            Type::RawExtension => "runtime.RawExtension",
            Type::FieldsV1 => "v1.FieldsV1",
            Type::Json => "v1.JSON",
            Type::Alternative(id) => {
                let alternative = self.alternative(id);
                return Cow::Owned(format!("{}.{}", alternative.package, alternative.name));
            }
            Type::Struct(id) => {
                let s = self.get(id);
                return Cow::Owned(format!("{}.{}", s.package, s.name));
            }
            Type::Composite(id) => {
                let (prefix, element) = match self.composite(id) {
                    Composite::List(element) => ("[]", element),
                    Composite::Map(element) => ("map[string]", element),
                };
                let pointer = if element.pointer { "*" } else { "" };
                return Cow::Owned(format!("{prefix}{pointer}{}", self.go_type_of(element.ty)));
            }
        })
    }

    /// The Go type of a list's or map's element as decode errors print it, given the Go type of the whole.
    pub fn go_element_type<'a>(&self, whole: &'a str, element: Element) -> Cow<'a, str> {
        let rest = whole.strip_prefix("[]").or_else(|| {
            let rest = whole.strip_prefix("map[")?;
            Some(&rest[rest.find(']')? + 1..])
        });
        match rest {
            Some(rest) => Cow::Borrowed(rest.strip_prefix('*').unwrap_or(rest)),
            // A named slice or map (`v1.ResourceList`) does not tell what it holds.
            None => self.go_type_of(element.ty),
        }
    }
}

impl Struct {
    /// The field of a protobuf number in the message at `path` (empty: the struct's own), with its index.
    #[inline]
    pub fn field_by_proto(&self, path: &[u32], proto: u32) -> Option<(usize, &Field)> {
        match self.own_proto.get(proto as usize) {
            Some(after) if path.is_empty() && *after != 0 => {
                let index = usize::from(*after) - 1;
                Some((index, self.fields.get(index)?))
            }
            _ => self.other_by_proto(path, proto),
        }
    }

    /// The same of a large number, or in an embedded message.
    fn other_by_proto(&self, path: &[u32], proto: u32) -> Option<(usize, &Field)> {
        let at = self
            .by_proto
            .binary_search_by(|&i| {
                let field = &self.fields[i as usize];
                wire_order(field.proto_path, field.proto).cmp(wire_order(path, proto))
            })
            .ok()?;
        let index = self.by_proto[at] as usize;
        Some((index, &self.fields[index]))
    }
}

/// The numbers that lead to a field: those of the messages around it, then its own.
pub(super) fn wire_order(path: &[u32], proto: u32) -> impl Iterator<Item = u32> + '_ {
    path.iter().copied().chain(std::iter::once(proto))
}
