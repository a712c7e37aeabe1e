//! Query strings: pairs without allocation, and the options of the API verbs.

use std::borrow::Cow;

use crate::path::decode_into;

mod options;
mod validation;

pub use options::{
    CreateOptions, DeleteOptions, GetOptions, IncludeObject, ListOptions, OptionsError, PatchOptions,
    TableOptions, UpdateOptions, is_pretty,
};
pub(crate) use validation::quote;
pub use validation::{OptionProblem, ProblemKind};

/// The pairs of a query string in order. As in Go, a pair with a semicolon or a broken escape is left out.
#[derive(Clone, Debug)]
pub struct Pairs<'q> {
    rest: &'q str,
}

/// Iterates over the decoded pairs of `query`.
pub fn pairs(query: &str) -> Pairs<'_> {
    Pairs { rest: query }
}

impl<'q> Iterator for Pairs<'q> {
    type Item = (Cow<'q, str>, Cow<'q, str>);

    fn next(&mut self) -> Option<Self::Item> {
        while !self.rest.is_empty() {
            let (pair, rest) = self.rest.split_once('&').unwrap_or((self.rest, ""));
            self.rest = rest;
            if pair.is_empty() || pair.contains(';') {
                continue;
            }
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            if let (Some(key), Some(value)) = (decode(key), decode(value)) {
                return Some((key, value));
            }
        }
        None
    }
}

/// The first value of `key`.
pub fn get<'q>(query: &'q str, key: &str) -> Option<Cow<'q, str>> {
    get_raw(query, key).and_then(decode)
}

/// Whether a GET of a collection is a watch: `watch` is there and neither `0` nor `false`.
pub fn is_watch(query: &str) -> bool {
    // A key may be written with escapes: authorization must see the same verb as the handler.
    (query.contains("watch") || query.contains('%')) && get(query, "watch").is_some_and(|v| boolean(&v))
}

/// Go's reading of a boolean parameter: everything but `0` and `false` is true, the empty text included.
fn boolean(value: &str) -> bool {
    value != "0" && !value.eq_ignore_ascii_case("false")
}

/// Decodes `%XX` and `+`; `None` for a broken escape.
fn decode(text: &str) -> Option<Cow<'_, str>> {
    if memchr::memchr2(b'%', b'+', text.as_bytes()).is_none() {
        return Some(Cow::Borrowed(text));
    }
    let mut out = Vec::with_capacity(text.len());
    decode_into(text, true, &mut out).ok()?;
    Some(Cow::Owned(match String::from_utf8(out) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    }))
}

/// The undecoded value of the first pair of this key that decodes.
pub(crate) fn get_raw<'q>(query: &'q str, key: &str) -> Option<&'q str> {
    let decodes = |text: &str| {
        text.as_bytes()
            .split(|b| *b == b'%')
            .skip(1)
            .all(|rest| rest.len() >= 2 && rest[0].is_ascii_hexdigit() && rest[1].is_ascii_hexdigit())
    };
    query.split('&').filter(|pair| !pair.contains(';')).find_map(|pair| {
        let (k, v) = pair.split_once('=').unwrap_or((pair, ""));
        let same = k == key || k.contains('%') && decode(k).is_some_and(|k| k == key);
        (same && decodes(v)).then_some(v)
    })
}

/// Whether the numbers and the label selector of list options parse; the field selector is the caller's matter.
pub(crate) fn list_options_parse(query: &str) -> bool {
    let value = |key| get(query, key);
    let number = |key| value(key).is_none_or(|v| v.parse::<i64>().is_ok());
    number("timeoutSeconds")
        && number("limit")
        && value("labelSelector")
            .is_none_or(|v| v.is_empty() || crate::selector::LabelSelector::parse(&v).is_ok())
}

#[cfg(test)]
#[path = "../query_tests.rs"]
mod tests;
