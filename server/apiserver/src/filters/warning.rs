//! `Warning: 299` headers.

use std::collections::HashSet;

use super::{Filter, Handler};
use crate::{request::Request, response::Outcome};

/// Warnings in full up to this many characters in all; beyond, each is cut to [`ITEM_MAX`].
const TOTAL_MAX: usize = 4 * 1024;
/// Characters left of a warning once there are too many of them.
const ITEM_MAX: usize = 256;

/// Collects warnings. They go out with the answer, see [`headers`].
pub struct WarningRecorder;

impl Filter for WarningRecorder {
    #[inline]
    fn filter<N: Handler>(&self, request: &Request<'_>, next: &N) -> Outcome {
        // What an outer filter may have said is not this request's matter.
        debug_assert!(std::ptr::eq(request.warnings, &request.state.warnings));
        next.serve(request)
    }
}

/// The values of the `Warning` headers for `texts`: each text once, cut where they become too many.
pub fn headers(texts: &[String]) -> Vec<String> {
    let mut kept: Vec<&str> = Vec::new();
    let mut seen = HashSet::new();
    // Characters of `kept` once each is cut: what comes when there are enough is not sent.
    let mut enough = 0;
    for text in texts {
        // Control characters have no place in a header; such a warning is not sent.
        if !text.is_empty() && !text.contains(char::is_control) && seen.insert(text.as_str()) {
            kept.push(text);
            enough += text.chars().take(ITEM_MAX).count();
            if enough > TOTAL_MAX {
                break;
            }
        }
    }
    let total: usize = kept.iter().map(|text| text.chars().count()).sum();
    if total <= TOTAL_MAX {
        return kept.into_iter().map(header).collect();
    }
    let mut written = 0;
    let mut headers = Vec::new();
    for text in kept {
        if written >= TOTAL_MAX {
            break;
        }
        let cut: String = text.chars().take(ITEM_MAX).collect();
        written += cut.chars().count();
        headers.push(header(&cut));
    }
    headers
}

/// `299 - "text"`, with quotes and backslashes escaped.
fn header(text: &str) -> String {
    let mut value = String::with_capacity(text.len() + 8);
    value.push_str("299 - \"");
    for character in text.chars() {
        if matches!(character, '"' | '\\') {
            value.push('\\');
        }
        value.push(character);
    }
    value.push('"');
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_and_deduplicates() {
        let check = |texts: &[&str], expect: &[&str]| {
            let texts: Vec<String> = texts.iter().map(|t| (*t).to_owned()).collect();
            assert_eq!(headers(&texts), expect);
        };
        check(&[], &[]);
        check(&["a", "", "b", "a"], &[r#"299 - "a""#, r#"299 - "b""#]);
        check(&["unknown field \"spec.x\""], &[r#"299 - "unknown field \"spec.x\"""#]);
        check(&["back\\slash"], &[r#"299 - "back\\slash""#]);
        check(&["two\nlines"], &[]);
    }

    #[test]
    fn cuts_when_there_is_too_much() {
        let texts: Vec<String> = (0..100).map(|i| format!("{i:03}{}", "x".repeat(500))).collect();
        let headers = headers(&texts);
        assert_eq!(headers.len(), TOTAL_MAX / ITEM_MAX);
        assert!(headers.iter().all(|h| h.len() == ITEM_MAX + r#"299 - """#.len()));
        // However many there are, what is not sent is not looked at twice.
        let many: Vec<String> = (0..300_000).map(|i| format!("{i}")).collect();
        assert_eq!(
            super::headers(&many).len(),
            (0..)
                .scan(0, |sum, i: u32| {
                    let before = *sum;
                    *sum += i.to_string().len();
                    (before < TOTAL_MAX).then_some(())
                })
                .count()
        );
        let fits: Vec<String> = texts.into_iter().take(8).collect();
        assert!(super::headers(&fits).iter().all(|h| h.len() > 500));
    }
}
