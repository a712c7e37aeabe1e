//! What is believed of an object that a webhook converted.

use bumpalo::Bump;
use ringbolt_machinery::{
    field::aggregate,
    json,
    validation::labels::{each_in_order, validate_annotations, validate_labels},
    value::{Map, Value},
};

/// The object that `converted` is, with the metadata of `original` but for labels and annotations. `shown` is the group,
/// version and kind of the original, `to` the version that was asked for.
pub(super) fn accept<'a>(
    arena: &'a Bump,
    original: &Value<'a>,
    converted: &Value<'a>,
    (shown, to): (&str, &str),
) -> Result<Value<'a>, String> {
    let mut object = match converted {
        Value::Map(object) => object.clone(),
        Value::Null => return Err("unexpected end of JSON input".to_owned()),
        other => {
            let what = other.json_kind();
            return Err(format!(
                "json: cannot unmarshal {what} into Go value of type map[string]interface {{}}"
            ));
        }
    };
    let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or("");
    if text("kind").is_empty() {
        let mut raw = Vec::new();
        json::encode_untyped(converted, &mut raw);
        return Err(format!("Object 'Kind' is missing in '{}'", String::from_utf8_lossy(&raw)));
    }
    if text("apiVersion") != to {
        let said = text("apiVersion");
        return Err(format!(
            "conversion webhook for {shown} returned invalid object at index 0: invalid groupVersion (expected {to}, \
             received {said})"
        ));
    }
    let kind = original.str_at(&["kind"]).unwrap_or("");
    if text("kind") != kind {
        let said = text("kind");
        return Err(format!(
            "conversion webhook for {shown} returned invalid object at index 0: invalid kind (expected {kind}, received \
             {said})"
        ));
    }
    for (name, field) in [("name", "name"), ("namespace", "namespace"), ("UID", "uid")] {
        let was = original.str_at(&["metadata", field]).unwrap_or("");
        let is = converted.str_at(&["metadata", field]).unwrap_or("");
        if was != is {
            return Err(format!(
                "conversion webhook for {shown} returned invalid object: must have the same {name}: {was} != {is}"
            ));
        }
    }
    let metadata = metadata(arena, original, object.get("metadata"));
    let metadata =
        metadata.map_err(|why| format!("conversion webhook for {shown} returned invalid metadata: {why}"))?;
    object.insert("metadata", metadata);
    Ok(Value::Map(object))
}

/// The metadata of an object that was converted.
fn metadata<'a>(
    arena: &'a Bump,
    original: &Value<'a>,
    said: Option<&Value<'a>>,
) -> Result<Value<'a>, String> {
    let said = match said {
        None => return Err("missing metadata in converted object".to_owned()),
        Some(Value::Map(said)) => said,
        Some(other) => {
            return Err(format!("invalid metadata of type {} in converted object", other.go_type()));
        }
    };
    let mut metadata = match original.path(&["metadata"]) {
        Some(Value::Map(metadata)) => metadata.clone(),
        _ => Map::new_in(arena),
    };
    for field in ["labels", "annotations"] {
        let value = match said.get(field) {
            None | Some(Value::Null) => {
                metadata.remove(field);
                continue;
            }
            Some(value) => value,
        };
        let Some(map) = value.as_map() else {
            return Err(format!("invalid metadata.{field} of type {} in converted object", value.go_type()));
        };
        let mut wrong = None;
        each_in_order(Some(map), |key, value| {
            if wrong.is_none() && value.as_str().is_none() {
                wrong = Some(format!(
                    "metadata.{field}[{key}] must be a string, but is {} in converted object",
                    value.go_type()
                ));
            }
        });
        if let Some(wrong) = wrong {
            return Err(wrong);
        }
        if !is_same(metadata.get(field).and_then(Value::as_map), map) {
            let errors = match field {
                "labels" => validate_labels(Some(value), "metadata.labels"),
                _ => validate_annotations(Some(value), "metadata.annotation"),
            };
            if !errors.is_empty() {
                return Err(aggregate(&errors));
            }
        }
        metadata.insert(field, value.clone());
    }
    Ok(Value::Map(metadata))
}

