//! Specs that come once, twice and often, and what is kept of them.

use ringbolt_machinery::json;

use super::*;

const RULES: SpecRules = SpecRules {
    made_up: MadeUp { prefix: "made-up-", letters: 3 },
    is_plain: |_| true,
    stands_alone: |_| true,
    note: |object| object.str_at(&["spec", "restartPolicy"]).map_or("", |_| "noted"),
};

/// Takes the body of a pod through all that is done with its spec; `change` is admission, `prepare` comes after it.
struct Trial {
    templates: RefCell<Templates>,
    arena: Bump,
}

impl Trial {
    fn new() -> Trial {
        Trial { templates: RefCell::default(), arena: Bump::new() }
    }

    /// What is known of the spec of a body: nothing, its tree, all.
    fn come<'a>(
        &'a self,
        name: &str,
        spec: &str,
        change: impl Fn(&mut Value<'a>),
        prepare: impl Fn(&mut Value<'a>),
    ) -> (&'static str, String) {
        let (schema, arena) = (Schema::builtin(), &self.arena);
        let ty = schema.kind("", "v1", "Pod").expect("it is built in").ty;
        let spec_type = schema.get(ty).field("spec").expect("pods have one").1.ty;
        let body = arena.alloc_str(&format!(r#"{{"metadata":{{"name":"{name}"}},"spec":{spec}}}"#));
        let mut lookup = Lookup::new(&self.templates, spec_type);
        let bytes = body.as_bytes();
        let (mut object, source) =
            json::decode_repeated(arena, schema, ty, bytes, "spec", &mut lookup).expect("a good pod");
        assert_eq!(source, spec);
        let mut spec = lookup.spec(Source::Json(source));
        let mut known = if spec.template().is_some() { "tree" } else { "nothing" };
        if spec.learns() {
            let tree = object.path(&["spec"]).expect("it has one");
            let learned = spec.learn(&self.templates, arena, schema, (spec_type, tree), "fields");
            assert_eq!(learned.as_ref(), Some(tree));
            *object.path_mut(&["spec"]).expect("it has one") = learned.expect("it is kept");
        }
        change(&mut object);
        let own = object.path(&["spec"]).expect("it has one");
        let finished = spec.finished(RULES.made_up, own);
        let admitted = match finished {
            Some(_) => None,
            None => spec.admitted(RULES.made_up, schema, own),
        };
        prepare(&mut object);
        let mut text = Vec::new();
        let json = match finished {
            Some((finished, name)) => {
                known = "all";
                assert_eq!(finished.note(), "noted");
                finished.write(name, &mut text);
                text
            }
            None => {
                let mut json = Vec::new();
                json::encode_untyped(object.path(&["spec"]).expect("it has one"), &mut json);
                if let Some(admitted) = admitted {
                    spec.finish(RULES, admitted, &object, &json);
                }
                json
            }
        };
        (known, String::from_utf8(json).expect("JSON is text"))
    }
}

fn set<'a>(name: &'static str, value: &'static str) -> impl Fn(&mut Value<'a>) {
    move |object| {
        let spec = object.path_mut(&["spec"]).and_then(Value::as_map_mut).expect("it has one");
        spec.insert(name, Value::String(value));
    }
}

const SPEC: &str = r#"{"containers":[{"name":"a"}],"restartPolicy":"Never"}"#;

#[test]
fn what_came_twice_is_known_from_then_on() {
    let trial = Trial::new();
    let nothing = |_: &mut Value<'_>| {};
    let texts: Vec<_> = (0..4).map(|_| trial.come("a", SPEC, nothing, nothing)).collect();
    assert_eq!(
        texts.iter().map(|(known, _)| *known).collect::<Vec<_>>(),
        ["nothing", "nothing", "all", "all"]
    );
    assert!(texts.iter().all(|(_, text)| *text == texts[0].1), "{texts:?}");
    // Whosever it is; but only to the byte, and one that begins like it is another one.
    assert_eq!(trial.come("b", SPEC, nothing, nothing).0, "all");
    assert_eq!(trial.come("a", &SPEC.replace("Never", "never"), nothing, nothing).0, "nothing");
    assert_eq!(trial.come("a", &SPEC.replacen('{', "{ ", 1), nothing, nothing).0, "nothing");
}

#[test]
fn what_became_of_it_counts_only_where_the_same_becomes_of_it() {
    let trial = Trial::new();
    let nothing = |_: &mut Value<'_>| {};
    let (one, two) = (set("hostname", "made-up-abc"), set("hostname", "made-up-xyz"));
    for _ in 0..2 {
        trial.come("a", SPEC, &one, nothing);
    }
    let (known, text) = trial.come("a", SPEC, &two, nothing);
    assert!(known == "all" && text.contains(r#""hostname":"made-up-xyz","#), "{text}");
    // Something else.
    let other = set("hostname", "another");
    for _ in 0..SPEC_TEMPLATE_MISSES {
        assert_eq!(trial.come("a", SPEC, &other, nothing).0, "tree");
    }
    // Now it is what is expected.
    assert_eq!(trial.come("a", SPEC, &other, nothing).0, "all");
    assert_eq!(trial.come("a", SPEC, &one, nothing).0, "tree");
}

#[test]
fn a_spec_that_preparing_changes_is_prepared_each_time() {
    let trial = Trial::new();
    let nothing = |_: &mut Value<'_>| {};
    for known in ["nothing", "nothing", "tree", "tree"] {
        assert_eq!(trial.come("a", SPEC, nothing, set("subdomain", "x")).0, known);
    }
}

#[test]
fn a_name_within_a_text_could_not_be_renamed() {
    let trial = Trial::new();
    let nothing = |_: &mut Value<'_>| {};
    let spec = r#"{"hostname":"made-up-abc","subdomain":"of made-up-abc"}"#;
    for known in ["nothing", "nothing", "tree", "tree"] {
        assert_eq!(trial.come("a", spec, nothing, nothing).0, known);
    }
}

#[test]
fn what_is_kept_is_bounded_and_the_least_used_goes() {
    let trial = Trial::new();
    let nothing = |_: &mut Value<'_>| {};
    let spec = |n: usize| SPEC.replacen("\"a\"", &format!("\"{n}{}\"", "x".repeat(10_000)), 1);
    let coming = |n: usize| trial.come("a", &spec(n), nothing, nothing).0;
    for n in 0..200 {
        coming(n);
        coming(n);
        assert_eq!(coming(0), "all", "{n}");
    }
    let templates = trial.templates.borrow();
    assert!(templates.bytes <= SPEC_TEMPLATES_BYTES && templates.known.len() > 20);
    let sum: usize = templates.known.values().map(|known| known.size()).sum();
    assert_eq!(sum, templates.bytes);
    assert_eq!(templates.sightings.len(), SPEC_SIGHTINGS);
    drop(templates);
    assert_eq!(coming(1), "nothing", "it was not used since");
    let huge = SPEC.replacen("\"a\"", &format!("\"{}\"", "x".repeat(SPEC_TEMPLATE_SOURCE)), 1);
    for _ in 0..3 {
        assert_eq!(trial.come("a", &huge, nothing, nothing).0, "nothing");
    }
}

#[test]
fn texts_of_one_hash_are_told_apart() {
    let trial = Trial::new();
    let nothing = |_: &mut Value<'_>| {};
    for _ in 0..3 {
        trial.come("a", SPEC, nothing, nothing);
    }
    let other = SPEC.replace("Never", "Aever");
    let mut templates = trial.templates.borrow_mut();
    let (_, known) = templates.known.drain().next().expect("one is known");
    templates.known.insert(hash(format!("{other}}}").as_bytes()), known);
    drop(templates);
    assert_eq!(trial.come("a", &other, nothing, nothing).0, "nothing");
}

#[test]
fn hashes_differ_by_any_byte() {
    let text: Vec<u8> = (0..100).collect();
    let mut seen = std::collections::HashSet::new();
    for end in 0..=text.len() {
        assert!(seen.insert(hash(&text[..end])));
    }
    for at in 0..text.len() {
        let mut changed = text.clone();
        changed[at] ^= 0x80;
        assert!(seen.insert(hash(&changed)), "{at}");
    }
}
