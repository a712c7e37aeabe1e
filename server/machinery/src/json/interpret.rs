//! The `kind` and `apiVersion` of a JSON object, before its type is known.

use super::{
    path::{Path, Step},
    reader::{Malformed, Read, Reader, replace_invalid},
};

/// `kind` and `apiVersion` as they stand in the text; empty where they are missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TypeMeta {
    /// `apiVersion`.
    pub api_version: String,
    /// `kind`.
    pub kind: String,
}

impl TypeMeta {
    /// Group and version; the group is empty for core.
    pub fn group_version(&self) -> (&str, &str) {
        self.api_version.split_once('/').unwrap_or(("", &self.api_version))
    }
}

/// Why a text has no `kind` and `apiVersion`; `Display` is the text clients see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterpretError(pub String);

impl std::fmt::Display for InterpretError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for InterpretError {}

/// Reads them. Go's own `encoding/json` does it in the API server, which takes keys of any case.
pub fn interpret(bytes: &[u8]) -> Result<TypeMeta, InterpretError> {
    let text = replace_invalid(bytes);
    let mut saved = None;
    let meta = read(&text, &mut saved).map_err(|Malformed| super::malformed(bytes).message().to_owned());
    let meta = meta.and_then(|meta| saved.map_or(Ok(meta), Err));
    let meta =
        meta.map_err(|m| InterpretError(format!("couldn't get version/kind; json parse error: {m}")))?;
    if meta.api_version.matches('/').count() > 1 {
        return Err(InterpretError(format!("unexpected GroupVersion string: {}", meta.api_version)));
    }
    Ok(meta)
}

fn read(text: &str, saved: &mut Option<String>) -> Read<TypeMeta> {
    let scratch = bumpalo::Bump::new();
    let mut reader = Reader::new(text);
    let mut meta = TypeMeta::default();
    match reader.peek()? {
        b'{' => {}
        byte => {
            reader.skip()?;
            reader.end()?;
            if byte != b'n' {
                *saved = Some(Path::ROOT.mismatch(kind_of(byte), GO_TYPE));
            }
            return Ok(meta);
        }
    }
    reader.open_object()?;
    let mut first = true;
    while let Some(key) = reader.key(&scratch, first)? {
        first = false;
        let (slot, name) = match key {
            _ if folds_to(key, "apiversion") => (&mut meta.api_version, "apiVersion"),
            _ if folds_to(key, "kind") => (&mut meta.kind, "kind"),
            _ => {
                reader.skip()?;
                continue;
            }
        };
        match reader.peek()? {
            b'"' => *slot = reader.string(&scratch)?.to_owned(),
            byte => {
                reader.skip()?;
                if byte != b'n' {
                    let path = Path::ROOT;
                    let here = path.then(Step::Plain(name));
                    saved.get_or_insert(here.mismatch(kind_of(byte), "string"));
                }
            }
        }
    }
    reader.end()?;
    Ok(meta)
}

/// The Go type that the API server decodes into here, as its errors print it.
const GO_TYPE: &str = "struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }";

fn kind_of(byte: u8) -> &'static str {
    match byte {
        b'{' => "object",
        b'[' => "array",
        b'"' => "string",
        b't' | b'f' => "bool",
        _ => "number",
    }
}

/// Go folds ASCII case, and the two other characters that fold to ASCII letters.
fn folds_to(key: &str, lower: &str) -> bool {
    let fold = |c: char| match c {
        '\u{17f}' => 's',
        '\u{212a}' => 'k',
        c => c.to_ascii_lowercase(),
    };
    key.chars().map(fold).eq(lower.chars())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts() {
        let meta = interpret(br#"{"kind":"Pod","x":{"kind":1},"APIVersion":"apps/v1"}"#).unwrap();
        assert_eq!((meta.kind.as_str(), meta.group_version()), ("Pod", ("apps", "v1")));
        let error = |text: &str| interpret(text.as_bytes()).unwrap_err().0;
        let prefix = "couldn't get version/kind; json parse error: ";
        assert_eq!(error("{"), format!("{prefix}unexpected end of JSON input"));
        assert_eq!(
            error(r#"{"kind":1}"#),
            format!("{prefix}json: cannot unmarshal number into Go struct field .kind of type string")
        );
        assert_eq!(error(r#"{"apiVersion":"a/b/c"}"#), "unexpected GroupVersion string: a/b/c");
        assert_eq!(
            error("[]"),
            format!("{prefix}json: cannot unmarshal array into Go value of type {GO_TYPE}")
        );
    }
}
