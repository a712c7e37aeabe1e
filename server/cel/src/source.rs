//! The text of an expression, where things stand in it, and errors as the server shows them.

use std::fmt::Write;

/// Lines longer than this are not repeated below an error.
const SNIPPET_MAX: usize = 16_384;

/// Errors kept of one expression; the rest is only counted.
const ERRORS_MAX: usize = 100;

/// An expression's text with the offsets of its lines, in code points.
#[derive(Debug)]
pub(crate) struct Source<'t> {
    text: &'t str,
    lines: Vec<u32>,
}

impl<'t> Source<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        let mut lines = vec![0];
        for (at, c) in text.chars().enumerate() {
            if c == '\n' {
                lines.push(at as u32 + 1);
            }
        }
        Source { text, lines }
    }
    pub(crate) fn text(&self) -> &'t str {
        self.text
    }
    /// Line (from 1) and column (from 0) of a code point.
    fn location(&self, offset: u32) -> (usize, usize) {
        let line = self.lines.partition_point(|start| *start <= offset);
        (line, (offset - self.lines[line - 1]) as usize)
    }
}

/// One thing that is wrong with an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Issue {
    /// The code point it is about; `None` where it is about no place.
    pub(crate) offset: Option<u32>,
    pub(crate) message: String,
}

/// What is wrong with an expression.
#[derive(Clone, Debug, Default)]
pub(crate) struct Issues {
    list: Vec<Issue>,
    count: usize,
}

impl Issues {
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }
    pub(crate) fn report(&mut self, offset: Option<u32>, message: impl Into<String>) {
        self.count += 1;
        if self.list.len() < ERRORS_MAX {
            self.list.push(Issue { offset, message: message.into() });
        }
    }
    /// All of them, by place, each with its line and a mark below the column.
    pub(crate) fn display(&self, source: &Source<'_>) -> String {
        let mut list: Vec<_> = self.list.iter().collect();
        list.sort_by_key(|issue| issue.offset);
        let mut out = String::new();
        for issue in list {
            if !out.is_empty() {
                out.push('\n');
            }
            one(issue, source, &mut out);
        }
        if self.count > ERRORS_MAX {
            let _ = write!(out, "\n{} more errors were truncated", self.count - ERRORS_MAX);
        }
        out
    }
}

fn one(issue: &Issue, source: &Source<'_>, out: &mut String) {
    let Some(offset) = issue.offset else {
        let _ = write!(out, "ERROR: <input>:-1:0: {}", issue.message);
        return;
    };
    let (line, column) = source.location(offset);
    let _ = write!(out, "ERROR: <input>:{line}:{}: {}", column + 1, issue.message);
    let Some(snippet) = source.text.split('\n').nth(line - 1) else { return };
    if snippet.len() > SNIPPET_MAX {
        return;
    }
    out.push_str("\n | ");
    out.extend(snippet.chars().map(|c| if c == '\t' { ' ' } else { c }));
    out.push_str("\n | ");
    let mut chars = snippet.chars();
    for c in chars.by_ref().take(column) {
        out.push(if c.len_utf8() > 1 { '\u{ff0e}' } else { '.' });
    }
    out.push(if chars.next().is_some_and(|c| c.len_utf8() > 1) { '\u{ff3e}' } else { '^' });
}
