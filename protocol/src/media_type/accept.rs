//! `Accept` negotiation.

use super::{Convert, Format, MediaType, MetaVersion};
use crate::query::is_pretty;

/// Clauses of an `Accept` header that are looked at; clients send one to four.
const CLAUSES_MAX: usize = 32;

const REPRESENTATIONS: &str = "application/json, application/yaml, application/vnd.kubernetes.protobuf";
const STREAM_REPRESENTATIONS: &str =
    "application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch";

/// What kind of path negotiates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// A built-in resource; `collection` where its route lists or watches too.
    Resource {
        /// GET of a collection: the router offers the watch types as well.
        collection: bool,
    },
    /// A built-in resource that nothing can be read of: it has no Tables.
    ResourceWithoutTables,
    /// A custom resource: no protobuf but for transformed answers, and no router in front.
    CustomResource,
    /// Something that is neither, with a router in front (`/api/v1`, `/version`).
    Plain,
    /// A handler without a router in front.
    Handler,
}

/// 406.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotAcceptable {
    /// Message of the Status.
    pub message: String,
    /// Whether the Status carries (empty) details: the router's does.
    pub details: bool,
}

impl NotAcceptable {
    fn by_router(endpoint: Endpoint) -> Self {
        let mut message = format!("406: Not Acceptable\n\nAvailable representations: {REPRESENTATIONS}");
        if endpoint == (Endpoint::Resource { collection: true }) {
            message.push_str(", ");
            message.push_str(STREAM_REPRESENTATIONS);
        }
        NotAcceptable { message, details: true }
    }

    fn by_negotiation() -> Self {
        NotAcceptable {
            message: format!("only the following media types are accepted: {REPRESENTATIONS}"),
            details: false,
        }
    }

    /// A watch in a format that cannot stream.
    pub fn for_streams() -> Self {
        NotAcceptable {
            message: format!("only the following media types are accepted: {STREAM_REPRESENTATIONS}"),
            details: false,
        }
    }
}

/// Negotiates an answer. `accept` is the first `Accept` header; `query` and `user_agent` decide on indenting.
pub fn negotiate(
    accept: Option<&[u8]>,
    query: &str,
    user_agent: &[u8],
    endpoint: Endpoint,
) -> Result<MediaType, NotAcceptable> {
    let accept = accept.and_then(|a| std::str::from_utf8(a).ok()).unwrap_or("");
    if let Some(format) = plainly(accept, endpoint) {
        return Ok(MediaType { format, pretty: is_pretty(query, user_agent), ..MediaType::default() });
    }
    let routed =
        matches!(endpoint, Endpoint::Resource { .. } | Endpoint::ResourceWithoutTables | Endpoint::Plain);
    if routed && !router_accepts(accept) {
        return Err(NotAcceptable::by_router(endpoint));
    }
    let mut found = choose(accept, |clause, format| clause.options(format, endpoint))
        .ok_or_else(NotAcceptable::by_negotiation)?;
    found.pretty = found.pretty || is_pretty(query, user_agent);
    Ok(found)
}

/// The format of the headers that clients in Go send with most requests: there is nothing in them to weigh.
fn plainly(accept: &str, endpoint: Endpoint) -> Option<Format> {
    match accept {
        "application/json" => Some(Format::Json),
        "application/vnd.kubernetes.protobuf"
        | "application/vnd.kubernetes.protobuf,application/json"
        | "application/vnd.kubernetes.protobuf, application/json"
        | "application/vnd.kubernetes.protobuf, */*"
            if endpoint != Endpoint::CustomResource =>
        {
            Some(Format::Protobuf)
        }
        _ => None,
    }
}

/// What `/api` and `/apis` answer with: aggregated discovery where it is asked for, else `None` (plain discovery
/// negotiates as [`Endpoint::Plain`]).
pub fn negotiate_discovery(accept: Option<&[u8]>) -> Option<MediaType> {
    let accept = accept.and_then(|a| std::str::from_utf8(a).ok()).unwrap_or("");
    if accept.is_empty() {
        return None;
    }
    choose(accept, |clause, format| clause.discovery_options(format))
}

/// How a Status goes out when a request failed: as it was asked for, else as indented JSON.
pub fn error_media_type(accept: Option<&[u8]>, query: &str, user_agent: &[u8]) -> MediaType {
    negotiate(accept, query, user_agent, Endpoint::Handler)
        .unwrap_or(MediaType { pretty: true, ..MediaType::default() })
}

/// Whether a bare type among the clauses is one of ours, parameters and quality left aside; no `type/*`.
fn router_accepts(accept: &str) -> bool {
    accept.is_empty()
        || accept.split(',').any(|clause| {
            let bare = clause.split(';').next().unwrap_or("").trim_matches(' ');
            bare == "*/*" || Format::ALL.iter().any(|f| f.content_type() == bare)
        })
}

/// One clause of an `Accept` header.
#[derive(Clone, Copy, Default)]
struct Clause<'h> {
    kind: &'h str,
    subtype: &'h str,
    quality: f32,
    params: &'h str,
}

