//! PATCH with `application/apply-patch+yaml`: server-side apply.

use bumpalo::Bump;
use bytes::Bytes;
use ringbolt_machinery::{
    json::{self, Mode},
    status::Status,
    value::Value,
    yaml,
};
use ringbolt_storage::object::Object;

use super::{
    body::{self, FieldValidation},
    managed_fields::Tracker,
    metadata,
    resource::ResourceStore,
};

/// A configuration to apply.
pub(crate) struct ApplyPatch {
    /// The name of the object, as the path has it.
    pub(crate) name: String,
    pub(crate) bytes: Bytes,
    pub(crate) force: bool,
    pub(crate) validation: FieldValidation,
}

impl ApplyPatch {
    /// The object of the storage version that the configuration makes of what is stored, or of nothing.
    pub(crate) fn object<'a>(
        &self,
        arena: &'a Bump,
        store: &ResourceStore,
        tracker: &Tracker,
        old: Option<(&Object, &Value<'a>)>,
        warnings: &mut Vec<String>,
    ) -> Result<Value<'a>, Status> {
        let (config, duplicates) = self.config(arena)?;
        let (live, mut applied) = tracker.apply(arena, store, old, &config, self.force)?;
        let mut object = match (applied.object.take(), old) {
            (None, Some((stored, old))) => {
                // As it is stored, with the version that it is read in.
                let mut object = old.clone();
                let revision = arena.alloc_str(&stored.revision.to_string());
                metadata::of(arena, &mut object).insert("resourceVersion", Value::String(revision));
                object
            }
            (object, _) => {
                let object = object.unwrap_or(live);
                let mut object = store
                    .retype_applied(arena, &object)
                    .map_err(|why| self.does_not_convert(store, &config, &why))?;
                body::finish(store, arena, &mut object);
                object
            }
        };
        applied.finish(&mut object);
        if let Some(text) = duplicates {
            match self.validation {
                FieldValidation::Ignore => {}
                FieldValidation::Warn => {
                    let lines = text.strip_prefix("yaml: unmarshal errors:\n").unwrap_or(&text).lines();
                    warnings.extend(lines.map(|line| line.trim().to_owned()));
                }
                FieldValidation::Strict => {
                    return Err(Status::bad_request(format!(
                        "error strict decoding patch: error converting YAML to JSON: {text}"
                    )));
                }
            }
        }
        if old.is_none() {
            let uid = metadata::text(&object, "uid");
            if !uid.is_empty() {
                let name = &self.name;
                let why = format!(
                    "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
                );
                return Err(Status::conflict(store.group(), store.resource(), name, &why));
            }
        }
        Ok(object)
    }

    /// The configuration, and what strict reading finds wrong with its text.
    pub(super) fn config<'a>(&self, arena: &'a Bump) -> Result<(Value<'a>, Option<String>), Status> {
        if let Some(config) = plain_json(arena, &self.bytes) {
            return Ok((config, None));
        }
        let undecoded = |why: &str| Status::bad_request(format!("error decoding patch: {why}"));
        // What looks like JSON is taken for it, and found to be none only when it is decoded.
        let loaded = yaml::to_json(&self.bytes).map_err(|e| match self.bytes.trim_ascii_start().first() {
            Some(b'{') => undecoded(&format!("error converting YAML to JSON: {e}")),
            _ => Status::bad_request(format!("error encoding patch: {e}")),
        })?;
        let json: &'a [u8] = arena.alloc_slice_copy(&loaded.json);
        let config = json::decode_untyped(arena, json).map_err(|e| undecoded(&e.to_string()))?;
        let found = match &config {
            Value::Map(_) | Value::Null => return Ok((config, loaded.duplicates)),
            Value::List(_) => "array",
            Value::String(_) | Value::Raw(_) => "string",
            Value::Bool(_) => "bool",
            Value::Int(_) | Value::Float(_) => "number",
        };
        Err(undecoded(&format!(
            "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {found} into Go value of type \
             map[string]interface {{}}"
        )))
    }

    fn does_not_convert(&self, store: &ResourceStore, config: &Value<'_>, why: &str) -> Status {
        let (namespace, name) = (metadata::text(config, "namespace"), metadata::text(config, "name"));
        let (group, version, kind) = (store.group(), store.version(), store.kind());
        Status::unknown_error(format!(
            "failed to convert new object ({namespace}/{name}; {group}/{version}, Kind={kind}) to proper version: \
             unable to convert unstructured object to {group}/{version}, Kind={kind}: {}",
            if store.is_custom() { of_value(why) } else { why.to_owned() }
        ))
    }
}

