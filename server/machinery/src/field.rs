//! Field errors: what validation finds wrong, in the words `kubectl` users know.

use std::{cell::Cell, fmt};

use crate::{json::quote::write_compact, value::Value};

/// Kinds of field errors, as `metav1.CauseType` names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The value that should be there is not.
    NotFound,
    /// Required and missing.
    Required,
    /// Given twice.
    Duplicate,
    /// Malformed or out of bounds.
    Invalid,
    /// Not one of the values supported.
    NotSupported,
    /// Not allowed here.
    Forbidden,
    /// Longer than allowed.
    TooLong,
    /// Shorter than allowed.
    TooShort,
    /// More items than allowed.
    TooMany,
    /// Fewer items than allowed.
    TooFew,
    /// Of the wrong type.
    TypeInvalid,
    /// Something else failed.
    Internal,
}

impl ErrorKind {
    /// The reason of the status cause.
    pub fn reason(self) -> &'static str {
        match self {
            ErrorKind::NotFound => "FieldValueNotFound",
            ErrorKind::Required => "FieldValueRequired",
            ErrorKind::Duplicate => "FieldValueDuplicate",
            ErrorKind::Invalid => "FieldValueInvalid",
            ErrorKind::NotSupported => "FieldValueNotSupported",
            ErrorKind::Forbidden => "FieldValueForbidden",
            ErrorKind::TooLong => "FieldValueTooLong",
            ErrorKind::TooShort => "FieldValueTooShort",
            ErrorKind::TooMany => "FieldValueTooMany",
            ErrorKind::TooFew => "FieldValueTooFew",
            ErrorKind::TypeInvalid => "FieldValueTypeInvalid",
            ErrorKind::Internal => "InternalError",
        }
    }

    fn words(self) -> &'static str {
        match self {
            ErrorKind::NotFound => "Not found",
            ErrorKind::Required => "Required value",
            ErrorKind::Duplicate => "Duplicate value",
            ErrorKind::Invalid | ErrorKind::TypeInvalid => "Invalid value",
            ErrorKind::NotSupported => "Unsupported value",
            ErrorKind::Forbidden => "Forbidden",
            ErrorKind::TooLong => "Too long",
            ErrorKind::TooShort => "Too short",
            ErrorKind::TooMany => "Too many",
            ErrorKind::TooFew => "Too few",
            ErrorKind::Internal => "Internal error",
        }
    }

    fn shows_value(self) -> bool {
        !matches!(
            self,
            ErrorKind::Required
                | ErrorKind::Forbidden
                | ErrorKind::TooLong
                | ErrorKind::TooShort
                | ErrorKind::Internal
        )
    }
}

/// One error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    /// Kind.
    pub kind: ErrorKind,
    /// Path (`spec.containers[0].name`).
    pub field: String,
    /// The bad value as the message shows it (strings quoted, structs as JSON); empty where the kind shows none.
    pub bad_value: String,
    /// What is wrong with it.
    pub detail: String,
}

/// What can stand in an error as the bad value: strings are quoted, numbers and booleans plain, anything else
/// is JSON.
pub trait BadValue {
    /// The text in the message.
    fn text(&self) -> String;
}

impl BadValue for str {
    fn text(&self) -> String {
        quote(self)
    }
}

impl BadValue for String {
    fn text(&self) -> String {
        quote(self)
    }
}

impl BadValue for i64 {
    fn text(&self) -> String {
        self.to_string()
    }
}

impl BadValue for i32 {
    fn text(&self) -> String {
        self.to_string()
    }
}

impl BadValue for bool {
    fn text(&self) -> String {
        self.to_string()
    }
}

impl BadValue for Value<'_> {
    fn text(&self) -> String {
        match self {
            Value::String(s) => quote(s),
            other => {
                let mut out = String::new();
                write_json(other, &mut out);
                out
            }
        }
    }
}

impl<T: BadValue + ?Sized> BadValue for &T {
    fn text(&self) -> String {
        (**self).text()
    }
}

