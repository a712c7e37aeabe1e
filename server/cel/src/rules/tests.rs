//! Rules of schemas as a definition is admitted, and over objects: what the API server answers, literally.

use bumpalo::Bump;
use ringbolt_machinery::{
    field::FieldError,
    json::decode_untyped,
    structural::{
        Structural,
        check::{CheckOptions, check},
    },
    value::{Map, Value},
};

use super::{Expressions, RuleSet, SchemaRules};

fn read<'a>(arena: &'a Bump, text: &'a str) -> Value<'a> {
    decode_untyped(arena, text.as_bytes()).expect("it is JSON")
}

/// Which field is wrong, and how, in an order that does not matter.
fn causes(errors: &[FieldError]) -> Vec<(String, String)> {
    let mut causes: Vec<_> = errors.iter().map(|error| (error.field.clone(), error.body())).collect();
    causes.sort();
    causes
}

fn expected(row: &Value<'_>) -> Vec<(String, String)> {
    let text = |pair: &Value<'_>, at: usize| {
        pair.as_list().and_then(|pair| pair[at].as_str()).unwrap_or("").to_owned()
    };
    let rows = row.path(&["causes"]).and_then(Value::as_list).expect("causes");
    let mut causes: Vec<_> = rows.iter().map(|pair| (text(pair, 0), text(pair, 1))).collect();
    causes.sort();
    causes
}

/// Puts rules where `path` leads to: properties by name, `[]` for items, `{}` for values of maps.
fn place<'a>(schema: &mut Value<'a>, path: &str, rules: &Value<'_>, arena: &'a Bump) {
    let mut at = schema;
    for step in path.split('/').skip(1) {
        let keys: &[&str] = match step {
            "[]" => &["items"],
            "{}" => &["additionalProperties"],
            name => &["properties", name],
        };
        at = at.path_mut(keys).expect("a schema to put rules at");
    }
    at.as_map_mut().expect("a schema").insert_sorted("x-kubernetes-validations", rules.copy_into(arena));
}

fn object<'a>(arena: &'a Bump, entries: impl IntoIterator<Item = (&'a str, Value<'a>)>) -> Value<'a> {
    let mut map = Map::new_in(arena);
    for (key, value) in entries {
        map.insert_sorted(key, value);
    }
    Value::Map(map)
}

/// The schema of a row, whose rules are put into a schema that rows share.
fn schema_of<'a>(arena: &'a Bump, row: &Value<'a>) -> Value<'a> {
    if let Some(schema) = row.path(&["schema"]) {
        return schema.copy_into(arena);
    }
    let mut spec = read(arena, include_str!("../tests/schema.json"));
    for (path, rules) in row.path(&["rules"]).and_then(Value::as_map).expect("rules").iter() {
        place(&mut spec, path, rules, arena);
    }
    let properties = object(arena, [("spec", spec)]);
    object(arena, [("type", Value::String("object")), ("properties", properties)])
}

fn assert_none(wrong: &[String]) {
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn definitions_are_refused_in_the_words_of_the_api_server() {
    let mut wrong = Vec::new();
    for line in include_str!("../tests/rules.jsonl").lines() {
        let arena = Bump::new();
        let row = read(&arena, line);
        let schema = schema_of(&arena, &row);
        let before = Expressions::default();
        let errors = check(&schema, "$", &CheckOptions::new(false), &mut SchemaRules::new(&before, false));
        let (got, want) = (causes(&errors), expected(&row));
        if got != want {
            wrong.push(format!("{line}\n   got {got:?}\n  want {want:?}"));
        }
    }
    assert_none(&wrong);
}

/// An object with the spec of a row. 590 of `cost` stand for as many short texts.
fn instance<'a>(arena: &'a Bump, name: &'a str, spec: &Value<'_>) -> Value<'a> {
    let mut spec = spec.copy_into(arena);
    if let Some(count) = spec.path(&["cost"]).and_then(Value::as_i64) {
        let texts = vec!["\"xxxxx\""; usize::try_from(count).expect("a count")].join(",");
        let texts = read(arena, arena.alloc_str(&format!("[{texts}]")));
        spec.as_map_mut().expect("a spec").insert("cost", texts);
    }
    let metadata = object(arena, [("name", Value::String(name))]);
    let (version, kind) = (Value::String("cel.example.com/v1"), Value::String("Sample"));
    object(arena, [("apiVersion", version), ("kind", kind), ("metadata", metadata), ("spec", spec)])
}

#[test]
fn objects_are_refused_in_the_words_of_the_api_server() {
    let arena = Bump::new();
    let schemas = read(&arena, include_str!("../tests/object_schema.json"));
    let compiled = |name: &str| {
        let schema = schemas.path(&[name]).expect("a schema");
        let structural = Structural::compile(schema).expect("a structural schema");
        let rules = RuleSet::compile(&structural).expect("rules");
        (structural, rules)
    };
    let (create, update) = (compiled("create"), compiled("update"));
    let mut wrong = Vec::new();
    for line in include_str!("../tests/objects.jsonl").lines() {
        let row = read(&arena, line);
        let name = if row.path(&["old"]).is_some() { "r0" } else { "a" };
        let new = instance(&arena, name, row.path(&["spec"]).expect("a spec"));
        let old = row.path(&["old"]).map(|old| instance(&arena, name, old));
        let (structural, rules) = if old.is_some() { &update } else { &create };
        let mut errors = match &old {
            Some(old) => structural.validate_update(&new, old),
            None => structural.validate(&new),
        };
        errors.extend(structural.validate_list_types(&new));
        let findings = rules.validate(&new, old.as_ref());
        errors.extend(findings.errors);
        let (got, want) = (causes(&errors), expected(&row));
        if got != want {
            wrong.push(format!("{line}\n   got {got:?}\n  want {want:?}"));
        }
        if let Some(warnings) = row.path(&["warnings"]).and_then(Value::as_list) {
            let mut want: Vec<_> = warnings.iter().filter_map(Value::as_str).collect();
            let mut got: Vec<_> = findings.warnings.iter().map(String::as_str).collect();
            want.sort_unstable();
            got.sort_unstable();
            if got != want {
                wrong.push(format!("{line}\n   got warnings {got:?}\n  want warnings {want:?}"));
            }
        }
    }
    assert_none(&wrong);
}
