//! What the generic server asks of a custom kind in one of its versions: what the Schema says of built-in ones.

use bumpalo::Bump;
use ringbolt_machinery::{
    apply::{Root, Unconverted},
    patch::go_value,
    table::Row,
    value::{Map, Value},
};

/// One version of a custom kind. Objects are trees without a schema, `kind` and `apiVersion` included; their metadata
/// is as decoding by the Schema's `ObjectMeta` gives it. What a version is never changes: a definition that changes
/// makes new ones.
pub trait CustomKind: Send + Sync {
    /// Kind of its lists.
    fn list_kind(&self) -> &str;

    /// Takes in an object of this version as a client sent it: types the metadata, takes out what the schema does not
    /// have, fills in defaults. Paths of what was taken out go to `unknown`, in the order that they are told.
    ///
    /// # Errors
    /// Metadata that is none, in the words of Kubernetes.
    fn take_in<'a>(
        &self,
        arena: &'a Bump,
        object: &mut Value<'a>,
        unknown: Option<&mut Vec<String>>,
    ) -> Result<(), String>;

    /// Makes of an object as it is stored one of this version: what became of the schemas since it was written counts.
    fn read_stored<'a>(&self, arena: &'a Bump, object: &mut Value<'a>);

    /// Whether what is stored of an object of this version is not all of the object as it is: the version in which it is
    /// stored may have another schema.
    fn changes_to_store(&self) -> bool;

    /// Makes of an object of this version what is stored of it.
    fn to_stored<'a>(&self, arena: &'a Bump, object: &mut Value<'a>);

    /// The number of the form in which this version shows objects as they are stored, and stores what it is given; 0 for
    /// a version that shows them otherwise. Objects that were written in another form are read with
    /// [`CustomKind::read_stored`].
    fn form(&self) -> u32;

    /// Whether the status is a subresource.
    fn has_status(&self) -> bool;

    /// Where the subresource `scale` finds what it is about; `None` where there is no such subresource.
    fn scale(&self) -> Option<&ScalePaths>;

    /// `columnDefinitions` of Tables, as JSON.
    fn column_definitions(&self) -> &[u8];

    /// Writes the cells of an object's row.
    fn print(&self, object: &Value<'_>, row: &mut Row<'_>);

    /// The fields that can be selected on besides `metadata.name` and `metadata.namespace`.
    fn selectable(&self) -> &[SelectableField];

    /// What fields are told by in a version of the kind; `None` where there is no such version.
    fn root(&self, api_version: &str) -> Option<Root<'_>>;

    /// An object of a version of the kind in another one.
    ///
    /// # Errors
    /// There is no such version, or it cannot be made.
    fn convert<'a>(&self, arena: &'a Bump, object: &Value<'a>, to: &str) -> Result<Value<'a>, Unconverted>;
}

/// A field that can be selected on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectableField {
    /// As selectors name it: `spec.color`.
    pub name: String,
    /// Where it is.
    pub path: Vec<String>,
}

/// Where the subresource `scale` finds what it is about, and how the definition writes that (`.spec.replicas`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScalePaths {
    /// The replicas that are wanted.
    pub spec_replicas: FieldPath,
    /// The replicas that there are.
    pub status_replicas: FieldPath,
    /// The selector as text.
    pub label_selector: Option<FieldPath>,
}

/// A way to a field by names alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldPath {
    /// As it was written.
    pub text: String,
    /// The names.
    pub names: Vec<String>,
}

impl FieldPath {
    /// The path that a text like `.spec.replicas` means.
    pub fn new(text: &str) -> Self {
        let names = text.strip_prefix('.').unwrap_or(text).split('.').map(str::to_owned).collect();
        FieldPath { text: text.to_owned(), names }
    }

    /// What stands there.
    ///
    /// # Errors
    /// Something on the way is no object: the text of the real server.
    pub fn of<'v, 'a>(&self, object: &'v Value<'a>) -> Result<Option<&'v Value<'a>>, String> {
        let mut at = object;
        for (depth, name) in self.names.iter().enumerate() {
            let map = match at {
                Value::Null => return Ok(None),
                Value::Map(map) => map,
                other => return Err(self.mismatch(depth + 1, other, "map[string]interface{}")),
            };
            match map.get(name) {
                Some(value) => at = value,
                None => return Ok(None),
            }
        }
        Ok(Some(at))
    }

