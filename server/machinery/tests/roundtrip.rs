//! Random objects of every kind through JSON, protobuf and the stored form and back.

use bumpalo::Bump;
use proptest::prelude::*;
use ringbolt_machinery::{
    json::{self, Mode},
    protobuf,
    schema::{Composite, Schema, StructId, Type},
};

/// Writes random JSON of a type; everything follows from the seed.
struct Writer<'s> {
    schema: &'s Schema,
    state: u64,
    out: String,
    /// Members that may still be written.
    budget: usize,
}

impl Writer<'_> {
    fn below(&mut self, n: u64) -> u64 {
        // splitmix64
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }

    fn pick(&mut self, texts: &[&str]) {
        let at = self.below(texts.len() as u64) as usize;
        self.out.push_str(texts[at]);
    }

    fn object(&mut self, ty: StructId) {
        let fields = &self.schema.get(ty).fields;
        self.out.push('{');
        let mut first = true;
        for field in fields {
            // `kind` and `apiVersion` are not in protobuf messages.
            if field.proto == 0 || self.budget == 0 || self.below(5) > 0 && fields.len() > 4 {
                continue;
            }
            self.budget -= 1;
            if !std::mem::take(&mut first) {
                self.out.push(',');
            }
            self.out.push_str(&format!("\"{}\":", field.name));
            self.value(field.ty);
        }
        self.out.push('}');
    }

    fn value(&mut self, ty: Type) {
        match ty {
            Type::String => {
                self.pick(&["\"\"", "\"x\"", "\"a b\"", "\"<&>\"", "\"\\u00e9\\n\"", "\"\\u2028\""])
            }
            Type::Bool => self.pick(&["true", "false"]),
            Type::Int32 => self.pick(&["0", "1", "-1", "2147483647", "-2147483648"]),
            Type::Int64 => self.pick(&["0", "1", "-1", "9223372036854775807", "-9223372036854775808"]),
            Type::Float64 => self.pick(&["0", "1.5", "-2e10", "1e-7"]),
            Type::Bytes => self.pick(&["\"\"", "\"YQ==\"", "\"AAECAwQ=\""]),
            Type::Quantity => {
                self.pick(&["\"1.5Gi\"", "100", "\"250m\"", "\"0\"", "\"1e3\"", "\"12345678901234567890\""])
            }
            Type::Time => self.pick(&["null", "\"2024-02-29T12:00:00Z\"", "\"1969-12-31T23:59:59.5+01:00\""]),
            Type::MicroTime => self.pick(&["null", "\"2024-02-29T12:00:00.123456Z\""]),
            Type::Duration => self.pick(&["\"1h30m\"", "\"0\"", "\"-1.5ms\""]),
            Type::IntOrString => self.pick(&["80", "\"http\"", "\"25%\"", "0"]),
            Type::RawExtension | Type::FieldsV1 => self.pick(&["{}", "{\"a\":[1.0,\"<\"]}", "[]", "\"x\""]),
            Type::Json => self.pick(&["{}", "{\"b\":[1.0,\"<\"],\"a\":null}", "[]", "\"x\"", "false", "1e2"]),
            Type::Alternative(id) => {
                let alternative = self.schema.alternative(id);
                let object = Type::Struct(alternative.object);
                let ty = if self.below(2) == 0 { object } else { alternative.other };
                self.value(ty)
            }
            Type::Struct(id) => self.object(id),
            Type::Composite(id) => {
                let count = self.below(3);
                match self.schema.composite(id) {
                    Composite::List(element) => {
                        self.out.push('[');
                        for i in 0..count {
                            self.out.push_str(if i > 0 { "," } else { "" });
                            self.value(element.ty);
                        }
                        self.out.push(']');
                    }
                    Composite::Map(element) => {
                        self.out.push('{');
                        for i in 0..count {
                            self.out.push_str(if i > 0 { "," } else { "" });
                            self.out.push_str(&format!("\"k{}\":", 9 - i));
                            self.value(element.ty);
                        }
                        self.out.push('}');
                    }
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn through_all_encodings(seed in any::<u64>()) {
        let schema = Schema::builtin();
        let mut writer = Writer { schema, state: seed, out: String::new(), budget: 200 };
        let kind = &schema.kinds[writer.below(schema.kinds.len() as u64) as usize];
        let ty = kind.ty;
        writer.object(ty);
        let text = writer.out;
        let arena = Bump::new();
        let decoded = json::decode_typed(&arena, schema, ty, text.as_bytes(), Mode::Strict).unwrap();
        prop_assert_eq!(decoded.strict_errors, vec![]);

        // JSON is a fixed point.
        let mut first = Vec::new();
        json::encode(schema, ty, &decoded.value, &mut first);
        let again = json::decode_typed(&arena, schema, ty, &first, Mode::Strict).unwrap();
        let mut second = Vec::new();
        json::encode(schema, ty, &again.value, &mut second);
        prop_assert_eq!(String::from_utf8_lossy(&first), String::from_utf8_lossy(&second));

        // Whatever order the tree's entries have.
        let mut shuffled = decoded.value.clone();
        shuffle(&mut shuffled);
        let mut other = Vec::new();
        json::encode(schema, ty, &shuffled, &mut other);
        prop_assert_eq!(String::from_utf8_lossy(&first), String::from_utf8_lossy(&other));

        // Protobuf is a fixed point after one turn, which makes empty of nil bytes in maps.
        let mut pb = Vec::new();
        protobuf::encode(schema, ty, &decoded.value, &mut pb);
        let back = protobuf::decode(&arena, schema, ty, &pb).unwrap();
        let mut pb_again = Vec::new();
        protobuf::encode(schema, ty, &back, &mut pb_again);
        prop_assert_eq!(&pb, &pb_again);

        // The stored form is what protobuf storage would have left, and reads back as itself.
        let (stored, splice) = json::encode_stored(schema, ty, &decoded.value);
        let (from_pb, _) = json::encode_stored(schema, ty, &back);
        prop_assert_eq!(String::from_utf8_lossy(&stored), String::from_utf8_lossy(&from_pb));
        if stored.starts_with(b"\"metadata\":{") && splice > 0 {
            let spliced = [&stored[..splice as usize], b"\"resourceVersion\":\"7\",", &stored[splice as usize..]].concat();
            let tree = json::decode_stored(&arena, schema, ty, &spliced).unwrap();
            prop_assert_eq!(tree.str_at(&["metadata", "resourceVersion"]), Some("7"));
            let (stored_again, _) = json::encode_stored(schema, ty, &tree);
            prop_assert_eq!(String::from_utf8_lossy(&stored), String::from_utf8_lossy(&stored_again));
        }
    }

    #[test]
    fn garbage_is_an_error_and_no_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), cut in any::<u16>()) {
        let schema = Schema::builtin();
        let ty = schema.kind("", "v1", "Pod").unwrap().ty;
        let arena = Bump::new();
        let _ = json::decode_typed(&arena, schema, ty, &bytes, Mode::Strict);
        let _ = json::decode_untyped(&arena, &bytes);
        let _ = json::decode_stored(&arena, schema, ty, &bytes);
        let _ = protobuf::decode(&arena, schema, ty, &bytes);
        let _ = protobuf::decode_unknown(&bytes);
        let _ = ringbolt_machinery::yaml::to_json(&bytes);
        let _ = ringbolt_machinery::scan::scalar(&bytes, &["metadata", "name"]);
        // A real object, cut and with a byte changed.
        let mut object = br#"{"metadata":{"name":"a","labels":{"x":"y"}},"spec":{"containers":[{"name":"c","ports":[{"containerPort":80}]}]}}"#.to_vec();
        let value = json::decode_typed(&arena, schema, ty, arena.alloc_slice_copy(&object), Mode::Strict).unwrap().value;
        let mut pb = Vec::new();
        protobuf::encode(schema, ty, &value, &mut pb);
        for text in [&mut object, &mut pb] {
            let at = usize::from(cut) % text.len();
            text[at] ^= bytes.first().copied().unwrap_or(0x40);
            text.truncate(text.len() - usize::from(cut) % 7);
        }
        let _ = json::decode_typed(&arena, schema, ty, &object, Mode::Strict);
        let _ = protobuf::decode(&arena, schema, ty, &pb);
    }
}

/// Reverses the entries of every map.
fn shuffle(value: &mut ringbolt_machinery::value::Value<'_>) {
    use ringbolt_machinery::value::{Map, Value};
    match value {
        Value::Map(map) => {
            let mut entries = std::mem::replace(map, Map::new_in(map.arena())).into_entries();
            entries.reverse();
            entries.iter_mut().for_each(|(_, value)| shuffle(value));
            *map = Map::from_entries(entries);
        }
        Value::List(list) => list.iter_mut().for_each(shuffle),
        _ => {}
    }
}
