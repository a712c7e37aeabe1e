//! One document in every form it is asked for in, each made on first request and kept.

use std::sync::OnceLock;

use bytes::Bytes;
use ringbolt_protocol::media_type::{Format, MediaType};
use sha2::{Digest, Sha512};

/// The first member behind kind and apiVersion.
const MEMBERS: &[u8] = b"\"metadata\"";

/// A discovery document. `T` says what it is about.
pub(super) struct Document<T> {
    pub(super) about: T,
    json: OnceLock<Bytes>,
    indented: OnceLock<Bytes>,
    yaml: OnceLock<Bytes>,
    protobuf: OnceLock<Bytes>,
    etag: OnceLock<String>,
}

/// What a document can be written as.
pub(super) trait Encode {
    /// As JSON, compact or indented.
    fn json(&self, indented: bool) -> Vec<u8>;
    /// As protobuf, envelope included.
    fn protobuf(&self) -> Vec<u8>;
}

impl<T: Encode> Document<T> {
    pub(super) fn new(about: T) -> Self {
        Document {
            about,
            json: OnceLock::new(),
            indented: OnceLock::new(),
            yaml: OnceLock::new(),
            protobuf: OnceLock::new(),
            etag: OnceLock::new(),
        }
    }

    /// The document as it was asked for.
    pub(super) fn body(&self, wanted: &MediaType) -> Bytes {
        let body = match wanted.format {
            Format::Json if wanted.pretty => self.indented.get_or_init(|| self.about.json(true).into()),
            Format::Json => self.compact(),
            Format::Yaml => self.yaml.get_or_init(|| {
                let mut yaml = Vec::new();
                match ringbolt_machinery::yaml::from_json(self.compact(), &mut yaml) {
                    Ok(()) => yaml.into(),
                    Err(_) => self.compact().clone(),
                }
            }),
            Format::Protobuf => self.protobuf.get_or_init(|| self.about.protobuf().into()),
        };
        body.clone()
    }

    /// Makes the forms that were made of another one.
    pub(super) fn make_as<U>(&self, other: &Document<U>) {
        if other.json.get().is_some() {
            self.compact();
        }
        if other.etag.get().is_some() {
            self.etag();
        }
        let forms = [
            (&other.indented, Format::Json),
            (&other.yaml, Format::Yaml),
            (&other.protobuf, Format::Protobuf),
        ];
        for (made, format) in forms {
            if made.get().is_some() {
                self.body(&MediaType { format, pretty: true, ..MediaType::default() });
            }
        }
    }

    #[cfg(test)]
    pub(super) fn is_made(&self) -> [bool; 5] {
        let forms = [&self.json, &self.indented, &self.yaml, &self.protobuf].map(|form| form.get().is_some());
        [forms[0], forms[1], forms[2], forms[3], self.etag.get().is_some()]
    }

    fn compact(&self) -> &Bytes {
        self.json.get_or_init(|| self.about.json(false).into())
    }

    /// The quoted entity tag, the same for every form: SHA-512 over the compact JSON without kind and apiVersion,
    /// which is how the real server computes it (a client that moves over keeps what it has cached).
    pub(super) fn etag(&self) -> &str {
        self.etag.get_or_init(|| {
            let json = self.compact();
            let members = json.windows(MEMBERS.len()).position(|w| w == MEMBERS).unwrap_or(1);
            let digest =
                Sha512::new().chain_update(b"{").chain_update(json[members..].trim_ascii_end()).finalize();
            let mut etag = String::with_capacity(2 + 2 * digest.len());
            etag.push('"');
            for byte in digest {
                etag.push_str(&format!("{byte:02X}"));
            }
            etag.push('"');
            etag
        })
    }
}
