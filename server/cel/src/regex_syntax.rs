//! Regular expressions of Go.

pub(crate) use ringbolt_machinery::go_regexp::Regexp as Regex;

/// A pattern, compiled; the error is Go's.
pub(crate) fn compile(pattern: &str) -> Result<Regex, String> {
    Regex::compile(pattern).map_err(|error| error.to_string())
}

/// Where a pattern is found one after the other, as Go's `FindAll` has it.
pub(crate) fn find_all(regex: &Regex, text: &str, max: usize) -> Vec<(usize, usize)> {
    let mut out = Vec::new();
    let (mut from, mut before) = (0, None);
    while out.len() < max && from <= text.len() {
        let Some((start, end)) = regex.find(text, from) else { break };
        // Nothing right behind what was found is not found again.
        if start == end && before == Some(end) {
            from = end + text[end..].chars().next().map_or(1, char::len_utf8);
            continue;
        }
        out.push((start, end));
        before = Some(end);
        from = if end > start { end } else { end + text[end..].chars().next().map_or(1, char::len_utf8) };
    }
    out
}
