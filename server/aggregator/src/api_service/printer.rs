//! APIServices as rows of a Table.

use ringbolt_machinery::{
    table::{ListRule, Printer, Row},
    value::Value,
};

/// Their printer.
pub static PRINTER: Printer = Printer { row, list: ListRule::Plain };

fn row(object: &Value<'_>, row: &mut Row<'_>) {
    row.name(object);
    row.text(&service(object));
    row.text(&available(object));
    row.age(object);
}

fn service(object: &Value<'_>) -> String {
    match object.path(&["spec", "service"]).and_then(Value::as_map) {
        None => "Local".to_owned(),
        Some(service) => {
            let text = |name: &str| service.get(name).and_then(Value::as_str).unwrap_or("");
            format!("{}/{}", text("namespace"), text("name"))
        }
    }
}

fn available(object: &Value<'_>) -> String {
    let conditions = object.path(&["status", "conditions"]).and_then(Value::as_list);
    let Some(condition) = conditions.into_iter().flatten().find(|c| c.str_at(&["type"]) == Some("Available"))
    else {
        return "Unknown".to_owned();
    };
    let text = |name: &str| condition.str_at(&[name]).unwrap_or("");
    match (text("status"), text("reason")) {
        ("True", _) => "True".to_owned(),
        (status, "") => status.to_owned(),
        (status, reason) => format!("{status} ({reason})"),
    }
}

#[cfg(test)]
mod tests {
    use bumpalo::Bump;
    use ringbolt_machinery::json;

    use super::*;

    #[test]
    fn cells() {
        let check = |object: &str, expect: (&str, &str)| {
            let arena = Bump::new();
            let tree = json::decode_untyped(&arena, arena.alloc_slice_copy(object.as_bytes())).unwrap();
            assert_eq!((service(&tree).as_str(), available(&tree).as_str()), expect, "{object}");
        };
        check("{}", ("Local", "Unknown"));
        check(
            r#"{"spec":{"service":{"namespace":"a","name":"b"}},
                "status":{"conditions":[{"type":"Other","status":"False"}]}}"#,
            ("a/b", "Unknown"),
        );
        let with = |condition: &str| {
            format!(r#"{{"status":{{"conditions":[{{"type":"Available",{condition}}}]}}}}"#)
        };
        check(&with(r#""status":"True","reason":"Local""#), ("Local", "True"));
        check(&with(r#""status":"False","reason":"ServiceNotFound""#), ("Local", "False (ServiceNotFound)"));
        check(&with(r#""status":"Unknown""#), ("Local", "Unknown"));
    }
}
