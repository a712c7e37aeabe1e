//! Immutable states of one resource.

use std::{ops::Bound, sync::Arc};

use crate::{object::Object, objects::Objects};

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
    /// Those of [`Snapshot::range`] whose indexed value is `value`, and rarely some more: look at the value. The
    /// cost is that of what comes out. Nothing comes of a resource without an index.
    pub fn with_value<'s>(
        &'s self,
        value: &[u8],
        prefix: &'s str,
        after: Option<&str>,
    ) -> impl Iterator<Item = &'s Arc<Object>> + use<'s> {
        self.root.objects.with_value(value, prefix, after)
    }
    /// Objects of this name in any namespace, with a key greater than `after`, in key order: a look-up in each
    /// namespace that has objects, whatever their number.
    pub fn named<'s>(
        &'s self,
        name: &str,
        after: Option<&str>,
    ) -> impl Iterator<Item = &'s Arc<Object>> + use<'s> {
        let (name, after) = (name.to_owned(), after.unwrap_or("").to_owned());
        // Where the namespace begins that is looked at next.
        let mut from = after.split_inclusive('/').next().unwrap_or("").to_owned();
        std::iter::from_fn(move || {
            loop {
                let bounds = (Bound::Included(&*from), Bound::Unbounded);
                let (_, first) = self.root.objects.range::<_, str>(bounds).next()?;
                let namespace = first.namespace();
                from.clear();
                let found = if namespace.is_empty() {
                    from.extend([&*first.key, "\0"]);
                    (first.name() == name).then_some(first)
                } else {
                    // What follows the slash in the order of bytes: no key of the namespace is as great.
                    from.extend([namespace, "0"]);
                    self.root.objects.get(&*format!("{namespace}/{name}"))
                };
                if let Some(found) = found.filter(|object| *object.key > *after) {
                    return Some(found);
                }
            }
        })
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
