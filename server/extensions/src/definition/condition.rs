//! Conditions of CustomResourceDefinitions.

use bumpalo::Bump;
use ringbolt_controlplane::tree::{self, Members};
use ringbolt_machinery::value::{Map, Value};

/// A condition without its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Condition {
    pub(crate) kind: &'static str,
    pub(crate) status: &'static str,
    pub(crate) reason: &'static str,
    pub(crate) message: String,
}

impl Condition {
    pub(crate) fn new(
        kind: &'static str,
        status: &'static str,
        reason: &'static str,
        message: impl Into<String>,
    ) -> Condition {
        Condition { kind, status, reason, message: message.into() }
    }

    /// Whether an object has just this condition, whenever it came to have it.
    pub(crate) fn is_in(&self, object: &Value<'_>) -> bool {
        find(object, self.kind).is_some_and(|condition| {
            condition.text("status") == self.status
                && condition.text("reason") == self.reason
                && condition.text("message") == self.message
        })
    }

    /// Sets the condition. Its time is `now` where the status changes.
    pub(crate) fn set<'a>(&self, arena: &'a Bump, object: &mut Value<'a>, now: &str) {
        let status = tree::root(arena, object).map_mut("status");
        let conditions = tree::list_mut(status, "conditions");
        let known = conditions.iter_mut().filter_map(Value::as_map_mut).find(|c| c.text("type") == self.kind);
        match known {
            Some(condition) => {
                let moved = condition.text("status") != self.status
                    || condition.text("lastTransitionTime").is_empty();
                self.write(arena, condition, moved.then_some(now));
            }
            None => {
                let mut condition = Map::new_in(arena);
                condition.push_unique("type", Value::String(self.kind));
                self.write(arena, &mut condition, Some(now));
                conditions.push(Value::Map(condition));
            }
        }
    }

    fn write<'a>(&self, arena: &'a Bump, condition: &mut Map<'a>, time: Option<&str>) {
        condition.insert("status", Value::String(self.status));
        if let Some(time) = time {
            condition.insert("lastTransitionTime", Value::String(arena.alloc_str(time)));
        }
        condition.insert("reason", Value::String(self.reason));
        condition.insert("message", Value::String(arena.alloc_str(&self.message)));
    }
}

/// The condition of a type.
pub(crate) fn find<'v, 'a>(object: &'v Value<'a>, kind: &str) -> Option<&'v Map<'a>> {
    let conditions = object.path(&["status", "conditions"]).and_then(Value::as_list);
    conditions
        .into_iter()
        .flatten()
        .filter_map(Value::as_map)
        .find(|condition| condition.text("type") == kind)
}

/// Whether the condition of a type is there and true.
pub(crate) fn is_true(object: &Value<'_>, kind: &str) -> bool {
    find(object, kind).is_some_and(|condition| condition.text("status") == "True")
}

/// Takes the condition of a type away; whether there was one.
pub(crate) fn remove(object: &mut Value<'_>, kind: &str) -> bool {
    let conditions = object.path_mut(&["status", "conditions"]).and_then(Value::as_list_mut);
    let Some(conditions) = conditions else { return false };
    let before = conditions.len();
    conditions.retain(|condition| condition.str_at(&["type"]) != Some(kind));
    conditions.len() != before
}

#[cfg(test)]
mod tests {
    use ringbolt_machinery::json;

    use super::*;

    #[test]
    fn times_move_with_the_status() {
        let arena = Bump::new();
        let mut object = json::decode_untyped(&arena, b"{}").unwrap();
        let time = |object: &Value<'_>| find(object, "A").map(|c| c.text("lastTransitionTime").to_owned());
        let mut condition = Condition::new("A", "False", "R", "m");
        condition.set(&arena, &mut object, "t1");
        assert_eq!(time(&object).as_deref(), Some("t1"));
        assert!(condition.is_in(&object) && !is_true(&object, "A"));
        condition.message = "other".to_owned();
        assert!(!condition.is_in(&object));
        condition.set(&arena, &mut object, "t2");
        assert_eq!(time(&object).as_deref(), Some("t1"));
        condition.status = "True";
        condition.set(&arena, &mut object, "t3");
        assert_eq!(time(&object).as_deref(), Some("t3"));
        assert!(is_true(&object, "A") && !is_true(&object, "B"));
        Condition::new("B", "True", "R", "m").set(&arena, &mut object, "t4");
        assert!(remove(&mut object, "A") && !remove(&mut object, "A"));
        assert!(is_true(&object, "B"));
    }
}
