//! Expressions by themselves: what the API server's own library makes of each, errors and costs included.

use std::collections::HashMap;

use bumpalo::Bump;

use crate::{
    checker::Env,
    cost::estimate,
    escaping::{escape, unescape},
    eval::Variables,
    expression::Expression,
    value::Val,
};

/// A value as the table writes it.
fn shown<'a>(val: Val<'a>, arena: &'a Bump) -> String {
    let all = |vals: Vec<String>| vals.join(", ");
    match val {
        Val::String(text) => ringbolt_machinery::field::quote(text),
        Val::Bytes(bytes) => format!("b{bytes:?}"),
        Val::Uint(n) => format!("{n}u"),
        Val::Null => "null".into(),
        Val::Double(d) => format!("d{d:?}"),
        Val::List(list) => format!("[{}]", all(list.iter(arena).map(|val| shown(val, arena)).collect())),
        Val::Map(map) => {
            let entry = |(key, val)| format!("{}: {}", shown(key, arena), shown(val, arena));
            let mut entries: Vec<String> = map.entries(arena).into_iter().map(entry).collect();
            entries.sort();
            format!("{{{}}}", all(entries))
        }
        Val::Type(t) => format!("type {}", t.name()),
        Val::Optional(None) => "none".into(),
        Val::Optional(Some(val)) => format!("some({})", shown(*val, arena)),
        Val::Error(message) => format!("ERR {message}"),
        other => other.to_string(),
    }
}

fn outcome(text: &str) -> String {
    let env = Env { variables: Vec::new(), objects: HashMap::new(), stored: true, patch_types: false };
    let expression = match Expression::compile(text, &env) {
        Ok(expression) => expression,
        Err(issues) => return format!("COMPILE {issues}"),
    };
    let program = match expression.program() {
        Ok(program) => program,
        Err(why) => return format!("PLAN {why}"),
    };
    let arena = Bump::new();
    let cost = estimate(&expression.ast, &expression.checked, None);
    let outcome = program.run(&arena, Variables::default(), u64::MAX);
    format!("{} $ {} $ {}..{}", shown(outcome.val, &arena), outcome.cost, cost.min, cost.max)
}

fn unescaped(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        out.push(match (c, c == '\\') {
            (_, true) => match chars.next() {
                Some('n') => '\n',
                Some('t') => '\t',
                Some('r') => '\r',
                other => other.unwrap_or('\\'),
            },
            _ => c,
        });
    }
    out
}

#[test]
fn expressions_are_what_the_api_server_makes_of_them() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for line in include_str!("tests/expressions.tsv").lines() {
        let (text, expect) = line.split_once('\t').expect("two columns");
        let text = unescaped(text);
        let got = outcome(&text).replace('\n', "\\n").replace('\t', "\\t");
        count += 1;
        if got != expect {
            wrong.push(format!("{text}\n   got {got}\n  want {expect}"));
        }
    }
    assert!(count > 500, "{count} expressions");
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_run_ends_at_its_limit() {
    let env = Env { variables: Vec::new(), objects: HashMap::new(), stored: true, patch_types: false };
    let text = "lists.range(1000).all(x, lists.range(1000).all(y, x + y >= 0))";
    let expression = Expression::compile(text, &env).expect("it compiles");
    let program = expression.program().expect("it can be run");
    let arena = Bump::new();
    let outcome = program.run(&arena, Variables::default(), 10_000);
    assert!(outcome.is_cancelled());
    assert!((10_001..12_000).contains(&outcome.cost), "{}", outcome.cost);
}

#[test]
fn names_of_fields_are_escaped_and_found_again() {
    for (name, identifier) in [
        ("a", "a"),
        ("a-b", "a__dash__b"),
        ("a.b/c", "a__dot__b__slash__c"),
        ("a__b", "a__underscores__b"),
        ("namespace", "__namespace__"),
        ("in", "__in__"),
        ("_x", "_x"),
    ] {
        assert_eq!(escape(name).as_deref(), Some(identifier));
        assert_eq!(unescape(identifier).as_deref(), Some(name));
    }
    for name in ["", "1a", "a$", "\u{e9}"] {
        assert_eq!(escape(name), None);
    }
    assert_eq!(unescape("a__other__b"), None);
}

#[test]
fn what_nests_deeply_is_refused_or_run() {
    let too_deep = "ERROR: <input>:-1:0: max recursion depth exceeded";
    let too_nested = "ERROR: <input>:-1:0: expression recursion limit exceeded: 250";
    let env = Env { variables: Vec::new(), objects: HashMap::new(), stored: true, patch_types: false };
    for (text, refused) in [
        (format!("1{}", "+1".repeat(49_000)), Some(too_deep)),
        (format!("dyn(1){}", ".a".repeat(49_000)), Some(too_deep)),
        (format!("[1]{}", ".map(x,x)".repeat(10_000)), Some(too_deep)),
        (format!("{}1{}", "(".repeat(45_000), ")".repeat(45_000)), Some(too_nested)),
        (format!("{}1", "true?1:".repeat(12_000)), Some(too_nested)),
        ("[".repeat(90_000), Some(too_nested)),
        (format!("{}1{}", "[".repeat(240), "]".repeat(240)), None),
        (format!("true{}", "&&true".repeat(15_000)), None),
        (format!("{}true", "!".repeat(90_000)), None),
    ] {
        match (Expression::compile(&text, &env), refused) {
            (Ok(expression), None) => {
                let arena = Bump::new();
                let program = expression.program().expect("it can be run");
                let outcome = program.run(&arena, Variables::default(), u64::MAX);
                assert!(!matches!(outcome.val, Val::Error(_)));
            }
            (Err(issues), Some(refused)) => assert_eq!(issues, refused),
            (got, _) => panic!("{}…: {:?}", &text[..20], got.map(|_| ())),
        }
    }
}
