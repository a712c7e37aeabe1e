//! Defaults of `apiextensions.k8s.io/v1`.

use bumpalo::Bump;
use ringbolt_controlplane::tree::{self, Members};
use ringbolt_machinery::value::{Map, Value};

/// The port of a service that names none.
const PORT: i64 = 443;

/// Fills in what a client left out.
pub fn fill<'a>(arena: &'a Bump, object: &mut Value<'a>) {
    let root = tree::root(arena, object);
    let spec = root.map_mut("spec");
    let names = spec.map_mut("names");
    let kind = names.text("kind");
    // A lower-case text that is empty stays to be told.
    names.default_text("singular", arena.alloc_str(&kind.to_lowercase()));
    if !kind.is_empty() {
        names.default_text("listKind", arena.alloc_str(&format!("{kind}List")));
    }
    let mut conversion = Map::new_in(arena);
    conversion.push_unique("strategy", Value::String("None"));
    spec.default_nil("conversion", Value::Map(conversion));
    let client = spec
        .child_mut("conversion")
        .and_then(|conversion| conversion.child_mut("webhook"))
        .and_then(|webhook| webhook.child_mut("clientConfig"));
    if let Some(service) = client.and_then(|client| client.child_mut("service")) {
        service.default_nil("port", Value::Int(PORT));
    }
    // A webhook of which nothing is said is none: the form in which the real server has a definition in memory has no
    // place for one.
    let lacks = |webhook: &Map<'_>, name: &str| webhook.get(name).is_none_or(Value::is_null);
    if let Some(conversion) = spec.child_mut("conversion")
        && conversion.child("webhook").is_some_and(|webhook| {
            lacks(webhook, "clientConfig") && lacks(webhook, "conversionReviewVersions")
        })
    {
        conversion.remove("webhook");
    }
    let storage = storage_version(spec);
    let status = root.map_mut("status");
    if let Some(storage) = storage
        && status.items("storedVersions").is_empty()
    {
        status.insert("storedVersions", tree::list(arena, [Value::String(storage)]));
    }
}

/// The version that objects are stored in.
pub(super) fn storage_version<'a>(spec: &Map<'a>) -> Option<&'a str> {
    let storage =
        spec.items("versions").iter().filter_map(Value::as_map).find(|version| version.flag("storage"));
    storage.map(|version| version.text("name"))
}

#[cfg(test)]
mod tests {
    use ringbolt_machinery::json;

    use super::*;

    #[test]
    fn what_is_left_out() {
        let arena = Bump::new();
        let text = br#"{"spec":{"names":{"kind":"Widget"},"versions":[{"name":"v1"},{"name":"v2","storage":true}]}}"#;
        let mut object = json::decode_untyped(&arena, text).unwrap();
        fill(&arena, &mut object);
        assert_eq!(object.str_at(&["spec", "names", "singular"]), Some("widget"));
        assert_eq!(object.str_at(&["spec", "names", "listKind"]), Some("WidgetList"));
        assert_eq!(object.str_at(&["spec", "conversion", "strategy"]), Some("None"));
        let stored = object.path(&["status", "storedVersions"]).and_then(Value::as_list).unwrap();
        assert_eq!(stored.as_slice(), [Value::String("v2")]);
    }

    #[test]
    fn a_webhook_of_which_nothing_is_said() {
        let check = |webhook: &str, is_kept: bool| {
            let arena = Bump::new();
            let text = format!(r#"{{"spec":{{"conversion":{{"strategy":"None","webhook":{webhook}}}}}}}"#);
            let mut object = json::decode_untyped(&arena, arena.alloc_slice_copy(text.as_bytes())).unwrap();
            fill(&arena, &mut object);
            let webhook = object.path(&["spec", "conversion", "webhook"]);
            assert_eq!(webhook.is_some(), is_kept, "{text}");
        };
        check("{}", false);
        check(r#"{"clientConfig":null,"conversionReviewVersions":null}"#, false);
        check(r#"{"clientConfig":{}}"#, true);
        check(r#"{"conversionReviewVersions":[]}"#, true);
    }

    #[test]
    fn what_is_given_stays() {
        let arena = Bump::new();
        let text = br#"{"spec":{"names":{"kind":"A","singular":"x","listKind":"L"},
            "conversion":{"strategy":"Webhook","webhook":{"clientConfig":{"service":{}}}},
            "versions":[{"name":"v2","storage":true}]},"status":{"storedVersions":["v1"]}}"#;
        let mut object = json::decode_untyped(&arena, text).unwrap();
        fill(&arena, &mut object);
        assert_eq!(object.str_at(&["spec", "names", "singular"]), Some("x"));
        assert_eq!(object.str_at(&["spec", "names", "listKind"]), Some("L"));
        assert_eq!(object.str_at(&["spec", "conversion", "strategy"]), Some("Webhook"));
        let port = object.path(&["spec", "conversion", "webhook", "clientConfig", "service", "port"]);
        assert_eq!(port, Some(&Value::Int(443)));
        let stored = object.path(&["status", "storedVersions"]).and_then(Value::as_list).unwrap();
        assert_eq!(stored.as_slice(), [Value::String("v1")]);
    }
}
