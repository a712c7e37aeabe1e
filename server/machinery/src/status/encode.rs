//! A status on the wire: JSON and protobuf.

use super::{Cause, Details, Status};
use crate::{field::write_json_string, protobuf};

impl Status {
    /// Appends the status as compact JSON, without the newline that ends an answer.
    pub fn encode_json(&self, out: &mut Vec<u8>) {
        let mut text = String::with_capacity(160 + self.message.len());
        text.push_str("{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{");
        if !self.continue_token.is_empty() {
            text.push_str("\"continue\":");
            write_json_string(&self.continue_token, &mut text);
        }
        text.push_str("},\"status\":\"");
        text.push_str(self.outcome());
        text.push('"');
        member(&mut text, "message", &self.message);
        member(&mut text, "reason", self.reason.as_str());
        if let Some(details) = &self.details {
            text.push_str(",\"details\":");
            details.encode_json(&mut text);
        }
        if self.code != 0 {
            text.push_str(",\"code\":");
            text.push_str(itoa::Buffer::new().format(self.code));
        }
        text.push('}');
        out.extend_from_slice(text.as_bytes());
    }

    /// Appends the status as a protobuf body: the magic and a `runtime.Unknown` around it.
    pub fn encode_protobuf(&self, out: &mut Vec<u8>) {
        let mut message = Vec::with_capacity(128 + self.message.len());
        self.encode_protobuf_message(&mut message);
        protobuf::encode_unknown("v1", "Status", &message, out);
    }

    /// Appends the bare protobuf message, as it stands inside a watch event.
    pub fn encode_protobuf_message(&self, out: &mut Vec<u8>) {
        let mut list_meta = Vec::with_capacity(8);
        bytes_field(&mut list_meta, 1, b"");
        bytes_field(&mut list_meta, 2, b"");
        bytes_field(&mut list_meta, 3, self.continue_token.as_bytes());
        bytes_field(out, 1, &list_meta);
        bytes_field(out, 2, self.outcome().as_bytes());
        bytes_field(out, 3, self.message.as_bytes());
        bytes_field(out, 4, self.reason.as_str().as_bytes());
        if let Some(details) = &self.details {
            let mut nested = Vec::new();
            details.encode_protobuf(&mut nested);
            bytes_field(out, 5, &nested);
        }
        varint_field(out, 6, u64::from(self.code));
    }

    fn outcome(&self) -> &'static str {
        if self.success { "Success" } else { "Failure" }
    }
}

impl Details {
    fn encode_json(&self, out: &mut String) {
        let mut nested = String::new();
        member(&mut nested, "name", &self.name);
        member(&mut nested, "group", &self.group);
        member(&mut nested, "kind", &self.kind);
        member(&mut nested, "uid", &self.uid);
        if !self.causes.is_empty() {
            nested.push_str(",\"causes\":[");
            for (at, cause) in self.causes.iter().enumerate() {
                if at > 0 {
                    nested.push(',');
                }
                cause.encode_json(&mut nested);
            }
            nested.push(']');
        }
        if self.retry_after_seconds != 0 {
            nested.push_str(",\"retryAfterSeconds\":");
            nested.push_str(itoa::Buffer::new().format(self.retry_after_seconds));
        }
        braced(out, &nested);
    }

    fn encode_protobuf(&self, out: &mut Vec<u8>) {
        bytes_field(out, 1, self.name.as_bytes());
        bytes_field(out, 2, self.group.as_bytes());
        bytes_field(out, 3, self.kind.as_bytes());
        for cause in &self.causes {
            let mut nested = Vec::new();
            bytes_field(&mut nested, 1, cause.reason.as_bytes());
            bytes_field(&mut nested, 2, cause.message.as_bytes());
            bytes_field(&mut nested, 3, cause.field.as_bytes());
            bytes_field(out, 4, &nested);
        }
        varint_field(out, 5, u64::from(self.retry_after_seconds));
        bytes_field(out, 6, self.uid.as_bytes());
    }
}

impl Cause {
    fn encode_json(&self, out: &mut String) {
        let mut nested = String::new();
        member(&mut nested, "reason", self.reason);
        member(&mut nested, "message", &self.message);
        member(&mut nested, "field", &self.field);
        braced(out, &nested);
    }
}

/// Every member was written with a comma in front; the first one's is dropped.
fn braced(out: &mut String, members: &str) {
    out.push('{');
    out.push_str(members.strip_prefix(',').unwrap_or(members));
    out.push('}');
}

fn member(out: &mut String, name: &str, value: &str) {
    if value.is_empty() {
        return;
    }
    out.push_str(",\"");
    out.push_str(name);
    out.push_str("\":");
    write_json_string(value, out);
}

fn varint(out: &mut Vec<u8>, mut n: u64) {
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

fn varint_field(out: &mut Vec<u8>, number: u32, n: u64) {
    varint(out, u64::from(number) << 3);
    varint(out, n);
}

fn bytes_field(out: &mut Vec<u8>, number: u32, bytes: &[u8]) {
    varint(out, (u64::from(number) << 3) | 2);
    varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}
