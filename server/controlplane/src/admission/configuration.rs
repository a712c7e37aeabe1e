//! Files that plugins are configured by: `AdmissionConfiguration`, which names the configuration of each, and the
//! objects it names. Where kube-apiserver reads strictly, a field that nobody knows ends the start.

use std::path::{Path, PathBuf};

use bumpalo::Bump;
use ringbolt_machinery::{
    json,
    value::{Map, Value},
    yaml,
};

use crate::tree::Members;

/// Why a plugin cannot be set up.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ConfigurationError {
    /// Its configuration cannot be read.
    Unreadable(String),
    /// It was read, and says what cannot be.
    Invalid(String),
}

impl ConfigurationError {
    /// What kube-apiserver says of it.
    pub(super) fn of(&self, plugin: &str) -> String {
        match self {
            Self::Unreadable(why) => format!("couldn't init admission plugin {plugin:?}: {why}"),
            Self::Invalid(why) => format!("failed to initialize admission plugin {plugin:?}: {plugin} {why}"),
        }
    }
}

impl From<String> for ConfigurationError {
    fn from(why: String) -> Self {
        Self::Unreadable(why)
    }
}

/// What may stand where.
pub(super) enum Shape {
    /// Anything.
    Any,
    /// A string.
    Text,
    /// An integer.
    Int,
    /// A list of what has one shape.
    List(&'static Shape),
    /// These fields.
    Fields(&'static [(&'static str, Shape)]),
}

impl Shape {
    /// Holds a value to its shape; fields that are not known are collected.
    fn check(&self, value: &Value<'_>, path: &str, unknown: &mut Vec<String>) -> Result<(), String> {
        let wrong = |expected: &str| {
            let kind = value.json_kind();
            Err(format!("json: cannot unmarshal {kind} into Go struct field {path} of type {expected}"))
        };
        match (self, value) {
            (_, Value::Null)
            | (Shape::Any, _)
            | (Shape::Text, Value::String(_))
            | (Shape::Int, Value::Int(_)) => Ok(()),
            (Shape::Text, _) => wrong("string"),
            (Shape::Int, _) => wrong("int32"),
            (Shape::List(item), Value::List(items)) => {
                let mut items = items.iter().enumerate();
                items.try_for_each(|(at, value)| item.check(value, &format!("{path}[{at}]"), unknown))
            }
            (Shape::List(Shape::Text), _) => wrong("[]string"),
            (Shape::List(_), _) => wrong("list"),
            (Shape::Fields(fields), Value::Map(map)) => map.iter().try_for_each(|(name, value)| {
                let path = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
                match fields.iter().find(|(known, _)| *known == name) {
                    Some((_, shape)) => shape.check(value, &path, unknown),
                    None => {
                        unknown.push(format!("unknown field {path:?}"));
                        Ok(())
                    }
                }
            }),
            (Shape::Fields(_), _) => wrong("map"),
        }
    }
}

/// A kind of configuration objects.
pub(super) struct Kind {
    pub(super) group: &'static str,
    pub(super) versions: &'static [&'static str],
    pub(super) kind: &'static str,
    /// Whether fields that are not known are an error.
    pub(super) is_strict: bool,
    /// Its fields besides `apiVersion` and `kind`.
    pub(super) fields: &'static [(&'static str, Shape)],
}

impl Kind {
    /// Reads an object of this kind, in YAML or JSON.
    pub(super) fn read<'a>(&self, arena: &'a Bump, text: &[u8]) -> Result<Value<'a>, String> {
        let (value, duplicates) = load(arena, text)?;
        let (api_version, kind) = (text_of(&value, "apiVersion"), text_of(&value, "kind"));
        for (member, found) in [("Kind", kind), ("apiVersion", api_version)] {
            if found.is_empty() {
                let text = String::from_utf8_lossy(text);
                return Err(format!("Object '{member}' is missing in '{text}'"));
            }
        }
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        if group != self.group || !self.versions.contains(&version) || kind != self.kind {
            return Err(format!("no kind {kind:?} is registered for version {api_version:?}"));
        }
        let mut unknown: Vec<String> = duplicates.into_iter().collect();
        if let Value::Map(map) = &value {
            for (name, value) in map.iter().filter(|(name, _)| !matches!(*name, "apiVersion" | "kind")) {
                match self.fields.iter().find(|(known, _)| *known == name) {
                    Some((_, shape)) => shape.check(value, name, &mut unknown)?,
                    None => unknown.push(format!("unknown field {name:?}")),
                }
            }
        }
        if unknown.is_empty() || !self.is_strict {
            Ok(value)
        } else {
            Err(format!("strict decoding error: {}", unknown.join(", ")))
        }
    }
}

/// A document as a tree, with what is wrong in it for strict readers.
pub(super) fn load<'a>(arena: &'a Bump, text: &[u8]) -> Result<(Value<'a>, Option<String>), String> {
    let loaded = yaml::to_json(text).map_err(|error| error.0)?;
    let json = arena.alloc_slice_copy(&loaded.json);
    let value = json::decode_untyped(arena, json).map_err(|error| error.to_string())?;
    Ok((value, loaded.duplicates))
}

