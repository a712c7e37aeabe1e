//! Lists that are sets or maps: no value and no key is there twice.

use std::collections::HashMap;

use super::{ListType, Node, Structural, path::Path};
use crate::{
    field::{FieldError, Verbatim},
    json::encode_untyped,
    limits::VALIDATION_ERRORS_MAX,
    value::{Map, Value},
};

impl Structural {
    /// What is there twice in lists of an object that are sets or maps.
    pub fn validate_list_types(&self, object: &Value<'_>) -> Vec<FieldError> {
        let mut errors = Vec::new();
        if let Value::Map(map) = object {
            members(self.root(), map, &Path::ROOT, &mut errors);
        }
        errors
    }
}

fn members(node: Node<'_>, map: &Map<'_>, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    if let Some(schema) = node.additional_schema() {
        for (key, value) in map.iter() {
            part(schema, value, &path.key(key), errors);
        }
    }
    if node.property_count() > 0 {
        for (key, value) in map.iter() {
            if let Some(property) = node.property(key) {
                part(property, value, &path.child(key), errors);
            }
        }
    }
}

fn part(node: Node<'_>, value: &Value<'_>, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    match value {
        Value::Map(map) => members(node, map, path, errors),
        Value::List(list) => {
            match node.list_type() {
                Some(ListType::Set) => {
                    let items: Vec<Option<&Value<'_>>> = list.iter().map(Some).collect();
                    for at in repeated(&items) {
                        push(errors, duplicate(path, at, &list[at]));
                    }
                }
                Some(ListType::Map) => keyed(node, list, path, errors),
                _ => {}
            }
            let Some(items) = node.items() else { return };
            for (at, item) in list.iter().enumerate() {
                part(items, item, &path.index(at), errors);
            }
        }
        _ => {}
    }
}

fn push(errors: &mut Vec<FieldError>, error: FieldError) {
    if errors.len() < VALIDATION_ERRORS_MAX {
        errors.push(error);
    }
}

fn duplicate(path: &Path<'_>, at: usize, value: &Value<'_>) -> FieldError {
    FieldError::duplicate(path.index(at).field(), Verbatim(&super::validate::bad_value(value)))
}

/// Where items are that were there once before: the third and later ones are not told.
fn repeated(items: &[Option<&Value<'_>>]) -> Vec<usize> {
    let mut seen: HashMap<Vec<u8>, usize> = HashMap::with_capacity(items.len());
    let mut found = Vec::new();
    for (at, item) in items.iter().enumerate() {
        // An integer is no float as a scalar; within an object or a list their texts count.
        let mut key = vec![match item {
            None => b'-',
            Some(Value::Float(_)) => b'f',
            Some(_) => b'v',
        }];
        if let Some(item) = item {
            encode_untyped(item, &mut key);
        }
        let times = seen.entry(key).or_insert(0);
        *times += 1;
        if *times == 2 {
            found.push(at);
        }
    }
    found
}

fn keyed(node: Node<'_>, list: &[Value<'_>], path: &Path<'_>, errors: &mut Vec<FieldError>) {
    for (at, item) in list.iter().enumerate() {
        if !matches!(item, Value::Map(_) | Value::Null) {
            let shown = super::validate::bad_value(item);
            let text = "must be an object for an array of list-type map";
            return push(errors, FieldError::invalid(path.index(at).field(), Verbatim(&shown), text));
        }
    }
    let arena = bumpalo::Bump::new();
    let keys: Vec<&str> = node.list_map_keys().collect();
    let key_of = |item: &Value<'_>| {
        let mut key = Map::new_in(&arena);
        for name in &keys {
            if let Some(value) = item.as_map().and_then(|map| map.get(name)) {
                key.insert(arena.alloc_str(name), value.copy_into(&arena));
            }
        }
        Value::Map(key)
    };
    let found: Vec<Value<'_>> = list.iter().map(key_of).collect();
    let items: Vec<Option<&Value<'_>>> = if let [single] = keys[..] {
        found.iter().map(|key| key.as_map().and_then(|map| map.get(single))).collect()
    } else {
        found.iter().map(Some).collect()
    };
    for at in repeated(&items) {
        push(errors, duplicate(path, at, &found[at]));
    }
}
