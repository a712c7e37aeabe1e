//! What YAML 1.1 as Kubernetes' library reads it refuses, and the parser, which reads YAML 1.2, takes.

use granit_parser::{Event, ScalarStyle, Span, StructureStyle};

use super::YamlError;

/// Looks at the events of one document as they come.
pub(super) struct Older<'t> {
    text: &'t str,
    /// What indentation means nothing in: scalars and flow collections, in order, none within another.
    within: Vec<Within>,
    /// Collections that are open: where a flow collection starts, and whether a mapping's key is to come.
    open: Vec<Open>,
}

/// A stretch of the text.
struct Within {
    start: usize,
    end: usize,
    /// How a scalar is written; flow collections end as quoted ones do.
    style: ScalarStyle,
}

struct Open {
    flow: Option<usize>,
    /// `None` for lists.
    key: Option<bool>,
}

/// An error of the library's scanner, which counts lines from one, but does not name the first.
fn scanner(line: usize, problem: &str) -> YamlError {
    at(if line == 0 { 0 } else { line + 1 }, problem)
}

/// An error of its parser, which counts them from nought.
fn parser(line: usize, problem: &str) -> YamlError {
    at(line, problem)
}

fn at(line: usize, problem: &str) -> YamlError {
    let position = if line == 0 { String::new() } else { format!("line {line}: ") };
    YamlError(format!("yaml: {position}{problem}"))
}

const NO_TOKEN: &str = "found character that cannot start any token";

