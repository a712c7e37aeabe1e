//! List objects, put together from items that are encoded already. Every list kind is `{ metadata = 1; repeated
//! items = 2 }`.

use super::{
    encode::varint,
    envelope::{unknown_head, unknown_tail},
    wire::{BYTES, put_bytes, put_int, put_message, put_tag, varint_len},
};

/// `metav1.ListMeta`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ListMeta<'b> {
    /// `resourceVersion`.
    pub resource_version: &'b str,
    /// `continue`, empty for none.
    pub continue_token: &'b str,
    /// `remainingItemCount`.
    pub remaining_item_count: Option<i64>,
}

/// Bytes that an item of `len` bytes takes within a list.
pub fn item_len(len: usize) -> usize {
    1 + varint_len(len as u64) + len
}

/// Appends what stands before an item of `len` bytes.
pub fn item_head(len: usize, out: &mut Vec<u8>) {
    put_tag(out, 2, BYTES);
    varint(out, len);
}

/// Bytes of what stands before the message of an item that [`item_head`] began.
pub fn item_head_len(item: &[u8]) -> usize {
    1 + item.iter().skip(1).take_while(|byte| **byte >= 0x80).count() + 1
}

/// Appends a list's envelope and metadata, up to its first item. `items_len` is the sum of [`item_len`] over all
/// items; after them comes `unknown_tail`.
pub fn list_head(api_version: &str, kind: &str, meta: ListMeta<'_>, items_len: usize, out: &mut Vec<u8>) {
    let mut metadata = Vec::with_capacity(64);
    put_message(&mut metadata, 1, |out| {
        put_bytes(out, 1, b"");
        put_bytes(out, 2, meta.resource_version.as_bytes());
        put_bytes(out, 3, meta.continue_token.as_bytes());
        if let Some(count) = meta.remaining_item_count {
            put_int(out, 4, count);
        }
    });
    unknown_head(api_version, kind, metadata.len() + items_len, out);
    out.extend_from_slice(&metadata);
}

/// Appends a whole list in its envelope. Items are messages without envelopes.
pub fn list<'b>(
    api_version: &str,
    kind: &str,
    meta: ListMeta<'_>,
    items: impl Iterator<Item = &'b [u8]> + Clone,
    out: &mut Vec<u8>,
) {
    let items_len: usize = items.clone().map(|item| item_len(item.len())).sum();
    out.reserve(items_len + 128);
    list_head(api_version, kind, meta, items_len, out);
    for item in items {
        item_head(item.len(), out);
        out.extend_from_slice(item);
    }
    unknown_tail(out);
}
