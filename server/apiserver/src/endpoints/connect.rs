//! Connections to pods: log, exec, attach and portforward, as far as they are decided without a kubelet.
//!
//! Nothing is proxied yet: a request that would reach a kubelet gets 501, all others what the real server says.

use std::sync::Arc;

use ringbolt_machinery::{
    field::{FieldError, quote},
    json,
    status::Status,
    time,
    value::Value,
};
use ringbolt_protocol::query;

use super::{answer, get, resource::ResourceStore};
use crate::{
    request::Request,
    response::{Outcome, Response},
    routes::ResourceEndpoint,
};

/// What a client wants of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Connection {
    Log,
    Exec,
    Attach,
    PortForward,
}

impl Connection {
    /// By the name of the subresource.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "log" => Connection::Log,
            "exec" => Connection::Exec,
            "attach" => Connection::Attach,
            "portforward" => Connection::PortForward,
            _ => return None,
        })
    }
}

/// One of these subresources.
pub(crate) struct PodConnection {
    pods: Arc<ResourceStore>,
    nodes: Option<Arc<ResourceStore>>,
    connection: Connection,
}

impl PodConnection {
    /// The subresource of pods that run on `nodes`.
    pub(crate) fn new(
        pods: Arc<ResourceStore>,
        nodes: Option<Arc<ResourceStore>>,
        connection: Connection,
    ) -> Self {
        PodConnection { pods, nodes, connection }
    }

    fn connect(&self, request: &Request<'_>) -> Result<Response, Status> {
        let (info, query) = (&request.info, request.head.query());
        if self.connection == Connection::Log {
            let errors = log_option_errors(query)?;
            if !errors.is_empty() {
                return Err(Status::invalid("", "PodLogOptions", info.name, &errors));
            }
        }
        let store = &*self.pods;
        let pod = get::lookup(store, request.core, info.namespace, info.name)?;
        let node = request.core.with_arena(|arena| {
            let tree = json::decode_stored(arena, store.schema, store.served.stored_type, &pod.json)
                .map_err(|e| Status::internal_error(e.to_string()))?;
            if self.connection != Connection::PortForward {
                check_container(info.name, query::get(query, "container").as_deref().unwrap_or(""), &tree)?;
            }
            Ok(tree.str_at(&["spec", "nodeName"]).unwrap_or("").to_owned())
        })?;
        if node.is_empty() {
            return match self.connection {
                // There is no log yet, which is no error.
                Connection::Log => Ok(Response { status: 204, ..Response::default() }),
                _ => Err(Status::bad_request(format!("pod {} does not have a host assigned", info.name))),
            };
        }
        if let Some(nodes) = &self.nodes
            && get::lookup(nodes, request.core, "", &node).is_err()
        {
            // The real server names the resource of the request here, not the one that is missing.
            return Err(store.not_found(&node));
        }
        Err(answer::not_built(&format!("pods/{}", info.subresource)))
    }
}

impl ResourceEndpoint for PodConnection {
    fn serve(&self, request: &Request<'_>) -> Outcome {
        match self.connect(request) {
            Ok(response) => Outcome::Ready(response),
            Err(status) => answer::failed(request, &status),
        }
    }
}

/// 400 unless the container is one of the pod's, or the pod has only one to choose.
fn check_container(name: &str, container: &str, pod: &Value<'_>) -> Result<(), Status> {
    let of = |field: &str| {
        let list = pod.path(&["spec", field]).and_then(Value::as_list).into_iter().flatten();
        list.filter_map(|c| c.str_at(&["name"])).collect::<Vec<_>>()
    };
    let containers = of("containers");
    let all = [of("initContainers"), containers.clone(), of("ephemeralContainers")].concat();
    match (container, containers.len()) {
        ("", 1) => Ok(()),
        ("", 0) => Err(Status::bad_request(format!("a container name must be specified for pod {name}"))),
        ("", _) => Err(Status::bad_request(format!(
            "a container name must be specified for pod {name}, choose one of: [{}]",
            all.join(" ")
        ))),
        (container, _) if all.contains(&container) => Ok(()),
        _ => Err(Status::bad_request(format!("container {container} is not valid for pod {name}"))),
    }
}

