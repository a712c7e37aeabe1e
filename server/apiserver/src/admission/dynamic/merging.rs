//! What policies make of an object: configurations merged as server-side apply does it, and objects taken back.

use bumpalo::Bump;
use ringbolt_machinery::{
    apply::{self, Duplicates, Root, problems_text},
    json::{self, Mode},
    status::Status,
    value::Value,
};

use super::{DynamicRequest, Version};

impl DynamicRequest<'_> {
    /// Merges a configuration into an object, both as clients of a version see them.
    ///
    /// # Errors
    /// Why it is none of the kind, or would put something in the place of a whole.
    pub fn merge<'a>(
        &self,
        arena: &'a Bump,
        live: &Value<'_>,
        config: &Value<'_>,
        version: Version<'_>,
    ) -> Result<Value<'a>, String> {
        let kind = self.kind;
        let root = match (&kind.served.custom, version.other) {
            (Some(custom), _) => {
                let group_version = version.group_version();
                custom.root(&group_version).unwrap_or(Root::Deduced)
            }
            (None, Some(other)) => Root::BuiltIn(other.ty),
            (None, None) => Root::BuiltIn(kind.served.facts.ty),
        };
        let scratch = Bump::new();
        let (live, config) = (live.copy_into(&scratch), config.copy_into(&scratch));
        let failed =
            |what: &str, why: String| format!("failed to convert {what} object to typed object: {why}");
        let problems = apply::validate_made(&scratch, kind.schema, root, &config);
        if !problems.is_empty() {
            return Err(failed("patch", problems_text(&problems)));
        }
        if holds_opaque(&config) {
            return Err(failed("patch", "a value of the configuration is none that JSON has".to_owned()));
        }
        let atomics = apply::atomics(kind.schema, root, &config);
        if !atomics.is_empty() {
            return Err(format!(
                "invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: {}",
                atomics.join(", ")
            ));
        }
        let problems = apply::validate(&scratch, kind.schema, root, &live, Duplicates::Allowed);
        if !problems.is_empty() {
            return Err(failed("original", problems_text(&problems)));
        }
        let merged = apply::merge(&scratch, kind.schema, root, &live, &config)
            .map_err(|why| format!("failed to merge patch: {why}"))?;
        Ok(merged.copy_into(arena))
    }

    /// As [`DynamicRequest::take_back`], but what is not known of an object's fields is refused.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn take_back_strictly<'a>(
        &self,
        arena: &'a Bump,
        shown: &Value<'a>,
        version: Version<'_>,
    ) -> Result<Value<'a>, Status> {
        if !self.kind.is_custom() {
            let ty = version.other.map_or(self.kind.served.facts.ty, |other| other.ty);
            let decoded = json::retype(arena, self.kind.schema, ty, shown, Mode::Strict);
            let decoded = decoded.map_err(|why| Status::internal_error(why.to_string()))?;
            if !decoded.strict_errors.is_empty() {
                let all: Vec<String> = decoded.strict_errors.iter().map(ToString::to_string).collect();
                return Err(Status::internal_error(format!("strict decoding error: {}", all.join(", "))));
            }
        }
        self.take_back(arena, shown, version).map_err(Status::internal_error)
    }
}

fn holds_opaque(value: &Value<'_>) -> bool {
    match value {
        Value::Raw(_) => true,
        Value::List(list) => list.iter().any(holds_opaque),
        Value::Map(map) => map.iter().any(|(_, value)| holds_opaque(value)),
        _ => false,
    }
}

impl Version<'_> {
    /// `apps/v1`, `v1`.
    pub fn group_version(&self) -> String {
        match self.group {
            "" => self.version.to_owned(),
            group => format!("{group}/{}", self.version),
        }
    }
}
