//! `componentstatuses`: asks the scheduler, the controller manager and the store whether they are well.

mod probe;
mod single_flight;

use std::sync::Arc;

use bumpalo::{Bump, collections::Vec as ArenaVec};
use ringbolt_machinery::{
    schema::Schema,
    status::Status,
    value::{Map, Value},
};
use ringbolt_protocol::{
    media_type::MetaVersion,
    request_info::Verb,
    selector::{FieldSelector, LabelSelector},
};
use ringbolt_storage::object::ResourceId;

use self::{probe::Health, single_flight::SingleFlight};
use super::{
    answer::{self, Answer},
    list::parse_options,
    not_stored,
    render::{Form, Render},
    resource::ResourceStore,
    select::field_not_known,
    table::TableForm,
};
use crate::{
    core::CoreContext,
    limits::{CONTROLLER_MANAGER_PORT, SCHEDULER_PORT},
    request::Request,
    response::{Outcome, Response},
    routes::ResourceEndpoint,
};

/// What every answer warns of.
const DEPRECATED: &str = "v1 ComponentStatus is deprecated in v1.19+";
/// Clients know the store by this name, whatever it is.
const STORE: &str = "etcd-0";

/// The endpoint.
pub(crate) struct ComponentStatuses(Arc<Components>);

struct Components {
    one: Arc<ResourceStore>,
    list: Arc<ResourceStore>,
    partial_lists: [Arc<ResourceStore>; 2],
    /// Components that are asked over the network, by name.
    probed: [(&'static str, SingleFlight<Health>); 2],
}

impl ComponentStatuses {
    /// The endpoint of the kind `one`. `None` where the Schema does not know its lists.
    pub(crate) fn new(
        schema: &'static Schema,
        one: Arc<ResourceStore>,
        namespaces: ResourceId,
    ) -> Option<Self> {
        let list = |kind| not_stored::kind_of_subresource(schema, kind, None, namespaces);
        Some(ComponentStatuses(Arc::new(Components {
            one,
            list: list(("", "v1", "ComponentStatusList"))?,
            partial_lists: [
                list(("meta.k8s.io", "v1", "PartialObjectMetadataList"))?,
                list(("meta.k8s.io", "v1beta1", "PartialObjectMetadataList"))?,
            ],
            probed: [
                ("scheduler", SingleFlight::new(|| probe::healthz(SCHEDULER_PORT))),
                ("controller-manager", SingleFlight::new(|| probe::healthz(CONTROLLER_MANAGER_PORT))),
            ],
        })))
    }

    fn get(&self, request: &Request<'_>) -> Result<Outcome, Status> {
        let components = self.0.clone();
        let answer = Answer::negotiate(&components.one, request)?;
        let name = request.info.name.to_owned();
        Ok(Outcome::Task(Box::pin(async move {
            match components.ask(&answer.core, &name).await {
                None => answer.status(&Status::not_found("", "componentstatus", &name)),
                Some(health) => answer.core.with_arena(|arena| {
                    let tree = component(arena, &name, &health);
                    not_stored::respond(&answer, &components.one, 200, &tree, &[])
                }),
            }
        })))
    }

    fn list(&self, request: &Request<'_>) -> Result<Outcome, Status> {
        let components = self.0.clone();
        let answer = Answer::negotiate(&components.one, request)?;
        let options = parse_options(request)?;
        let (labels, fields) = (options.label_selector, options.field_selector);
        check_fields(&fields)?;
        Ok(Outcome::Task(Box::pin(async move {
            let mut found = Vec::new();
            for name in components.names() {
                if is_selected(name, &labels, &fields)
                    && let Some(health) = components.ask(&answer.core, name).await
                {
                    found.push((name, health));
                }
            }
            match answer.convertible() {
                Ok(()) => components.respond(&answer, &found),
                Err(status) => answer.status(&status),
            }
        })))
    }
}

impl ResourceEndpoint for ComponentStatuses {
    fn serve(&self, request: &Request<'_>) -> Outcome {
        request.warnings.borrow_mut().push(DEPRECATED.to_owned());
        let outcome = match request.info.verb {
            Verb::Get => self.get(request),
            Verb::List => self.list(request),
            Verb::Watch => parse_options(request)
                .and_then(|options| check_fields(&options.field_selector))
                .and_then(|()| Err(Status::method_not_supported("", "componentstatuses", "watch"))),
            _ => Err(Status::method_not_allowed()),
        };
        outcome.unwrap_or_else(|status| answer::failed(request, &status))
    }
}

impl Components {
    fn names(&self) -> impl Iterator<Item = &'static str> {
        self.probed.iter().map(|(name, _)| *name).chain([STORE]).collect::<Vec<_>>().into_iter()
    }

    /// How a component is; `None` for a name that is none.
    async fn ask(&self, core: &CoreContext, name: &str) -> Option<Health> {
        if name == STORE {
            return Some(match core.storage.health() {
                Ok(()) => Health { status: "True", message: "ok".to_owned(), error: String::new() },
                Err(error) => Health { status: "False", message: String::new(), error },
            });
        }
        let (_, flight) = self.probed.iter().find(|(known, _)| *known == name)?;
        Some(flight.result().await)
    }

    fn respond(&self, answer: &Answer, found: &[(&str, Health)]) -> Response {
        answer.core.with_arena(|arena| {
            if let Form::Table(table) = answer.form {
                return self.table(arena, answer, table, found);
            }
            let (store, version) = match answer.form {
                Form::Partial(version @ MetaVersion::V1) => (&self.partial_lists[0], Some(version)),
                Form::Partial(version) => (&self.partial_lists[1], Some(version)),
                _ => (&self.list, None),
            };
            let mut items = ArenaVec::new_in(arena);
            for (name, health) in found {
                items.push(match version {
                    Some(version) => partial(arena, name, version),
                    None => component(arena, name, health),
                });
            }
            let mut list = Map::new_in(arena);
            list.push_unique("metadata", Value::Map(Map::new_in(arena)));
            // An empty list of partial objects is null to clients.
            if version.is_none() || !found.is_empty() {
                list.push_unique("items", Value::List(items));
            }
            let answer = Answer { form: Form::Object, ..answer.clone() };
            not_stored::respond(&answer, store, 200, &Value::Map(list), &[])
        })
    }
}

impl Components {
    fn table(&self, arena: &Bump, answer: &Answer, table: TableForm, found: &[(&str, Health)]) -> Response {
        let render = Render { core: &answer.core, store: &self.one, form: answer.form };
        let version = table.version.api_version();
        let mut out =
            format!("{{\"kind\":\"Table\",\"apiVersion\":\"{version}\",\"metadata\":{{").into_bytes();
        render.table_middle(table, found.len(), &mut out);
        for (at, (name, health)) in found.iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            let stored = not_stored::encoded(&self.one, &component(arena, name, health));
            if let Err(status) = render.row(table, &stored, false, &mut out) {
                return answer.status(&status);
            }
        }
        out.extend_from_slice(render.table_end(found.len()).trim_ascii_end());
        Response::new(200, answer::content_type(answer.media.format), answer.text(&out))
    }
}

