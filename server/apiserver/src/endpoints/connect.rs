//! Connections to pods by way of their kubelets: log, exec, attach and portforward.

use std::sync::Arc;

use ringbolt_machinery::{
    field::{FieldError, quote},
    status::{Reason, Status},
    time,
    value::Value,
};
use ringbolt_protocol::{query, request_info::Verb};

use super::{
    answer,
    connecting::{self, Connects},
    get,
    location::{Kubelet, decode, list},
    resource::ResourceStore,
};
use crate::{
    authorization::{Authorizers, Decision},
    connector::{Connector, Purpose, Start, Streams, Trust},
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

/// One of these subresources, of pods that run on `nodes`.
pub(crate) struct PodConnection {
    pub(crate) pods: Arc<ResourceStore>,
    pub(crate) nodes: Arc<ResourceStore>,
    pub(crate) authorizers: Arc<Authorizers>,
    pub(crate) connector: Arc<dyn Connector>,
    pub(crate) connection: Connection,
}

/// What a query says, first ones first.
struct Options<'q>(&'q str);

impl Options<'_> {
    /// The first value of a key; the empty text where there is none.
    fn text(&self, key: &str) -> String {
        query::get(self.0, key).map_or_else(String::new, |text| text.into_owned())
    }

    fn all(&self, key: &str) -> Vec<String> {
        query::pairs(self.0).filter(|(name, _)| name == key).map(|(_, value)| value.into_owned()).collect()
    }

    /// One that is there and says neither `false` nor `0` holds.
    fn flag(&self, key: &str) -> bool {
        query::get(self.0, key).is_some_and(|text| !text.eq_ignore_ascii_case("false") && text != "0")
    }

    fn streams(&self) -> Streams {
        Streams {
            stdin: self.flag("stdin"),
            stdout: self.flag("stdout"),
            stderr: self.flag("stderr"),
            tty: self.flag("tty"),
        }
    }

    fn ports(&self) -> Result<Vec<u16>, Status> {
        let parse = |text: &str| {
            let wide = answer::parse_u64(text);
            let port = wide.and_then(|port| {
                let range = || format!("strconv.ParseUint: parsing {}: value out of range", quote(text));
                u16::try_from(port).map_err(|_| range())
            });
            port.map_err(|why| Status::bad_request(format!("cannot convert to []int32: {why}")))
        };
        // Each value may be a list.
        self.all("ports").iter().flat_map(|list| list.split(',')).map(parse).collect()
    }
}

