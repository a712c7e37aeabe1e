//! The fields of a new object are the same by one walk as by sets, for objects of every kind.

use super::*;
use crate::schema::{Composite, Element, Field, Type};

/// A small generator: the same objects on every run.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

/// JSON of any value of a type; members and items of few values, so that some are alike and some zero.
fn any(schema: &Schema, ty: Type, depth: usize, random: &mut Random, out: &mut String) {
    let texts = ["", "a", "b\\\"<é", "0"];
    match ty {
        Type::Struct(id) => {
            out.push('{');
            let mut first = true;
            for field in &schema.get(id).fields {
                // A third of the members, less of them farther down.
                if random.below(3 + depth as u64) == 0 && depth < 7 {
                    member(schema, field, depth, random, &mut first, out);
                }
            }
            out.push('}');
        }
        Type::Composite(id) => match schema.composite(id) {
            Composite::List(element) => items(schema, element, depth, random, out),
            Composite::Map(element) => {
                out.push('{');
                for n in 0..random.below(3) {
                    let comma = if n > 0 { "," } else { "" };
                    // Not in order.
                    out.push_str(&format!("{comma}\"{}k\":", 9 - n));
                    any(schema, element.ty, depth + 1, random, out);
                }
                out.push('}');
            }
        },
        Type::String => out.push_str(&format!("\"{}\"", texts[random.below(4) as usize])),
        Type::Bool => out.push_str(if random.below(2) == 0 { "false" } else { "true" }),
        Type::Int32 | Type::Int64 | Type::IntOrString => out.push_str(&random.below(3).to_string()),
        Type::Float64 => out.push_str("1.5"),
        Type::Bytes => out.push_str("\"YQ==\""),
        Type::Quantity => out.push_str(["\"0\"", "\"1Gi\""][random.below(2) as usize]),
        Type::Duration => out.push_str(["\"0s\"", "\"1m0s\""][random.below(2) as usize]),
        Type::Time => out.push_str(["null", "\"2024-01-01T00:00:00Z\""][random.below(2) as usize]),
        Type::MicroTime => out.push_str("\"2024-01-01T00:00:00.000000Z\""),
        Type::RawExtension => out.push_str("{\"x\":[1]}"),
        Type::FieldsV1 => out.push_str("{\"f:x\":{}}"),
        Type::Json => out.push_str(["1", "{\"x\":[1]}", "null"][random.below(3) as usize]),
        Type::Alternative(id) => {
            let alternative = schema.alternative(id);
            let object = Type::Struct(alternative.object);
            any(schema, if random.below(2) == 0 { object } else { alternative.other }, depth, random, out);
        }
    }
}

fn member(
    schema: &Schema,
    field: &Field,
    depth: usize,
    random: &mut Random,
    first: &mut bool,
    out: &mut String,
) {
    if field.name == "managedFields" {
        return;
    }
    if !std::mem::take(first) {
        out.push(',');
    }
    out.push_str(&format!("\"{}\":", field.name));
    if random.below(12) == 0 { out.push_str("null") } else { any(schema, field.ty, depth + 1, random, out) }
}

fn items(schema: &Schema, element: Element, depth: usize, random: &mut Random, out: &mut String) {
    out.push('[');
    for n in 0..random.below(4) {
        if n > 0 {
            out.push(',');
        }
        any(schema, element.ty, depth + 1, random, out);
    }
    out.push(']');
}

/// Both ways of one object; nothing where it cannot be decoded.
fn both(ty: StructId, reset: ResetFields, text: &str) -> Option<(Option<String>, Option<String>)> {
    let arena = Bump::new();
    let schema = Schema::builtin();
    let body = arena.alloc_slice_copy(text.as_bytes());
    let mut object = json::decode_typed(&arena, schema, ty, body, Mode::Lenient).ok()?.value;
    normalize(&arena, schema, ty, &mut object).forget();
    let manager = FieldManager {
        schema,
        root: ty.into(),
        kind: "Any",
        api_version: "v1",
        subresource: "",
        reset,
        reset_elsewhere: reset,
        versions: &NoOtherVersion,
    };
    let shown = |list: Option<Value<'_>>| list.map(|list| format!("{list:?}"));
    let slow = manager.update(&arena, &manager.zero(&arena), &object, "me", "2024-01-01T00:00:00Z");
    let fast = manager.create(&arena, &object, "me", "2024-01-01T00:00:00Z");
    Some((shown(fast), shown(slow)))
}

#[test]
fn one_walk_says_what_sets_say() {
    let schema = Schema::builtin();
    let resets = [ResetFields::Except(&[]), ResetFields::Except(&[&["status"]])];
    let (mut compared, mut owned) = (0, 0);
    for kind in &schema.kinds {
        if schema.get(kind.ty).field("metadata").is_none() {
            continue;
        }
        for seed in 0..40 {
            let mut random = Random(seed * 7919 + u64::from(kind.ty.0));
            let mut text = String::new();
            any(schema, Type::Struct(kind.ty), 0, &mut random, &mut text);
            let Some((fast, slow)) = both(kind.ty, resets[seed as usize % 2], &text) else { continue };
            assert_eq!(fast, slow, "{} {text}", kind.kind);
            compared += 1;
            owned += usize::from(fast.is_some());
        }
    }
    assert!(compared > 2000 && owned > 1000, "{compared} compared, {owned} with fields");
}

#[test]
fn a_pod() {
    let text = r#"{"metadata":{"name":"p","labels":{"b":"1","a":"<"},"generation":3},"spec":{"containers":[{"name":"z","image":"i","ports":[{"containerPort":80}]},{"name":"a","image":"i"}],"nodeName":""},"status":{"phase":"x"}}"#;
    let reset = ResetFields::Except(&[&["status"]]);
    let (fast, slow) = both(kind("v1", "Pod"), reset, text).unwrap();
    assert_eq!(fast, slow);
    let fields =
        r#"{\"f:metadata\":{\"f:labels\":{\".\":{},\"f:a\":{},\"f:b\":{}}},\"f:spec\":{\"f:containers\":{"#;
    assert!(fast.as_ref().is_some_and(|text| text.contains(fields)), "{fast:?}");
}
