//! Whatever a client sends: nothing panics, canonical forms parse back, and both ways to make a RequestInfo agree.

use proptest::prelude::*;
use ringbolt_protocol::{
    media_type::{Endpoint, body_format, negotiate, negotiate_discovery, patch_type},
    path,
    query::{CreateOptions, DeleteOptions, ListOptions, PatchOptions, pairs},
    request_info::RequestInfo,
    selector::{FieldSelector, LabelSelector},
};

/// Text made of what selectors, queries and media types treat specially, and of anything else now and then.
fn pieces(special: &'static [&'static str]) -> impl Strategy<Value = String> {
    let piece = prop_oneof![8 => prop::sample::select(special).prop_map(str::to_owned), 1 => ".{0,3}"];
    prop::collection::vec(piece, 0..12).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn label_selectors(text in pieces(&["a", "b/c", "in", "notin", " ", "(", ")", ",", "=", "==", "!", "!=", ">", "<", "1"])) {
        if let Ok(selector) = LabelSelector::parse(&text) {
            let again = LabelSelector::parse(&selector.to_string());
            prop_assert_eq!(again, Ok(selector));
        }
    }

    #[test]
    fn field_selectors(text in pieces(&["metadata.name", "a", ",", "=", "==", "!=", "\\", "\\,", "\\=", "ä"])) {
        if let Ok(mut selector) = FieldSelector::parse(&text) {
            let mut again = FieldSelector::parse(&selector.to_string()).expect("canonical form");
            // Terms are ordered as they were written, which the canonical form need not keep.
            for terms in [&mut again, &mut selector] {
                terms.requirements.sort_by(|a, b| (&a.field, &a.value, a.equals).cmp(&(&b.field, &b.value, b.equals)));
            }
            prop_assert_eq!(again, selector);
        }
    }

    #[test]
    fn request_info(
        method in prop::sample::select(&["GET", "POST", "DELETE", "HEAD", "FOO"][..]),
        path in pieces(&["/", "api", "apis", "v1", "namespaces", "watch", "proxy", "status", "x", "//"]),
        query in pieces(&["fieldSelector=", "metadata.name", "%3D", "=", "a", "&", "watch", "limit=", "%2C", "%", "+", ";", "1"]),
    ) {
        let mut scratch = Vec::new();
        let full = RequestInfo::with_scratch(method, &path, &query, &mut scratch);
        match (RequestInfo::new(method, &path, &query), full) {
            (Ok(mut borrowed), Ok(full)) => {
                if borrowed.name.is_empty() {
                    borrowed.name = full.name;
                }
                prop_assert_eq!(borrowed, full);
                prop_assert!(!full.is_resource_request || !full.parts.is_empty());
            }
            (borrowed, full) => prop_assert_eq!(borrowed, full),
        }
    }

    #[test]
    fn name_of_a_selector_is_what_the_selector_requires(
        selector in pieces(&["metadata.name", "a", "b.c", ",", "=", "==", "!=", "\\", "spec.x"]),
    ) {
        let encoded: String = selector.bytes().map(|b| format!("%{b:02x}")).collect();
        let query = format!("fieldSelector={encoded}");
        let mut scratch = Vec::new();
        let info = RequestInfo::with_scratch("GET", "/api/v1/pods", &query, &mut scratch).expect("a kind");
        let required = FieldSelector::parse(&selector)
            .ok()
            .and_then(|s| s.requires_exact("metadata.name").map(str::to_owned))
            .filter(|name| ringbolt_protocol::selector::validation::is_path_segment_name(name));
        // Names that had to be unescaped are left out: no object has one.
        if !selector.contains('\\') {
            prop_assert_eq!(info.name, required.as_deref().unwrap_or(""));
        }
    }

    #[test]
    fn queries_and_options(query in pieces(&["limit=", "timeoutSeconds=", "watch", "=", "&", "%", "%20", "%zz", "+", ";", "dryRun=All", "9", "-"])) {
        prop_assert!(pairs(&query).count() <= query.len());
        if let Ok(options) = ListOptions::parse(&query) {
            options.validate();
        }
        CreateOptions::parse(&query).validate();
        PatchOptions::parse(&query).validate(true);
        if let Ok(options) = DeleteOptions::parse(&query) {
            options.validate(false);
        }
        let mut scratch = Vec::new();
        let _ = path::decode(&query, &mut scratch);
    }

    #[test]
    fn media_types(text in pieces(&["application", "/", "json", "yaml", "*", ";", ",", "q=", "0.5", "as=Table", "g=meta.k8s.io", "v=v1", "\"", " ", "="])) {
        for endpoint in [Endpoint::Resource { collection: true }, Endpoint::CustomResource, Endpoint::Plain, Endpoint::Handler] {
            let _ = negotiate(Some(text.as_bytes()), "", b"", endpoint);
        }
        let _ = negotiate_discovery(Some(text.as_bytes()));
        let _ = (body_format(Some(text.as_bytes())), patch_type(Some(text.as_bytes()), true));
    }
}
