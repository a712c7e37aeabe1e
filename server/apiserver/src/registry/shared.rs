//! What lives as long as the server, or only as long as somebody has it.

use std::{fmt, ops::Deref, sync::Arc};

/// A reference to one thing for many: what is built in is there for ever, what comes and goes is counted.
pub enum Shared<T: ?Sized + 'static> {
    /// For ever.
    Static(&'static T),
    /// As long as it is counted.
    Counted(Arc<T>),
}

impl<T: ?Sized> Deref for Shared<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        match self {
            Shared::Static(shared) => shared,
            Shared::Counted(shared) => shared,
        }
    }
}

impl<T: ?Sized> Clone for Shared<T> {
    fn clone(&self) -> Self {
        match self {
            Shared::Static(shared) => Shared::Static(shared),
            Shared::Counted(shared) => Shared::Counted(shared.clone()),
        }
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Shared<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        T::fmt(self, f)
    }
}
