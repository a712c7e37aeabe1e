//! Strategic merge patch: lists merge by key, and directives in the patch say what else is to happen.

use bumpalo::{Bump, collections::Vec as ArenaVec};

use super::{PatchError, go_text};
use crate::{
    schema::{Composite, Schema, StructId, Type},
    value::{Map, Value},
};

pub(super) const DIRECTIVE: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const ORDER: &str = "$setElementOrder";
const DELETE_FROM: &str = "$deleteFromPrimitiveList";

pub(super) type List<'a> = ArenaVec<'a, Value<'a>>;
type Patched<T> = Result<T, PatchError>;

/// Merges `patch` into `target`, an object of struct `ty`.
pub fn apply_strategic<'a>(
    arena: &'a Bump,
    schema: &Schema,
    ty: StructId,
    target: &mut Value<'a>,
    patch: &Value<'a>,
) -> Result<(), PatchError> {
    let patch = match patch {
        Value::Map(patch) => patch.clone(),
        Value::Null => return Ok(()),
        other => {
            let what = match other {
                Value::List(_) => "array",
                Value::String(_) => "string",
                Value::Bool(_) => "bool",
                _ => "number",
            };
            return Err(PatchError::Malformed(format!(
                "json: cannot unmarshal {what} into Go value of type map[string]interface {{}}"
            )));
        }
    };
    let Value::Map(map) = target else { return Ok(()) };
    Merge { arena, schema }.map(Type::Struct(ty), map, patch)
}

/// How a field merges.
pub(super) struct Rule {
    /// Type of the field; of its elements for a list.
    pub(super) ty: Type,
    strategy: &'static str,
    pub(super) key: &'static str,
}

impl Rule {
    pub(super) fn merges(&self) -> bool {
        self.strategy == "merge"
    }
}

pub(super) struct Merge<'a, 's> {
    pub(super) arena: &'a Bump,
    pub(super) schema: &'s Schema,
}

/// What the API server has no status for: 500.
pub(super) fn unclassified<T>(message: impl Into<String>) -> Patched<T> {
    Err(PatchError::Unclassified(message.into()))
}

pub(super) fn bad_type<T>(expected: &str, actual: &Value<'_>) -> Patched<T> {
    unclassified(format!("expected a {expected}, but received a {}", go_text::type_of(actual)))
}

pub(super) fn unknown_directive<T>(directive: &Value<'_>, map: &Map<'_>) -> Patched<T> {
    unclassified(format!("unknown patch type: {} in map: {}", go_text::string(directive), go_text::map(map)))
}

