//! Expressions over a request: what kube-apiserver made of each.

use bumpalo::Bump;
use ringbolt_machinery::{json, value::Value};

use super::*;
use crate::{
    activation::Inputs,
    authorizer::{Authorizer, Decision, ResourceCheck, Subject, Target},
    limits::POLICY_COST_MAX,
};

const OBJECT: &str = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c1","namespace":"ns","uid":"u"},"data":{"a":"1","b":"x"}}"#;
const REQUEST: &str = r#"{"uid":"","kind":{"group":"","version":"v1","kind":"ConfigMap"},"resource":{"group":"","version":"v1","resource":"configmaps"},"name":"c1","namespace":"ns","operation":"CREATE","userInfo":{"username":"admin","uid":"1","groups":["system:masters","system:authenticated"]},"object":null,"dryRun":true,"options":{"kind":"CreateOptions","apiVersion":"meta.k8s.io/v1","dryRun":["All"]}}"#;

/// Lets the account `default/good` and users do what is called `get`.
struct Gets;

impl Authorizer for Gets {
    fn authorize(&self, who: Subject<'_>, what: Target<'_>, verb: &str) -> Decision {
        let known = !matches!(who, Subject::ServiceAccount { name, .. } if name != "good");
        let reason = match what {
            Target::Path(path) => path.to_owned(),
            Target::Resource(check) => format!("{}/{} {}", check.group, check.resource, check.name),
        };
        Decision { allowed: known && verb == "get", reason, error: None }
    }
}

fn parsed<'a>(arena: &'a Bump, text: &'a str) -> &'a Value<'a> {
    arena.alloc(json::decode_untyped(arena, text.as_bytes()).expect("JSON"))
}

fn declared() -> Declarations {
    Declarations { params: false, authorizer: true, patch_types: false }
}

/// What comes of an expression with these variables, and what is left of a budget.
fn run(text: &str, returns: Returns, variables: &[(&str, &str)], budget: &mut u64) -> String {
    let mut compiler = if variables.is_empty() { Compiler::plain() } else { Compiler::composing() };
    let named: Vec<Named> =
        variables.iter().map(|(name, text)| compiler.variable(name, text, declared(), false)).collect();
    let patch_types = matches!(returns, Returns::Object | Returns::JsonPatches);
    let compiled = compiler.compile(text, returns, Declarations { patch_types, ..declared() }, false);
    if let Some(error) = compiled.error() {
        return format!("COMPILE {}", error.detail);
    }
    let arena = Bump::new();
    let inputs = Inputs {
        object: Some(parsed(&arena, OBJECT)),
        request: Some(parsed(&arena, REQUEST)),
        typed: true,
        authorizer: Some(&Gets),
        request_resource: ResourceCheck { resource: "configmaps", name: "c1", ..ResourceCheck::default() },
        ..Inputs::default()
    };
    let activation = Activation::new(&arena, inputs, &named);
    match activation.evaluate(&compiled, budget) {
        Err(spent) => format!("SPENT {spent}"),
        Ok(Err(why)) => match why.split_once("resulted in error: ") {
            Some((_, why)) => format!("ERR {why}"),
            None => why.to_owned(),
        },
        Ok(Ok(answer)) => shown(answer, &arena),
    }
}

fn shown<'a>(answer: Answer<'a>, arena: &'a Bump) -> String {
    let encoded = |value: &Value<'_>| {
        let mut out = Vec::new();
        json::encode_untyped(value, &mut out);
        String::from_utf8(out).expect("JSON is UTF-8")
    };
    match answer {
        Answer::Bool(b) => b.to_string(),
        Answer::String(text) => format!("text {}", text.trim()),
        Answer::Null => "null".to_owned(),
        Answer::Object(object) => match object.value(arena) {
            Ok(value) => encoded(&value),
            Err(why) => format!("ERR {why}"),
        },
        Answer::Patches(patches) => {
            let one = |patch: &Patch<'a>| match patch.value(arena) {
                Ok(value) => {
                    let value = value.map_or("-".to_owned(), |value| encoded(&value));
                    format!("{} {} {value}", patch.op, patch.path)
                }
                Err(why) => format!("ERR {why}"),
            };
            patches.iter().map(one).collect::<Vec<_>>().join("; ")
        }
        Answer::Other(name) => format!("a {name}"),
    }
}

