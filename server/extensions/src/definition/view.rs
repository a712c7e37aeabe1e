//! A CustomResourceDefinition, read by the names of its fields.

use bumpalo::Bump;
use ringbolt_controlplane::tree::{self, Members};
use ringbolt_machinery::value::{Map, Value};

use super::{CLEANUP_FINALIZER, condition};

/// A decoded object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Definition<'v, 'a>(pub(crate) &'v Value<'a>);

/// Names, asked for or accepted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Names {
    pub(crate) plural: String,
    pub(crate) singular: String,
    pub(crate) short_names: Vec<String>,
    pub(crate) kind: String,
    pub(crate) list_kind: String,
    pub(crate) categories: Vec<String>,
}

impl Names {
    fn of(map: Option<&Map<'_>>) -> Names {
        let Some(map) = map else { return Names::default() };
        let list = |name| map.items(name).iter().filter_map(Value::as_str).map(str::to_owned).collect();
        Names {
            plural: map.text("plural").to_owned(),
            singular: map.text("singular").to_owned(),
            short_names: list("shortNames"),
            kind: map.text("kind").to_owned(),
            list_kind: map.text("listKind").to_owned(),
            categories: list("categories"),
        }
    }

    /// The same as a tree, with what an object of the API leaves out left out.
    pub(crate) fn to_value<'a>(&self, arena: &'a Bump) -> Value<'a> {
        let text = |text: &str| Value::String(arena.alloc_str(text));
        let list = |items: &[String]| tree::list(arena, items.iter().map(|item| text(item)));
        let entries = [
            ("plural", text(&self.plural)),
            ("singular", text(&self.singular)),
            ("shortNames", list(&self.short_names)),
            ("kind", text(&self.kind)),
            ("listKind", text(&self.list_kind)),
            ("categories", list(&self.categories)),
        ];
        tree::map(arena, entries.into_iter().filter(|(_, value)| !tree::is_zero(value)))
    }
}

impl<'v, 'a> Definition<'v, 'a> {
    pub(crate) fn name(self) -> &'a str {
        self.0.str_at(&["metadata", "name"]).unwrap_or("")
    }

    pub(crate) fn uid(self) -> &'a str {
        self.0.str_at(&["metadata", "uid"]).unwrap_or("")
    }

    pub(crate) fn generation(self) -> i64 {
        self.0.path(&["metadata", "generation"]).and_then(Value::as_i64).unwrap_or(0)
    }

    pub(crate) fn annotation(self, name: &str) -> &'a str {
        self.0.str_at(&["metadata", "annotations", name]).unwrap_or("")
    }

    pub(crate) fn spec(self) -> Option<&'v Map<'a>> {
        self.0.path(&["spec"]).and_then(Value::as_map)
    }

    pub(crate) fn group(self) -> &'a str {
        self.0.str_at(&["spec", "group"]).unwrap_or("")
    }

    pub(crate) fn is_namespaced(self) -> bool {
        self.0.str_at(&["spec", "scope"]) == Some("Namespaced")
    }

    /// The names that are asked for.
    pub(crate) fn names(self) -> Names {
        Names::of(self.0.path(&["spec", "names"]).and_then(Value::as_map))
    }

    /// The names that it has.
    pub(crate) fn accepted_names(self) -> Names {
        Names::of(self.0.path(&["status", "acceptedNames"]).and_then(Value::as_map))
    }

    pub(crate) fn versions(self) -> impl Iterator<Item = &'v Map<'a>> + use<'v, 'a> {
        let versions = self.spec().map(|spec| spec.items("versions")).unwrap_or_default();
        versions.iter().filter_map(Value::as_map)
    }

    pub(crate) fn is_terminating(self) -> bool {
        self.0.str_at(&["metadata", "deletionTimestamp"]).is_some()
    }

    pub(crate) fn has_cleanup_finalizer(self) -> bool {
        let finalizers = self.0.path(&["metadata", "finalizers"]).and_then(Value::as_list);
        finalizers.into_iter().flatten().any(|finalizer| finalizer.as_str() == Some(CLEANUP_FINALIZER))
    }

    pub(crate) fn is_condition_true(self, kind: &str) -> bool {
        condition::is_true(self.0, kind)
    }
}
