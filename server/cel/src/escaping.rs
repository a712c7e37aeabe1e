//! Names of fields as identifiers of expressions.

/// Words that are no identifiers; fields of these names get underscores around.
const RESERVED: &[&str] = &[
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// Whether a name is a word of the language, so that nothing can be called by it.
pub fn is_reserved(name: &str) -> bool {
    RESERVED.contains(&name)
}

/// The identifier that a field is reached by; `None` where there is none.
pub(crate) fn escape(name: &str) -> Option<String> {
    if name.is_empty() || name.as_bytes()[0].is_ascii_digit() {
        return None;
    }
    if is_reserved(name) {
        return Some(format!("__{name}__"));
    }
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(c) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("__") {
            out.push_str("__underscores__");
            rest = after;
            continue;
        }
        match c {
            '.' => out.push_str("__dot__"),
            '-' => out.push_str("__dash__"),
            '/' => out.push_str("__slash__"),
            'a'..='z' | 'A'..='Z' | '0'..='9' | '_' => out.push(c),
            _ => return None,
        }
        rest = &rest[c.len_utf8()..];
    }
    Some(out)
}

/// Whether an identifier may differ from the field that it reaches.
pub(crate) fn may_be_escaped(identifier: &str) -> bool {
    identifier.contains("__")
}

/// The field that an identifier reaches; `None` where it is no escape of any.
pub(crate) fn unescape(identifier: &str) -> Option<String> {
    if let Some(word) = identifier.strip_prefix("__").and_then(|rest| rest.strip_suffix("__"))
        && is_reserved(word)
    {
        return Some(word.to_owned());
    }
    let mut out = String::with_capacity(identifier.len());
    let mut rest = identifier;
    while let Some(at) = rest.find("__") {
        out.push_str(&rest[..at]);
        let name_end = rest[at + 2..].find("__")? + at + 2;
        out.push_str(match &rest[at + 2..name_end] {
            "underscores" => "__",
            "dot" => ".",
            "dash" => "-",
            "slash" => "/",
            _ => return None,
        });
        rest = &rest[name_end + 2..];
    }
    out.push_str(rest);
    Some(out)
}