impl<'a> Merge<'a, '_> {
    /// The rule of a field that holds an object.
    fn struct_rule(&self, ty: Type, name: &str) -> Patched<Rule> {
        let no_field = |of: &str| {
            unclassified(format!("unable to find api field in struct {of} for the json field \"{name}\""))
        };
        let no_struct = |kind: &str| {
            unclassified(format!("merging an object in json but data type is not struct, instead is: {kind}"))
        };
        match ty {
            Type::Struct(id) => {
                let of = self.schema.get(id);
                let Some((_, field)) = of.field(name) else { return no_field(of.name) };
                let strategy = field.patch_strategy.split(',').find(|s| *s != "retainKeys").unwrap_or("");
                Ok(Rule { ty: field.ty, strategy, key: field.patch_merge_key })
            }
            Type::Composite(id) => no_struct(match self.schema.composite(id) {
                Composite::Map(_) => "map",
                Composite::List(_) => "slice",
            }),
            Type::RawExtension => no_field("RawExtension"),
            Type::FieldsV1 => no_field("FieldsV1"),
            Type::Json => no_field("JSON"),
            Type::Alternative(id) => no_field(self.schema.alternative(id).name),
            Type::Quantity => no_field("Quantity"),
            Type::Time => no_field("Time"),
            Type::MicroTime => no_field("MicroTime"),
            Type::Duration => no_field("Duration"),
            Type::IntOrString => no_field("IntOrString"),
            Type::Bytes => no_struct("slice"),
            Type::String => no_struct("string"),
            Type::Bool => no_struct("bool"),
            Type::Int32 => no_struct("int32"),
            Type::Int64 => no_struct("int64"),
            Type::Float64 => no_struct("float64"),
        }
    }

    /// The rule of a field that holds a list; its type is that of the elements.
    pub(super) fn list_rule(&self, ty: Type, name: &str) -> Patched<Rule> {
        let rule = self.struct_rule(ty, name)?;
        match rule.ty {
            Type::Composite(id) => match self.schema.composite(id) {
                Composite::List(element) => Ok(Rule { ty: element.ty, ..rule }),
                Composite::Map(_) => unclassified("expected slice or array type, but got: struct"),
            },
            Type::Bytes => Ok(Rule { ty: Type::Int32, ..rule }),
            _ => unclassified("expected slice or array type, but got: struct"),
        }
    }

    pub(super) fn map(&self, ty: Type, original: &mut Map<'a>, mut patch: Map<'a>) -> Patched<()> {
        if let Some(directive) = patch.get(DIRECTIVE) {
            match directive.as_str() {
                Some("replace") => {
                    patch.remove(DIRECTIVE);
                    *original = patch;
                }
                Some("delete") => *original = Map::new_in(self.arena),
                _ => return unknown_directive(directive, &patch),
            }
            return Ok(());
        }
        retain_keys(original, &mut patch)?;
        self.ordered_lists(ty, original, &mut patch)?;
        for (key, value) in patch.into_entries() {
            let (key, deletes) = match key.strip_prefix(DELETE_FROM) {
                None => (key, false),
                Some(rest) => match rest.strip_prefix('/') {
                    Some(rest) => (rest, true),
                    None => {
                        return Err(PatchError::Malformed(
                            "invalid patch format of primitive list".to_owned(),
                        ));
                    }
                },
            };
            self.member(ty, original, key, value, deletes)?;
        }
        Ok(())
    }

    fn member(
        &self,
        ty: Type,
        original: &mut Map<'a>,
        key: &'a str,
        value: Value<'a>,
        deletes: bool,
    ) -> Patched<()> {
        if value.is_null() {
            original.remove(key);
            return Ok(());
        }
        match (original.get_mut(key), value) {
            (Some(Value::Map(old)), Value::Map(new)) => {
                let rule = self.struct_rule(ty, key)?;
                if rule.strategy == "replace" {
                    *old = new;
                    return Ok(());
                }
                self.map(rule.ty, old, new)
            }
            (Some(Value::List(old)), Value::List(new)) => {
                let rule = self.list_rule(ty, key)?;
                let before = std::mem::replace(old, ArenaVec::new_in(self.arena));
                *old = self.list(&rule, before, new, deletes)?;
                Ok(())
            }
            (Some(old), new) if go_text::type_of(old) == go_text::type_of(&new) => {
                *old = new;
                Ok(())
            }
            (_, _) if deletes => Ok(()),
            (_, new) => {
                match self.without_directives(&self.without_nulls(&new)) {
                    Some(clean) => original.insert(key, clean),
                    None => original.remove(key),
                };
                Ok(())
            }
        }
    }

    /// A list that merges, or is replaced.
    fn list(&self, rule: &Rule, original: List<'a>, patch: List<'a>, deletes: bool) -> Patched<List<'a>> {
        if rule.merges() || deletes { self.merge_lists(rule, original, patch, deletes) } else { Ok(patch) }
    }

    /// Lists that the patch gives an order for: merged, then sorted by that order.
    fn ordered_lists(&self, ty: Type, original: &mut Map<'a>, patch: &mut Map<'a>) -> Patched<()> {
        let keys: Vec<&'a str> = patch.iter().map(|(k, _)| k).filter(|k| k.starts_with(ORDER)).collect();
        for key in keys {
            let order = match patch.remove(key) {
                Some(Value::List(order)) => order,
                other => return bad_type("[]interface {}", &other.unwrap_or(Value::Null)),
            };
            let Some(name) = key[ORDER.len()..].strip_prefix('/') else {
                return Err(PatchError::Malformed("invalid patch format of setElementOrder list".to_owned()));
            };
            let old = as_list(original.get(name))?;
            let new = as_list(patch.get(name))?;
            let rule = self.list_rule(ty, name)?;
            if let Some(new) = &new {
                super::strategic_list::check_order(new, &order, rule.key)?;
            }
            let merged = match (&old, &new) {
                (None, None) => continue,
                (Some(old), None) => old.clone(),
                (None, Some(new)) => match self.without_directives(&Value::List(new.clone())) {
                    Some(Value::List(list)) => list,
                    _ => continue,
                },
                (Some(old), Some(new)) => self.list(&rule, old.clone(), new.clone(), false)?,
            };
            let none = ArenaVec::new_in(self.arena);
            let server_order = old.as_ref().unwrap_or(&none);
            let sorted =
                self.sort_by(merged, &order, server_order, new.as_ref().unwrap_or(&none), rule.key)?;
            original.insert(name, Value::List(sorted));
            patch.remove(name);
        }
        Ok(())
    }

    /// A copy without nulls in maps: what a new value loses.
    fn without_nulls(&self, value: &Value<'a>) -> Value<'a> {
        match value {
            Value::Map(map) => {
                let mut entries = ArenaVec::with_capacity_in(map.len(), self.arena);
                let members = map.iter().filter(|(_, v)| !v.is_null());
                entries.extend(members.map(|(k, v)| (k, self.without_nulls(v))));
                Value::Map(Map::from_entries(entries))
            }
            Value::List(list) => {
                let mut out = ArenaVec::with_capacity_in(list.len(), self.arena);
                out.extend(list.iter().map(|v| self.without_nulls(v)));
                Value::List(out)
            }
            other => other.clone(),
        }
    }

    /// A copy without directives; `None` for a map that is one.
    fn without_directives(&self, value: &Value<'a>) -> Option<Value<'a>> {
        match value {
            Value::Map(map) if map.get(DIRECTIVE).is_some() => None,
            Value::Map(map) => {
                let mut entries = ArenaVec::with_capacity_in(map.len(), self.arena);
                entries.extend(map.iter().filter_map(|(k, v)| Some((k, self.without_directives(v)?))));
                Some(Value::Map(Map::from_entries(entries)))
            }
            Value::List(list) => {
                let mut out = ArenaVec::with_capacity_in(list.len(), self.arena);
                out.extend(list.iter().filter_map(|v| self.without_directives(v)));
                Some(Value::List(out))
            }
            other => Some(other.clone()),
        }
    }
}

fn as_list<'a>(value: Option<&Value<'a>>) -> Patched<Option<List<'a>>> {
    match value {
        None => Ok(None),
        Some(Value::List(list)) => Ok(Some(list.clone())),
        Some(other) => bad_type("[]interface {}", other),
    }
}

/// `$retainKeys`: keys it does not name go; the patch may only set keys that it names.
fn retain_keys<'a>(original: &mut Map<'a>, patch: &mut Map<'a>) -> Patched<()> {
    let bad = || PatchError::Malformed("invalid patch format of retainKeys".to_owned());
    let Some(given) = patch.remove(RETAIN_KEYS) else { return Ok(()) };
    let Value::List(keys) = given else { return Err(bad()) };
    let named = |key: &str| keys.iter().any(|k| k.as_str() == Some(key));
    for (key, value) in patch.iter() {
        if !value.is_null() && !key.starts_with(DELETE_FROM) && !key.starts_with(ORDER) && !named(key) {
            return Err(bad());
        }
    }
    original.retain(|key, _| named(key));
    Ok(())
}
