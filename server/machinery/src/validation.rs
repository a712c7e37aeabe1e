//! Validation that all kinds share: names, labels, selectors and `metadata`. Every text is what clients of
//! kube-apiserver see.

pub mod label_selector;
pub mod labels;
pub mod names;
pub mod object_meta;
mod pattern;
#[cfg(test)]
mod tests;

pub use label_selector::validate_label_selector;
pub use labels::{validate_annotations, validate_labels};
pub use object_meta::{
    validate_finalizers, validate_object_meta, validate_object_meta_update, validate_owner_references,
};
