//! Immutable states of one resource.

use std::{ops::Bound, sync::Arc};

use imbl::OrdMap;

use crate::object::Object;

/// Objects of one resource, in key order. Copies share structure.
pub(crate) type Objects = OrdMap<Arc<str>, Arc<Object>>;

/// What is published of one resource.
#[derive(Clone, Debug, Default)]
pub(crate) struct Root {
    /// Revision of the last change to the resource.
    pub(crate) revision: u64,
    /// The state right after it.
    pub(crate) objects: Objects,
}

/// The state of one resource at one revision. Cheap to clone and to keep; it never changes.
#[derive(Clone, Debug)]
pub struct Snapshot {
    pub(crate) revision: u64,
    pub(crate) root: Arc<Root>,
}

impl Snapshot {
    /// The list's `resourceVersion`: the state holds every change of the resource up to here and none after, and
    /// a watch that starts here misses nothing.
    pub fn revision(&self) -> u64 {
        self.revision
    }
    /// Revision of the last change to the resource, at most [`Snapshot::revision`].
    pub fn last_change(&self) -> u64 {
        self.root.revision
    }
    /// The object under `key` (`namespace/name` or `name`).
    pub fn get(&self, key: &str) -> Option<&Arc<Object>> {
        self.root.objects.get(key)
    }
    /// Objects whose key starts with `prefix` (empty for all, `namespace/` for one namespace) and is greater than
    /// `after`, in the byte order of the keys.
    pub fn range<'s>(&'s self, prefix: &'s str, after: Option<&'s str>) -> Range<'s> {
        let from = match after {
            Some(after) if after >= prefix => Bound::Excluded(after),
            _ => Bound::Included(prefix),
        };
        Range { iter: self.root.objects.range::<_, str>((from, Bound::Unbounded)), prefix }
    }
    /// Number of objects.
    pub fn len(&self) -> usize {
        self.root.objects.len()
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.root.objects.is_empty()
    }
    /// Number of objects whose key starts with `prefix`. Walks them, except for the empty prefix.
    pub fn count(&self, prefix: &str) -> usize {
        if prefix.is_empty() { self.len() } else { self.range(prefix, None).count() }
    }
    /// Number of objects that [`Snapshot::range`] has: what `remainingItemCount` says after a page that ended in
    /// `after`.
    pub fn count_after(&self, prefix: &str, after: &str) -> usize {
        self.range(prefix, Some(after)).count()
    }
}

/// Iterator of [`Snapshot::range`].
pub struct Range<'s> {
    iter: imbl::ordmap::RangedIter<'s, Arc<str>, Arc<Object>, imbl::shared_ptr::DefaultSharedPtr>,
    prefix: &'s str,
}

impl<'s> Iterator for Range<'s> {
    type Item = &'s Arc<Object>;
    fn next(&mut self) -> Option<Self::Item> {
        let (key, object) = self.iter.next()?;
        key.starts_with(self.prefix).then_some(object)
    }
}
