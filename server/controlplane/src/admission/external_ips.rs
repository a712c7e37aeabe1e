//! DenyServiceExternalIPs: nobody takes traffic for an address by naming it in a service.

use ringbolt_apiserver::admission::{Attributes, Operation};
use ringbolt_machinery::{status::Status, value::Value};

/// Refuses services with external addresses that they did not have.
pub(super) fn validate(
    attributes: &Attributes<'_>,
    service: Option<&Value<'_>>,
    old: Option<&Value<'_>>,
) -> Result<(), Status> {
    let writes = matches!(attributes.operation, Operation::Create | Operation::Update);
    let Some(service) = service.filter(|_| writes && attributes.is("", "services")) else { return Ok(()) };
    let has = |address| old.is_some_and(|old| addresses(old).any(|had| had == address));
    if addresses(service).all(has) {
        return Ok(());
    }
    Err(attributes.forbidden("Use of external IPs is denied by admission control"))
}

fn addresses<'v, 'a>(service: &'v Value<'a>) -> impl Iterator<Item = &'a str> + use<'v, 'a> {
    let list = service.path(&["spec", "externalIPs"]).and_then(Value::as_list);
    list.into_iter().flatten().filter_map(Value::as_str)
}
