//! Values that the rest of a CustomResourceDefinition points at by simple paths: the `scale` subresource.

use crate::{
    field::{FieldError, Verbatim},
    patch::go_text,
    value::{Map, Value},
};

/// `subresources.scale`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scale {
    /// `specReplicasPath`
    pub spec_replicas_path: Box<str>,
    /// `statusReplicasPath`
    pub status_replicas_path: Box<str>,
    /// `labelSelectorPath`; an empty one is the same as none.
    pub label_selector_path: Option<Box<str>>,
}

fn fields(path: &str) -> impl Iterator<Item = &str> + Clone {
    path.strip_prefix('.').unwrap_or(path).split('.')
}

/// The value at a path of fields, as `NestedFieldNoCopy` finds it; the error is its text.
pub fn nested<'v, 'a>(
    object: &'v Value<'a>,
    path: impl Iterator<Item = impl AsRef<str>>,
) -> Result<Option<&'v Value<'a>>, String> {
    let mut value = object;
    let mut walked = String::new();
    for field in path {
        let field = field.as_ref();
        walked.push('.');
        walked.push_str(field);
        match value {
            Value::Null => return Ok(None),
            Value::Map(map) => match map.get(field) {
                Some(found) => value = found,
                None => return Ok(None),
            },
            other => return Err(wrong_type(&walked, other, "map[string]interface {}")),
        }
    }
    Ok(Some(value))
}

fn wrong_type(path: &str, value: &Value<'_>, expected: &str) -> String {
    let ty = match value {
        Value::Null => "<nil>",
        other => go_text::type_of(other),
    };
    let expected = if expected == "map[string]interface {}" { "map[string]interface{}" } else { expected };
    format!("{path} accessor error: {} is of the type {ty}, expected {expected}", go_text::plain(value))
}

fn nested_int(object: &Value<'_>, path: &str) -> Result<Option<i64>, String> {
    match nested(object, fields(path))? {
        None => Ok(None),
        Some(Value::Int(n)) => Ok(Some(*n)),
        Some(other) => Err(wrong_type(&joined(path), other, "int64")),
    }
}

fn joined(path: &str) -> String {
    fields(path).fold(String::new(), |text, field| text + "." + field)
}

fn replicas_errors(object: &Value<'_>, path: &str) -> Vec<FieldError> {
    let invalid = |n: i64, text: String| vec![FieldError::invalid(path, n, text)];
    match nested_int(object, path) {
        Err(text) => invalid(0, text),
        Ok(Some(n)) if n < 0 => invalid(n, "should be a non-negative integer".into()),
        Ok(Some(n)) if n > i64::from(i32::MAX) => {
            invalid(n, format!("should be less than or equal to {}", i32::MAX))
        }
        Ok(_) => Vec::new(),
    }
}

impl Scale {
    /// Of the `scale` of a CRD's subresources.
    pub fn of(scale: &Value<'_>) -> Scale {
        let text = |name: &str| scale.str_at(&[name]).unwrap_or_default();
        let selector = text("labelSelectorPath");
        Scale {
            spec_replicas_path: text("specReplicasPath").into(),
            status_replicas_path: text("statusReplicasPath").into(),
            label_selector_path: (!selector.is_empty()).then(|| selector.into()),
        }
    }

    /// What is wrong with the number of replicas asked for.
    pub fn validate_spec(&self, object: &Value<'_>) -> Vec<FieldError> {
        replicas_errors(object, &self.spec_replicas_path)
    }

    /// What is wrong with the number of replicas there are, and the selector.
    pub fn validate_status(&self, object: &Value<'_>) -> Vec<FieldError> {
        let mut errors = replicas_errors(object, &self.status_replicas_path);
        if let Some(path) = &self.label_selector_path {
            match nested(object, fields(path)) {
                Err(text) => errors.push(FieldError::invalid(&**path, Verbatim("\"\""), text)),
                Ok(None | Some(Value::String(_))) => {}
                Ok(Some(other)) => {
                    let text = wrong_type(&joined(path), other, "string");
                    errors.push(FieldError::invalid(&**path, Verbatim("\"\""), text));
                }
            }
        }
        errors
    }

    /// Replicas asked for; `None` where the object does not say. The error is Kubernetes' text.
    pub fn spec_replicas(&self, object: &Value<'_>) -> Result<Option<i64>, String> {
        nested_int(object, &self.spec_replicas_path)
    }

    /// Replicas there are.
    pub fn status_replicas(&self, object: &Value<'_>) -> Result<Option<i64>, String> {
        nested_int(object, &self.status_replicas_path)
    }

    /// The label selector; empty where there is none.
    pub fn selector<'a>(&self, object: &Value<'a>) -> Result<&'a str, String> {
        let Some(path) = &self.label_selector_path else { return Ok("") };
        match nested(object, fields(path))? {
            None => Ok(""),
            Some(Value::String(text)) => Ok(text),
            Some(other) => Err(wrong_type(&joined(path), other, "string")),
        }
    }

    /// Sets the replicas asked for, making the objects on the way; the error is Kubernetes' text where something else
    /// is in the way.
    pub fn set_spec_replicas<'a>(&self, object: &mut Value<'a>, replicas: i64) -> Result<(), String> {
        let Value::Map(map) = object else { return Err("object root must be of object type".into()) };
        let arena = map.arena();
        let mut names: Vec<&'a str> =
            fields(&self.spec_replicas_path).map(|name| &*arena.alloc_str(name)).collect();
        let Some(last) = names.pop() else { return Ok(()) };
        let mut at: &mut Map<'a> = map;
        for (depth, name) in names.iter().enumerate() {
            if at.get(name).is_none() {
                at.insert(name, Value::Map(Map::new_in(arena)));
            }
            match at.get_mut(name) {
                Some(Value::Map(below)) => at = below,
                _ => {
                    let path = names[..=depth].join(".");
                    return Err(format!(
                        "value cannot be set because .{path} is not a map[string]interface{{}}"
                    ));
                }
            }
        }
        at.insert(last, Value::Int(replicas));
        Ok(())
    }
}