fn unescaped(text: &str) -> String {
    text.replace("\\\\", "\u{0}").replace("\\n", "\n").replace('\u{0}', "\\")
}

#[test]
fn expressions_are_what_the_api_server_makes_of_them() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for line in include_str!("expressions.tsv").lines() {
        let (text, expect) = line.split_once('\t').expect("two columns");
        let (text, expect) = (unescaped(text), unescaped(expect));
        let is_text = expect.starts_with("text ") || expect.contains("must evaluate to string");
        let returns = if is_text { Returns::String } else { Returns::Bool };
        let got = run(&text, returns, &[], &mut POLICY_COST_MAX.clone());
        count += 1;
        if got != expect {
            wrong.push(format!("{text}\n   got {got}\n  want {expect}"));
        }
    }
    assert!(count > 80, "{count} expressions");
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn variables_are_typed_and_found_out_once() {
    let check = |variables: &[(&str, &str)], text: &str, expect: &str| {
        let got = run(text, Returns::Bool, variables, &mut POLICY_COST_MAX.clone());
        assert_eq!(got, expect, "{text} with {variables:?}");
    };
    check(&[("x", "object.data.a")], "variables.x == '1'", "true");
    check(&[("x", "1"), ("y", "variables.x + 1")], "variables.y == 2", "true");
    check(&[("x", "1")], "has(variables.x)", "true");
    check(&[("x", "object.data.nope")], "true || variables.x == 1", "true");
    check(
        &[("x", "object.data.nope")],
        "variables.x == 1",
        "ERR composited variable \"x\" fails to evaluate: no such key: nope",
    );
    check(
        &[("x", "1")],
        "variables.x == 'a'",
        "COMPILE compilation failed: ERROR: <input>:1:13: found no matching overload for '_==_' applied to '(int, string)'\n | variables.x == 'a'\n | ............^",
    );
    check(
        &[("x", "1")],
        "variables.y == 1",
        "COMPILE compilation failed: ERROR: <input>:1:10: undefined field 'y'\n | variables.y == 1\n | .........^",
    );
    // The second of a name is the one that is meant, also by itself.
    check(
        &[("x", "1"), ("x", "variables.x + 1")],
        "variables.x == 2",
        "ERR composited variable \"x\" fails to evaluate: variable refers to itself",
    );
    let mut budget = 1_000;
    let all = "variables.x.size() > 0 && variables.x.size() < 1000 && variables.x.size() > 1";
    assert_eq!(run(all, Returns::Bool, &[("x", "lists.range(100)")], &mut budget), "true");
    assert!((850..900).contains(&budget), "{budget} left");
}

#[test]
fn budgets_are_kept() {
    const LONG: &str = "lists.range(300).all(x, lists.range(300).all(y, x + y >= 0))";
    const SPENT: &str =
        "SPENT validation failed due to running out of cost budget, no further validation rules will be run";
    let mut budget = 500_000;
    assert_eq!(run(LONG, Returns::Bool, &[], &mut budget), SPENT);
    let mut budget = 500_000;
    assert_eq!(run("variables.x == true", Returns::Bool, &[("x", LONG)], &mut budget), SPENT);
    let endless = LONG.replace("300", "1000");
    assert_eq!(
        run(&endless, Returns::Bool, &[], &mut POLICY_COST_MAX.clone()),
        "ERR operation cancelled: actual cost limit exceeded"
    );
}

#[test]
fn authorizers_are_asked() {
    let check = |text: &str, expect: &str| {
        assert_eq!(run(text, Returns::Bool, &[], &mut POLICY_COST_MAX.clone()), expect, "{text}");
    };
    check("authorizer.group('apps').resource('x').name('n').check('get').reason() == 'apps/x n'", "true");
    check("authorizer.requestResource.check('get').reason() == '/configmaps c1'", "true");
    check("authorizer.requestResource.check('put').allowed()", "false");
    check("authorizer.path('/healthz').check('get').allowed()", "true");
    check("authorizer.path('').check('get').allowed()", "ERR path must not be empty");
    check("authorizer.group('').resource(' ').check('get').allowed()", "ERR resource must not be empty");
    check("authorizer.serviceAccount('default','good').path('/x').check('get').allowed()", "true");
    check("authorizer.serviceAccount('default','bad').path('/x').check('get').allowed()", "false");
    check(
        "authorizer.serviceAccount('Bad','good').path('/x').check('get').allowed()",
        "ERR Invalid service account namespace",
    );
    let ask = "authorizer.path('/x').check('put').allowed()";
    check(&format!("{ask} || {ask}"), "false");
    check(&format!("{ask} || {ask} || {ask}"), "ERR operation cancelled: actual cost limit exceeded");
}