/// Text that stands in the message as it is (JSON that the caller composed).
#[derive(Clone, Copy, Debug)]
pub struct Verbatim<'a>(pub &'a str);

impl BadValue for Verbatim<'_> {
    fn text(&self) -> String {
        self.0.to_owned()
    }
}

impl FieldError {
    fn with(kind: ErrorKind, field: impl Into<String>, bad_value: String, detail: impl Into<String>) -> Self {
        FieldError { kind, field: field.into(), bad_value, detail: detail.into() }
    }
    /// `Required value: detail`
    pub fn required(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::with(ErrorKind::Required, field, String::new(), detail)
    }
    /// `Invalid value: "abc": detail`
    pub fn invalid(field: impl Into<String>, value: impl BadValue, detail: impl Into<String>) -> Self {
        Self::with(ErrorKind::Invalid, field, value.text(), detail)
    }
    /// `Invalid value: "abc": detail` for a value of the wrong type.
    pub fn type_invalid(field: impl Into<String>, value: impl BadValue, detail: impl Into<String>) -> Self {
        Self::with(ErrorKind::TypeInvalid, field, value.text(), detail)
    }
    /// `Not found: "abc"`
    pub fn not_found(field: impl Into<String>, value: impl BadValue) -> Self {
        Self::with(ErrorKind::NotFound, field, value.text(), "")
    }
    /// `Duplicate value: "abc"`
    pub fn duplicate(field: impl Into<String>, value: impl BadValue) -> Self {
        Self::with(ErrorKind::Duplicate, field, value.text(), "")
    }
    /// `Forbidden: detail`
    pub fn forbidden(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::with(ErrorKind::Forbidden, field, String::new(), detail)
    }
    /// `Unsupported value: "x": supported values: "a", "b"`; values in the order given.
    pub fn not_supported<S: AsRef<str>>(
        field: impl Into<String>,
        value: impl BadValue,
        supported: &[S],
    ) -> Self {
        let mut detail = String::new();
        for (at, value) in supported.iter().enumerate() {
            detail.push_str(if at == 0 { "supported values: " } else { ", " });
            detail.push_str(&quote(value.as_ref()));
        }
        Self::with(ErrorKind::NotSupported, field, value.text(), detail)
    }
    /// `Too long: may not be more than 63 bytes`
    pub fn too_long(field: impl Into<String>, max_bytes: usize) -> Self {
        let unit = if max_bytes == 1 { "byte" } else { "bytes" };
        Self::with(
            ErrorKind::TooLong,
            field,
            String::new(),
            format!("may not be more than {max_bytes} {unit}"),
        )
    }
    /// `Too long: may not be more than 63 characters`
    pub fn too_long_characters(field: impl Into<String>, max: usize) -> Self {
        let unit = if max == 1 { "character" } else { "characters" };
        Self::with(ErrorKind::TooLong, field, String::new(), format!("may not be more than {max} {unit}"))
    }
    /// `Too many: 17: must have at most 16 items`
    pub fn too_many(field: impl Into<String>, actual: usize, max: usize) -> Self {
        let unit = if max == 1 { "item" } else { "items" };
        Self::with(ErrorKind::TooMany, field, actual.to_string(), format!("must have at most {max} {unit}"))
    }
    /// `Too few: 0: must have at least 1 item`
    pub fn too_few(field: impl Into<String>, actual: usize, min: usize) -> Self {
        let unit = if min == 1 { "item" } else { "items" };
        Self::with(ErrorKind::TooFew, field, actual.to_string(), format!("must have at least {min} {unit}"))
    }
    /// `Internal error: detail`
    pub fn internal(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::with(ErrorKind::Internal, field, String::new(), detail)
    }
    /// The message without the field: what a status cause carries.
    pub fn body(&self) -> String {
        let mut out = String::from(self.kind.words());
        if self.kind.shows_value() && !self.bad_value.is_empty() {
            out.push_str(": ");
            out.push_str(&self.bad_value);
        }
        if !self.detail.is_empty() {
            out.push_str(": ");
            out.push_str(&self.detail);
        }
        out
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.body())
    }
}