fn metadata<'a>(arena: &'a Bump, name: &str) -> Value<'a> {
    let mut meta = Map::new_in(arena);
    meta.push_unique("name", Value::String(arena.alloc_str(name)));
    Value::Map(meta)
}

fn component<'a>(arena: &'a Bump, name: &str, health: &Health) -> Value<'a> {
    let mut condition = Map::new_in(arena);
    condition.push_unique("type", Value::String("Healthy"));
    condition.push_unique("status", Value::String(health.status));
    for (field, text) in [("message", &health.message), ("error", &health.error)] {
        if !text.is_empty() {
            condition.push_unique(field, Value::String(arena.alloc_str(text)));
        }
    }
    let mut conditions = ArenaVec::new_in(arena);
    conditions.push(Value::Map(condition));
    let mut component = Map::new_in(arena);
    component.push_unique("metadata", metadata(arena, name));
    component.push_unique("conditions", Value::List(conditions));
    Value::Map(component)
}

fn partial<'a>(arena: &'a Bump, name: &str, version: MetaVersion) -> Value<'a> {
    let mut object = Map::new_in(arena);
    object.push_unique("kind", Value::String("PartialObjectMetadata"));
    object.push_unique("apiVersion", Value::String(version.api_version()));
    object.push_unique("metadata", metadata(arena, name));
    Value::Map(object)
}

fn check_fields(fields: &FieldSelector) -> Result<(), Status> {
    let known = |field: &str| matches!(field, "metadata.name" | "metadata.namespace");
    match fields.requirements.iter().find(|r| !known(&r.field)) {
        None => Ok(()),
        Some(requirement) => Err(Status::bad_request(field_not_known(&requirement.field))),
    }
}

/// Components have neither labels nor a namespace.
fn is_selected(name: &str, labels: &LabelSelector, fields: &FieldSelector) -> bool {
    labels.matches(|_| None)
        && fields.requirements.iter().all(|r| {
            let value = if r.field == "metadata.name" { name } else { "" };
            (r.value == value) == r.equals
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selection() {
        let check = |labels: &str, fields: &str, expect: bool| {
            let labels = LabelSelector::parse(labels).unwrap();
            let fields = FieldSelector::parse(fields).unwrap();
            assert_eq!(is_selected(STORE, &labels, &fields), expect, "{labels} {fields:?}");
        };
        check("", "", true);
        check("a=b", "", false);
        check("!a", "metadata.name=etcd-0", true);
        check("", "metadata.name!=etcd-0", false);
        check("", "metadata.name=scheduler", false);
        check("", "metadata.namespace=", true);
        let unknown = check_fields(&FieldSelector::parse("foo=x").unwrap()).unwrap_err();
        assert_eq!((unknown.code, unknown.reason), (400, ringbolt_machinery::status::Reason::BadRequest));
    }
}
