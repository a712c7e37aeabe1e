//! Objects of every served kind, as JSON, YAML and protobuf, from Kubernetes' own test data in
//! `$RINGBOLT_SHARED` (default `../shared` beside the workspace).

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use bumpalo::Bump;
use ringbolt_machinery::{
    json::{self, Mode},
    protobuf,
    schema::Schema,
    yaml,
};

fn shared() -> Option<PathBuf> {
    let root = std::env::var_os("RINGBOLT_SHARED")
        .map(PathBuf::from)
        .unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"));
    let fixtures = root.join("data/fixtures");
    if fixtures.is_dir() {
        return Some(fixtures);
    }
    println!("no fixtures at {}: not tested", fixtures.display());
    None
}

struct Case {
    name: String,
    api_version: String,
    kind: String,
}

fn cases(directory: &Path) -> Vec<Case> {
    let mut names: BTreeSet<String> = BTreeSet::new();
    for entry in
        fs::read_dir(directory).expect("the fixtures are readable, and named group.version.Kind.json")
    {
        let name = entry
            .expect("the fixtures are readable, and named group.version.Kind.json")
            .file_name()
            .into_string()
            .expect("the fixtures are readable, and named group.version.Kind.json");
        if let Some(name) = name.strip_suffix(".json") {
            names.insert(name.to_owned());
        }
    }
    names
        .into_iter()
        .map(|name| {
            let (rest, kind) =
                name.rsplit_once('.').expect("the fixtures are readable, and named group.version.Kind.json");
            let (group, version) =
                rest.rsplit_once('.').expect("the fixtures are readable, and named group.version.Kind.json");
            let api_version = if group == "core" { version.to_owned() } else { format!("{group}/{version}") };
            Case { kind: kind.to_owned(), api_version, name }
        })
        .collect()
}

fn difference(got: &[u8], expect: &[u8]) -> String {
    let at = got.iter().zip(expect).position(|(a, b)| a != b).unwrap_or(got.len().min(expect.len()));
    let around = |bytes: &[u8]| {
        let range = at.saturating_sub(40)..(at + 60).min(bytes.len());
        String::from_utf8_lossy(bytes.get(range).unwrap_or_default()).into_owned()
    };
    format!("at byte {at}: got {:?}, expected {:?}", around(got), around(expect))
}

/// Takes the space between tokens away.
fn compact(json: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    json::quote::write_compact(
        &mut out,
        std::str::from_utf8(json).expect("the fixtures are readable, and named group.version.Kind.json"),
    );
    out
}