/// A string of an object, empty where there is none.
pub(super) fn text_of<'a>(value: &Value<'a>, name: &str) -> &'a str {
    value.as_map().map_or("", |map| map.text(name))
}

/// The strings in a list of an object.
pub(super) fn texts_of(value: &Value<'_>, path: &[&str]) -> Vec<String> {
    let list = value.path(path).and_then(Value::as_list);
    list.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

const ADMISSION: Kind = Kind {
    group: "apiserver.config.k8s.io",
    versions: &["v1"],
    kind: "AdmissionConfiguration",
    is_strict: true,
    fields: &[(
        "plugins",
        Shape::List(&Shape::Fields(&[
            ("name", Shape::Text),
            ("path", Shape::Text),
            ("configuration", Shape::Any),
        ])),
    )],
};

/// The one plugin whose configuration may be the file itself, as it was before there was an `AdmissionConfiguration`:
/// what tells such a file, and the plugin.
const BARE: (&str, &str) = ("podNodeSelectorPluginConfig", "PodNodeSelector");

/// The configuration of each plugin that a file names, the first where it names one twice. Files that it names lie
/// beside it, unless their paths are absolute.
///
/// # Errors
/// What is wrong with the file, or why another cannot be read, in words for people.
pub fn plugins(file: &Path, text: &[u8]) -> Result<Vec<(String, Vec<u8>)>, String> {
    let arena = Bump::new();
    let (bare, _) = load(&arena, text)?;
    if bare.as_map().is_some_and(|map| map.has(BARE.0) && map.lacks("kind")) {
        return Ok(vec![(BARE.1.to_owned(), text.to_vec())]);
    }
    let read = ADMISSION.read(&arena, text)?;
    let mut found: Vec<(String, Vec<u8>)> = Vec::new();
    let plugins = read.path(&["plugins"]).and_then(Value::as_list).into_iter().flatten();
    for plugin in plugins.filter_map(Value::as_map) {
        let name = plugin.text("name");
        if found.iter().any(|(known, _)| known == name) {
            continue;
        }
        if let Some(text) = configuration(file, plugin)? {
            found.push((name.to_owned(), text));
        }
    }
    Ok(found)
}

/// What a plugin is given: what stands in the file itself goes before another file.
fn configuration(file: &Path, plugin: &Map<'_>) -> Result<Option<Vec<u8>>, String> {
    if let Some(inline) = plugin.get("configuration").filter(|inline| !inline.is_null()) {
        let mut text = Vec::new();
        json::encode_untyped(inline, &mut text);
        return Ok(Some(text));
    }
    let path = plugin.text("path");
    if path.is_empty() {
        return Ok(None);
    }
    let path = file.parent().map_or_else(|| PathBuf::from(path), |folder| folder.join(path));
    let text = std::fs::read(&path);
    let path = path.display();
    text.map(Some).map_err(|error| format!("Couldn't open admission plugin configuration {path}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plugins_of_a_file() {
        fn check(text: &str, expect: Result<&[(&str, &str)], &str>) {
            let found = plugins(Path::new("/nonesuch/admission.yaml"), text.as_bytes());
            let found = found.map(|plugins| {
                let text = |text: Vec<u8>| String::from_utf8(text).unwrap();
                plugins.into_iter().map(|(name, of)| (name, text(of))).collect::<Vec<_>>()
            });
            let expect = expect.map(|plugins| {
                plugins.iter().map(|(name, of)| ((*name).to_owned(), (*of).to_owned())).collect::<Vec<_>>()
            });
            assert_eq!(found, expect.map_err(str::to_owned), "{text}");
        }
        const HEAD: &str = "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\n";
        check(HEAD, Ok(&[]));
        check(&format!("{HEAD}plugins: [{{name: A}}, {{name: B, path: ''}}]"), Ok(&[]));
        check(
            &format!(
                "{HEAD}plugins:\n- {{name: A, configuration: {{a: 1}}}}\n- {{name: A, configuration: {{a: 2}}}}"
            ),
            Ok(&[("A", r#"{"a":1}"#)]),
        );
        check(
            "podNodeSelectorPluginConfig: {}",
            Ok(&[("PodNodeSelector", "podNodeSelectorPluginConfig: {}")]),
        );
        check(
            &format!("{HEAD}plugins:\n- {{nam: A, name: A}}"),
            Err(r#"strict decoding error: unknown field "plugins[0].nam""#),
        );
        check(
            &format!("{HEAD}plugins: 5"),
            Err("json: cannot unmarshal number into Go struct field plugins of type list"),
        );
        check(
            "apiVersion: apiserver.config.k8s.io/v1\nkind: Foo",
            Err(r#"no kind "Foo" is registered for version "apiserver.config.k8s.io/v1""#),
        );
        check("kind: Foo", Err("Object 'apiVersion' is missing in 'kind: Foo'"));
        check(
            &format!("{HEAD}plugins: [{{name: A, path: b.yaml}}]"),
            Err(
                "Couldn't open admission plugin configuration /nonesuch/b.yaml: No such file or directory (os error 2)",
            ),
        );
    }
}
