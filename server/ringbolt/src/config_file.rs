//! Configuration files of the group `apiserver.config.k8s.io`, read as strictly as kube-apiserver reads them: a field
//! that nobody knows is an error, since it may be one that was to keep somebody out.

use bumpalo::Bump;
use ringbolt_machinery::{
    json,
    json::quote::go_quote,
    strict::{self, StrictError, StrictKind},
    value::Value,
    yaml,
};

const GROUP: &str = "apiserver.config.k8s.io";

/// What a value must be.
pub enum Shape {
    /// A text.
    Text,
    /// `true` or `false`.
    Bool,
    /// Anything: the reader of the file refuses it by itself.
    Any,
    /// A list of such values.
    List(&'static Shape),
    /// An object of these fields, by the name of its type.
    Object(&'static str, &'static [(&'static str, Shape)]),
}

/// A kind of configuration.
pub struct Kind {
    /// Its name.
    pub name: &'static str,
    /// The versions of the group that have it.
    pub versions: &'static [&'static str],
    /// Its fields besides kind and version.
    pub fields: &'static [(&'static str, Shape)],
}

/// Reads a file's text; what it is has been checked where there is no error.
pub fn read<'a>(arena: &'a Bump, text: &[u8], kind: &Kind, others: &[&Kind]) -> Result<Value<'a>, String> {
    if text.is_empty() {
        return Err("empty config data".to_owned());
    }
    let loaded =
        yaml::to_json(text).map_err(|e| format!("couldn't get version/kind; json parse error: {e}"))?;
    let bytes = arena.alloc_slice_copy(&loaded.json);
    let value = json::decode_untyped(arena, bytes).map_err(|e| e.message().to_owned())?;
    let field = |name: &str| value.str_at(&[name]).unwrap_or("");
    let (api_version, found) = (field("apiVersion"), field("kind"));
    let shown = String::from_utf8_lossy(text);
    if found.is_empty() {
        return Err(format!("Object 'Kind' is missing in '{shown}'"));
    }
    if api_version.is_empty() {
        return Err(format!("Object 'apiVersion' is missing in '{shown}'"));
    }
    let version = api_version.strip_prefix(GROUP).and_then(|rest| rest.strip_prefix('/'));
    let is_of = |kind: &Kind| kind.name == found && version.is_some_and(|v| kind.versions.contains(&v));
    if !is_of(kind) {
        if others.iter().any(|other| is_of(other)) {
            return Err(format!("expected {}, got *apiserver.{found}", kind.name));
        }
        return Err(format!(
            "no kind {} is registered for version {}",
            go_quote(found),
            go_quote(api_version)
        ));
    }
    let mut reader = Reader { version: version.unwrap_or_default(), unknown: Vec::new() };
    reader.object(&value, kind.name, kind.fields, "")?;
    let duplicates =
        loaded.duplicates.map(|text| StrictError { kind: StrictKind::Other(text), path: String::new() });
    let errors: Vec<_> = duplicates.into_iter().chain(reader.unknown).collect();
    if errors.is_empty() { Ok(value) } else { Err(strict::message(&errors)) }
}

struct Reader<'v> {
    version: &'v str,
    unknown: Vec<StrictError>,
}

impl Reader<'_> {
    fn object(
        &mut self,
        value: &Value<'_>,
        name: &str,
        fields: &[(&'static str, Shape)],
        path: &str,
    ) -> Result<(), String> {
        for (key, value) in value.as_map().into_iter().flat_map(|map| map.iter()) {
            let at = if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
            match fields.iter().find(|(field, _)| *field == key) {
                Some((_, shape)) => self.value(value, shape, name, &at)?,
                None if path.is_empty() && matches!(key, "apiVersion" | "kind") => {}
                None => self.unknown.push(StrictError { kind: StrictKind::Unknown, path: at }),
            }
        }
        Ok(())
    }

    /// `owner` is the type that has the field at `path`.
    fn value(&mut self, value: &Value<'_>, shape: &Shape, owner: &str, path: &str) -> Result<(), String> {
        match (shape, value) {
            (_, Value::Null)
            | (Shape::Any, _)
            | (Shape::Text, Value::String(_))
            | (Shape::Bool, Value::Bool(_)) => Ok(()),
            (Shape::List(of), Value::List(values)) => values
                .iter()
                .enumerate()
                .try_for_each(|(at, value)| self.value(value, of, owner, &format!("{path}[{at}]"))),
            (Shape::Object(name, fields), Value::Map(_)) => self.object(value, name, fields, path),
            _ => {
                let found = match value {
                    Value::String(_) => "string",
                    Value::Bool(_) => "bool",
                    Value::List(_) => "array",
                    Value::Map(_) => "object",
                    _ => "number",
                };
                let wanted = self.type_name(shape);
                // Paths of Go's errors say nothing of places in lists.
                let path: Vec<_> =
                    path.split('.').map(|part| part.split('[').next().unwrap_or(part)).collect();
                let path = path.join(".");
                Err(format!(
                    "json: cannot unmarshal {found} into Go struct field {owner}.{path} of type {wanted}"
                ))
            }
        }
    }

    fn type_name(&self, shape: &Shape) -> String {
        match shape {
            Shape::Text | Shape::Any => "string".to_owned(),
            Shape::Bool => "bool".to_owned(),
            Shape::List(of) => format!("[]{}", self.type_name(of)),
            Shape::Object(name, _) => format!("{}.{name}", self.version),
        }
    }
}
