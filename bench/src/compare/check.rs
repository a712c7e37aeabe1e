//! Whether two sides do the same work: same status, same kind of body, as many objects, comparable length.

use super::{http::Answer, limits};
use crate::{
    error::{Error, Result},
    result::Side,
};

/// Objects in an answer: items of a list, 1 for a single object, 0 for what is no object.
pub fn objects(answer: &Answer) -> Result<usize> {
    if answer.content_type.starts_with("application/vnd.kubernetes.protobuf") {
        return protobuf_items(&answer.body).ok_or_else(|| Error::new("no Kubernetes protobuf"));
    }
    if answer.content_type.starts_with("application/json") {
        let value = answer.json()?;
        return Ok(match value.get("items").and_then(serde_json::Value::as_array) {
            Some(items) => items.len(),
            None => usize::from(value.get("kind").is_some()),
        });
    }
    Ok(0)
}

/// An answer of a side as it is compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// Whose.
    pub side: Side,
    /// Status.
    pub status: u16,
    /// Media type without parameters.
    pub media_type: String,
    /// Objects.
    pub objects: usize,
    /// Length of the body.
    pub length: usize,
}

impl Shown {
    /// Of an answer.
    pub fn of(side: Side, answer: &Answer) -> Result<Shown> {
        Ok(Shown {
            side,
            status: answer.status,
            media_type: answer.content_type.split(';').next().unwrap_or_default().trim().to_owned(),
            objects: objects(answer)?,
            length: answer.body.len(),
        })
    }
}

/// Refuses what is not the same work. `objects` is how many there must be, where that is known.
pub fn same_work(shown: &[Shown], objects: Option<usize>) -> Result<()> {
    for one in shown {
        if !(200..300).contains(&one.status) {
            return Err(Error::new(format!("{:?} answers with status {}", one.side, one.status)));
        }
        if let Some(objects) = objects
            && one.objects != objects
        {
            return Err(Error::new(format!("{:?} answers {} objects, not {objects}", one.side, one.objects)));
        }
    }
    for pair in shown.windows(2) {
        let (a, b) = (&pair[0], &pair[1]);
        let apart = a.length.abs_diff(b.length) as f64 / a.length.max(b.length).max(1) as f64;
        // A health check says "ok" in whatever media type.
        let same_type = a.media_type == b.media_type || a.length < 16;
        if a.status != b.status || !same_type || a.objects != b.objects || apart > limits::LENGTH_TOLERANCE {
            return Err(Error::new(format!("answers differ: {a:?}, {b:?}")));
        }
    }
    Ok(())
}

/// A field of a protobuf message: its number and, if it has a length, its bytes.
type Field<'a> = (u64, Option<&'a [u8]>);

/// Fields of a protobuf message; `None` at what is no message.
fn fields(mut bytes: &[u8]) -> Option<Vec<Field<'_>>> {
    let mut all = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes)?;
        let value = match key & 7 {
            0 => {
                varint(&mut bytes)?;
                None
            }
            1 => take(&mut bytes, 8).map(|_| None)?,
            2 => {
                let length = usize::try_from(varint(&mut bytes)?).ok()?;
                Some(take(&mut bytes, length)?)
            }
            5 => take(&mut bytes, 4).map(|_| None)?,
            _ => return None,
        };
        all.push((key >> 3, value));
    }
    Some(all)
}

fn take<'a>(bytes: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (head, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(head)
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let byte = take(bytes, 1)?[0];
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

/// Items of a list, or 1, in the envelope of Kubernetes: `k8s\0`, then runtime.Unknown (1: typeMeta with 2: kind,
/// 2: raw). A list has its items in field 2.
fn protobuf_items(body: &[u8]) -> Option<usize> {
    let unknown = fields(body.strip_prefix(b"k8s\0")?)?;
    let find = |fields: &[Field<'_>], number| {
        fields.iter().find(|(n, _)| *n == number).and_then(|(_, value)| value.map(<[u8]>::to_vec))
    };
    let kind = find(&fields(&find(&unknown, 1)?)?, 2)?;
    let raw = find(&unknown, 2)?;
    if !kind.ends_with(b"List") {
        return Some(1);
    }
    Some(fields(&raw)?.iter().filter(|(number, _)| *number == 2).count())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(content_type: &str, body: &[u8]) -> Answer {
        Answer { status: 200, content_type: content_type.to_owned(), body: body.to_vec() }
    }

    #[test]
    fn objects_are_counted() {
        let json = |text: &str| objects(&answer("application/json", text.as_bytes())).unwrap();
        assert_eq!(json(r#"{"kind":"PodList","items":[{},{}]}"#), 2);
        assert_eq!(json(r#"{"kind":"ConfigMap"}"#), 1);
        assert_eq!(objects(&answer("text/plain", b"ok")).unwrap(), 0);
        // typeMeta {2: "PodList"}, raw {1: "", 2: "a", 2: ""}
        let list = b"k8s\0\x0a\x09\x12\x07PodList\x12\x07\x0a\x00\x12\x01a\x12\x00";
        assert_eq!(objects(&answer("application/vnd.kubernetes.protobuf", list)).unwrap(), 2);
        assert!(objects(&answer("application/vnd.kubernetes.protobuf", b"k8s\0\x0a\x09")).is_err());
    }

    #[test]
    fn other_work_is_refused() {
        let shown = |side, status, objects, length| Shown {
            side,
            status,
            media_type: "application/json".to_owned(),
            objects,
            length,
        };
        let check = |status, objects, length| {
            same_work(
                &[shown(Side::Ringbolt, 200, 5, 1000), shown(Side::Peer, status, objects, length)],
                Some(5),
            )
            .is_ok()
        };
        assert!(check(200, 5, 1100));
        assert!(!check(404, 5, 1000));
        assert!(!check(201, 5, 1000));
        assert!(!check(200, 4, 1000));
        assert!(!check(200, 5, 1300));
    }
}
