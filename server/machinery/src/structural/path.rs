//! Where a walk over an object stands: a chain on the stack, spelled out where there is something to say.

use crate::field;

/// One step down.
#[derive(Clone, Copy, Debug)]
enum Step<'p> {
    Root,
    /// A property.
    Child(&'p str),
    /// A key of a map.
    Key(&'p str),
    Index(usize),
}

/// A chain of steps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Path<'p> {
    parent: Option<&'p Path<'p>>,
    step: Step<'p>,
}

impl<'p> Path<'p> {
    pub(super) const ROOT: Path<'static> = Path { parent: None, step: Step::Root };

    /// Below a path that is a text already.
    pub(super) fn at(text: &'p str) -> Path<'p> {
        if text.is_empty() { Path::ROOT } else { Path { parent: None, step: Step::Child(text) } }
    }

    pub(super) fn child<'q>(&'q self, name: &'q str) -> Path<'q> {
        Path { parent: Some(self), step: Step::Child(name) }
    }

    pub(super) fn key<'q>(&'q self, key: &'q str) -> Path<'q> {
        Path { parent: Some(self), step: Step::Key(key) }
    }

    pub(super) fn index(&self, at: usize) -> Path<'_> {
        Path { parent: Some(self), step: Step::Index(at) }
    }

    /// As field errors have it: `spec.ports[0]`, `spec.labels[app]`.
    pub(super) fn field(&self) -> String {
        let parent = self.parent.map(Path::field).unwrap_or_default();
        match self.step {
            Step::Root => parent,
            Step::Child(name) => field::child(&parent, name),
            Step::Key(key) => field::key(&parent, key),
            Step::Index(at) => field::index(&parent, at),
        }
    }

    /// As unknown fields are told, which makes no difference between properties and keys.
    pub(super) fn dotted(&self) -> String {
        let mut parent = self.parent.map(Path::dotted).unwrap_or_default();
        match self.step {
            Step::Root => {}
            Step::Child(name) | Step::Key(name) => {
                if !parent.is_empty() {
                    parent.push('.');
                }
                parent.push_str(name);
            }
            Step::Index(at) => {
                parent.push('[');
                parent.push_str(itoa::Buffer::new().format(at));
                parent.push(']');
            }
        }
        parent
    }
}
