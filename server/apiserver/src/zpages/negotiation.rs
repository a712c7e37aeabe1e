//! Which form of a page is asked for: text, or one version of an object, which must be named in full.

/// A form of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// For people.
    Text,
    /// An object of this version.
    Json(&'static str),
    /// The same in YAML.
    Yaml(&'static str),
}

const VERSIONS: [&str; 2] = ["v1alpha1", "v1beta1"];
const GROUP: &str = "config.k8s.io";

/// The first of the client's wishes, by their weights, that can be met.
pub(super) fn negotiate(accept: &str, kind: &str) -> Option<Form> {
    if accept.trim().is_empty() {
        return Some(Form::Text);
    }
    let mut wishes: Vec<(f64, &str)> = accept.split(',').map(|wish| (weight(wish), wish)).collect();
    wishes.sort_by(|a, b| b.0.total_cmp(&a.0));
    wishes.into_iter().find_map(|(_, wish)| form(wish, kind))
}

fn weight(wish: &str) -> f64 {
    let given = wish.split(';').skip(1).find_map(|parameter| parameter.trim().strip_prefix("q="));
    given.and_then(|text| text.trim().parse().ok()).unwrap_or(1.0)
}

fn form(wish: &str, kind: &str) -> Option<Form> {
    let mut parts = wish.split(';').map(str::trim);
    let name = parts.next().unwrap_or("").to_ascii_lowercase();
    let parameters: Vec<(&str, &str)> =
        parts.filter_map(|parameter| parameter.split_once('=')).filter(|(name, _)| *name != "q").collect();
    let of = |name: &str| parameters.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
    match &*name {
        "*/*" | "text/*" => Some(Form::Text),
        "text/plain" => parameters.iter().all(|(name, _)| *name == "charset").then_some(Form::Text),
        "application/json" | "application/yaml" => {
            if of("g") != Some(GROUP) || of("as") != Some(kind) || of("stream").is_some() {
                return None;
            }
            let version = VERSIONS.into_iter().find(|version| of("v") == Some(version))?;
            Some(if name.ends_with("json") { Form::Json(version) } else { Form::Yaml(version) })
        }
        _ => None,
    }
}

macro_rules! media_types {
    ($name:ident, $base:literal) => {
        /// The media type of an object of a kind in a version.
        pub(super) fn $name(kind: &str, version: &str) -> &'static str {
            match (kind, version) {
                ("Statusz", "v1alpha1") => concat!($base, ";g=config.k8s.io;v=v1alpha1;as=Statusz"),
                ("Statusz", _) => concat!($base, ";g=config.k8s.io;v=v1beta1;as=Statusz"),
                (_, "v1alpha1") => concat!($base, ";g=config.k8s.io;v=v1alpha1;as=Flagz"),
                _ => concat!($base, ";g=config.k8s.io;v=v1beta1;as=Flagz"),
            }
        }
    };
}

media_types!(json_type, "application/json");
media_types!(yaml_type, "application/yaml");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms() {
        let check = |accept: &str, expect: Option<Form>| {
            assert_eq!(negotiate(accept, "Statusz"), expect, "{accept}");
        };
        let object = "application/json;g=config.k8s.io;v=v1beta1;as=Statusz";
        for text in ["", "*/*", "text/*", "text/plain", "text/plain;charset=utf-8", "text/plain;q=0"] {
            check(text, Some(Form::Text));
        }
        check("text/html,*/*;q=0.1", Some(Form::Text));
        check("application/json,text/plain", Some(Form::Text));
        check(object, Some(Form::Json("v1beta1")));
        check("application/json;as=Statusz;v=v1alpha1;g=config.k8s.io;foo=bar", Some(Form::Json("v1alpha1")));
        check("application/yaml;g=config.k8s.io;v=v1beta1;as=Statusz", Some(Form::Yaml("v1beta1")));
        check(&format!("{object},text/plain"), Some(Form::Json("v1beta1")));
        check(&format!("{object};q=0.1,text/plain;q=0.9"), Some(Form::Text));
        for refused in [
            "application/json",
            "application/*",
            "text/html",
            "text/plain;g=x",
            "application/json;g=config.k8s.io;v=v1;as=Statusz",
            "application/json;v=v1beta1;as=Statusz",
            "application/json;g=config.k8s.io;v=v1beta1;as=Flagz",
            "application/json;stream=watch;g=config.k8s.io;v=v1beta1;as=Statusz",
            "application/vnd.kubernetes.protobuf;g=config.k8s.io;v=v1beta1;as=Statusz",
            "garbage",
        ] {
            check(refused, None);
        }
    }
}
