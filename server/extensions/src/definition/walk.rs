//! Every schema within a schema.

use ringbolt_machinery::value::Value;

/// Whether any schema in `schema`, itself first, is as `predicate` says. It stops at the first.
pub(crate) fn any(schema: &Value<'_>, predicate: &mut dyn FnMut(&Value<'_>) -> bool) -> bool {
    let Some(map) = schema.as_map() else { return false };
    if predicate(schema) {
        return true;
    }
    let mut list =
        |name: &str| map.get(name).and_then(Value::as_list).into_iter().flatten().any(|s| any(s, predicate));
    // `items` may be a schema or a list of them.
    if list("items") || list("allOf") || list("anyOf") || list("oneOf") {
        return true;
    }
    for name in ["items", "not", "additionalProperties", "additionalItems"] {
        if map.get(name).is_some_and(|schema| any(schema, predicate)) {
            return true;
        }
    }
    ["properties", "patternProperties", "definitions", "dependencies"].iter().any(|name| {
        let named = map.get(name).and_then(Value::as_map);
        named.into_iter().flat_map(|map| map.iter()).any(|(_, schema)| any(schema, predicate))
    })
}
