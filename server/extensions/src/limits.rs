//! Limits of the extensions server, each with its reason.

/// Fields that field selectors may name, a version: the API server's own limit (`MaxSelectableFields`).
pub const SELECTABLE_FIELDS_MAX: usize = 8;
