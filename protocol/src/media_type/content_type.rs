//! `Content-Type` of request bodies.

use super::Format;

/// 415.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnsupportedMediaType {
    /// Message of the Status.
    pub message: String,
    /// Whether the Status carries (empty) details: the router's does.
    pub details: bool,
}

/// How a PATCH body changes an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PatchType {
    /// `application/json-patch+json`
    JsonPatch,
    /// `application/merge-patch+json`
    MergePatch,
    /// `application/strategic-merge-patch+json`
    StrategicMergePatch,
    /// `application/apply-patch+yaml`
    Apply,
}

impl PatchType {
    /// All, in the order error messages list them.
    pub const ALL: [PatchType; 4] =
        [PatchType::JsonPatch, PatchType::MergePatch, PatchType::StrategicMergePatch, PatchType::Apply];

    /// The media type.
    pub fn as_str(self) -> &'static str {
        match self {
            PatchType::JsonPatch => "application/json-patch+json",
            PatchType::MergePatch => "application/merge-patch+json",
            PatchType::StrategicMergePatch => "application/strategic-merge-patch+json",
            PatchType::Apply => "application/apply-patch+yaml",
        }
    }
}

/// The format of a body that holds an object; JSON where no type is given.
pub fn body_format(content_type: Option<&[u8]>) -> Result<Format, UnsupportedMediaType> {
    // As nearly all write it.
    match content_type {
        Some(b"application/json") => return Ok(Format::Json),
        Some(b"application/vnd.kubernetes.protobuf") => return Ok(Format::Protobuf),
        _ => {}
    }
    let text = content_type.map_or(Some(""), |t| std::str::from_utf8(t).ok());
    if text == Some("") {
        return Ok(Format::Json);
    }
    text.and_then(bare_type)
        .and_then(|bare| Format::ALL.into_iter().find(|f| f.content_type().eq_ignore_ascii_case(bare)))
        .ok_or_else(|| UnsupportedMediaType {
            message: format!(
                "{UNKNOWN_FORMAT}application/json, application/yaml, application/vnd.kubernetes.protobuf"
            ),
            details: false,
        })
}

const UNKNOWN_FORMAT: &str =
    "the body of the request was in an unknown format - accepted media types include: ";

/// The type of a PATCH body. Custom resources know no strategic merge, and have no router in front.
pub fn patch_type(content_type: Option<&[u8]>, custom: bool) -> Result<PatchType, UnsupportedMediaType> {
    let text = content_type.and_then(|t| std::str::from_utf8(t).ok()).unwrap_or("");
    let known = |name: &str| PatchType::ALL.into_iter().find(|p| p.as_str() == name);
    if !custom {
        let bare = |part: &str| known(part.split(';').next().unwrap_or("").trim_matches(' '));
        if !text.split(',').any(|part| bare(part).is_some()) {
            return Err(UnsupportedMediaType {
                message: "415: Unsupported Media Type".to_owned(),
                details: true,
            });
        }
    }
    let end = text.find(';').filter(|at| *at > 0).unwrap_or(text.len());
    known(&text[..end]).filter(|p| !custom || *p != PatchType::StrategicMergePatch).ok_or_else(|| {
        let served: Vec<&str> = PatchType::ALL
            .iter()
            .filter(|p| !custom || **p != PatchType::StrategicMergePatch)
            .map(|p| p.as_str())
            .collect();
        UnsupportedMediaType { message: format!("{UNKNOWN_FORMAT}{}", served.join(", ")), details: false }
    })
}

/// The type without parameters, where all of it is well formed (RFC 2045, as Go's `mime` reads it).
fn bare_type(text: &str) -> Option<&str> {
    let (bare, params) = text.split_once(';').map_or((text, None), |(b, p)| (b, Some(p)));
    let bare = bare.trim();
    let (kind, subtype) = bare.split_once('/').map_or((bare, None), |(k, s)| (k, Some(s)));
    if !is_token(kind) || !subtype.is_none_or(is_token) {
        return None;
    }
    let mut rest = params.unwrap_or("");
    // `;` at the end alone is fine.
    while !rest.trim_start().is_empty() {
        rest = parameter(rest.trim_start())?;
        match rest.trim_start().strip_prefix(';') {
            Some(more) => rest = more,
            None if rest.trim_start().is_empty() => break,
            None => return None,
        }
    }
    Some(bare)
}

/// What follows a parameter.
fn parameter(text: &str) -> Option<&str> {
    let (name, value) = text.split_once('=')?;
    if !is_token(name.trim()) {
        return None;
    }
    let value = value.trim_start();
    if let Some(quoted) = value.strip_prefix('"') {
        let mut escaped = false;
        for (at, c) in quoted.char_indices() {
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '"' => return Some(&quoted[at + 1..]),
                '\r' | '\n' => return None,
                _ => {}
            }
        }
        return None;
    }
    let end = value.find(|c: char| !is_token_char(c)).unwrap_or(value.len());
    (end > 0).then(|| &value[end..])
}

fn is_token(text: &str) -> bool {
    !text.is_empty() && text.chars().all(is_token_char)
}

fn is_token_char(c: char) -> bool {
    c.is_ascii_graphic() && !"()<>@,;:\\\"/[]?=".contains(c)
}