/// A configuration that is JSON which means the same as YAML, as most clients send it; `None` where that is not plain
/// to see, or something is wrong with it.
fn plain_json<'a>(arena: &'a Bump, bytes: &Bytes) -> Option<Value<'a>> {
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    // Escapes, spaces other than blanks, and characters beyond ASCII are where the two differ.
    let plain = |byte: u8| matches!(byte, b' '..0x7f) & (byte != b'\\');
    if bytes.first() != Some(&b'{')
        || bytes.len() > YAML_SURE_BYTES
        || !bytes.iter().fold(true, |all, byte| all & plain(*byte))
    {
        return None;
    }
    let bytes: &'a [u8] = arena.alloc_slice_copy(bytes);
    let decoded = json::decode_untyped_strict(arena, bytes, Mode::Strict).ok()?;
    (decoded.strict_errors.is_empty() && is_plain(&decoded.value, YAML_SURE_DEPTH)).then_some(decoded.value)
}

/// Bytes that hold fewer nodes than a reader of YAML takes.
const YAML_SURE_BYTES: usize = 256 * 1024;
/// Levels that a reader of YAML takes for certain.
const YAML_SURE_DEPTH: usize = 32;
/// Bytes of a key that a reader of YAML takes for certain: it looks no farther than 1,024 for its colon.
const YAML_SURE_KEY: usize = 512;
/// Integers up to here are read alike.
const YAML_SURE_INT: u64 = 1 << 53;

/// Whether a value holds only what JSON and YAML read alike: no fractions and exponents, no large numbers.
fn is_plain(value: &Value<'_>, depth: usize) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::String(_) => true,
        Value::Int(n) => n.unsigned_abs() <= YAML_SURE_INT,
        Value::Float(_) | Value::Raw(_) => false,
        Value::List(list) => depth > 0 && list.iter().all(|item| is_plain(item, depth - 1)),
        Value::Map(map) => {
            // In YAML a key of that name stands for a merge.
            let key_fits = |key: &str| key != "<<" && key.len() <= YAML_SURE_KEY;
            let fits = |(key, item): (&str, &Value<'_>)| key_fits(key) && is_plain(item, depth - 1);
            depth > 0 && map.iter().all(fits)
        }
    }
}

/// What a JSON decoder says of a member, as the conversion of a decoded value says it.
fn of_value(why: &str) -> String {
    if why.starts_with("illegal base64") {
        return format!("error decoding from json: {why}");
    }
    let Some(rest) = why.strip_prefix("json: cannot unmarshal ") else { return why.to_owned() };
    let (found, rest) = rest.split_once(" into ").unwrap_or((rest, ""));
    let wanted = rest.rsplit(' ').next().unwrap_or("");
    match found.strip_prefix("number ") {
        Some(number) if number.contains('.') => format!("cannot convert float64 to {wanted}"),
        _ => {
            let found = found.split(' ').next().unwrap_or("");
            format!("json: cannot unmarshal {found} into Go value of type {wanted}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_json_says_what_its_yaml_says() {
        let arena = Bump::new();
        let plain = |text: &'static str| plain_json(&arena, &Bytes::from_static(text.as_bytes()));
        for text in [
            r#"{"a":[1,-2,"x: y # z",true,null,{"yes":"no","":{}}],"b":"012"}"#,
            "{ \"a\" : \"1e3\" , \"b\" : [ ] }\n",
            r#"{"b":"{[&*!|>%@","a":9007199254740992}"#,
        ] {
            let loaded = yaml::to_json(text.as_bytes()).unwrap();
            assert_eq!(loaded.duplicates, None);
            let through_yaml = json::decode_untyped(&arena, arena.alloc_slice_copy(&loaded.json)).unwrap();
            assert_eq!(plain(text), Some(through_yaml), "{text}");
        }
        for text in [
            "a: 1",
            "[1]",
            r#"{"a":1.5}"#,
            r#"{"a":1e3}"#,
            r#"{"a":9007199254740993}"#,
            r#"{"a":1,"a":2}"#,
            r#"{"a":"\u0041"}"#,
            r#"{"a":"é"}"#,
            r#"{"<<":{"a":1}}"#,
            "{\"a\":\t1}",
            "{\"a\":\n1}",
            r#"{"a":1,}"#,
            r#"{"a":1"#,
            r#"{a: 1}"#,
        ] {
            assert_eq!(plain(text), None, "{text}");
        }
    }

    #[test]
    fn conversion_errors() {
        let check = |why: &str, expect: &str| assert_eq!(of_value(why), expect);
        check("quantities must match", "quantities must match");
        check(
            "illegal base64 data at input byte 8",
            "error decoding from json: illegal base64 data at input byte 8",
        );
        check(
            "json: cannot unmarshal number 1.5 into Go struct field PodSpec.spec.priority of type int32",
            "cannot convert float64 to int32",
        );
        check(
            "json: cannot unmarshal bool into Go struct field ServicePort.spec.ports.targetPort of type int32",
            "json: cannot unmarshal bool into Go value of type int32",
        );
    }
}
