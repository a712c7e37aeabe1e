//! The three ways a PATCH body changes an object: JSON Patch, JSON merge patch and strategic merge patch.
//!
//! All work on untyped trees of the served version; the caller decodes the outcome by the Schema again.

mod convert;
pub(crate) mod go_text;
mod json_patch;
mod merge;
mod order;
mod strategic;
mod strategic_list;
#[cfg(test)]
mod tests;

pub use convert::{decode_strategic, show};
pub use json_patch::{JsonPatch, apply_json, decode_json};
pub use merge::apply_merge;
pub use order::{json_patched_text, merged_text};
pub use strategic::apply_strategic;

use crate::status::Status;

/// Why a patch could not be applied, by the answer that the API server gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PatchError {
    /// 400 with this message.
    Malformed(String),
    /// 413 with this message.
    TooLarge(String),
    /// 422: the operations do not fit the object.
    NotApplicable(String),
    /// 500 without a reason: what strategic merge finds wrong and has no status for.
    Unclassified(String),
}

impl PatchError {
    /// The Status of the answer.
    pub fn into_status(self) -> Status {
        match self {
            PatchError::Malformed(message) => Status::bad_request(message),
            PatchError::TooLarge(message) => Status::request_entity_too_large(&message),
            PatchError::NotApplicable(message) => {
                Status::generic_server_response(422, "", ("", "", ""), &message, 0, false)
            }
            PatchError::Unclassified(message) => Status::unknown_error(message),
        }
    }
}
