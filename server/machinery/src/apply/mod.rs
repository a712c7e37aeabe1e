//! Who owns which field, and server-side apply: field sets with their `FieldsV1` form, the walks over objects that
//! make and use them, and the field manager that keeps `metadata.managedFields`.
//!
//! The rules are those of `sigs.k8s.io/structured-merge-diff` (v6.4.2) and of `k8s.io/apimachinery`'s
//! `managedfields`, over the compiled Schema, over the structural schema of a custom resource, or over nothing that is
//! known: [`Root`] says which.

mod atomics;
mod compare;
mod conflict;
mod created;
mod field_manager;
mod field_set;
mod fields_v1;
mod items;
mod last_applied;
mod managers;
mod merge;
mod model;
mod normalize;
mod path;
mod remove;
mod reset_fields;
mod schema_sets;
mod set;
mod shape;
#[cfg(test)]
mod tests;
mod updater;
mod validate;
mod versions;
mod walk;

pub use atomics::atomics;
pub use compare::{Comparison, compare};
pub use conflict::{Conflict, Conflicts};
pub use created::KnownFields;
pub use field_manager::{Applied, ApplyError, FieldManager};
pub use field_set::field_set;
pub use fields_v1::{MalformedFields, parse_fields, print_fields};
pub use merge::merge;
pub use normalize::{SetAside, normalize};
pub use path::{PathElement, compare_values, equal_values};
pub use remove::remove_items;
pub use reset_fields::ResetFields;
pub use set::{FieldSet, Path};
pub use shape::Root;
pub use validate::{Duplicates, Problem, problems_text, validate, validate_made};
pub use versions::{NoOtherVersion, Unconverted, Versions};
