//! What the libraries of the API server answer: each case is a way to look at an object or a schema, and all errors that
//! come of it, with their kinds. Where Go walks maps in any order the errors are compared sorted.

use bumpalo::Bump;
use serde_json::Value as Serde;

use super::super::{Structural, check};
use crate::{
    field::{ErrorKind, FieldError},
    json,
    value::Value,
};

fn tree<'a>(arena: &'a Bump, value: &Serde) -> Value<'a> {
    json::decode_untyped(arena, arena.alloc_str(&value.to_string()).as_bytes()).unwrap()
}

fn text(error: &FieldError) -> String {
    let kind = match error.kind {
        ErrorKind::TypeInvalid => "FieldValueTypeInvalid",
        ErrorKind::Internal => "InternalError",
        kind => kind.reason(),
    };
    format!("{kind}|{error}")
}

/// What is told of the kind CustomResourceDefinition besides the schema.
const SCHEMA: &str = "spec.validation.openAPIV3Schema";

fn run(case: &Serde) -> Vec<String> {
    let arena = Bump::new();
    let schema = tree(&arena, &case["Schema"]);
    let mode = case["Mode"].as_str().unwrap();
    if let "check" | "check-status" = mode {
        let options = check::CheckOptions::new(mode == "check-status");
        let found = check::check(&schema, SCHEMA, &options, &mut check::Unchecked);
        return found.iter().map(text).collect();
    }
    let structural = match Structural::compile(&schema) {
        Ok(structural) => structural,
        Err(error) => return vec![format!("structural: {error}")],
    };
    let (mut object, old) = (tree(&arena, &case["Obj"]), tree(&arena, &case["Old"]));
    let found = match mode {
        "create" => structural.validate(&object),
        "update" => structural.validate_update(&object, &old),
        "status" => structural.validate_status_update(&object, &old),
        "embedded" => structural.validate_embedded(&object),
        "lists" => structural.validate_list_types(&object),
        "default" => {
            structural.prune_nulls(&mut object);
            structural.apply_defaults(&arena, &mut object);
            let mut out = Vec::new();
            json::encode_untyped(&object, &mut out);
            return vec![String::from_utf8(out).unwrap()];
        }
        other => panic!("{other}"),
    };
    found.iter().map(text).collect()
}

fn compare(cases: &str) {
    let mut wrong = Vec::new();
    let mut count = 0;
    for line in cases.lines() {
        let case: Serde = serde_json::from_str(line).unwrap();
        let mut expect: Vec<String> =
            case["Out"].as_array().unwrap().iter().map(|out| out.as_str().unwrap().to_owned()).collect();
        let mut found = run(&case);
        expect.sort();
        found.sort();
        count += 1;
        if found != expect {
            let (mode, schema) = (&case["Mode"], &case["Schema"]);
            let (object, old) = (&case["Obj"], &case["Old"]);
            wrong.push(format!(
                "{mode} {schema}\n  of {object} was {old}\n  found {found:#?}\n  not {expect:#?}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{} of {count} cases:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn as_the_api_server() {
    compare(include_str!("cases.jsonl"));
}