    /// The integer that stands there.
    ///
    /// # Errors
    /// It is none, or something on the way is no object.
    pub fn int(&self, object: &Value<'_>) -> Result<Option<i64>, String> {
        match self.of(object)? {
            None => Ok(None),
            Some(Value::Int(n)) => Ok(Some(*n)),
            Some(other) => Err(self.mismatch(self.names.len(), other, "int64")),
        }
    }

    /// The text that stands there.
    ///
    /// # Errors
    /// It is none, or something on the way is no object.
    pub fn text_of<'a>(&self, object: &Value<'a>) -> Result<Option<&'a str>, String> {
        match self.of(object)? {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(self.mismatch(self.names.len(), other, "string")),
        }
    }

    /// Puts a value there; objects on the way are made where there are none.
    ///
    /// # Errors
    /// Something on the way is no object.
    pub fn put<'a>(&self, arena: &'a Bump, object: &mut Value<'a>, value: Value<'a>) -> Result<(), String> {
        let Some((last, way)) = self.names.split_last() else { return Ok(()) };
        let mut at = object;
        for (depth, name) in way.iter().enumerate() {
            let map = match at {
                Value::Map(map) => map,
                _ => return Err(self.not_settable(depth)),
            };
            if map.get(name).is_none() {
                map.insert(arena.alloc_str(name), Value::Map(Map::new_in(arena)));
                map.sort_keys();
            }
            at = map.get_mut(name).ok_or_else(|| self.not_settable(depth))?;
        }
        match at {
            Value::Map(map) => {
                map.insert(arena.alloc_str(last), value);
                map.sort_keys();
                Ok(())
            }
            _ => Err(self.not_settable(way.len())),
        }
    }

    /// What is said where what `names` lead to is no object.
    fn not_settable(&self, names: usize) -> String {
        let path = self.names[..names].join(".");
        format!("value cannot be set because .{path} is not a map[string]interface{{}}")
    }

    /// What is said where a value on the way, or at the end of it, is of another type.
    fn mismatch(&self, names: usize, value: &Value<'_>, expected: &str) -> String {
        let (text, ty) = go_value(value);
        let path = self.names[..names].join(".");
        format!(".{path} accessor error: {text} is of the type {ty}, expected {expected}")
    }
}

#[cfg(test)]
mod tests {
    use ringbolt_machinery::json;

    use super::*;

    #[test]
    fn values_by_path() {
        let arena = Bump::new();
        let text = br#"{"spec":{"n":3,"s":"x","l":[1],"z":null},"text":"t"}"#;
        let object = json::decode_untyped(&arena, text).unwrap();
        let int = |path: &str| FieldPath::new(path).int(&object);
        assert_eq!(int(".spec.n"), Ok(Some(3)));
        assert_eq!(int(".spec.m"), Ok(None));
        assert_eq!(int(".other.deep.er"), Ok(None));
        assert_eq!(int(".spec.z.n"), Ok(None));
        let refused = |path: &str| int(path).unwrap_err();
        assert_eq!(refused(".spec.s"), ".spec.s accessor error: x is of the type string, expected int64");
        assert_eq!(
            refused(".spec.l"),
            ".spec.l accessor error: [1] is of the type []interface {}, expected int64"
        );
        assert_eq!(refused(".spec.z"), ".spec.z accessor error: <nil> is of the type <nil>, expected int64");
        assert_eq!(
            refused(".text.n.m"),
            ".text.n accessor error: t is of the type string, expected map[string]interface{}"
        );
        assert_eq!(FieldPath::new(".spec.s").text_of(&object), Ok(Some("x")));
    }

    #[test]
    fn values_are_put_by_path() {
        let arena = Bump::new();
        let put = |text: &'static str, path: &str| {
            let mut object = json::decode_untyped(&arena, text.as_bytes()).unwrap();
            FieldPath::new(path).put(&arena, &mut object, Value::Int(7))?;
            let mut out = Vec::new();
            json::encode_untyped(&object, &mut out);
            Ok::<_, String>(String::from_utf8(out).unwrap())
        };
        assert_eq!(put("{}", ".a.b").unwrap(), r#"{"a":{"b":7}}"#);
        assert_eq!(put(r#"{"a":{"b":1,"c":2}}"#, ".a.b").unwrap(), r#"{"a":{"b":7,"c":2}}"#);
        assert_eq!(
            put(r#"{"a":1}"#, ".a.b").unwrap_err(),
            "value cannot be set because .a is not a map[string]interface{}"
        );
    }
}