/// Several errors in one text: each once, in brackets where there are more than one.
pub fn aggregate(errors: &[FieldError]) -> String {
    let mut texts: Vec<String> = Vec::new();
    for error in errors {
        let text = error.to_string();
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    match &texts[..] {
        [one] => one.clone(),
        _ => format!("[{}]", texts.join(", ")),
    }
}

thread_local! {
    /// Whether [`child`], [`index`] and [`key`] make texts.
    static PATHS: Cell<bool> = const { Cell::new(true) };
}

/// What `check` finds, with the paths it names.
///
/// Most objects are in order, and then nobody reads a path. So the first look is one without them, where every path is
/// empty; what it finds something in is looked at again. `check` must find the same twice, and not go by paths.
pub fn found<T>(check: impl Fn() -> Vec<T>) -> Vec<T> {
    /// Paths are made again, also after a panic.
    struct Restored;
    impl Drop for Restored {
        fn drop(&mut self) {
            PATHS.set(true);
        }
    }
    {
        let _restored = Restored;
        PATHS.set(false);
        if check().is_empty() {
            return Vec::new();
        }
    }
    check()
}

/// `a` and `b` as `a.b`; an empty parent leaves `b`.
#[inline]
pub fn child(parent: &str, name: &str) -> String {
    match PATHS.get() {
        false => String::new(),
        true if parent.is_empty() => name.to_owned(),
        true => joined([parent, ".", name]),
    }
}

/// As `concat`, which takes its time with so short texts.
fn joined<const N: usize>(parts: [&str; N]) -> String {
    let mut out = String::with_capacity(parts.iter().map(|part| part.len()).sum());
    parts.iter().for_each(|part| out.push_str(part));
    out
}

/// `parent[3]`
#[inline]
pub fn index(parent: &str, at: usize) -> String {
    if PATHS.get() { numbered(parent, at) } else { String::new() }
}

fn numbered(parent: &str, at: usize) -> String {
    joined([parent, "[", itoa::Buffer::new().format(at), "]"])
}

/// `parent[key]`
#[inline]
pub fn key(parent: &str, key: &str) -> String {
    if PATHS.get() { joined([parent, "[", key, "]"]) } else { String::new() }
}

/// A string in double quotes as Go's `%q` writes it: printable characters stay, others are escaped.
pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            ' '..='~' => out.push(c),
            c if (c as u32) < 0x20 || c == '\u{7f}' => out.push_str(&format!("\\x{:02x}", c as u32)),
            c if is_print(c) => out.push(c),
            c if (c as u32) < 0x10000 => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push_str(&format!("\\U{:08x}", c as u32)),
        }
    }
    out.push('"');
    out
}

/// Go's `unicode.IsPrint`. The standard library's own table of printable characters is reached through
/// `escape_debug`, which escapes combining marks only at the start of a string: hence the letter in front.
pub fn is_print(c: char) -> bool {
    if c.is_ascii() {
        return (' '..='~').contains(&c);
    }
    let mut buffer = [b'a'; 5];
    let len = 1 + c.encode_utf8(&mut buffer[1..]).len();
    match std::str::from_utf8(&buffer[..len]) {
        Ok(text) => text.escape_debug().nth(1) == Some(c),
        Err(_) => false,
    }
}

/// Compact JSON as Go's encoder writes it (`<`, `>`, `&`, U+2028 and U+2029 escaped), members in tree order.
pub fn write_json(value: &Value<'_>, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
        Value::Int(n) => out.push_str(itoa::Buffer::new().format(*n)),
        Value::Float(f) => write_float(*f, out),
        Value::String(s) => write_json_string(s, out),
        Value::Raw(text) => {
            let mut compact = Vec::with_capacity(text.len());
            write_compact(&mut compact, text);
            out.push_str(&String::from_utf8_lossy(&compact));
        }
        Value::List(list) => {
            out.push('[');
            for (at, item) in list.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write_json(item, out);
            }
            out.push(']');
        }
        Value::Map(map) => {
            out.push('{');
            for (at, (key, item)) in map.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write_json_string(key, out);
                out.push(':');
                write_json(item, out);
            }
            out.push('}');
        }
    }
}

