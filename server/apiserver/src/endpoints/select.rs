//! Which objects a list or watch is about: namespace, name, label and field selectors.

use std::sync::Arc;

use ringbolt_machinery::{field::quote, status::Status};
use ringbolt_protocol::selector::{FieldSelector, LabelSelector};
use ringbolt_storage::{object::Object, snapshot::Snapshot};

use super::resource::ResourceStore;
use crate::selectable::Refusal;

/// The selection of one request.
pub(crate) struct Selection {
    store: Arc<ResourceStore>,
    /// Prefix of the keys: `namespace/`, or empty.
    pub(crate) prefix: String,
    /// The namespace, empty for all.
    pub(crate) namespace: String,
    /// The one name that fields or path ask for.
    pub(crate) name: Option<String>,
    labels: LabelSelector,
    fields: Vec<Requirement>,
}

/// What a field selector asks of one field.
struct Requirement {
    of: Of,
    value: Box<str>,
    /// Or must differ.
    equals: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Of {
    Name,
    Namespace,
    /// A column of the values kept with an object.
    Column(usize),
    /// A selectable field of a custom kind: its definition may change, so that nothing is kept.
    Custom(usize),
}

impl Requirement {
    fn holds(&self, store: &ResourceStore, object: &Object) -> bool {
        let value = match self.of {
            Of::Name => object.name().as_bytes(),
            Of::Namespace => object.namespace().as_bytes(),
            Of::Column(column) => object.attributes.fields.get(column),
            Of::Custom(field) => {
                let value = store.custom_field(object, field);
                return (value == *self.value) == self.equals;
            }
        };
        (value == self.value.as_bytes()) == self.equals
    }
}

impl Selection {
    /// Whether there is only one key that can be selected.
    pub(crate) fn is_one_key(&self) -> bool {
        self.name.is_some() && (!self.store.served.facts.namespaced || !self.namespace.is_empty())
    }

    /// Checks the selectors against what the resource can be selected on. 400 otherwise.
    pub(crate) fn new(
        store: &Arc<ResourceStore>,
        namespace: &str,
        path_name: &str,
        labels: LabelSelector,
        fields: FieldSelector,
    ) -> Result<Self, Status> {
        let selectable = store.served.strategy.selectable();
        let mut requirements = Vec::with_capacity(fields.requirements.len());
        for requirement in &fields.requirements {
            let of = match &*requirement.field {
                "metadata.name" => Of::Name,
                "metadata.namespace" if selectable.has_namespace() => Of::Namespace,
                field => match (selectable.column(field), store.custom_selectable(field)) {
                    (Some(column), _) => Of::Column(column),
                    (_, Some(number)) => Of::Custom(number),
                    (None, None) => return Err(Status::bad_request(field_not_supported(store, field))),
                },
            };
            let value = (*requirement.value).into();
            requirements.push(Requirement { of, value, equals: requirement.equals });
        }
        let name = match fields.requires_exact("metadata.name") {
            Some(name) => Some(name.to_owned()),
            None if path_name.is_empty() => None,
            None => Some(path_name.to_owned()),
        };
        Ok(Selection {
            prefix: if namespace.is_empty() { String::new() } else { format!("{namespace}/") },
            store: store.clone(),
            namespace: namespace.to_owned(),
            name,
            labels,
            fields: requirements,
        })
    }

    /// Whether nothing but namespace and name is selected on.
    pub(crate) fn is_plain(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    /// Whether an object of the namespace is selected.
    pub(crate) fn matches(&self, object: &Object) -> bool {
        if let Some(name) = &self.name
            && object.name() != name
        {
            return false;
        }
        if !self.labels.is_empty() {
            let found = |key: &str| object.labels().find(|(k, _)| *k == key).map(|(_, v)| v);
            if !self.labels.matches(found) {
                return false;
            }
        }
        self.fields.iter().all(|requirement| requirement.holds(&self.store, object))
    }

    /// Whether an object may be selected, by its name alone: what no conversion changes.
    pub(crate) fn is_candidate(&self, object: &Object) -> bool {
        self.name.as_ref().is_none_or(|name| object.name() == name)
    }

    /// The objects that may be selected whose key is greater than `after`, in key order.
    pub(crate) fn candidates<'s>(
        &'s self,
        snapshot: &'s Snapshot,
        after: Option<&'s str>,
    ) -> Box<dyn Iterator<Item = &'s Arc<Object>> + 's> {
        match &self.name {
            Some(name) if self.is_one_key() => {
                let found = snapshot.get(&format!("{}{name}", self.prefix));
                Box::new(found.filter(|object| after.is_none_or(|after| &*object.key > after)).into_iter())
            }
            _ => Box::new(snapshot.range(&self.prefix, after).filter(|object| self.is_candidate(object))),
        }
    }

    /// The value that the selector asks of the field the store has an index of.
    pub(crate) fn indexed_value(&self) -> Option<&str> {
        if !self.store.served.strategy.selectable().is_indexed() {
            return None;
        }
        self.exact(Of::Column(0))
    }

    fn exact(&self, of: Of) -> Option<&str> {
        self.fields.iter().find(|r| r.equals && r.of == of).map(|r| &*r.value)
    }

    /// The selected objects whose key is greater than `after`, in key order, by the shortest way there is to them.
    pub(crate) fn select<'s>(
        &'s self,
        snapshot: &'s Snapshot,
        after: Option<&'s str>,
    ) -> Box<dyn Iterator<Item = &'s Arc<Object>> + 's> {
        if self.is_plain() && self.name.is_none() {
            return Box::new(snapshot.range(&self.prefix, after));
        }
        let selected = |object: &&'s Arc<Object>| self.matches(object);
        let one_namespace = !self.namespace.is_empty() || !self.store.served.facts.namespaced;
        if let (Some(name), true) = (&self.name, one_namespace) {
            let found = snapshot.get(&format!("{}{name}", self.prefix));
            let found = found.filter(|object| after.is_none_or(|after| &*object.key > after));
            return Box::new(found.into_iter().filter(selected));
        }
        if let Some(value) = self.indexed_value() {
            return Box::new(snapshot.with_value(value.as_bytes(), &self.prefix, after).filter(selected));
        }
        if let (Some(name), false) = (&self.name, one_namespace) {
            return Box::new(snapshot.named(name, after).filter(selected));
        }
        Box::new(snapshot.range(&self.prefix, after).filter(selected))
    }
}

/// The text for a field that cannot be selected on. Kinds with selectable fields of their own are named.
fn field_not_supported(store: &ResourceStore, field: &str) -> String {
    let selectable = store.served.strategy.selectable();
    if !store.is_custom() && selectable.is_empty() {
        return field_not_known(field);
    }
    match selectable.refusal() {
        Refusal::Plain => format!("field label not supported: {field}"),
        Refusal::OfKind => format!("field label {} not supported for {}", quote(field), store.kind()),
        Refusal::OfVersion => {
            let (group, version, kind) = (store.group(), store.version(), store.kind());
            format!("field label not supported for {group}/{version}, Kind={kind}: {field}")
        }
    }
}

/// The text where a kind has no selectable fields of its own.
pub(super) fn field_not_known(field: &str) -> String {
    let field = quote(field);
    format!("{field} is not a known field selector: only \"metadata.name\", \"metadata.namespace\"")
}
