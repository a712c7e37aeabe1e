//! Trees frozen, thawed and compared.

use super::*;
use crate::json::{self, Mode};

const NAMES: MadeUp = MadeUp { prefix: "kube-api-access-", letters: 5 };
const SPEC: &str = r#"{"containers":[{"name":"a","image":"i\u0041:1","env":[{"name":"N","value":"é"}],
    "resources":{"limits":{"cpu":"1000m","example.com/x":"1"}},"livenessProbe":{"httpGet":{"port":80}}}],
    "nodeSelector":{"a":"b","c":"d"},"overhead":{},"hostNetwork":true,"tolerations":[]}"#;

fn ty() -> Type {
    let pod = Schema::builtin().kind("", "v1", "Pod").expect("it is built in");
    Schema::builtin().get(pod.ty).field("spec").expect("pods have one").1.ty
}

fn decode<'a>(arena: &'a Bump, source: &'a str) -> Value<'a> {
    let Type::Struct(id) = ty() else { panic!("a spec is a struct") };
    json::decode_typed(arena, Schema::builtin(), id, source.as_bytes(), Mode::Strict).expect("good").value
}

fn freeze(value: &Value<'_>, source: &str) -> Frozen {
    Frozen::new(Schema::builtin(), ty(), value, source, Some(NAMES)).expect("a spec")
}

fn volume<'a>(arena: &'a Bump, name: &'a str) -> Value<'a> {
    let mut volume = Map::new_in(arena);
    volume.insert("name", Value::String(name));
    let mut list = ArenaVec::new_in(arena);
    list.push(Value::Map(volume));
    Value::List(list)
}

#[test]
fn thaws_to_what_was_frozen_from_another_copy_of_the_source() {
    fn defaulted<'a>(arena: &'a Bump, source: &'a str) -> Value<'a> {
        let mut value = decode(arena, source);
        let spec = value.as_map_mut().expect("a map");
        spec.insert("priority", Value::Int(7));
        spec.insert("preemptionPolicy", Value::String(arena.alloc_str("Never")));
        value
    }
    let frozen = {
        let arena = Bump::new();
        freeze(&defaulted(&arena, SPEC), SPEC)
    };
    let (arena, copy) = (Bump::new(), SPEC.to_owned());
    let expect = defaulted(&arena, &copy);
    let (thawed, _) = frozen.thaw(&arena, &copy).expect("nothing was made up");
    assert_eq!(thawed, expect);
    assert_eq!(frozen.matches(&copy, Some(NAMES), &expect), Match::Same(None));
    assert!(frozen.size() > SPEC.len());
}

#[test]
fn any_difference_is_seen() {
    let arena = Bump::new();
    let frozen = freeze(&decode(&arena, SPEC), SPEC);
    let changes = [
        (r#""name":"a""#, r#""name":"b""#),
        (r#""port":80"#, r#""port":81"#),
        (r#""hostNetwork":true,"#, ""),
        (r#""a":"b","#, r#""b":"b","#),
        (r#""value":"é""#, r#""value":"è""#),
        (r#""hostNetwork":true"#, r#""hostNetwork":false"#),
        (r#""tolerations":[]"#, r#""tolerations":[{}]"#),
        (r#""1000m""#, r#""1100m""#),
    ];
    for (from, to) in changes {
        let changed = SPEC.replacen(from, to, 1);
        assert_ne!(changed, SPEC);
        assert_eq!(frozen.matches(SPEC, None, &decode(&arena, &changed)), Match::Other, "{to}");
    }
    // Another order of entries is written another way.
    let turned = SPEC.replacen(r#""a":"b","c":"d""#, r#""c":"d","a":"b""#, 1);
    let mut turned = decode(&arena, &turned);
    let selector = turned.path_mut(&["nodeSelector"]).and_then(Value::as_map_mut).expect("a map");
    selector.sort_keys();
    assert_eq!(frozen.matches(SPEC, None, &turned), Match::Same(None));
    let mut entries = ArenaVec::new_in(&arena);
    entries.extend([("c", Value::String("d")), ("a", Value::String("b"))]);
    *selector_of(&mut turned) = Map::from_entries(entries);
    assert_eq!(frozen.matches(SPEC, None, &turned), Match::Other);
}

fn selector_of<'v, 'a>(spec: &'v mut Value<'a>) -> &'v mut Map<'a> {
    spec.path_mut(&["nodeSelector"]).and_then(Value::as_map_mut).expect("a map")
}

#[test]
fn the_name_made_up_may_be_another_one_everywhere_alike() {
    let arena = Bump::new();
    let with = |names: &[&'static str]| {
        let mut value = decode(&arena, SPEC);
        let spec = value.as_map_mut().expect("a map");
        spec.insert("volumes", volume(&arena, names[0]));
        for container in spec.get_mut("containers").and_then(Value::as_list_mut).expect("a list") {
            container.as_map_mut().expect("a map").insert("volumeMounts", volume(&arena, names[1]));
        }
        value
    };
    let frozen = freeze(&with(&["kube-api-access-abcde"; 2]), SPEC);
    assert_eq!(frozen.names(), 2);
    assert!(frozen.thaw(&arena, SPEC).is_none());
    let is = |names: &[&'static str]| frozen.matches(SPEC, Some(NAMES), &with(names));
    assert_eq!(is(&["kube-api-access-xyz78"; 2]), Match::Same(Some("kube-api-access-xyz78")));
    assert_eq!(is(&["kube-api-access-xyz78", "kube-api-access-xyz79"]), Match::Other);
    assert_eq!(is(&["kube-api-access-xyz7"; 2]), Match::Other);
    assert_eq!(is(&["kube-api-access-xyz7_"; 2]), Match::Other);
    assert_eq!(is(&["config"; 2]), Match::Other);
    // Two names in one tree could be mixed up.
    let two = with(&["kube-api-access-abcde", "kube-api-access-fghij"]);
    assert!(Frozen::new(Schema::builtin(), ty(), &two, SPEC, Some(NAMES)).is_none());
}

#[test]
fn what_is_not_of_the_type_is_not_kept() {
    let arena = Bump::new();
    let mut value = decode(&arena, SPEC);
    value.as_map_mut().expect("a map").insert("unheardOf", Value::Null);
    assert!(Frozen::new(Schema::builtin(), ty(), &value, SPEC, None).is_none());
}
