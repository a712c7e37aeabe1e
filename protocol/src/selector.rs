//! Label and field selectors, with the answers and error messages of apimachinery's `labels` and `fields`.

mod field;
mod label;
mod lexer;
pub mod validation;

pub use field::{FieldRequirement, FieldSelector, FieldSelectorError};
pub use label::{LabelSelector, LabelSelectorError, Operator, Requirement};

use crate::{path::decode_into, query};

/// The object name that a `metadata.name=` term of a query's field selector asks for, when it is a valid path
/// segment. Without `scratch`, a name that is written with escapes is not found (it cannot be borrowed).
pub(crate) fn name_of_field_selector<'r>(
    query: &'r str,
    scratch: Option<&'r mut Vec<u8>>,
) -> Option<&'r str> {
    // A selector longer than this does not come from a client that wants one object; with scratch it is read all
    // the same.
    const STACK_MAX: usize = 1024;
    let raw = query::get_raw(query, "fieldSelector")?;
    if memchr::memchr2(b'%', b'+', raw.as_bytes()).is_none() {
        return field::exact_name(raw);
    }
    if let Some(scratch) = scratch {
        scratch.clear();
        decode_into(raw, true, scratch).ok()?;
        return field::exact_name(std::str::from_utf8(scratch).ok()?);
    }
    let mut buffer = [0u8; STACK_MAX];
    let decoded = decode_to(raw, &mut buffer)?;
    let name = field::exact_name(decoded)?;
    // The same text stands in the query where it needed no escapes.
    query.find(name).map(|at| &query[at..at + name.len()])
}

/// Decodes a query value into `buffer`; `None` where it does not fit or does not decode.
fn decode_to<'b>(raw: &str, buffer: &'b mut [u8]) -> Option<&'b str> {
    let bytes = raw.as_bytes();
    let (mut at, mut len) = (0, 0);
    while at < bytes.len() {
        let byte = match bytes[at] {
            b'%' => {
                let digit = |i: usize| bytes.get(i).and_then(|b| (*b as char).to_digit(16));
                let byte = digit(at + 1)? * 16 + digit(at + 2)?;
                at += 2;
                byte as u8
            }
            b'+' => b' ',
            other => other,
        };
        *buffer.get_mut(len)? = byte;
        at += 1;
        len += 1;
    }
    std::str::from_utf8(&buffer[..len]).ok()
}

/// Go's `%q`, for messages.
fn quote(text: &str) -> String {
    query::quote(text)
}

#[cfg(test)]
#[path = "selector_tests.rs"]
mod tests;