#[test]
fn objects_and_patches_are_made() {
    let check = |returns: Returns, text: &str, expect: &str| {
        assert_eq!(run(text, returns, &[], &mut POLICY_COST_MAX.clone()), expect, "{text}");
    };
    let object = |text, expect| check(Returns::Object, text, expect);
    object("Object{}", "{}");
    object("Object{spec: Object.spec{n: 1 + 2, l: ['a', 'b']}}", r#"{"spec":{"l":["a","b"],"n":3}}"#);
    object(
        "Object{metadata: Object.metadata{?labels: optional.none(), name: object.data.b}}",
        r#"{"metadata":{"name":"x"}}"#,
    );
    object("Object{data: object.data}", r#"{"data":{"a":"1","b":"x"}}"#);
    object(
        "Object{metadata: Object.wrong{}}",
        "ERR type mismatch: unexpected type name \"Object.wrong\", expected \"Object.metadata\", which matches field name path from root Object type",
    );
    object("'x'", "COMPILE must evaluate to Object but got string");
    let patches = |text, expect| check(Returns::JsonPatches, text, expect);
    patches("[]", "COMPILE must evaluate to list(JSONPatch) but got list(dyn)");
    patches(
        "[JSONPatch{op: 'add', path: '/a/' + jsonpatch.escapeKey('k~/x'), value: {'n': 1.0}}]",
        "add /a/k~0~1x {\"n\":1}",
    );
    patches(
        "[JSONPatch{op: 'add', path: '/a', value: Object.a{b: [1]}}, JSONPatch{op: 'remove', path: '/c'}]",
        "add /a {\"b\":[1]}; remove /c -",
    );
    patches("[JSONPatch{op: 'add', path: '/a', value: 9007199254740993}]", "add /a \"9007199254740993\"");
    patches(
        "[JSONPatch{op: 1}]",
        "COMPILE compilation failed: ERROR: <input>:1:14: expected type of field 'op' is 'string' but provided type is 'int'\n | [JSONPatch{op: 1}]\n | .............^",
    );
    check(
        Returns::Bool,
        "Object{} == 1",
        "COMPILE compilation failed: ERROR: <input>:1:7: undeclared reference to 'Object' (in container '')\n | Object{} == 1\n | ......^",
    );
}

/// What is cheap by the real server's reckoning, as it copies nothing, ends by its bytes here.
#[test]
fn lists_that_are_added_to_themselves_again_and_again() {
    let text = |times| format!("[[0,0,0,0]]{}.size() > 0", ".map(x, x + x)".repeat(times));
    assert_eq!(run(&text(10), Returns::Bool, &[], &mut POLICY_COST_MAX.clone()), "true");
    let got = run(&text(30), Returns::Bool, &[], &mut POLICY_COST_MAX.clone());
    assert!(got.contains("operation cancelled: actual cost limit exceeded"), "{got}");
}

/// Each expression is as deep as may be, and asks for the one before.
#[test]
fn variables_that_ask_for_each_other_do_not_use_up_the_stack() {
    let chain = |length: usize, depth: usize| -> String {
        let texts: Vec<(String, String)> = (0..length)
            .map(|at| {
                let inner = if at == 0 { "1".to_owned() } else { format!("variables.v{}", at - 1) };
                (format!("v{at}"), format!("{}{inner}{}", "1+(".repeat(depth), ")".repeat(depth)))
            })
            .collect();
        let variables: Vec<(&str, &str)> = texts.iter().map(|(name, text)| (&**name, &**text)).collect();
        let last = format!("variables.v{} > 0", length - 1);
        run(&last, Returns::Bool, &variables, &mut POLICY_COST_MAX.clone())
    };
    // As on a core, which has 16 MiB.
    let deep = move || (chain(20, 2), chain(150, 190));
    let thread = std::thread::Builder::new().stack_size(16 << 20).spawn(deep).unwrap();
    let (short, long) = thread.join().unwrap();
    assert_eq!(short, "true");
    assert!(long.contains("variables refer to each other too deeply"), "{long}");
}
