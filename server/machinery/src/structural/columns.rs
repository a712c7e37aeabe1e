//! What a CustomResourceDefinition picks out of its objects by JSONPath: the columns of Tables, and the fields that can be
//! selected by.

use crate::{
    json::quote,
    jsonpath::{Found, JsonPath, JsonPathError},
    patch::go_text,
    schema::{self, Schema},
    table::{Row, human_duration, until},
    time::{self, Moment},
    value::Value,
};

/// One of `additionalPrinterColumns`.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// `name`
    pub name: Box<str>,
    /// `type`
    pub ty: Box<str>,
    /// `format`
    pub format: Box<str>,
    /// `description`, or what stands in its place.
    pub description: Box<str>,
    /// `priority`
    pub priority: i32,
    path: JsonPath,
}

/// The columns of a custom resource, behind the one of its name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Columns {
    columns: Box<[Column]>,
}

impl Columns {
    /// Of `additionalPrinterColumns`, or of the age alone where there are none. A column whose path is none ends them.
    pub fn of(columns: Option<&Value<'_>>) -> Columns {
        let columns: Vec<&Value<'_>> = columns.and_then(Value::as_list).into_iter().flatten().collect();
        if columns.is_empty() {
            return Columns { columns: Column::age().into_iter().collect() };
        }
        Columns { columns: columns.into_iter().map_while(Column::of).collect() }
    }

    /// The columns in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Column> {
        self.columns.iter()
    }

    /// `columnDefinitions` of a Table: the name's, then these.
    pub fn definitions(&self) -> Vec<u8> {
        let name = builtin("Name", "string").map_or("", |column| column.description);
        let mut out = vec![b'['];
        definition(["Name", "string", "name", name], 0, &mut out);
        for column in &self.columns {
            out.push(b',');
            let Column { name, ty, format, description, priority, .. } = column;
            definition([name, ty, format, description], *priority, &mut out);
        }
        out.push(b']');
        out
    }

    /// Writes the cells of an object, its name first.
    pub fn row(&self, object: &Value<'_>, row: &mut Row<'_>) {
        row.name(object);
        for column in &self.columns {
            row.cell(|out, now| column.cell(object, now, out));
        }
    }
}

fn definition(texts: [&str; 4], priority: i32, out: &mut Vec<u8>) {
    for (key, text) in
        ["{\"name\":", ",\"type\":", ",\"format\":", ",\"description\":"].into_iter().zip(texts)
    {
        out.extend_from_slice(key.as_bytes());
        quote::write_string(out, text);
    }
    out.extend_from_slice(b",\"priority\":");
    quote::write_int(out, i64::from(priority));
    out.push(b'}');
}

impl Column {
    fn of(column: &Value<'_>) -> Option<Column> {
        let text = |name: &str| column.str_at(&[name]).unwrap_or_default();
        let path = text("jsonPath");
        let description = match text("description") {
            "" => format!("Custom resource definition column (in JSONPath format): {path}").into(),
            description => description.into(),
        };
        let priority = column.path(&["priority"]).and_then(Value::as_i64).unwrap_or(0);
        Some(Column {
            name: text("name").into(),
            ty: text("type").into(),
            format: text("format").into(),
            description,
            priority: i32::try_from(priority).unwrap_or(0),
            path: JsonPath::parse(&format!("{{{path}}}")).ok()?,
        })
    }

    fn age() -> Option<Column> {
        Some(Column {
            name: "Age".into(),
            ty: "date".into(),
            format: "".into(),
            description: builtin("Created At", "date").map_or("", |column| column.description).into(),
            priority: 0,
            path: JsonPath::parse("{.metadata.creationTimestamp}").ok()?,
        })
    }

    /// The cell of an object as JSON; dates are ages counted to `now`.
    pub fn cell(&self, object: &Value<'_>, now: Moment, out: &mut Vec<u8>) {
        let found = self.path.find(object).ok();
        // The first of what the first part of the path finds.
        let first = found.as_ref().and_then(|parts| parts.first()).and_then(|part| part.first());
        match first {
            None => out.extend_from_slice(b"null"),
            Some(found) if *self.ty == *"string" => quote::write_string(out, &found.text()),
            Some(found) => self.typed(found, now, out),
        }
    }

