//! Field selectors: `metadata.name=a,spec.nodeName!=b`.

use std::fmt;

use crate::selector::validation::is_path_segment_name;

/// One term.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldRequirement {
    /// Field (`metadata.name`).
    pub field: String,
    /// Value, unescaped.
    pub value: String,
    /// `=` or `==`, else `!=`.
    pub equals: bool,
}

/// Terms that must all hold, in the order of their text. The default selects everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSelector {
    /// The terms.
    pub requirements: Vec<FieldRequirement>,
}

/// Why a field selector does not parse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldSelectorError {
    /// A term without an operator.
    NotATerm {
        /// All of it.
        selector: String,
        /// The term.
        term: String,
    },
    /// A backslash before something that needs none.
    BadEscape(String),
    /// `,` or `=` in a value without a backslash.
    Unescaped(char),
}

impl fmt::Display for FieldSelectorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FieldSelectorError::NotATerm { selector, term } => {
                write!(f, "invalid selector: '{selector}'; can't understand '{term}'")
            }
            FieldSelectorError::BadEscape(sequence) => {
                write!(f, "invalid field selector: invalid escape sequence: {sequence}")
            }
            // The real server prints the number of the character.
            FieldSelectorError::Unescaped(c) => {
                write!(f, "invalid field selector: unescaped character in value: {}", *c as u32)
            }
        }
    }
}

impl std::error::Error for FieldSelectorError {}

impl FieldSelector {
    /// Parses a selector; the empty text selects everything.
    pub fn parse(text: &str) -> Result<FieldSelector, FieldSelectorError> {
        let mut terms: Vec<&str> = Terms(Some(text)).filter(|t| !t.is_empty()).collect();
        terms.sort_unstable();
        let mut requirements = Vec::with_capacity(terms.len());
        for term in terms {
            let Some((field, equals, value)) = split_term(term) else {
                return Err(FieldSelectorError::NotATerm {
                    selector: text.to_owned(),
                    term: term.to_owned(),
                });
            };
            let value = unescape(value)?;
            // A term of two empty texts says nothing.
            if !field.is_empty() || !value.is_empty() {
                requirements.push(FieldRequirement { field: field.to_owned(), value, equals });
            }
        }
        Ok(FieldSelector { requirements })
    }

    /// Whether it selects everything.
    pub fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// Whether an object with these fields is selected; a field it lacks counts as empty.
    pub fn matches<'o>(&self, mut get: impl FnMut(&str) -> Option<&'o str>) -> bool {
        self.requirements.iter().all(|r| (get(&r.field).unwrap_or("") == r.value) == r.equals)
    }

    /// The value the field must have, where a term says so.
    pub fn requires_exact(&self, field: &str) -> Option<&str> {
        self.requirements.iter().find(|r| r.equals && r.field == field).map(|r| r.value.as_str())
    }

    /// Adds a term.
    pub fn require(&mut self, field: &str, value: &str) {
        self.requirements.push(FieldRequirement {
            field: field.to_owned(),
            value: value.to_owned(),
            equals: true,
        });
    }
}

impl fmt::Display for FieldSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, r) in self.requirements.iter().enumerate() {
            let comma = if at > 0 { "," } else { "" };
            write!(f, "{comma}{}{}", r.field, if r.equals { "=" } else { "!=" })?;
            for c in r.value.chars() {
                if matches!(c, '\\' | ',' | '=') {
                    f.write_str("\\")?;
                }
                write!(f, "{c}")?;
            }
        }
        Ok(())
    }
}

/// The name a selector's `metadata.name=` term asks for, without allocation. `None` also for selectors that do not
/// parse, for names with backslashes and for names that cannot be a path segment.
pub(super) fn exact_name(text: &str) -> Option<&str> {
    let mut found: Option<(&str, &str)> = None;
    for term in Terms(Some(text)).filter(|t| !t.is_empty()) {
        let (field, equals, value) = split_term(term)?;
        if !value_is_well_formed(value) {
            return None;
        }
        // Terms count in the order of their text.
        if equals && field == "metadata.name" && found.is_none_or(|(first, _)| term < first) {
            found = Some((term, value));
        }
    }
    let (_, name) = found?;
    (!name.contains('\\') && is_path_segment_name(name)).then_some(name)
}

/// The terms between commas that no backslash precedes.
struct Terms<'t>(Option<&'t str>);

impl<'t> Iterator for Terms<'t> {
    type Item = &'t str;

    fn next(&mut self) -> Option<&'t str> {
        let text = self.0?;
        let mut escaped = false;
        for (at, byte) in text.bytes().enumerate() {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b',' => {
                    self.0 = Some(&text[at + 1..]);
                    return Some(&text[..at]);
                }
                _ => {}
            }
        }
        self.0 = None;
        Some(text)
    }
}

/// Field, whether the operator is equality, and the value as written. The first operator splits.
fn split_term(term: &str) -> Option<(&str, bool, &str)> {
    let bytes = term.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        match (byte, bytes.get(at + 1)) {
            (b'!', Some(b'=')) => return Some((&term[..at], false, &term[at + 2..])),
            (b'=', Some(b'=')) => return Some((&term[..at], true, &term[at + 2..])),
            (b'=', _) => return Some((&term[..at], true, &term[at + 1..])),
            _ => {}
        }
    }
    None
}

fn value_is_well_formed(value: &str) -> bool {
    if !value.contains(['\\', ',', '=']) {
        return true;
    }
    unescape(value).is_ok()
}

fn unescape(value: &str) -> Result<String, FieldSelectorError> {
    let mut out = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(c @ ('\\' | ',' | '=')) => out.push(c),
                Some(c) => return Err(FieldSelectorError::BadEscape(format!("\\{c}"))),
                None => return Err(FieldSelectorError::BadEscape("\\".to_owned())),
            },
            ',' | '=' => return Err(FieldSelectorError::Unescaped(c)),
            c => out.push(c),
        }
    }
    Ok(out)
}
