//! Laws that hold for any sets, and for the sets of any objects.

use proptest::prelude::*;

use super::*;

/// A set as text: names, keys, values and positions, three levels deep.
fn sets() -> impl Strategy<Value = String> {
    let step = prop_oneof![
        "[a-d]".prop_map(|name| format!("f:{name}")),
        (0..3u8).prop_map(|n| format!(r#"k:{{\"name\":\"{n}\"}}"#)),
        (0..3u8).prop_map(|n| format!("v:{n}")),
        (0..2u8).prop_map(|n| format!("i:{n}")),
    ];
    let leaf = prop_oneof![Just("{}".to_owned()), Just(r#"{".":{}}"#.to_owned())];
    leaf.prop_recursive(3, 24, 4, move |below| {
        (any::<bool>(), prop::collection::btree_map(step.clone(), below, 0..4)).prop_map(|(dot, steps)| {
            let dot = dot.then(|| r#"".":{}"#.to_owned());
            let steps = steps.into_iter().map(|(step, below)| format!("\"{step}\":{below}"));
            format!("{{{}}}", dot.into_iter().chain(steps).collect::<Vec<_>>().join(","))
        })
    })
}

/// The members of a set, one a line.
fn members(set: FieldSet<'_>) -> Vec<String> {
    let mut out = Vec::new();
    set.for_each(&mut |path| out.push(Path(path).to_string()));
    out.sort();
    out
}

proptest! {
    #[test]
    fn sets_of_members(a in sets(), b in sets(), c in sets()) {
        let arena = Bump::new();
        let read = |text: &str| parse_fields(&arena, arena.alloc_str(text)).unwrap();
        let (a, b, c) = (read(&a), read(&b), read(&c));
        let (all, both, left) = (a.union(&arena, b), a.intersection(&arena, b), a.difference(&arena, b));
        // Against plain sets of paths.
        let (x, y) = (members(a), members(b));
        let merged = x.iter().chain(y.iter().filter(|p| !x.contains(p))).cloned();
        let mut merged: Vec<String> = merged.collect();
        merged.sort();
        prop_assert_eq!(members(all), merged);
        prop_assert_eq!(members(both), x.iter().filter(|p| y.contains(p)).cloned().collect::<Vec<_>>());
        prop_assert_eq!(members(left), x.iter().filter(|p| !y.contains(p)).cloned().collect::<Vec<_>>());
        // Equal sets are equal trees.
        prop_assert_eq!(left.union(&arena, both), a);
        prop_assert_eq!(all, b.union(&arena, a));
        prop_assert_eq!(all.union(&arena, c), a.union(&arena, b.union(&arena, c)));
        prop_assert!(a.difference(&arena, a).is_empty() && a.recursive_difference(&arena, a).is_empty());
        prop_assert_eq!(a.difference(&arena, FieldSet::EMPTY), a);
        // What is below a member goes with it.
        let gone = members(a.recursive_difference(&arena, b));
        let below = |p: &String| y.iter().any(|q| p == q || p.starts_with(q.as_str()) && p[q.len()..].starts_with(['.', '[']));
        prop_assert_eq!(gone, x.iter().filter(|p| !below(p)).cloned().collect::<Vec<_>>());
        // Leaves have nothing below them.
        let leaves = members(a.leaves(&arena));
        let inner = |p: &String| x.iter().any(|q| q != p && q.starts_with(p.as_str()) && q[p.len()..].starts_with(['.', '[']));
        prop_assert_eq!(leaves, x.iter().filter(|p| !inner(p)).cloned().collect::<Vec<_>>());
    }

    #[test]
    fn print_and_read_back(a in sets()) {
        let arena = Bump::new();
        let set = parse_fields(&arena, &a).unwrap();
        let text = printed(set);
        prop_assert_eq!(parse_fields(&arena, &text).unwrap(), set);
        prop_assert_eq!(printed(parse_fields(&arena, &text).unwrap()), text);
        let mut each = FieldSet::EMPTY;
        set.for_each(&mut |path| {
            assert!(set.has(path));
            each = each.union(&arena, FieldSet::of_path(&arena, arena.alloc_slice_copy(path)));
        });
        prop_assert_eq!(each, set);
    }

    /// The set of an object holds what differs from an object with nothing, and taking it away leaves nothing.
    #[test]
    fn objects(
        labels in prop::collection::btree_map("[a-c]", "[a-c]?", 0..3),
        ports in prop::collection::btree_set((1..4u16, prop::bool::ANY), 0..4),
        finalizers in prop::collection::btree_set("[a-c]", 0..3),
        affinity in prop::option::of("[a-c]"),
    ) {
        let arena = Bump::new();
        let (schema, ty) = (Schema::builtin(), kind("v1", "Service"));
        let mut ports_text = Vec::new();
        for (port, tcp) in &ports {
            let protocol = if *tcp { "" } else { ", protocol: UDP" };
            ports_text.push(format!("{{port: {port}, name: p{port}{tcp}{protocol}}}"));
        }
        let labels: Vec<String> = labels.iter().map(|(k, v)| format!("{k}: \"{v}\"")).collect();
        let text = format!(
            "metadata: {{labels: {{{}}}, finalizers: [{}]}}\nspec: {{ports: [{}]{}}}",
            labels.join(", "),
            finalizers.into_iter().collect::<Vec<_>>().join(", "),
            ports_text.join(", "),
            affinity.map(|a| format!(", sessionAffinity: {a}")).unwrap_or_default(),
        );
        let object = untyped(&arena, &text);
        prop_assert!(validate(&arena, schema, ty, &object, Duplicates::Refused).is_empty());
        let set = field_set(&arena, schema, ty, &object);
        prop_assert_eq!(parse_fields(&arena, arena.alloc_str(&printed(set))).unwrap(), set);
        let nothing = Value::Null;
        let comparison = compare(&arena, schema, ty, &nothing, &object).unwrap();
        prop_assert!(comparison.removed.is_empty() && comparison.modified.is_empty());
        prop_assert!(set.difference(&arena, comparison.added).is_empty());
        let gone = compare(&arena, schema, ty, &object, &nothing).unwrap();
        prop_assert_eq!(gone.removed, comparison.added);
        prop_assert!(compare(&arena, schema, ty, &object, &object).unwrap().is_same());
        let rest = remove_items(&arena, schema, ty, &object, comparison.added);
        prop_assert_eq!(rest, Value::Null);
        let merged = merge(&arena, schema, ty, &object, &object).unwrap();
        prop_assert!(equal_values(&arena, &merged, &object), "{:?}", merged);
    }
}

/// A small set next to a large one goes another way.
#[test]
fn small_and_large() {
    let arena = Bump::new();
    let large: Vec<String> = (0..100).map(|n| format!(r#""f:{n:03}":{{".":{{}},"f:x":{{}}}}"#)).collect();
    let large = parse_fields(&arena, arena.alloc_str(&format!("{{{}}}", large.join(",")))).unwrap();
    let small = parse_fields(&arena, r#"{"f:007":{},"f:050":{"f:x":{}},"f:x":{}}"#).unwrap();
    let both = r#"{"f:007":{},"f:050":{"f:x":{}}}"#;
    assert_eq!(printed(small.intersection(&arena, large)), both);
    assert_eq!(printed(large.intersection(&arena, small)), both);
    assert_eq!(printed(small.difference(&arena, large)), r#"{"f:x":{}}"#);
    assert_eq!(printed(small.recursive_difference(&arena, large)), r#"{"f:x":{}}"#);
    let rest = large.difference(&arena, small);
    assert_eq!(rest.union(&arena, parse_fields(&arena, both).unwrap()), large);
    assert_eq!(large.union(&arena, small), small.union(&arena, large));
}
