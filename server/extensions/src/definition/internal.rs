//! The form in which the API server holds a CustomResourceDefinition to its rules: what all versions say alike stands
//! once, in the spec itself. Errors name fields and values of that form.

use ringbolt_controlplane::tree::{Members, same};
use ringbolt_machinery::{
    field::{write_json, write_json_string},
    structural::internal::write_schema,
    value::{Map, Value},
};

/// What versions may say each for itself.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Parts<'v, 'a> {
    /// `schema`.
    pub(crate) schema: Option<&'v Value<'a>>,
    /// `subresources`.
    pub(crate) subresources: Option<&'v Value<'a>>,
    /// `additionalPrinterColumns`.
    pub(crate) columns: Option<&'v Value<'a>>,
    /// `selectableFields`.
    pub(crate) selectable: Option<&'v Value<'a>>,
}

impl<'v, 'a> Parts<'v, 'a> {
    /// The schema itself.
    pub(crate) fn properties(&self) -> Option<&'v Value<'a>> {
        self.schema.and_then(Value::as_map)?.get("openAPIV3Schema").filter(|schema| !schema.is_null())
    }

    /// Whether there is a status of its own.
    pub(crate) fn has_status(&self) -> bool {
        self.subresources.and_then(Value::as_map).is_some_and(|map| map.has("status"))
    }
}

/// A version, without what all versions share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Version<'v, 'a> {
    pub(crate) map: &'v Map<'a>,
    pub(crate) parts: Parts<'v, 'a>,
}

/// A spec in that form.
#[derive(Debug)]
pub(crate) struct Internal<'v, 'a> {
    pub(crate) spec: &'v Map<'a>,
    pub(crate) versions: Vec<Version<'v, 'a>>,
    /// What all versions share.
    pub(crate) shared: Parts<'v, 'a>,
}

impl<'v, 'a> Internal<'v, 'a> {
    pub(crate) fn of(spec: &'v Map<'a>) -> Internal<'v, 'a> {
        let maps: Vec<_> = spec.items("versions").iter().filter_map(Value::as_map).collect();
        let member = |map: &'v Map<'a>, name: &str| map.get(name).filter(|value| !value.is_null());
        // What the first says, and whether the others say the same.
        let split = |name: &str| {
            let first = maps.first().and_then(|map| member(map, name));
            let alike = maps.iter().all(|map| {
                let own = member(map, name);
                // A struct without content is not the same as none.
                let is_nil = |value: Option<&Value<'_>>| {
                    value.is_none_or(|v| v.as_list().is_some_and(|l| l.is_empty()))
                };
                is_nil(own) == is_nil(first) && same(own, first)
            });
            (alike, first.filter(|_| alike))
        };
        let (schemas, schema) = split("schema");
        let (all_subresources, subresources) = split("subresources");
        let (all_columns, columns) = split("additionalPrinterColumns");
        let (all_selectable, selectable) = split("selectableFields");
        let own = |shared: bool, map: &'v Map<'a>, name: &str| member(map, name).filter(|_| !shared);
        let version = |map: &&'v Map<'a>| Version {
            map,
            parts: Parts {
                schema: own(schemas, map, "schema"),
                subresources: own(all_subresources, map, "subresources"),
                columns: own(all_columns, map, "additionalPrinterColumns"),
                selectable: own(all_selectable, map, "selectableFields"),
            },
        };
        Internal {
            spec,
            versions: maps.iter().map(version).collect(),
            shared: Parts { schema, subresources, columns, selectable },
        }
    }

    /// All schemas.
    pub(crate) fn schemas(&self) -> impl Iterator<Item = &'v Value<'a>> {
        let own = self.versions.iter().filter_map(|version| version.parts.properties());
        self.shared.properties().into_iter().chain(own)
    }

    /// The schema that counts for a version.
    pub(crate) fn schema_of(&self, name: &str) -> Option<&'v Value<'a>> {
        if self.versions.iter().all(|version| version.parts.schema.is_none()) {
            return self.shared.schema;
        }
        self.versions.iter().find(|version| version.map.text("name") == name)?.parts.schema
    }

    /// Whether unknown fields are kept everywhere, as old definitions may still say.
    pub(crate) fn preserves_unknown_fields(&self) -> bool {
        self.spec.flag("preserveUnknownFields")
    }

    /// The versions as errors quote them.
    pub(crate) fn versions_json(&self) -> String {
        if self.spec.get("versions").is_none_or(Value::is_null) {
            return "null".to_owned();
        }
        let mut out = String::from("[");
        for (at, version) in self.versions.iter().enumerate() {
            if at > 0 {
                out.push(',');
            }
            version.write(&mut out);
        }
        out.push(']');
        out
    }
}