impl<'t> Older<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Older { text, within: Vec::new(), open: Vec::new() }
    }

    /// There are two directives, others are not passed over; and what has not begun cannot end.
    pub(super) fn prefix(&self) -> Result<(), YamlError> {
        for (number, line) in self.text.lines().enumerate() {
            let unknown = line.strip_prefix('%').is_some_and(|rest| {
                let name = rest.split_whitespace().next().filter(|_| !rest.starts_with([' ', '\t']));
                name.is_some_and(|name| !matches!(name, "YAML" | "TAG"))
            });
            if unknown {
                return Err(scanner(number, "found unknown directive name"));
            }
            if line
                .strip_prefix("...")
                .is_some_and(|rest| rest.trim_start().len() < rest.len() || rest.is_empty())
            {
                return Err(parser(number, "did not find expected node content"));
            }
            if !line.starts_with(['%', '#']) && !line.trim().is_empty() {
                break;
            }
        }
        Ok(())
    }

    /// Takes an event in, or says why it would not have come.
    pub(super) fn event(&mut self, event: &Event<'_>, span: &Span) -> Result<(), YamlError> {
        let (start, end) =
            (span.start.byte_offset().unwrap_or_default(), span.end.byte_offset().unwrap_or_default());
        match event {
            Event::Scalar(_, style, ..) => {
                if self.takes_place() && *style == ScalarStyle::Plain && start == end {
                    self.empty_key(start)?;
                }
                if *style == ScalarStyle::DoubleQuoted {
                    self.escapes(start, end)?;
                }
                self.cover(Within { start, end, style: *style });
            }
            Event::Alias(_) => {
                self.takes_place();
            }
            Event::SequenceStart(style, ..) | Event::MappingStart(style, ..) => {
                self.takes_place();
                let is_mapping = matches!(event, Event::MappingStart(..));
                // A pair within a flow sequence is a mapping without braces: it begins where its key does.
                let flow = (*style == StructureStyle::Flow).then_some(start);
                self.open.push(Open { flow, key: is_mapping.then_some(true) });
            }
            Event::SequenceEnd | Event::MappingEnd => {
                if let Some(Open { flow: Some(start), .. }) = self.open.pop() {
                    self.cover(Within { start, end, style: ScalarStyle::DoubleQuoted });
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// A node stands where a key, a value or an item is due; answers whether that was a key.
    fn takes_place(&mut self) -> bool {
        let Some(Open { key: Some(key), .. }) = self.open.last_mut() else { return false };
        std::mem::replace(key, !*key)
    }

    /// Notes a place that indentation means nothing in.
    fn cover(&mut self, outer: Within) {
        while self.within.last().is_some_and(|inner| inner.start >= outer.start) {
            self.within.pop();
        }
        self.within.push(outer);
    }

    fn line(&self, at: usize) -> usize {
        self.text.as_bytes()[..at.min(self.text.len())].iter().filter(|byte| **byte == b'\n').count()
    }

    /// A key that is nothing must be said to be one, by a question mark.
    fn empty_key(&self, start: usize) -> Result<(), YamlError> {
        let (before, after) = self.text.split_at(start.min(self.text.len()));
        if !after.trim_start().starts_with(':') || before.trim_end().ends_with('?') {
            return Ok(());
        }
        let line = self.line(self.text.len() - after.trim_start().len());
        Err(match self.open.last() {
            Some(Open { flow: Some(_), .. }) => parser(line, "did not find expected node content"),
            _ => parser(line, "did not find expected key"),
        })
    }

    /// Escapes that JSON has and YAML 1.1 has not.
    fn escapes(&self, start: usize, end: usize) -> Result<(), YamlError> {
        let source = self.text.get(start..end).unwrap_or_default();
        let mut rest = source;
        while let Some(found) = rest.find('\\') {
            rest = &rest[found + 1..];
            // Counted for who is told alone: there may be thousands of them.
            let line = || self.line(end - rest.len());
            match rest.as_bytes().first() {
                Some(b'/') => return Err(scanner(line(), "found unknown escape character")),
                Some(b'u') => {
                    let code = rest.get(1..5).and_then(|digits| u32::from_str_radix(digits, 16).ok());
                    if code.is_some_and(|code| (0xD800..0xE000).contains(&code)) {
                        return Err(scanner(line(), "found invalid Unicode character escape code"));
                    }
                }
                _ => {}
            }
            let width = rest.chars().next().map_or(0, char::len_utf8);
            rest = &rest[width..];
        }
        Ok(())
    }

    /// What there is to say once the document has ended, at `end`: where a key may begin, a tab is no space.
    pub(super) fn finish(&self, end: usize) -> Result<(), YamlError> {
        let mut at = 0;
        let mut next = 0;
        for (number, line) in self.text.split_inclusive('\n').enumerate() {
            let start = at;
            at += line.len();
            if start >= end {
                break;
            }
            while self.within.get(next).is_some_and(|within| within.end <= start) {
                next += 1;
            }
            if self.within.get(next).is_some_and(|within| within.start < start) {
                continue;
            }
            let mut content = line.trim_start_matches(' ');
            let column = line.len() - content.len();
            if content.starts_with('\t') {
                let before = next.checked_sub(1).and_then(|last| self.within.get(last));
                if let Some(problem) = self.tab(before, start, column) {
                    return Err(scanner(number, problem));
                }
            }
            while content.starts_with("- ") || content.starts_with("-\t") {
                content = content[1..].trim_start_matches(' ');
                if content.starts_with('\t') {
                    return Err(scanner(number, NO_TOKEN));
                }
            }
        }
        Ok(())
    }

    /// What is wrong with a tab at a column of the line that starts at `line`, after `before`.
    fn tab(&self, before: Option<&Within>, line: usize, column: usize) -> Option<&'static str> {
        let directly = |before: &&Within| self.text[before.end..line].trim().is_empty();
        match before.filter(directly) {
            Some(Within { style: ScalarStyle::Literal | ScalarStyle::Folded, .. }) => {
                Some("found a tab character where an indentation space is expected")
            }
            // It may go on, on lines that are indented further.
            Some(Within { style: ScalarStyle::Plain, start, .. }) => {
                let line = self.text[..*start].rfind('\n').map_or(0, |end| end + 1);
                let indent = self.text[line..].bytes().take_while(|byte| *byte == b' ').count();
                (column <= indent).then_some("found a tab character that violates indentation")
            }
            _ => Some(NO_TOKEN),
        }
    }
}