/// What is wrong with `PodLogOptions`; 400 where one does not decode.
fn log_option_errors(query: &str) -> Result<Vec<FieldError>, Status> {
    let number = |key: &str| {
        let text = query::get(query, key);
        text.map(|text| parse_i64(&text).map_err(Status::bad_request)).transpose()
    };
    let (tail, limit, since) = (number("tailLines")?, number("limitBytes")?, number("sinceSeconds")?);
    let since_time = query::get(query, "sinceTime");
    if let Some(text) = since_time.as_deref().filter(|t| !t.is_empty()) {
        time::parse_time(text).map_err(Status::bad_request)?;
    }
    let mut errors = Vec::new();
    if let Some(tail) = tail.filter(|n| *n < 0) {
        errors.push(FieldError::invalid("tailLines", tail, "must be greater than or equal to 0"));
    }
    if let Some(limit) = limit.filter(|n| *n < 1) {
        errors.push(FieldError::invalid("limitBytes", limit, "must be greater than 0"));
    }
    match since {
        Some(_) if since_time.is_some() => {
            // A path without a name shows as an index without one.
            let detail = "at most one of `sinceTime` or `sinceSeconds` may be specified";
            errors.push(FieldError::forbidden("[]", detail));
        }
        Some(since) if since < 1 => {
            errors.push(FieldError::invalid("sinceSeconds", since, "must be greater than 0"));
        }
        _ => {}
    }
    if query::get(query, "stream").is_some() {
        errors.push(FieldError::forbidden("stream", "may not be specified"));
    }
    Ok(errors)
}

/// `strconv.ParseInt(text, 10, 64)` with its error text.
fn parse_i64(text: &str) -> Result<i64, String> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(format!("strconv.ParseInt: parsing {}: invalid syntax", quote(text)));
    }
    text.parse().map_err(|_| format!("strconv.ParseInt: parsing {}: value out of range", quote(text)))
}

#[cfg(test)]
mod tests {
    use bumpalo::Bump;

    use super::*;

    #[test]
    fn log_options() {
        let check = |query: &str, expect: Result<&[&str], &str>| {
            let found = log_option_errors(query)
                .map(|errors| errors.iter().map(|e| e.field.clone()).collect::<Vec<_>>())
                .map_err(|s| s.message);
            let expect =
                expect.map(|fields| fields.iter().map(|f| (*f).to_owned()).collect()).map_err(str::to_owned);
            assert_eq!(found, expect, "{query}");
        };
        check("", Ok(&[]));
        check("tailLines=0&limitBytes=1&sinceSeconds=1&follow=maybe", Ok(&[]));
        check("tailLines=-1&limitBytes=0&sinceSeconds=0", Ok(&["tailLines", "limitBytes", "sinceSeconds"]));
        check("sinceSeconds=0&sinceTime=2020-01-01T00:00:00Z", Ok(&["[]"]));
        check("sinceTime=", Ok(&[]));
        check("stream=", Ok(&["stream"]));
        check("tailLines=", Err(r#"strconv.ParseInt: parsing "": invalid syntax"#));
        check("tailLines=1x", Err(r#"strconv.ParseInt: parsing "1x": invalid syntax"#));
        check(
            "limitBytes=9223372036854775808",
            Err(r#"strconv.ParseInt: parsing "9223372036854775808": value out of range"#),
        );
        check(
            "sinceTime=abc",
            Err(r#"parsing time "abc" as "2006-01-02T15:04:05Z07:00": cannot parse "abc" as "2006""#),
        );
    }

    #[test]
    fn containers() {
        let check = |container: &str, pod: &str, expect: &str| {
            let arena = Bump::new();
            let pod = json::decode_untyped(&arena, arena.alloc_slice_copy(pod.as_bytes())).unwrap();
            let found = check_container("p", container, &pod).err().map(|s| s.message).unwrap_or_default();
            assert_eq!(found, expect, "{container:?}");
        };
        let one = r#"{"spec":{"initContainers":[{"name":"i"}],"containers":[{"name":"c"}]}}"#;
        let two = r#"{"spec":{"initContainers":[{"name":"i"}],"containers":[{"name":"c"},{"name":"d"}]}}"#;
        check("", one, "");
        check("i", one, "");
        check("x", one, "container x is not valid for pod p");
        check("", two, "a container name must be specified for pod p, choose one of: [i c d]");
        check("", "{}", "a container name must be specified for pod p");
    }
}
