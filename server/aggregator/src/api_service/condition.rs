//! The condition `Available`, which says whether requests go anywhere.

use bumpalo::{Bump, collections::Vec as ArenaVec};
use ringbolt_machinery::{
    time::Moment,
    value::{Map, Value},
};

/// What the condition says, its time left aside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Available {
    /// `True`, `False` or `Unknown`.
    pub status: &'static str,
    /// Why, in one word.
    pub reason: &'static str,
    /// Why.
    pub message: String,
}

impl Available {
    /// It is.
    pub fn yes(reason: &'static str, message: impl Into<String>) -> Self {
        Available { status: "True", reason, message: message.into() }
    }

    /// It is not.
    pub fn no(reason: &'static str, message: impl Into<String>) -> Self {
        Available { status: "False", reason, message: message.into() }
    }

    /// The conditions of `object` with this one among them, as `SetAPIServiceCondition` puts it there. `None` where it
    /// stands there already.
    pub fn among<'a>(&self, arena: &'a Bump, object: &Value<'_>) -> Option<Value<'a>> {
        let now = Moment::now().to_time();
        let text = |text: &str| Value::String(arena.alloc_str(text));
        let old = object.path(&["status", "conditions"]).and_then(Value::as_list);
        let mut conditions = ArenaVec::new_in(arena);
        conditions.extend(old.into_iter().flatten().map(|condition| condition.copy_into(arena)));
        let found = conditions.iter().position(|c| c.str_at(&["type"]) == Some("Available"));
        let Some(found) = found else {
            let mut condition = Map::new_in(arena);
            condition.insert("type", Value::String("Available"));
            condition.insert("status", Value::String(self.status));
            condition.insert("lastTransitionTime", text(&now));
            condition.insert("reason", Value::String(self.reason));
            condition.insert("message", text(&self.message));
            conditions.push(Value::Map(condition));
            return Some(Value::List(conditions));
        };
        let condition = conditions[found].as_map_mut()?;
        let is = |name: &str| condition.get(name).and_then(Value::as_str).unwrap_or("");
        let turned = is("status") != self.status;
        if !turned && is("reason") == self.reason && is("message") == self.message {
            return None;
        }
        if turned {
            condition.insert("status", Value::String(self.status));
            condition.insert("lastTransitionTime", text(&now));
        }
        condition.insert("reason", Value::String(self.reason));
        condition.insert("message", text(&self.message));
        Some(Value::List(conditions))
    }
}

/// What holds for APIs that this server serves itself.
pub fn local_available() -> Available {
    Available::yes("Local", "Local APIServices are always available")
}

#[cfg(test)]
mod tests {
    use ringbolt_machinery::json;

    use super::*;

    #[test]
    fn set_among_others() {
        let check = |status: &str, expect: Option<&str>| {
            let arena = Bump::new();
            let text = format!(r#"{{"status":{status}}}"#);
            let object = json::decode_untyped(&arena, arena.alloc_slice_copy(text.as_bytes())).unwrap();
            let found = local_available().among(&arena, &object).map(|conditions| {
                let mut out = Vec::new();
                json::encode_untyped(&conditions, &mut out);
                let text = String::from_utf8(out).unwrap();
                let transition = text.find("Time\":\"").map(|at| at + 7).unwrap();
                let time = &text[transition..transition + 20];
                if time.starts_with("2001") { text } else { text.replace(time, "NOW") }
            });
            // Members come out sorted.
            let sorted = |text: &str| {
                let tree = json::decode_untyped(&arena, arena.alloc_slice_copy(text.as_bytes())).unwrap();
                let mut out = Vec::new();
                json::encode_untyped(&tree, &mut out);
                String::from_utf8(out).unwrap()
            };
            assert_eq!(found, expect.map(sorted), "{status}");
        };
        let is = r#""reason":"Local","message":"Local APIServices are always available""#;
        let new = format!(r#"[{{"type":"Available","status":"True","lastTransitionTime":"NOW",{is}}}]"#);
        check("{}", Some(&new));
        let same = format!(
            r#"{{"conditions":[{{"type":"Available","status":"True","lastTransitionTime":"2001-01-01T00:00:00Z",{is}}}]}}"#
        );
        check(&same, None);
        check(
            r#"{"conditions":[{"type":"X"},{"type":"Available","status":"True","lastTransitionTime":"2001-01-01T00:00:00Z"}]}"#,
            Some(&format!(
                r#"[{{"type":"X"}},{{"type":"Available","status":"True","lastTransitionTime":"2001-01-01T00:00:00Z",{is}}}]"#
            )),
        );
        check(
            r#"{"conditions":[{"type":"Available","status":"False","lastTransitionTime":"2001-01-01T00:00:00Z","reason":"R","message":"m"}]}"#,
            Some(&new),
        );
    }
}
