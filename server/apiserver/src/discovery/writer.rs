//! JSON as Go writes it, compact or indented, and protobuf fields: what discovery documents are made of.

use ringbolt_machinery::field::quote;

/// Writes one JSON document.
pub(super) struct JsonWriter {
    out: String,
    indented: bool,
    depth: usize,
    /// Whether the current object or list has no member yet.
    first: bool,
}

impl JsonWriter {
    pub(super) fn new(indented: bool) -> Self {
        JsonWriter { out: String::with_capacity(4096), indented, depth: 0, first: true }
    }

    /// The document. The compact form ends with a newline, as encoders of streams write it.
    pub(super) fn finish(mut self) -> Vec<u8> {
        if !self.indented {
            self.out.push('\n');
        }
        self.out.into_bytes()
    }

    fn line(&mut self) {
        if self.indented {
            self.out.push('\n');
            for _ in 0..self.depth {
                self.out.push_str("  ");
            }
        }
    }

    fn next(&mut self) {
        if !self.first {
            self.out.push(',');
        }
        self.first = false;
        self.line();
    }

    fn nested(&mut self, open: char, close: char, fill: impl FnOnce(&mut Self)) {
        self.out.push(open);
        self.depth += 1;
        self.first = true;
        fill(self);
        self.depth -= 1;
        let empty = self.first;
        if !empty {
            self.line();
        }
        self.out.push(close);
        self.first = false;
    }

    /// An object as the document or as an item of a list.
    pub(super) fn object(&mut self, fill: impl FnOnce(&mut Self)) {
        if self.depth > 0 {
            self.next();
        }
        self.nested('{', '}', fill);
    }

    fn key(&mut self, key: &str) {
        self.next();
        self.out.push('"');
        self.out.push_str(key);
        self.out.push_str(if self.indented { "\": " } else { "\":" });
    }

    /// A member that is an object.
    pub(super) fn member_object(&mut self, key: &str, fill: impl FnOnce(&mut Self)) {
        self.key(key);
        self.nested('{', '}', fill);
    }

    /// A member that is a list.
    pub(super) fn member_list(&mut self, key: &str, fill: impl FnOnce(&mut Self)) {
        self.key(key);
        self.nested('[', ']', fill);
    }

    /// A member that is text.
    pub(super) fn member(&mut self, key: &str, value: &str) {
        self.key(key);
        self.out.push_str(&quote(value));
    }

    /// A member that is text, left out when empty.
    pub(super) fn optional(&mut self, key: &str, value: &str) {
        if !value.is_empty() {
            self.member(key, value);
        }
    }

    /// A member that is true or false.
    pub(super) fn member_bool(&mut self, key: &str, value: bool) {
        self.key(key);
        self.out.push_str(if value { "true" } else { "false" });
    }

    /// A member that is a list of texts.
    pub(super) fn member_texts(&mut self, key: &str, values: &[impl AsRef<str>]) {
        self.member_list(key, |w| {
            for value in values {
                w.next();
                w.out.push_str(&quote(value.as_ref()));
            }
        });
    }

    /// A member that is a list of texts, left out when empty.
    pub(super) fn optional_texts(&mut self, key: &str, values: &[impl AsRef<str>]) {
        if !values.is_empty() {
            self.member_texts(key, values);
        }
    }
}

/// Protobuf messages; nested ones are written aside first.
#[derive(Default)]
pub(super) struct Message(Vec<u8>);

impl Message {
    pub(super) fn bytes(&mut self, number: u32, value: &[u8]) -> &mut Self {
        self.varint(u64::from(number) << 3 | 2);
        self.varint(value.len() as u64);
        self.0.extend_from_slice(value);
        self
    }

    pub(super) fn text(&mut self, number: u32, value: &str) -> &mut Self {
        self.bytes(number, value.as_bytes())
    }

    pub(super) fn texts(&mut self, number: u32, values: &[impl AsRef<str>]) -> &mut Self {
        values.iter().for_each(|v| {
            self.text(number, v.as_ref());
        });
        self
    }

    pub(super) fn number(&mut self, number: u32, value: u64) -> &mut Self {
        self.varint(u64::from(number) << 3);
        self.varint(value);
        self
    }

    pub(super) fn message(&mut self, number: u32, fill: impl FnOnce(&mut Message)) -> &mut Self {
        let mut nested = Message::default();
        fill(&mut nested);
        self.bytes(number, &nested.0)
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    /// The body of an answer: the magic, and a `runtime.Unknown` around this message.
    pub(super) fn enveloped(&self, api_version: &str, kind: &str) -> Vec<u8> {
        let mut unknown = Message::default();
        unknown.message(1, |type_meta| {
            type_meta.text(1, api_version).text(2, kind);
        });
        unknown.bytes(2, &self.0).text(3, "").text(4, "");
        let mut out = b"k8s\0".to_vec();
        out.append(&mut unknown.0);
        out
    }
}
