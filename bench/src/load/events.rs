//! Events of a watch, found in the bytes as they come: by their line ends and a few marks, without parsing JSON.

use super::{limits, objects};
use memchr::{memchr, memmem};

/// Cuts the body of one watch into lines, wherever its pieces are cut.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    /// The start of a line that is not complete. No memory before the first such.
    partial: Vec<u8>,
}

/// A line is longer than any event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooLong;

impl Lines {
    /// Takes a piece, and gives every line that it completes, without its end.
    pub(crate) fn feed(&mut self, mut piece: &[u8], mut line: impl FnMut(&[u8])) -> Result<(), TooLong> {
        while let Some(end) = memchr(b'\n', piece) {
            if self.partial.is_empty() {
                line(&piece[..end]);
            } else {
                self.partial.extend_from_slice(&piece[..end]);
                line(&self.partial);
                self.partial.clear();
            }
            piece = &piece[end + 1..];
        }
        if self.partial.len() + piece.len() > limits::EVENT_BYTES_MAX {
            return Err(TooLong);
        }
        self.partial.extend_from_slice(piece);
        Ok(())
    }
}

/// What a line says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    /// An object was added, modified or deleted.
    Change {
        /// The object's resourceVersion.
        resource_version: u64,
        /// The number that the load put into it, if any.
        sequence: Option<u64>,
    },
    /// A bookmark.
    Bookmark,
    /// An error, or nothing that can be understood.
    Error,
}

/// Finds marks in lines: first where the last line had them, for lines of a watch are alike.
#[derive(Debug)]
pub(crate) struct EventReader {
    resource_version: Mark,
    sequence: Mark,
}

impl EventReader {
    pub(crate) fn new() -> Self {
        EventReader {
            resource_version: Mark::new(b"\"resourceVersion\":\""),
            sequence: Mark::new(objects::SEQUENCE_MARK),
        }
    }

    /// What a line says.
    pub(crate) fn read(&mut self, line: &[u8]) -> Event {
        const TYPE: &[u8] = b"{\"type\":\"";
        match line.strip_prefix(TYPE) {
            Some([b'A' | b'M' | b'D', ..]) => {}
            Some([b'B', ..]) => return Event::Bookmark,
            _ => return Event::Error,
        }
        let Some(resource_version) = self.resource_version.number(line, usize::MAX) else {
            return Event::Error;
        };
        Event::Change { resource_version, sequence: self.sequence.number(line, objects::SEQUENCE_DIGITS) }
    }
}

#[derive(Debug)]
struct Mark {
    text: &'static [u8],
    finder: memmem::Finder<'static>,
    last: usize,
}

impl Mark {
    fn new(text: &'static [u8]) -> Self {
        Mark { text, finder: memmem::Finder::new(text), last: 0 }
    }

    /// The number behind the mark, of so many digits at most.
    fn number(&mut self, line: &[u8], digits_max: usize) -> Option<u64> {
        if !line.get(self.last..).is_some_and(|rest| rest.starts_with(self.text)) {
            self.last = self.finder.find(line)?;
        }
        let digits = line[self.last + self.text.len()..]
            .iter()
            .take(digits_max)
            .take_while(|byte| byte.is_ascii_digit());
        let mut number = None;
        for digit in digits {
            number = Some(number.unwrap_or(0u64).checked_mul(10)?.checked_add(u64::from(digit - b'0'))?);
        }
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(kind: &str, version: u64, sequence: u64) -> String {
        format!(
            r#"{{"type":"{kind}","object":{{"kind":"ConfigMap","metadata":{{"name":"a","resourceVersion":"{version}"}},"data":{{"sequence":"bench-sequence-{sequence:016}"}}}}}}"#
        )
    }

    fn change(resource_version: u64, sequence: u64) -> Event {
        Event::Change { resource_version, sequence: Some(sequence) }
    }

    fn read_in(pieces: &[&[u8]]) -> Vec<Event> {
        let (mut lines, mut reader, mut events) = (Lines::default(), EventReader::new(), Vec::new());
        for piece in pieces {
            lines.feed(piece, |line| events.push(reader.read(line))).unwrap();
        }
        events
    }

    #[test]
    fn events_are_the_same_wherever_the_bytes_are_cut() {
        let text = [event("ADDED", 9, 1), event("MODIFIED", 10, 22), event("MODIFIED", 100_000, 333)]
            .join("\n")
            + "\n";
        let expect = [change(9, 1), change(10, 22), change(100_000, 333)];
        let bytes = text.as_bytes();
        for cut in 0..=bytes.len() {
            assert_eq!(read_in(&[&bytes[..cut], &bytes[cut..]]), expect, "cut at {cut}");
        }
        for (first, second) in [(1, 2), (100, 101), (150, 400)] {
            assert_eq!(read_in(&[&bytes[..first], &bytes[first..second], &bytes[second..]]), expect);
        }
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(read_in(&single), expect);
    }

    #[test]
    fn kinds_of_lines() {
        let mut reader = EventReader::new();
        assert_eq!(reader.read(event("DELETED", 3, 4).as_bytes()), change(3, 4));
        let bookmark = r#"{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"12"}}}"#;
        assert_eq!(reader.read(bookmark.as_bytes()), Event::Bookmark);
        let error = r#"{"type":"ERROR","object":{"kind":"Status","code":410}}"#;
        assert_eq!(reader.read(error.as_bytes()), Event::Error);
        assert_eq!(reader.read(b"upstream error"), Event::Error);
        let foreign = r#"{"type":"ADDED","object":{"metadata":{"resourceVersion":"12"}}}"#;
        assert_eq!(reader.read(foreign.as_bytes()), Event::Change { resource_version: 12, sequence: None });
    }

    #[test]
    fn a_mark_that_moves_is_found_again() {
        let mut reader = EventReader::new();
        for name in ["a", "longer", "b", ""] {
            let line = format!(
                r#"{{"type":"ADDED","object":{{"name":"{name}","resourceVersion":"77","x":"bench-sequence-0000000000000005"}}}}"#
            );
            assert_eq!(reader.read(line.as_bytes()), change(77, 5));
        }
    }

    #[test]
    fn a_line_without_an_end_is_bounded() {
        let mut lines = Lines::default();
        let piece = vec![b'x'; limits::EVENT_BYTES_MAX];
        assert_eq!(lines.feed(&piece, |_| {}), Ok(()));
        assert_eq!(lines.feed(b"y", |_| {}), Err(TooLong));
    }
}
