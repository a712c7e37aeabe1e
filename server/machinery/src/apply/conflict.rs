//! What an apply would take from other managers.

use std::fmt;

/// One field that another manager owns with another value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The manager, as messages name it: `"kubectl" using v1`.
    pub manager: String,
    /// The field: `.data.k`.
    pub path: String,
}

/// All of them, those of a manager together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conflicts {
    /// Those that are told: as many as [`APPLY_ERROR_TEXT`](crate::limits::APPLY_ERROR_TEXT) has room for.
    pub told: Vec<Conflict>,
    /// How many there are.
    pub count: usize,
}

impl fmt::Display for Conflicts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let ([only], 1) = (self.told.as_slice(), self.count) {
            return write!(f, "Apply failed with 1 conflict: conflict with {}: {}", only.manager, only.path);
        }
        write!(f, "Apply failed with {} conflicts: ", self.count)?;
        for (at, of_manager) in self.told.chunk_by(|a, b| a.manager == b.manager).enumerate() {
            let newline = if at > 0 { "\n" } else { "" };
            write!(f, "{newline}conflicts with {}:", of_manager[0].manager)?;
            of_manager.iter().try_for_each(|conflict| write!(f, "\n- {}", conflict.path))?;
        }
        Ok(())
    }
}

impl std::error::Error for Conflicts {}