/// What a kubelet is asked for.
#[derive(Debug, PartialEq, Eq)]
struct Asked {
    path: String,
    query: Vec<(&'static str, String)>,
}

impl Connects for PodConnection {
    fn prepare(&self, request: &Request<'_>) -> Result<Start, Status> {
        let (info, options) = (request.info, Options(request.head.query()));
        if self.connection == Connection::Log {
            let errors = log_option_errors(request.head.query())?;
            if !errors.is_empty() {
                return Err(Status::invalid("", "PodLogOptions", info.name, &errors));
            }
        } else {
            self.may_create(request)?;
        }
        let ports = if self.connection == Connection::PortForward { options.ports()? } else { Vec::new() };
        let pod = get::lookup(&self.pods, request.core, info.namespace, info.name)?;
        let (node, container) = request.core.with_arena(|arena| {
            let tree = decode(&self.pods, arena, &pod.json)?;
            let container = match self.connection {
                Connection::PortForward => String::new(),
                _ => container(info.name, &options.text("container"), &tree)?,
            };
            Ok::<_, Status>((tree.str_at(&["spec", "nodeName"]).unwrap_or("").to_owned(), container))
        })?;
        if node.is_empty() {
            return match self.connection {
                // There is no log yet, which is no error.
                Connection::Log => {
                    Ok(Box::new(|| Outcome::Ready(Response { status: 204, ..Response::default() })))
                }
                _ => Err(Status::bad_request(format!("pod {} does not have a host assigned", info.name))),
            };
        }
        let kubelet = Kubelet::find(&self.nodes, request.core, &node, &*self.connector);
        let kubelet = kubelet.map_err(|status| match status.code {
            // The real server names the resource of the request here, not the one that is missing.
            404 => self.pods.not_found(&node),
            _ => status,
        })?;
        let asked = asked(self.connection, info.namespace, info.name, &container, &options, &ports);
        let mut backend = kubelet.backend(asked.path, asked.query);
        if self.connection == Connection::Log && options.flag("insecureSkipTLSVerifyBackend") {
            backend.trust = Trust::AnyKubelet;
        }
        let translates = !kubelet.speaks_websockets;
        Ok(self.connector.prepare(request, backend, purpose(self.connection, &options, translates)))
    }
}

impl PodConnection {
    /// Who comes with a GET was asked for the right to get; what they do is no less than those with a POST do.
    fn may_create(&self, request: &Request<'_>) -> Result<(), Status> {
        let info = request.info;
        if info.verb == Verb::Create {
            return Ok(());
        }
        match self.authorizers.authorize_verb(request.user, "create", info) {
            Decision::Allow => Ok(()),
            Decision::NoOpinion(reason) => {
                let message = format!("pods {} is forbidden: {reason}", quote(info.name));
                let mut status = Status::failure(403, Reason::Forbidden, message);
                status.details = Some(Box::new(ringbolt_machinery::status::Details {
                    name: info.name.to_owned(),
                    kind: "pods".to_owned(),
                    ..Default::default()
                }));
                Err(status)
            }
        }
    }
}

impl ResourceEndpoint for PodConnection {
    fn serve(&self, request: &Request<'_>) -> Outcome {
        connecting::serve(self, request)
    }
}

fn purpose(connection: Connection, options: &Options<'_>, translates: bool) -> Purpose {
    match connection {
        Connection::Log => Purpose::Log,
        Connection::Exec | Connection::Attach => Purpose::Command(translates.then(|| options.streams())),
        Connection::PortForward => Purpose::Ports(translates),
    }
}

fn asked(
    connection: Connection,
    namespace: &str,
    pod: &str,
    container: &str,
    options: &Options<'_>,
    ports: &[u16],
) -> Asked {
    let (path, query) = match connection {
        Connection::Log => (format!("/containerLogs/{namespace}/{pod}/{container}"), log_query(options)),
        Connection::Exec => {
            let mut query: Vec<_> =
                options.all("command").into_iter().map(|word| ("command", word)).collect();
            query.extend(stream_query(options));
            (format!("/exec/{namespace}/{pod}/{container}"), query)
        }
        Connection::Attach => (format!("/attach/{namespace}/{pod}/{container}"), stream_query(options)),
        Connection::PortForward => {
            let ports: Vec<_> = ports.iter().map(u16::to_string).collect();
            let query = (!ports.is_empty()).then(|| ("port", ports.join(",")));
            (format!("/portForward/{namespace}/{pod}"), query.into_iter().collect())
        }
    };
    Asked { path, query }
}

fn stream_query(options: &Options<'_>) -> Vec<(&'static str, String)> {
    let Streams { stdin, stdout, stderr, tty } = options.streams();
    [("error", stderr), ("input", stdin), ("output", stdout), ("tty", tty)]
        .into_iter()
        .filter(|(_, wanted)| *wanted)
        .map(|(key, _)| (key, "1".to_owned()))
        .collect()
}

/// Options that were checked before.
fn log_query(options: &Options<'_>) -> Vec<(&'static str, String)> {
    let number = |key: &'static str| {
        let number = parse_i64(&options.text(key)).ok()?;
        Some((key, number.to_string()))
    };
    let flag = |key: &'static str| options.flag(key).then(|| (key, "true".to_owned()));
    let since =
        time::parse_time(&options.text("sinceTime")).ok().map(|moment| ("sinceTime", moment.to_time()));
    [
        flag("follow"),
        number("limitBytes"),
        flag("previous"),
        number("sinceSeconds"),
        since,
        number("tailLines"),
        flag("timestamps"),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The container that is meant: 400 unless it is one of the pod's, or the pod has only one to choose.
fn container(name: &str, wanted: &str, pod: &Value<'_>) -> Result<String, Status> {
    let of = |field: &str| {
        list(pod, &["spec", field]).iter().filter_map(|c| c.str_at(&["name"])).collect::<Vec<_>>()
    };
    let containers = of("containers");
    let all = [of("initContainers"), containers.clone(), of("ephemeralContainers")].concat();
    match (wanted, &containers[..]) {
        ("", [only]) => Ok((*only).to_owned()),
        ("", []) => Err(Status::bad_request(format!("a container name must be specified for pod {name}"))),
        ("", _) => Err(Status::bad_request(format!(
            "a container name must be specified for pod {name}, choose one of: [{}]",
            all.join(" ")
        ))),
        (wanted, _) if all.contains(&wanted) => Ok(wanted.to_owned()),
        _ => Err(Status::bad_request(format!("container {wanted} is not valid for pod {name}"))),
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
    use ringbolt_machinery::json;

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
        let check = |wanted: &str, pod: &str, expect: Result<&str, &str>| {
            let arena = Bump::new();
            let pod = json::decode_untyped(&arena, arena.alloc_slice_copy(pod.as_bytes())).unwrap();
            let found = container("p", wanted, &pod).map_err(|s| s.message);
            assert_eq!(found.as_deref().map_err(|why| &**why), expect, "{wanted:?}");
        };
        let one = r#"{"spec":{"initContainers":[{"name":"i"}],"containers":[{"name":"c"}]}}"#;
        let two = r#"{"spec":{"initContainers":[{"name":"i"}],"containers":[{"name":"c"},{"name":"d"}]}}"#;
        check("", one, Ok("c"));
        check("i", one, Ok("i"));
        check("x", one, Err("container x is not valid for pod p"));
        check("", two, Err("a container name must be specified for pod p, choose one of: [i c d]"));
        check("", "{}", Err("a container name must be specified for pod p"));
    }

    #[test]
    fn what_kubelets_are_asked_for() {
        let check = |connection, query: &str, path: &str, expect: &[(&str, &str)]| {
            let options = Options(query);
            let ports = options.ports().unwrap();
            let asked = asked(connection, "ns", "p", "c", &options, &ports);
            let found: Vec<_> = asked.query.iter().map(|(key, value)| (*key, &**value)).collect();
            assert_eq!((&*asked.path, &found[..]), (path, expect), "{query}");
        };
        check(Connection::Log, "", "/containerLogs/ns/p/c", &[]);
        check(
            Connection::Log,
            "timestamps=1&follow=true&previous=False&tailLines=%2B07&limitBytes=5&sinceTime=2020-01-01T02:00:00.5%2B02:00&x=y",
            "/containerLogs/ns/p/c",
            &[
                ("follow", "true"),
                ("limitBytes", "5"),
                ("sinceTime", "2020-01-01T00:00:00Z"),
                ("tailLines", "7"),
                ("timestamps", "true"),
            ],
        );
        check(
            Connection::Exec,
            "command=ls&tty=&stdin=0&stdin=1&stdout=yes&command=-l%26",
            "/exec/ns/p/c",
            &[("command", "ls"), ("command", "-l&"), ("output", "1"), ("tty", "1")],
        );
        check(
            Connection::Attach,
            "stderr=1&stdin=true&command=ls",
            "/attach/ns/p/c",
            &[("error", "1"), ("input", "1")],
        );
        check(Connection::PortForward, "", "/portForward/ns/p", &[]);
        check(Connection::PortForward, "ports=80&ports=65535", "/portForward/ns/p", &[("port", "80,65535")]);
        check(Connection::PortForward, "ports=1,2&ports=3", "/portForward/ns/p", &[("port", "1,2,3")]);
        let why = |query| Options(query).ports().unwrap_err().message;
        let invalid = r#"cannot convert to []int32: strconv.ParseUint: parsing "-1": invalid syntax"#;
        assert_eq!(why("ports=-1"), invalid);
        let large = r#"cannot convert to []int32: strconv.ParseUint: parsing "65536": value out of range"#;
        assert_eq!(why("ports=1&ports=65536"), large);
    }
}
