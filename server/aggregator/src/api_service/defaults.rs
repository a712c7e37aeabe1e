//! Defaults of `apiregistration.k8s.io/v1`.

use bumpalo::Bump;
use ringbolt_machinery::value::Value;

/// The port of a service that names none.
const PORT: i64 = 443;

/// Fills in what a client left out.
pub fn fill<'a>(_: &'a Bump, object: &mut Value<'a>) {
    let service = object.path_mut(&["spec", "service"]).and_then(Value::as_map_mut);
    if let Some(service) = service
        && service.get("port").is_none_or(Value::is_null)
    {
        service.insert("port", Value::Int(PORT));
    }
}
