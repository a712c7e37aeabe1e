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

fn unbased(source: &str) -> Base<'_> {
    Base { tree: None, source }
}

fn freeze(value: &Value<'_>, source: &str) -> Frozen {
    Frozen::new(Schema::builtin(), ty(), value, unbased(source), Some(NAMES)).expect("a spec")
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
    assert_eq!(frozen.matches(unbased(&copy), Some(NAMES), &expect), Match::Same(None));
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
        assert_eq!(frozen.matches(unbased(SPEC), None, &decode(&arena, &changed)), Match::Other, "{to}");
    }
    // Another order of entries is written another way.
    let turned = SPEC.replacen(r#""a":"b","c":"d""#, r#""c":"d","a":"b""#, 1);
    let mut turned = decode(&arena, &turned);
    let selector = turned.path_mut(&["nodeSelector"]).and_then(Value::as_map_mut).expect("a map");
    selector.sort_keys();
    assert_eq!(frozen.matches(unbased(SPEC), None, &turned), Match::Same(None));
    let mut entries = ArenaVec::new_in(&arena);
    entries.extend([("c", Value::String("d")), ("a", Value::String("b"))]);
    *selector_of(&mut turned) = Map::from_entries(entries);
    assert_eq!(frozen.matches(unbased(SPEC), None, &turned), Match::Other);
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
    let is = |names: &[&'static str]| frozen.matches(unbased(SPEC), Some(NAMES), &with(names));
    assert_eq!(is(&["kube-api-access-xyz78"; 2]), Match::Same(Some("kube-api-access-xyz78")));
    assert_eq!(is(&["kube-api-access-xyz78", "kube-api-access-xyz79"]), Match::Other);
    assert_eq!(is(&["kube-api-access-xyz7"; 2]), Match::Other);
    assert_eq!(is(&["kube-api-access-xyz7_"; 2]), Match::Other);
    assert_eq!(is(&["config"; 2]), Match::Other);
    // Two names in one tree could be mixed up.
    let two = with(&["kube-api-access-abcde", "kube-api-access-fghij"]);
    assert!(Frozen::new(Schema::builtin(), ty(), &two, unbased(SPEC), Some(NAMES)).is_none());
}

#[test]
fn what_is_not_of_the_type_is_not_kept() {
    let arena = Bump::new();
    let mut value = decode(&arena, SPEC);
    value.as_map_mut().expect("a map").insert("unheardOf", Value::Null);
    assert!(Frozen::new(Schema::builtin(), ty(), &value, unbased(SPEC), None).is_none());
}

#[test]
fn what_nobody_changed_since_it_was_thawed_is_not_looked_into() {
    let arena = Bump::new();
    let tree = freeze(&decode(&arena, SPEC), SPEC);
    let base = Base { tree: Some(&tree), source: SPEC };
    type Change = for<'v, 'a> fn(&'a Bump, &'v mut Map<'a>);
    let thawed = |change: Change| {
        let (mut value, _) = tree.thaw(&arena, SPEC).expect("nothing was made up");
        change(&arena, value.as_map_mut().expect("a map"));
        value
    };
    fn container<'v, 'a>(spec: &'v mut Map<'a>) -> &'v mut Map<'a> {
        let containers = spec.get_mut("containers").and_then(Value::as_list_mut).expect("a list");
        containers[0].as_map_mut().expect("a map")
    }
    fn admitted<'a>(arena: &'a Bump, spec: &mut Map<'a>) {
        spec.insert("volumes", volume(arena, "kube-api-access-abcde"));
        container(spec).insert("volumeMounts", volume(arena, "kube-api-access-abcde"));
    }
    let kept = Frozen::new(Schema::builtin(), ty(), &thawed(admitted), base, Some(NAMES)).expect("a spec");
    assert_eq!(kept.names(), 2);
    assert!(kept.members.len() < tree.members.len(), "what is the same is kept once");
    assert!(kept.thaw(&arena, SPEC).is_none());
    let is = |value: &Value<'_>| match kept.matches(base, Some(NAMES), value) {
        Match::Same(name) => name == Some("kube-api-access-abcde"),
        Match::Other => false,
    };
    assert!(is(&thawed(admitted)));
    // The same from elsewhere, or looked at by somebody who might have changed it.
    let mut decoded = decode(&arena, SPEC);
    admitted(&arena, decoded.as_map_mut().expect("a map"));
    assert!(is(&decoded));
    assert!(is(&thawed(|arena, spec| {
        admitted(arena, spec);
        let resources = container(spec).map_mut("resources");
        let limits = resources.map_mut("limits");
        let cpu = limits.get("cpu").cloned().expect("it has one");
        limits.insert("cpu", cpu);
        spec.map_mut("nodeSelector").iter_mut().for_each(|_| {});
    })));
    let changes: [Change; 6] = [
        |_, spec| {
            container(spec).map_mut("resources").map_mut("limits").insert("cpu", Value::String("2"));
        },
        |_, spec| {
            spec.map_mut("nodeSelector").remove("a");
        },
        |_, spec| {
            spec.map_mut("nodeSelector").insert("a", Value::String("c"));
        },
        |_, spec| {
            let probe = container(spec).map_mut("livenessProbe");
            let action = probe.remove("httpGet").expect("it has one");
            probe.insert("tcpSocket", action);
        },
        |_, spec| {
            let variables = container(spec).get_mut("env").and_then(Value::as_list_mut).expect("a list");
            let again = variables[0].clone();
            variables.push(again);
        },
        |_, spec| {
            // One map in place of another one of its size.
            let other = spec.get("nodeSelector").cloned().expect("it has one");
            container(spec).map_mut("resources").insert("limits", other);
        },
    ];
    for (at, change) in changes.into_iter().enumerate() {
        let mut value = thawed(admitted);
        change(&arena, value.as_map_mut().expect("a map"));
        assert!(!is(&value), "{at}");
    }
}