impl Version<'_, '_> {
    fn write(&self, out: &mut String) {
        let Version { map, parts } = self;
        out.push('{');
        put(out, "Name", |out| write_json_string(map.text("name"), out));
        for (go, name) in [("Served", "served"), ("Storage", "storage"), ("Deprecated", "deprecated")] {
            put(out, go, |out| out.push_str(if map.flag(name) { "true" } else { "false" }));
        }
        put(out, "DeprecationWarning", |out| any(map.get("deprecationWarning"), out));
        put(out, "Schema", |out| match parts.schema {
            None => out.push_str("null"),
            Some(_) => object(out, |out| {
                put(out, "OpenAPIV3Schema", |out| match parts.properties() {
                    Some(schema) => write_schema(schema, out),
                    None => out.push_str("null"),
                });
            }),
        });
        put(out, "Subresources", |out| match parts.subresources.and_then(Value::as_map) {
            None => out.push_str("null"),
            Some(map) => object(out, |out| subresources(map, out)),
        });
        put(out, "AdditionalPrinterColumns", |out| items(parts.columns, out, column));
        put(out, "SelectableFields", |out| {
            items(parts.selectable, out, |field, out| {
                put(out, "JSONPath", |out| write_json_string(field.text("jsonPath"), out));
            });
        });
        out.push('}');
    }
}

fn object(out: &mut String, write: impl FnOnce(&mut String)) {
    out.push('{');
    write(out);
    out.push('}');
}

fn put(out: &mut String, name: &str, write: impl FnOnce(&mut String)) {
    if !out.ends_with('{') {
        out.push(',');
    }
    write_json_string(name, out);
    out.push(':');
    write(out);
}

fn any(value: Option<&Value<'_>>, out: &mut String) {
    write_json(value.unwrap_or(&Value::Null), out);
}

fn items(list: Option<&Value<'_>>, out: &mut String, write: impl Fn(&Map<'_>, &mut String)) {
    let Some(list) = list.and_then(Value::as_list) else { return out.push_str("null") };
    out.push('[');
    for (at, item) in list.iter().filter_map(Value::as_map).enumerate() {
        if at > 0 {
            out.push(',');
        }
        object(out, |out| write(item, out));
    }
    out.push(']');
}

fn subresources(map: &Map<'_>, out: &mut String) {
    put(out, "Status", |out| out.push_str(if map.has("status") { "{}" } else { "null" }));
    put(out, "Scale", |out| match map.child("scale") {
        None => out.push_str("null"),
        Some(scale) => object(out, |out| {
            for (go, name) in
                [("SpecReplicasPath", "specReplicasPath"), ("StatusReplicasPath", "statusReplicasPath")]
            {
                put(out, go, |out| write_json_string(scale.text(name), out));
            }
            put(out, "LabelSelectorPath", |out| any(scale.get("labelSelectorPath"), out));
        }),
    });
}

fn column(column: &Map<'_>, out: &mut String) {
    for (go, name) in
        [("Name", "name"), ("Type", "type"), ("Format", "format"), ("Description", "description")]
    {
        put(out, go, |out| write_json_string(column.text(name), out));
    }
    put(out, "Priority", |out| out.push_str(&column.int("priority").unwrap_or(0).to_string()));
    put(out, "JSONPath", |out| write_json_string(column.text("jsonPath"), out));
}

#[cfg(test)]
mod tests {
    use bumpalo::Bump;
    use ringbolt_machinery::json;

    use super::*;

    fn check(spec: &str, expect: &str) {
        let arena = Bump::new();
        let spec = json::decode_untyped(&arena, arena.alloc_slice_copy(spec.as_bytes())).unwrap();
        let internal = Internal::of(spec.as_map().unwrap());
        assert_eq!(internal.versions_json(), expect);
    }

    #[test]
    fn what_versions_share_is_not_theirs() {
        check("{}", "null");
        check(r#"{"versions":[]}"#, "[]");
        let rest = r#""Served":false,"Storage":false,"Deprecated":false,"DeprecationWarning":null,"#;
        let bare = |name: &str, schema: &str, subresources: &str, columns: &str| {
            format!(
                r#"{{"Name":"{name}",{rest}"Schema":{schema},"Subresources":{subresources},"AdditionalPrinterColumns":{columns},"SelectableFields":null}}"#
            )
        };
        check(
            r#"{"versions":[{"name":"a","schema":{},"additionalPrinterColumns":[{"name":"x"}]}]}"#,
            &format!("[{}]", bare("a", "null", "null", "null")),
        );
        let column = r#"[{"Name":"x","Type":"","Format":"","Description":"","Priority":0,"JSONPath":""}]"#;
        check(
            r#"{"versions":[{"name":"a","schema":{}},{"name":"b","schema":{},"subresources":{},
                "additionalPrinterColumns":[{"name":"x"}]}]}"#,
            &format!(
                "[{},{}]",
                bare("a", "null", "null", "null"),
                bare("b", "null", r#"{"Status":null,"Scale":null}"#, column)
            ),
        );
        check(
            r#"{"versions":[{"name":"a","schema":{}},{"name":"b"}]}"#,
            &format!(
                "[{},{}]",
                bare("a", r#"{"OpenAPIV3Schema":null}"#, "null", "null"),
                bare("b", "null", "null", "null")
            ),
        );
    }
}