    fn typed(&self, found: &Found<'_, '_>, now: Moment, out: &mut Vec<u8>) {
        let number = match found {
            Found::Tree(Value::Int(n)) | Found::Int(n) => Some(Value::Int(*n)),
            Found::Tree(Value::Float(f)) | Found::Float(f) => Some(Value::Float(*f)),
            _ => None,
        };
        match (&*self.ty, found, number) {
            // A number of the template is no int64 in Go.
            ("integer" | "number", Found::Int(_), _) => out.extend_from_slice(b"null"),
            ("integer", _, Some(Value::Int(n))) => quote::write_int(out, n),
            ("integer", _, Some(Value::Float(f))) => quote::write_int(out, super::validate::go_int(f)),
            ("number", _, Some(Value::Int(n))) => quote::write_float(out, n as f64),
            ("number", _, Some(Value::Float(f))) => quote::write_float(out, f),
            ("boolean", Found::Tree(Value::Bool(b)) | Found::Bool(b), _) => {
                out.extend_from_slice(if *b { b"true" } else { b"false" });
            }
            ("date", Found::Tree(Value::String(text)), _) => quote::write_string(out, &age(text, now)),
            ("date", Found::Text(text), _) => quote::write_string(out, &age(text, now)),
            _ => out.extend_from_slice(b"null"),
        }
    }
}

/// A column that a built-in kind has: of the name, or of the time of creation.
fn builtin(name: &str, ty: &str) -> Option<&'static schema::Column> {
    let mut columns = Schema::builtin().resources.iter().flat_map(|resource| &resource.columns);
    columns.find(|column| column.name == name && column.ty == ty)
}

fn age(text: &str, now: Moment) -> String {
    if text.is_empty() || text == "null" {
        return "<unknown>".to_owned();
    }
    match time::parse_time(text) {
        Err(_) => "<invalid>".to_owned(),
        Ok(moment) if moment.is_zero() => "<unknown>".to_owned(),
        Ok(moment) => human_duration(until(moment, now)),
    }
}

/// `selectableFields`: what objects can be selected by beyond their name and namespace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SelectableFields {
    fields: Box<[SelectableField]>,
}

#[derive(Clone, Debug, PartialEq)]
struct SelectableField {
    name: Box<str>,
    path: Result<JsonPath, JsonPathError>,
}

impl SelectableFields {
    /// Of a version's `selectableFields`.
    pub fn of(fields: Option<&Value<'_>>) -> SelectableFields {
        let fields = fields.and_then(Value::as_list).into_iter().flatten();
        let field = |field: &Value<'_>| {
            let path = field.str_at(&["jsonPath"]).unwrap_or_default();
            let name = path.strip_prefix('.').unwrap_or(path).into();
            SelectableField { name, path: JsonPath::parse(&format!("{{{path}}}")) }
        };
        SelectableFields { fields: fields.map(field).collect() }
    }

    /// The names that selectors use (`spec.color`).
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.fields.iter().map(|field| &*field.name)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// The value of a field, as text; empty where the object has none. `None` where it is no field to select by.
    pub fn value(&self, name: &str, object: &Value<'_>) -> Option<Result<String, String>> {
        let field = self.fields.iter().find(|field| *field.name == *name)?;
        Some(match &field.path {
            Err(error) => Err(format!("unexpected error parsing jsonPath: {error}")),
            Ok(path) => match path.find(object) {
                Err(error) => Err(format!("unexpected error finding value with jsonPath: {error}")),
                Ok(parts) => match parts.first().map(Vec::as_slice) {
                    None | Some([]) => Ok(String::new()),
                    Some([one]) if parts.len() == 1 => Ok(match one {
                        Found::Tree(Value::Null) => String::new(),
                        Found::Tree(value) => go_text::plain(value),
                        other => other.text(),
                    }),
                    Some(_) => Err("unexpectedly received more than one JSON path result".to_owned()),
                },
            },
        })
    }
}