/// The first of the clauses, best first, that `take` can serve.
fn choose(accept: &str, take: impl Fn(&Clause<'_>, Format) -> Option<MediaType>) -> Option<MediaType> {
    if accept.is_empty() {
        return Some(MediaType::default());
    }
    let mut clauses = [Clause::default(); CLAUSES_MAX];
    let mut len = 0;
    for clause in accept.split(',').filter_map(Clause::parse).take(CLAUSES_MAX) {
        clauses[len] = clause;
        // Go's insertion sort with its order, which is not transitive: a wildcard goes behind a better one.
        let mut at = len;
        while at > 0 && clauses[at].goes_before(&clauses[at - 1]) {
            clauses.swap(at, at - 1);
            at -= 1;
        }
        len += 1;
    }
    clauses[..len].iter().find_map(|clause| {
        Format::ALL
            .iter()
            .find_map(|format| if clause.covers(*format) { take(clause, *format) } else { None })
    })
}

impl<'h> Clause<'h> {
    fn parse(text: &'h str) -> Option<Clause<'h>> {
        let (range, params) = text.trim_matches(' ').split_once(';').unwrap_or((text.trim_matches(' '), ""));
        let (kind, subtype) = range.split_once('/').unwrap_or((range, ""));
        let kind = kind.trim_matches(' ');
        let subtype = match subtype.split_once('/') {
            Some((_, more)) if !more.is_empty() => return None,
            Some((subtype, _)) => subtype,
            None => subtype,
        };
        let subtype = match (kind, subtype) {
            ("*", "") => "*",
            (_, "") => return None,
            (_, subtype) => subtype.trim_matches(' '),
        };
        let mut clause = Clause { kind, subtype, quality: 1.0, params };
        // The last one counts; one that is no number is worst.
        if let Some((_, quality)) = clause.raw_params().filter(|(k, _)| *k == "q").last() {
            clause.quality = quality.parse().unwrap_or(0.0);
        }
        Some(clause)
    }

    fn raw_params(&self) -> impl Iterator<Item = (&'h str, &'h str)> + use<'h> {
        self.params.split(';').filter_map(|param| {
            let (key, value) = param.split_once('=')?;
            let value = match value.split_once('=') {
                Some((_, more)) if !more.is_empty() => return None,
                Some((value, _)) => value,
                None if value.is_empty() => return None,
                None => value,
            };
            Some((key.trim_matches(' '), value))
        })
    }

    /// The value of a parameter, the last one where it stands twice.
    fn param(&self, name: &str) -> Option<&'h str> {
        self.raw_params().filter(|(k, _)| *k == name).last().map(|(_, v)| v.trim_matches(' '))
    }

    fn goes_before(&self, other: &Clause<'_>) -> bool {
        self.quality > other.quality
            || self.kind != "*" && other.kind == "*"
            || self.subtype != "*" && other.subtype == "*"
    }

    fn covers(&self, format: Format) -> bool {
        match (self.kind, self.subtype) {
            ("*", "*") | ("application", "*") => true,
            ("application", subtype) => subtype == format.subtype(),
            _ => false,
        }
    }

    /// What is common to all endpoints; `None` where a parameter forbids.
    fn common(&self, format: Format, server_version: Option<&str>) -> Option<MediaType> {
        let stream = self.param("stream").unwrap_or("");
        if !stream.is_empty() && (stream != "watch" || format.stream_content_type().is_none()) {
            return None;
        }
        if let Some(version) = self.param("sv")
            && !version.is_empty()
            && server_version != Some(version)
        {
            return None;
        }
        Some(MediaType {
            format,
            stream: !stream.is_empty(),
            convert: None,
            pretty: self.param("pretty") == Some("1"),
            no_peer: self.param("profile") == Some("nopeer"),
        })
    }

    fn asks_conversion(&self) -> bool {
        ["as", "g", "v"].iter().any(|name| self.param(name).is_some())
    }

    fn options(&self, format: Format, endpoint: Endpoint) -> Option<MediaType> {
        let resource = !matches!(endpoint, Endpoint::Plain | Endpoint::Handler);
        let tables = format != Format::Protobuf && endpoint != Endpoint::ResourceWithoutTables;
        let mut found = self.common(format, resource.then_some("v1"))?;
        if !self.asks_conversion() {
            let served = endpoint != Endpoint::CustomResource || format != Format::Protobuf;
            return served.then_some(found);
        }
        if !resource || self.param("g") != Some("meta.k8s.io") {
            return None;
        }
        let version = match self.param("v") {
            Some("v1") => MetaVersion::V1,
            Some("v1beta1") => MetaVersion::V1Beta1,
            _ => return None,
        };
        found.convert = Some(match self.param("as") {
            Some("Table") if tables => Convert::Table(version),
            Some("PartialObjectMetadata") => Convert::PartialObjectMetadata(version),
            Some("PartialObjectMetadataList") => Convert::PartialObjectMetadataList(version),
            _ => return None,
        });
        Some(found)
    }

    fn discovery_options(&self, format: Format) -> Option<MediaType> {
        let mut found = self.common(format, None)?;
        let asked = (self.param("g"), self.param("v"), self.param("as"));
        if asked != (Some("apidiscovery.k8s.io"), Some("v2"), Some("APIGroupDiscoveryList")) {
            return None;
        }
        found.convert = Some(Convert::APIGroupDiscoveryList);
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_headers_come_to_what_weighing_comes_to() {
        let endpoints = [
            Endpoint::Resource { collection: true },
            Endpoint::Resource { collection: false },
            Endpoint::ResourceWithoutTables,
            Endpoint::CustomResource,
            Endpoint::Plain,
            Endpoint::Handler,
        ];
        for accept in [
            "application/json",
            "application/vnd.kubernetes.protobuf",
            "application/vnd.kubernetes.protobuf,application/json",
            "application/vnd.kubernetes.protobuf, application/json",
            "application/vnd.kubernetes.protobuf, */*",
        ] {
            for endpoint in endpoints {
                let weighed = choose(accept, |clause, format| clause.options(format, endpoint));
                let plain =
                    plainly(accept, endpoint).map(|format| MediaType { format, ..MediaType::default() });
                assert!(router_accepts(accept));
                if endpoint != Endpoint::CustomResource || accept == "application/json" {
                    assert_eq!(plain, weighed, "{accept} {endpoint:?}");
                } else {
                    assert_eq!(plain, None, "{accept}");
                }
            }
        }
    }
}
