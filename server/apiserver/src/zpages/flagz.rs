//! What `/flagz` says: every flag and its value.

use super::{quoted, title, type_and_name};

pub(super) fn text(flags: &[(String, String)]) -> String {
    let mut page = title("flagz");
    for (name, value) in flags {
        page.push_str(&format!("{name}:{value}\n"));
    }
    page
}

pub(super) fn json(version: &str, flags: &[(String, String)]) -> String {
    let flags: Vec<_> =
        flags.iter().map(|(name, value)| format!("{}:{}", quoted(name), quoted(value))).collect();
    format!(r#"{}"flags":{{{}}}}}"#, type_and_name("Flagz", version), flags.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages() {
        let flags = [("a".to_owned(), "[]".to_owned()), ("b-c".to_owned(), "x\"y".to_owned())];
        assert!(text(&flags).ends_with("purposes only.\na:[]\nb-c:x\"y\n"));
        assert_eq!(
            json("v1alpha1", &flags),
            r#"{"kind":"Flagz","apiVersion":"config.k8s.io/v1alpha1","metadata":{"name":"apiserver"},"flags":{"a":"[]","b-c":"x\"y"}}"#
        );
    }
}
