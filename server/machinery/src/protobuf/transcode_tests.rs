//! Objects of every built-in kind, made up from the Schema: the direct way and the way through a tree give one result.

use bumpalo::Bump;

use super::{encode, encode_stored};
use crate::{
    json::{self, Mode},
    schema::{Composite, Schema, StructId, Type},
};

/// Makes objects up; the same ones each time.
struct Maker {
    schema: &'static Schema,
    state: u64,
    /// Of a hundred fields, how many are set.
    share: u64,
}

impl Maker {
    fn below(&mut self, n: u64) -> u64 {
        self.state =
            self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 33) % n
    }

    fn pick<'t>(&mut self, texts: &[&'t str]) -> &'t str {
        texts[self.below(texts.len() as u64) as usize]
    }

    fn object(&mut self, id: StructId, depth: usize, out: &mut String) {
        out.push('{');
        let mut first = true;
        let schema = self.schema;
        for field in &schema.get(id).fields {
            if matches!(field.name, "kind" | "apiVersion") && depth == 0 {
                continue;
            }
            if depth > 7 || (self.below(100) >= self.share && field.name != "metadata") {
                continue;
            }
            if !std::mem::take(&mut first) {
                out.push(',');
            }
            out.push_str(&format!("\"{}\":", field.name));
            self.value(field.ty, depth + 1, out);
        }
        out.push('}');
    }

    fn value(&mut self, ty: Type, depth: usize, out: &mut String) {
        match ty {
            Type::String => {
                out.push_str(self.pick(&[r#""""#, r#""text""#, r#""a\nb \"c\" é ☃ \u0001""#, r#""<&>""#]))
            }
            Type::Bool => out.push_str(self.pick(&["true", "false"])),
            Type::Int32 => out.push_str(self.pick(&["0", "1", "-1", "2147483647", "-2147483648", "8080"])),
            Type::Int64 => out.push_str(self.pick(&["0", "1", "-1", "9223372036854775807", "300"])),
            Type::Float64 => out.push_str(self.pick(&["0", "1.5", "-2e10"])),
            Type::Bytes => out.push_str(self.pick(&[r#""""#, r#""aGVsbG8=""#])),
            Type::Quantity => out.push_str(self.pick(&[r#""1""#, r#""100m""#, r#""1.5Gi""#, "7"])),
            Type::Time => {
                out.push_str(self.pick(&["null", r#""2026-01-02T03:04:05Z""#, r#""1969-01-02T03:04:05Z""#]))
            }
            Type::MicroTime => out.push_str(self.pick(&["null", r#""2026-01-02T03:04:05.000006Z""#])),
            Type::Duration => out.push_str(self.pick(&[r#""0s""#, r#""1h2m3.5s""#])),
            Type::IntOrString => out.push_str(self.pick(&["5", r#""50%""#, r#""""#])),
            Type::RawExtension => out.push_str(self.pick(&[r#"{"a":[1,{"b":null}]}"#, r#"{"kind":"X"}"#])),
            Type::FieldsV1 => out.push_str(self.pick(&[r#"{"f:a":{}}"#, "{}"])),
            Type::Json => {
                out.push_str(self.pick(&["null", "1", r#"{"b":[1.5,null],"a":"<"}"#, "[]", "false"]))
            }
            Type::Alternative(id) => {
                let alternative = self.schema.alternative(id);
                let is_object = self.below(2) == 0;
                let ty = if is_object { Type::Struct(alternative.object) } else { alternative.other };
                self.value(ty, depth + 1, out);
            }
            Type::Struct(id) => self.object(id, depth, out),
            Type::Composite(id) => match self.schema.composite(id) {
                Composite::List(element) => {
                    out.push('[');
                    for i in 0..self.below(3) {
                        if i > 0 {
                            out.push(',');
                        }
                        self.value(element.ty, depth + 1, out);
                    }
                    out.push(']');
                }
                Composite::Map(element) => {
                    out.push('{');
                    let keys = ["b", "a", "", "c/d"];
                    for (i, key) in keys.iter().take(self.below(5) as usize).enumerate() {
                        if i > 0 {
                            out.push(',');
                        }
                        out.push_str(&format!("\"{key}\":"));
                        self.value(element.ty, depth + 1, out);
                    }
                    out.push('}');
                }
            },
        }
    }
}

#[test]
fn as_by_a_tree_for_every_kind() {
    let schema = Schema::builtin();
    let (mut tried, mut direct) = (0, 0);
    for share in [5, 30, 60, 95] {
        let mut maker = Maker { schema, state: share, share };
        for kind in &schema.kinds {
            // What has no metadata of an object is never stored.
            let Some((_, metadata)) = schema.get(kind.ty).field("metadata") else { continue };
            let Type::Struct(metadata) = metadata.ty else { continue };
            if schema.get(metadata).name != "ObjectMeta" {
                continue;
            }
            for _ in 0..3 {
                let mut text = String::new();
                maker.object(kind.ty, 0, &mut text);
                let arena = Bump::new();
                let Ok(tree) = json::decode_typed(&arena, schema, kind.ty, text.as_bytes(), Mode::Lenient)
                else {
                    panic!("{}: {text}", kind.kind);
                };
                let (stored, _) = json::encode_stored(schema, kind.ty, &tree.value);
                let stored_tree = json::decode_stored(&arena, schema, kind.ty, &stored).unwrap();
                let mut expect = b"before".to_vec();
                encode(schema, kind.ty, &stored_tree, &mut expect);
                let mut out = b"before".to_vec();
                tried += 1;
                if encode_stored(&arena, schema, kind.ty, &stored, &mut out) {
                    direct += 1;
                    assert!(out == expect, "{}: {}", kind.kind, String::from_utf8_lossy(&stored));
                } else {
                    assert_eq!(out, b"before");
                }
            }
        }
    }
    assert!(tried > 500, "{tried}");
    assert!(direct * 10 > tried * 9, "{direct} of {tried} went directly");
}

#[test]
fn what_is_unusual_is_left_to_the_tree() {
    let (schema, arena) = (Schema::builtin(), Bump::new());
    let ty = schema.kind("", "v1", "ConfigMap").unwrap().ty;
    let mut out = Vec::new();
    for text in [
        r#""metadata":{"name":"a"},"unknown":1}"#,
        r#""metadata":{"name":"a"},"data":{"b":"1","a":"2"}}"#,
        r#""metadata":{"name":"a"},"data":{"a":"1","a":"2"}}"#,
        r#""metadata":{"name":"a"},"data":{"a":null}}"#,
        r#""metadata":{"name":1}}"#,
        r#""metadata":{"name":"a"},"metadata":{"name":"b"}}"#,
        r#""metadata":{"name":"a"}"#,
        "\"metadata\":{\"name\":\"a\0\"}}",
        "",
    ] {
        assert!(!encode_stored(&arena, schema, ty, text.as_bytes(), &mut out), "{text}");
        assert!(out.is_empty());
    }
    assert!(!encode_stored(&arena, schema, ty, b"\"metadata\":{\"name\":\"\xff\"}}", &mut out));
    assert!(encode_stored(&arena, schema, ty, br#""metadata":{"name":"a"},"data":null}"#, &mut out));
}