#[test]
fn every_kind_in_every_encoding() {
    let Some(fixtures) = shared() else { return };
    let directory = fixtures.join("api-testdata");
    let schema = Schema::builtin();
    let (mut wrong, mut checked) = (Vec::new(), 0);
    for case in cases(&directory) {
        let Some(kind) = schema.kind_of(&case.api_version, &case.kind) else {
            continue;
        };
        let read = |suffix: &str| fs::read(directory.join(format!("{}.{suffix}", case.name))).unwrap();
        let (json_bytes, pb_bytes) = (read("json"), read("pb"));
        let expect = compact(&json_bytes);
        let arena = Bump::new();
        checked += 1;
        let decoded = match json::decode_typed(&arena, schema, kind.ty, &expect, Mode::Strict) {
            Ok(decoded) => decoded,
            Err(error) => {
                wrong.push(format!("{}: JSON: {error}", case.name));
                continue;
            }
        };
        for error in &decoded.strict_errors {
            wrong.push(format!("{}: {error}", case.name));
        }
        let mut out = Vec::new();
        json::encode(schema, kind.ty, &decoded.value, &mut out);
        if out != expect {
            wrong.push(format!("{}: JSON {}", case.name, difference(&out, &expect)));
        }
        let unknown = protobuf::decode_unknown(&pb_bytes).unwrap();
        let yaml_bytes = read("yaml");
        match yaml::decode_typed(&arena, schema, kind.ty, &yaml_bytes, Mode::Strict) {
            Ok(decoded) => {
                out.clear();
                json::encode(schema, kind.ty, &decoded.value, &mut out);
                if out != expect || !decoded.strict_errors.is_empty() {
                    wrong.push(format!("{}: from YAML {}", case.name, difference(&out, &expect)));
                }
            }
            Err(error) => wrong.push(format!("{}: YAML: {error}", case.name)),
        }
        out.clear();
        yaml::from_json(&expect, &mut out).unwrap();
        if out != yaml_bytes {
            wrong.push(format!("{}: YAML {}", case.name, difference(&out, &yaml_bytes)));
        }
        out.clear();
        protobuf::encode_object(schema, kind.ty, &decoded.value, unknown.api_version, unknown.kind, &mut out);
        if out != pb_bytes {
            wrong.push(format!("{}: protobuf {}", case.name, difference(&out, &pb_bytes)));
        }
        let mut value = match protobuf::decode(&arena, schema, kind.ty, unknown.raw) {
            Ok(value) => value,
            Err(error) => {
                wrong.push(format!("{}: protobuf: {error}", case.name));
                continue;
            }
        };
        let map = value.as_map_mut().unwrap();
        map.insert("kind", ringbolt_machinery::value::Value::String(arena.alloc_str(&case.kind)));
        map.insert(
            "apiVersion",
            ringbolt_machinery::value::Value::String(arena.alloc_str(&case.api_version)),
        );
        out.clear();
        json::encode(schema, kind.ty, &value, &mut out);
        if out != expect {
            wrong.push(format!("{}: from protobuf {}", case.name, difference(&out, &expect)));
        }
    }
    assert!(wrong.is_empty(), "{} of {checked}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(checked > 100, "only {checked} kinds found");
    println!("{checked} kinds checked");
}

/// Texts that the JSON test suite leaves open, and Go takes.
const TAKEN: [&str; 26] = [
    "i_number_double_huge_neg_exp.json",
    "i_number_real_underflow.json",
    "i_number_too_big_neg_int.json",
    "i_number_too_big_pos_int.json",
    "i_number_very_big_negative_int.json",
    "i_object_key_lone_2nd_surrogate.json",
    "i_string_1st_surrogate_but_2nd_missing.json",
    "i_string_1st_valid_surrogate_2nd_invalid.json",
    "i_string_incomplete_surrogate_and_escape_valid.json",
    "i_string_incomplete_surrogate_pair.json",
    "i_string_incomplete_surrogates_escape_valid.json",
    "i_string_invalid_lonely_surrogate.json",
    "i_string_invalid_surrogate.json",
    "i_string_invalid_utf-8.json",
    "i_string_inverted_surrogates_U+1D11E.json",
    "i_string_iso_latin_1.json",
    "i_string_lone_second_surrogate.json",
    "i_string_lone_utf8_continuation_byte.json",
    "i_string_not_in_unicode_range.json",
    "i_string_overlong_sequence_2_bytes.json",
    "i_string_overlong_sequence_6_bytes.json",
    "i_string_overlong_sequence_6_bytes_null.json",
    "i_string_truncated-utf-8.json",
    "i_string_UTF-8_invalid_sequence.json",
    "i_string_UTF8_surrogate_U+D800.json",
    "i_structure_500_nested_arrays.json",
];

#[test]
fn json_parsing() {
    let Some(fixtures) = shared() else { return };
    let (mut wrong, mut checked) = (Vec::new(), 0);
    for entry in fs::read_dir(fixtures.join("json-parsing/test_parsing")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let bytes = fs::read(&path).unwrap();
        let arena = Bump::new();
        let got = json::decode_untyped(&arena, &bytes);
        let expect = match name.as_bytes()[0] {
            b'y' => true,
            b'n' => false,
            _ => TAKEN.contains(&name.as_str()),
        };
        checked += 1;
        if got.is_ok() != expect {
            wrong.push(format!("{name}: {got:?}"));
        }
        // Whether a text is JSON does not depend on who reads it.
        let syntax = json::syntax::check(&bytes).is_ok();
        if let Err(json::DecodeError::Syntax(message)) = &got {
            if syntax {
                wrong.push(format!("{name}: {message}, but the scanner takes it"));
            }
        } else if !syntax {
            wrong.push(format!("{name}: taken, but not by the scanner"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(checked > 300, "only {checked} texts found");
}
