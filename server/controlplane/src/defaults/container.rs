//! Containers.

use bumpalo::Bump;
use ringbolt_machinery::value::{Map, Value};

use crate::tree::Members;

/// Longest name of a repository that an image reference can have.
const REPOSITORY_MAX: usize = 255;

/// The pull policy that an image's tag asks for: what is called `latest`, or nothing, is always pulled.
pub(super) fn pull_policy(image: &str) -> &'static str {
    let (name, digest) = match image.split_once('@') {
        Some((name, _)) => (name, true),
        None => (image, false),
    };
    // A colon before the last slash is a port of the registry.
    let last = name.rsplit('/').next().unwrap_or(name);
    let tag = last.split_once(':').map(|(_, tag)| tag);
    match tag {
        Some("latest") => "Always",
        None if !digest && is_reference(name) => "Always",
        _ => "IfNotPresent",
    }
}

/// Whether a name without tag and digest can be read as an image reference: the tag of one that cannot is unknown.
fn is_reference(name: &str) -> bool {
    let fits = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'.' | b'_' | b'-');
    let (domain, path) = match name.split_once('/') {
        Some((first, rest))
            if first.contains(['.', ':'])
                || first == "localhost"
                || first.bytes().any(|b| b.is_ascii_uppercase()) =>
        {
            (Some(first), rest)
        }
        _ => (None, name),
    };
    let domain_fits = domain.is_none_or(is_domain);
    let component = |c: &str| {
        let edges = |b: Option<&u8>| b.is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
        c.bytes().all(fits) && edges(c.as_bytes().first()) && edges(c.as_bytes().last())
    };
    domain_fits && name.len() <= REPOSITORY_MAX && !path.is_empty() && path.split('/').all(component)
}

/// Whether a text names a registry: a host or an IPv6 address in brackets, with a port or without.
fn is_domain(text: &str) -> bool {
    let is_port = |port: &str| !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit());
    let port_fits = |rest: &str| rest.is_empty() || rest.strip_prefix(':').is_some_and(is_port);
    if let Some((address, rest)) = text.strip_prefix('[').and_then(|text| text.split_once(']')) {
        let fits = |b: u8| b.is_ascii_hexdigit() || b == b':';
        return !address.is_empty() && address.bytes().all(fits) && port_fits(rest);
    }
    let (host, rest) = text.split_at(text.find(':').unwrap_or(text.len()));
    let component = |part: &str| {
        let edge = |b: Option<&u8>| b.is_some_and(u8::is_ascii_alphanumeric);
        edge(part.as_bytes().first())
            && edge(part.as_bytes().last())
            && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
    };
    host.split('.').all(component) && port_fits(rest)
}

/// One container of any list.
pub(super) fn container<'a>(arena: &'a Bump, container: &mut Map<'a>) {
    let image = container.text("image");
    container.default_text("imagePullPolicy", pull_policy(image));
    container.default_text("terminationMessagePath", "/dev/termination-log");
    container.default_text("terminationMessagePolicy", "File");
    container.each_mut("ports", |port| port.default_text("protocol", "TCP"));
    container.each_mut("env", |variable| {
        let Some(from) = variable.child_mut("valueFrom") else { return };
        if let Some(field) = from.child_mut("fieldRef") {
            field.default_text("apiVersion", "v1");
        }
        if let Some(file) = from.child_mut("fileKeyRef") {
            file.default_nil("optional", Value::Bool(false));
        }
    });
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(found) = container.child_mut(name) {
            probe(found);
        }
    }
    if let Some(lifecycle) = container.child_mut("lifecycle") {
        for name in ["postStart", "preStop"] {
            if let Some(action) = lifecycle.child_mut(name).and_then(|h| h.child_mut("httpGet")) {
                http_get(action);
            }
        }
    }
    super::pod::round_up_requirements(container);
    // A container always has resources, if only an empty set.
    if !container.has("resources") {
        container.insert("resources", Value::Map(Map::new_in(arena)));
    }
}

fn probe(probe: &mut Map<'_>) {
    if let Some(action) = probe.child_mut("httpGet") {
        http_get(action);
    }
    if let Some(action) = probe.child_mut("grpc") {
        action.default_nil("service", Value::String(""));
    }
    for (member, value) in
        [("timeoutSeconds", 1), ("periodSeconds", 10), ("successThreshold", 1), ("failureThreshold", 3)]
    {
        probe.default_zero(member, Value::Int(value));
    }
}

fn http_get(action: &mut Map<'_>) {
    action.default_text("path", "/");
    action.default_text("scheme", "HTTP");
}

/// What is limited and not requested is requested as it is limited.
pub(super) fn requests_from_limits<'a>(container: &mut Map<'a>) {
    let Some(resources) = container.child_mut("resources") else { return };
    let Some(limits) = resources.child("limits").cloned() else { return };
    super::complete(resources.map_mut("requests"), &limits);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(image: &str, policy: &str) {
        assert_eq!(pull_policy(image), policy, "{image}");
    }

    #[test]
    fn policies_by_tag() {
        check("nginx", "Always");
        check("nginx:latest", "Always");
        check("nginx:1.25", "IfNotPresent");
        check("registry.example.com:5000/nginx", "Always");
        check("registry.example.com:5000/nginx:1", "IfNotPresent");
        check(
            "nginx@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
            "IfNotPresent",
        );
        check(
            "nginx:latest@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
            "Always",
        );
        check("", "IfNotPresent");
        check("UPPER", "IfNotPresent");
    }
}
