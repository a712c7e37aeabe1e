//! CustomResourceDefinitions as rows of a Table.

use ringbolt_controlplane::tree::Members;
use ringbolt_machinery::{
    table::{ListRule, Printer, Row},
    value::Value,
};

use super::view::Definition;

/// Their printer.
pub static PRINTER: Printer = Printer { row, list: ListRule::Plain };

fn row(object: &Value<'_>, row: &mut Row<'_>) {
    let definition = Definition(object);
    let names = definition.names();
    row.name(object);
    row.text(object.str_at(&["spec", "scope"]).unwrap_or(""));
    row.text(&versions(definition));
    row.text(object.str_at(&["metadata", "creationTimestamp"]).unwrap_or("0001-01-01T00:00:00Z"));
    row.text(definition.group());
    row.text(&names.kind);
    row.text(&names.short_names.join(","));
    row.bool(definition.is_condition_true("Established"));
}

/// Those that are served, sorted, with a mark at the one that objects are stored in.
fn versions(definition: Definition<'_, '_>) -> String {
    let mut labels: Vec<_> = definition
        .versions()
        .filter(|version| version.flag("served"))
        .map(|version| {
            format!("{}{}", version.text("name"), if version.flag("storage") { "(storage)" } else { "" })
        })
        .collect();
    labels.sort_unstable();
    labels.join(",")
}

#[cfg(test)]
mod tests {
    use bumpalo::Bump;
    use ringbolt_machinery::json;

    use super::*;

    #[test]
    fn versions_that_are_served() {
        let arena = Bump::new();
        let text = br#"{"spec":{"versions":[{"name":"v2","served":true},{"name":"v1","served":true,"storage":true},{"name":"v0"}]}}"#;
        let object = json::decode_untyped(&arena, text).unwrap();
        assert_eq!(versions(Definition(&object)), "v1(storage),v2");
    }
}
