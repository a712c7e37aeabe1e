//! One row: cells are written as JSON as they come.

use super::{human_duration, moment, until};
use crate::{json::quote, time::Moment, value::Value};

/// A row that is being written: `{"cells":[…],"conditions":[…]`, without the object and the closing brace.
#[derive(Debug)]
pub struct Row<'o> {
    out: &'o mut Vec<u8>,
    now: Moment,
    cells: usize,
    completed: Option<(&'static str, &'static str)>,
    elected: bool,
}

impl<'o> Row<'o> {
    /// Begins a row. Ages are counted to `now`.
    pub fn begin(out: &'o mut Vec<u8>, now: Moment, elected: bool) -> Self {
        out.extend_from_slice(b"{\"cells\":[");
        Row { out, now, cells: 0, completed: None, elected }
    }

    /// Ends it; answers how many cells there are.
    pub fn end(self) -> usize {
        self.out.push(b']');
        if let Some((reason, message)) = self.completed {
            self.out.extend_from_slice(
                b",\"conditions\":[{\"type\":\"Completed\",\"status\":\"True\",\"reason\":",
            );
            quote::write_string(self.out, reason);
            self.out.extend_from_slice(b",\"message\":");
            quote::write_string(self.out, message);
            self.out.extend_from_slice(b"}]");
        }
        self.cells
    }

    /// Whether this object is the one that the list's rule elected.
    pub fn elected(&self) -> bool {
        self.elected
    }

    /// The moment ages are counted to.
    pub fn now(&self) -> Moment {
        self.now
    }

    /// Says that the object has run its course.
    pub fn completed(&mut self, reason: &'static str, message: &'static str) {
        self.completed = Some((reason, message));
    }

    fn next(&mut self) {
        if self.cells > 0 {
            self.out.push(b',');
        }
        self.cells += 1;
    }

    /// A cell of text.
    pub fn text(&mut self, text: &str) {
        self.next();
        quote::write_string(self.out, text);
    }

    /// A cell whose JSON `write` appends.
    pub fn cell(&mut self, write: impl FnOnce(&mut Vec<u8>, Moment)) {
        self.next();
        write(self.out, self.now);
    }

    /// A cell of text, or of another where it is empty.
    pub fn text_or(&mut self, text: &str, empty: &str) {
        self.text(if text.is_empty() { empty } else { text });
    }

    /// A cell with a number.
    pub fn int(&mut self, number: i64) {
        self.next();
        quote::write_int(self.out, number);
    }

    /// A cell with a truth value.
    pub fn bool(&mut self, value: bool) {
        self.next();
        self.out.extend_from_slice(if value { b"true" } else { b"false" });
    }

    /// A cell with the object's name.
    pub fn name(&mut self, object: &Value<'_>) {
        self.text(object.str_at(&["metadata", "name"]).unwrap_or_default());
    }

    /// A cell with the object's age.
    pub fn age(&mut self, object: &Value<'_>) {
        self.since(object.str_at(&["metadata", "creationTimestamp"]).unwrap_or_default());
    }

    /// A cell with the time that went by since a time of the object.
    pub fn since(&mut self, time: &str) {
        let text = self.since_text(time);
        self.text(&text);
    }

    /// The time that went by since a time of the object.
    pub fn since_text(&self, time: &str) -> String {
        moment(time).map_or_else(|| "<unknown>".to_owned(), |then| human_duration(until(then, self.now)))
    }
}