/// Go prints floats in the shortest form, in exponent notation below 1e-6 and from 1e21 on.
fn write_float(f: f64, out: &mut String) {
    let size = f.abs();
    if size != 0.0 && !(1e-6..1e21).contains(&size) {
        let text = format!("{f:e}");
        match text.split_once('e') {
            Some((mantissa, exponent)) if !exponent.starts_with('-') => {
                out.push_str(mantissa);
                out.push_str("e+");
                out.push_str(exponent);
            }
            _ => out.push_str(&text),
        }
    } else {
        out.push_str(&format!("{f}"));
    }
}

/// A JSON string in Go's escaping.
pub fn write_json_string(text: &str, out: &mut String) {
    out.push('"');
    let mut from = 0;
    for (at, c) in text.char_indices() {
        let escape: Option<&str> = match c {
            '"' => Some("\\\""),
            '\\' => Some("\\\\"),
            '\n' => Some("\\n"),
            '\r' => Some("\\r"),
            '\t' => Some("\\t"),
            '\u{8}' => Some("\\b"),
            '\u{c}' => Some("\\f"),
            '<' => Some("\\u003c"),
            '>' => Some("\\u003e"),
            '&' => Some("\\u0026"),
            '\u{2028}' => Some("\\u2028"),
            '\u{2029}' => Some("\\u2029"),
            c if (c as u32) < 0x20 => {
                out.push_str(&text[from..at]);
                out.push_str(&format!("\\u{:04x}", c as u32));
                from = at + 1;
                None
            }
            _ => None,
        };
        if let Some(escape) = escape {
            out.push_str(&text[from..at]);
            out.push_str(escape);
            from = at + c.len_utf8();
        }
    }
    out.push_str(&text[from..]);
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(error: FieldError, expect: &str) {
        assert_eq!(error.to_string(), expect);
    }

    #[test]
    fn messages() {
        check(FieldError::invalid("spec.x", "abc", "detail"), "spec.x: Invalid value: \"abc\": detail");
        check(FieldError::invalid("spec.x", -1i64, "too small"), "spec.x: Invalid value: -1: too small");
        check(FieldError::required("spec.x", ""), "spec.x: Required value");
        check(
            FieldError::not_supported("a", "x", &["a", "b"]),
            "a: Unsupported value: \"x\": supported values: \"a\", \"b\"",
        );
        check(FieldError::duplicate("a[1]", "x"), "a[1]: Duplicate value: \"x\"");
        check(FieldError::forbidden("a", "no"), "a: Forbidden: no");
        check(FieldError::too_long("a", 63), "a: Too long: may not be more than 63 bytes");
        check(FieldError::too_many("a", 2, 1), "a: Too many: 2: must have at most 1 item");
    }

    #[test]
    fn paths_are_made_for_what_was_found() {
        let looks = Cell::new(0);
        let look = |bad: bool| {
            looks.set(0);
            found(|| {
                looks.set(looks.get() + 1);
                let path = key(&index(&child("spec", "a"), 3), "k");
                if bad { vec![FieldError::required(path, "")] } else { Vec::new() }
            })
        };
        assert_eq!((look(false).len(), looks.get()), (0, 1));
        assert_eq!((look(true)[0].field.as_str(), looks.get()), ("spec.a[3][k]", 2));
        assert_eq!(child("", "a"), "a");
    }

    #[test]
    fn quoting_is_gos() {
        assert_eq!(
            quote("a\"b\\\n\u{1}é\u{301}\u{feff}\u{e0001}"),
            "\"a\\\"b\\\\\\n\\x01é\u{301}\\ufeff\\U000e0001\""
        );
    }
}
