//! Which objects a list or watch is about: namespace, name, label and field selectors.

use std::sync::Arc;

use ringbolt_machinery::status::Status;
use ringbolt_protocol::selector::{FieldSelector, LabelSelector};
use ringbolt_storage::object::Object;

use super::resource::ResourceStore;

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
    fields: FieldSelector,
}

impl Selection {
    /// Checks the selectors against what the resource can be selected on. 400 otherwise.
    pub(crate) fn new(
        store: &Arc<ResourceStore>,
        namespace: &str,
        path_name: &str,
        labels: LabelSelector,
        fields: FieldSelector,
    ) -> Result<Self, Status> {
        let selectable = store.served.strategy.selectable_fields();
        for requirement in &fields.requirements {
            let field = &*requirement.field;
            let common = field == "metadata.name" || field == "metadata.namespace";
            if !common && !selectable.contains(&field) {
                return Err(Status::bad_request(field_not_supported(store, field)));
            }
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
            fields,
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
        self.fields.is_empty()
            || self.fields.requirements.iter().all(|r| match &*r.field {
                "metadata.name" => (object.name() == r.value) == r.equals,
                "metadata.namespace" => (object.namespace() == r.value) == r.equals,
                field => {
                    let value = self.store.served.strategy.selectable_field(field, &object.json);
                    (value.as_deref().unwrap_or("") == r.value) == r.equals
                }
            })
    }
}

/// The text for a field that cannot be selected on. Kinds with selectable fields of their own are named.
fn field_not_supported(store: &ResourceStore, field: &str) -> String {
    if store.served.strategy.selectable_fields().is_empty() {
        format!("\"{field}\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"")
    } else {
        format!("field label not supported: {field}")
    }
}