fn is_same(was: Option<&Map<'_>>, is: &Map<'_>) -> bool {
    was.map_or(0, Map::len) == is.len()
        && is.iter().all(|(key, value)| was.and_then(|was| was.get(key)) == Some(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORIGINAL: &str = r#"{"apiVersion":"ex.io/v1","kind":"Foo","metadata":{"name":"a","namespace":"n","uid":"u","generation":3,"labels":{"a":"b"},"annotations":{"old bad":"kept"},"finalizers":["x/y"]},"spec":{"x":1}}"#;

    fn check(converted: &str, expect: Result<&str, &str>) {
        let arena = Bump::new();
        let read =
            |text: &str| json::decode_untyped(&arena, arena.alloc_slice_copy(text.as_bytes())).unwrap();
        let (original, converted) = (read(ORIGINAL), read(converted));
        let accepted = accept(&arena, &original, &converted, ("ex.io/v1, Kind=Foo", "ex.io/v2"));
        let text = accepted.map(|object| {
            let mut text = Vec::new();
            json::encode_untyped(&object, &mut text);
            String::from_utf8(text).unwrap()
        });
        assert_eq!(text.as_ref().map(String::as_str).map_err(String::as_str), expect);
    }

    /// As kube-apiserver 1.37.2 says it.
    #[test]
    fn objects_are_what_they_should_be() {
        let of = |metadata: &str| {
            format!(r#"{{"apiVersion":"ex.io/v2","kind":"Foo","metadata":{metadata},"spec":{{"y":2}}}}"#)
        };
        let same =
            r#"{"name":"a","namespace":"n","uid":"u","labels":{"a":"b"},"annotations":{"old bad":"kept"}}"#;
        // Nothing else of the metadata is taken, and what was wrong with it before is let be.
        check(
            &of(same),
            Ok(
                r#"{"apiVersion":"ex.io/v2","kind":"Foo","metadata":{"annotations":{"old bad":"kept"},"finalizers":["x/y"],"generation":3,"labels":{"a":"b"},"name":"a","namespace":"n","uid":"u"},"spec":{"y":2}}"#,
            ),
        );
        check(
            &of(
                r#"{"name":"a","namespace":"n","uid":"u","generation":9,"labels":null,"annotations":{"c":"d"}}"#,
            ),
            Ok(
                r#"{"apiVersion":"ex.io/v2","kind":"Foo","metadata":{"annotations":{"c":"d"},"finalizers":["x/y"],"generation":3,"name":"a","namespace":"n","uid":"u"},"spec":{"y":2}}"#,
            ),
        );
        let object = "conversion webhook for ex.io/v1, Kind=Foo returned invalid object";
        let metadata = "conversion webhook for ex.io/v1, Kind=Foo returned invalid metadata";
        let fails = |converted: &str, why: &str| check(converted, Err(why));
        fails("1", "json: cannot unmarshal number into Go value of type map[string]interface {}");
        fails("null", "unexpected end of JSON input");
        fails(r#"{"apiVersion":"ex.io/v2"}"#, r#"Object 'Kind' is missing in '{"apiVersion":"ex.io/v2"}'"#);
        fails(
            ORIGINAL,
            &format!("{object} at index 0: invalid groupVersion (expected ex.io/v2, received ex.io/v1)"),
        );
        fails(
            &of(same).replace("Foo", "Bar"),
            &format!("{object} at index 0: invalid kind (expected Foo, received Bar)"),
        );
        fails(&of(r#"{"name":"z"}"#), &format!("{object}: must have the same name: a != z"));
        fails(&of(r#"{"name":"a"}"#), &format!("{object}: must have the same namespace: n != "));
        fails(&of(r#"{"name":"a","namespace":"n"}"#), &format!("{object}: must have the same UID: u != "));
        let with =
            |labels: &str| of(&format!(r#"{{"name":"a","namespace":"n","uid":"u","labels":{labels}}}"#));
        fails(
            &with("\"x\""),
            &format!("{metadata}: invalid metadata.labels of type string in converted object"),
        );
        fails(
            &with(r#"{"a":1}"#),
            &format!("{metadata}: metadata.labels[a] must be a string, but is int64 in converted object"),
        );
        fails(
            &with(r#"{"a":"b c"}"#),
            &format!(
                "{metadata}: metadata.labels: Invalid value: \"b c\": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
            ),
        );
    }
}
