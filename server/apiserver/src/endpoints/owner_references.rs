//! Owners that an object names twice: the second time is taken out, and whoever wrote it is told.

use std::collections::BTreeSet;

use bumpalo::{Bump, collections::Vec as ArenaVec};
use ringbolt_machinery::value::{Map, Value};

/// Takes equal owner references out. `admitted` says whether mutating admission is over.
pub(super) fn deduplicate<'a>(
    arena: &'a Bump,
    object: &mut Value<'a>,
    admitted: bool,
    warnings: &mut Vec<String>,
) {
    let Some(metadata) = object.as_map_mut().and_then(|o| o.get_mut("metadata")).and_then(Value::as_map_mut)
    else {
        return;
    };
    let Some(list) = metadata.get("ownerReferences").and_then(Value::as_list) else { return };
    if list.len() < 2 {
        return;
    }
    let mut kept = ArenaVec::with_capacity_in(list.len(), arena);
    let (mut seen, mut duplicates) = (BTreeSet::new(), Vec::new());
    for reference in list {
        let uid = reference.str_at(&["uid"]).unwrap_or("");
        if !seen.insert(uid) && kept.iter().any(|k| equal(k, reference)) {
            duplicates.push(uid);
        } else {
            kept.push(reference.clone());
        }
    }
    if duplicates.is_empty() {
        return;
    }
    let when = if admitted { " after mutating admission happens" } else { "" };
    warnings.push(format!(
        ".metadata.ownerReferences contains duplicate entries{when}; API server dedups owner references in 1.20+, \
         and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {}",
        duplicates.join(", ")
    ));
    metadata.insert("ownerReferences", Value::List(kept));
}

fn equal(a: &Value<'_>, b: &Value<'_>) -> bool {
    let (Some(a), Some(b)) = (a.as_map(), b.as_map()) else { return a == b };
    let within = |a: &Map<'_>, b: &Map<'_>| {
        a.iter().all(|(key, value)| value.is_null() || b.get(key).is_some_and(|other| other == value))
    };
    within(a, b) && within(b, a)
}

#[cfg(test)]
mod tests {
    use bumpalo::Bump;
    use ringbolt_machinery::json::{decode_untyped, encode_untyped};

    use super::deduplicate;

    fn check(refs: &str, kept: usize, warned: &[&str]) {
        let arena = Bump::new();
        let text = arena.alloc_str(&format!(r#"{{"metadata":{{"ownerReferences":{refs}}}}}"#));
        let mut object = decode_untyped(&arena, text.as_bytes()).unwrap();
        let mut warnings = Vec::new();
        deduplicate(&arena, &mut object, false, &mut warnings);
        let mut out = Vec::new();
        encode_untyped(&object, &mut out);
        assert_eq!(String::from_utf8(out).unwrap().matches("uid").count(), kept, "{refs}");
        let ends: Vec<_> = warnings.iter().map(|w| w.rsplit(": ").next().unwrap_or("")).collect();
        assert_eq!(ends, warned, "{refs}");
    }

    #[test]
    fn only_the_same_reference_is_a_duplicate() {
        check(r#"[{"uid":"u","name":"a"},{"uid":"u","name":"a"}]"#, 1, &["u"]);
        check(r#"[{"uid":"u","name":"a"},{"name":"a","uid":"u"},{"uid":"u","name":"a"}]"#, 1, &["u, u"]);
        check(r#"[{"uid":"u","name":"a"},{"uid":"u","name":"b"}]"#, 2, &[]);
        check(r#"[{"uid":"u","name":"a"}]"#, 1, &[]);
        check(r#"[{"uid":"u","controller":true},{"uid":"u","controller":false}]"#, 2, &[]);
    }
}
