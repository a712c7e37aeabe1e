//! RFC 4180 records as Go's `encoding/csv` reads them in its default settings, for `--token-auth-file`.

use std::fmt;

/// Why a file is no CSV. Lines and columns count from 1, columns in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CsvError {
    /// A quote within a field that does not start with one.
    BareQuote {
        /// Line.
        line: usize,
        /// Column.
        column: usize,
    },
    /// A quoted field that is not closed, or is followed by something else than a comma.
    Quote {
        /// Line the record starts on.
        start_line: usize,
        /// Line.
        line: usize,
        /// Column.
        column: usize,
    },
}

impl fmt::Display for CsvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            CsvError::BareQuote { line, column } => {
                write!(f, "parse error on line {line}, column {column}: bare \" in non-quoted-field")
            }
            CsvError::Quote { start_line, line, column } if start_line != line => write!(
                f,
                "record on line {start_line}; parse error on line {line}, column {column}: extraneous or missing \" in quoted-field"
            ),
            CsvError::Quote { line, column, .. } => write!(
                f,
                "parse error on line {line}, column {column}: extraneous or missing \" in quoted-field"
            ),
        }
    }
}

impl std::error::Error for CsvError {}

/// All records of a text. Empty lines are no records; `\r\n` ends a line as `\n` does, within quotes too.
pub(super) fn parse(text: &str) -> Result<Vec<Vec<String>>, CsvError> {
    let mut lines = Lines { rest: text, number: 0 };
    let mut records = Vec::new();
    while let Some(line) = lines.next() {
        if !line.is_empty() && line != "\n" {
            records.push(record(line, &mut lines)?);
        }
    }
    Ok(records)
}

/// Lines with their `\n`, which is missing only where the text ends without one.
struct Lines<'t> {
    rest: &'t str,
    number: usize,
}

/// A line, its end made `\n` where it was `\r\n`.
type Line<'t> = std::borrow::Cow<'t, str>;

impl<'t> Iterator for Lines<'t> {
    type Item = Line<'t>;
    fn next(&mut self) -> Option<Line<'t>> {
        if self.rest.is_empty() {
            return None;
        }
        self.number += 1;
        let end = self.rest.find('\n').map_or(self.rest.len(), |i| i + 1);
        let (line, rest) = self.rest.split_at(end);
        self.rest = rest;
        if let Some(body) = line.strip_suffix("\r\n") {
            return Some(Line::Owned(format!("{body}\n")));
        }
        // A lone carriage return at the very end is dropped as well.
        if rest.is_empty() { Some(line.strip_suffix('\r').unwrap_or(line).into()) } else { Some(line.into()) }
    }
}

fn record(first: Line<'_>, lines: &mut Lines<'_>) -> Result<Vec<String>, CsvError> {
    let start_line = lines.number;
    let mut fields = Vec::new();
    let mut line = first;
    let mut at = 0;
    loop {
        if !line[at..].starts_with('"') {
            let rest = &line[at..];
            let comma = rest.find(',');
            let field = &rest[..comma.unwrap_or(rest.strip_suffix('\n').unwrap_or(rest).len())];
            if let Some(quote) = field.find('"') {
                return Err(CsvError::BareQuote { line: lines.number, column: at + quote + 1 });
            }
            fields.push(field.to_owned());
            match comma {
                Some(comma) => at += comma + 1,
                None => return Ok(fields),
            }
            continue;
        }
        at += 1;
        let mut field = String::new();
        loop {
            let Some(quote) = line[at..].find('"') else {
                field.push_str(&line[at..]);
                let column = line.len() + 1;
                match lines.next() {
                    Some(next) => (line, at) = (next, 0),
                    None => return Err(CsvError::Quote { start_line, line: lines.number, column }),
                }
                continue;
            };
            field.push_str(&line[at..at + quote]);
            at += quote + 1;
            match line[at..].bytes().next() {
                Some(b'"') => {
                    field.push('"');
                    at += 1;
                }
                Some(b',') => {
                    at += 1;
                    fields.push(field);
                    break;
                }
                None | Some(b'\n') => {
                    fields.push(field);
                    return Ok(fields);
                }
                Some(_) => {
                    return Err(CsvError::Quote { start_line, line: lines.number, column: at });
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: &[&[&str]]) {
        let records = parse(text).unwrap_or_else(|e| panic!("{text:?}: {e}"));
        assert_eq!(records, expect.iter().map(|r| r.to_vec()).collect::<Vec<_>>(), "{text:?}");
    }

    fn check_error(text: &str, expect: &str) {
        assert_eq!(parse(text).expect_err(text).to_string(), expect, "{text:?}");
    }

    #[test]
    fn records() {
        check("", &[]);
        check("\n\r\n", &[]);
        check("a,b,c", &[&["a", "b", "c"]]);
        check("a,b,c\nd\n", &[&["a", "b", "c"], &["d"]]);
        check("a,b\r\n\r\nc,d\r", &[&["a", "b"], &["c", "d"]]);
        check("a,,\n", &[&["a", "", ""]]);
        check(",", &[&["", ""]]);
        check(" a , b\n", &[&[" a ", " b"]]);
        check("t,u,1,\"g1,g2\"\n", &[&["t", "u", "1", "g1,g2"]]);
        check("\"a\"\"b\",c", &[&["a\"b", "c"]]);
        check("\"two\r\nlines\",x\n", &[&["two\nlines", "x"]]);
        check("\"\",\"\"", &[&["", ""]]);
    }

    #[test]
    fn errors() {
        check_error("a\"b,c", "parse error on line 1, column 2: bare \" in non-quoted-field");
        check_error(
            "x\n\"a\"b,c",
            "parse error on line 2, column 3: extraneous or missing \" in quoted-field",
        );
        check_error("\"a", "parse error on line 1, column 3: extraneous or missing \" in quoted-field");
        check_error(
            "\"a\nb",
            "record on line 1; parse error on line 2, column 2: extraneous or missing \" in quoted-field",
        );
    }
}
