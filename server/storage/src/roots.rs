//! The table of what is published of each resource. It grows and never shrinks, and readers do not notice: a root stays
//! where it is for as long as the table.

use std::sync::OnceLock;

use arc_swap::ArcSwap;

use crate::{
    limits::{RESOURCES_MAX, ROOTS_CHUNK},
    object::ResourceId,
    snapshot::Root,
};

const CHUNKS: usize = RESOURCES_MAX.div_ceil(ROOTS_CHUNK);

/// Roots by number. Those that were there at open lie in one piece, so that looking one up is as cheap as in a list;
/// the others come in chunks.
pub(crate) struct Roots {
    first: Box<[ArcSwap<Root>]>,
    later: [OnceLock<Box<[ArcSwap<Root>]>>; CHUNKS],
}

impl Roots {
    /// A table of these.
    pub(crate) fn new(first: Vec<Root>) -> Roots {
        Roots {
            first: first.into_iter().map(ArcSwap::from_pointee).collect(),
            later: [const { OnceLock::new() }; CHUNKS],
        }
    }

    /// The root of a resource; `None` where there is no room made for one.
    #[inline]
    pub(crate) fn get(&self, resource: ResourceId) -> Option<&ArcSwap<Root>> {
        match self.first.get(resource.0 as usize) {
            Some(root) => Some(root),
            None => self.later(resource),
        }
    }

    fn later(&self, resource: ResourceId) -> Option<&ArcSwap<Root>> {
        let at = (resource.0 as usize).checked_sub(self.first.len())?;
        self.later.get(at / ROOTS_CHUNK)?.get()?.get(at % ROOTS_CHUNK)
    }

    /// Makes room for a resource. False where the table is as large as it may become.
    pub(crate) fn make_room(&self, number: usize) -> bool {
        let Some(at) = number.checked_sub(self.first.len()) else { return true };
        let Some(chunk) = self.later.get(at / ROOTS_CHUNK).filter(|_| number < RESOURCES_MAX) else {
            return false;
        };
        chunk.get_or_init(|| (0..ROOTS_CHUNK).map(|_| ArcSwap::default()).collect());
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_stay_where_they_are() {
        let roots = Roots::new(vec![Root::default(), Root { revision: 7, ..Root::default() }]);
        let id = |number: usize| ResourceId(number as u16);
        let first: *const _ = roots.get(id(1)).unwrap();
        assert!(roots.get(id(2)).is_none());
        assert!(roots.make_room(1) && roots.make_room(2));
        let late = roots.get(id(2)).unwrap();
        late.store(std::sync::Arc::new(Root { revision: 8, ..Root::default() }));
        for number in 3..RESOURCES_MAX {
            assert!(roots.make_room(number), "{number}");
        }
        assert!(!roots.make_room(RESOURCES_MAX));
        assert!(std::ptr::eq(first, roots.get(id(1)).unwrap()));
        assert!(std::ptr::eq(late, roots.get(id(2)).unwrap()));
        assert_eq!(roots.get(id(2)).unwrap().load().revision, 8);
        assert!(roots.get(id(RESOURCES_MAX - 1)).is_some());
    }
}
