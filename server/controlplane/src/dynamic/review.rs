//! `AdmissionRequest`: what webhooks and expressions are told of a request.

use bumpalo::Bump;
use ringbolt_apiserver::admission::dynamic::{DynamicRequest, Matched};
use ringbolt_machinery::{
    json::{self, quote::write_string},
    value::Value,
};

/// A request as something that it matched is told of it.
#[derive(Clone, Copy)]
pub struct Review<'r> {
    /// The request.
    pub request: &'r DynamicRequest<'r>,
    /// As what it matched.
    pub matched: Matched<'r>,
}

impl Review<'_> {
    /// The body of the question to a webhook, ended by a newline as Kubernetes' clients do. Objects are JSON.
    pub fn body(&self, version: &str, uid: &str, object: Option<&[u8]>, old: Option<&[u8]>) -> Vec<u8> {
        let room = object.map_or(0, <[u8]>::len) + old.map_or(0, <[u8]>::len) + 1024;
        let mut out = Vec::with_capacity(room);
        out.extend_from_slice(b"{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/");
        out.extend_from_slice(version.as_bytes());
        out.extend_from_slice(b"\",\"request\":{\"uid\":");
        write_string(&mut out, uid);
        self.write_facts(&mut out);
        let null: &[u8] = b"null";
        out.extend_from_slice(b",\"object\":");
        out.extend_from_slice(object.unwrap_or(null));
        out.extend_from_slice(b",\"oldObject\":");
        out.extend_from_slice(old.unwrap_or(null));
        self.write_end(&mut out);
        out.extend_from_slice(b"}}\n");
        out
    }

    /// The variable `request` of expressions.
    pub fn tree<'a>(&self, arena: &'a Bump) -> Value<'a> {
        let mut out = b"{\"uid\":\"\"".to_vec();
        self.write_facts(&mut out);
        self.write_end(&mut out);
        out.push(b'}');
        json::decode_untyped(arena, arena.alloc_slice_copy(&out)).unwrap_or(Value::Null)
    }

    fn write_facts(&self, out: &mut Vec<u8>) {
        let request = self.request;
        let of = (self.matched.version.group, self.matched.version.version);
        let subresource = request.attributes.subresource;
        let kind = |out: &mut Vec<u8>, name: &str, (group, version): (&str, &str)| {
            members(out, name, &[("group", group), ("version", version), ("kind", request.kind().2)]);
        };
        let resource = |out: &mut Vec<u8>, name: &str, (group, version, resource): (&str, &str, &str)| {
            members(out, name, &[("group", group), ("version", version), ("resource", resource)]);
        };
        kind(out, "kind", of);
        resource(out, "resource", self.matched.resource);
        text(out, "subResource", subresource);
        kind(out, "requestKind", (request.kind().0, request.kind().1));
        resource(out, "requestResource", request.resource());
        text(out, "requestSubResource", subresource);
        text(out, "name", request.object_name());
        text(out, "namespace", request.namespace());
        text(out, "operation", request.attributes.operation.as_str());
        self.write_user(out);
    }

    fn write_user(&self, out: &mut Vec<u8>) {
        let user = self.request.attributes.user;
        let mut of_user = Vec::with_capacity(128);
        text(&mut of_user, "username", &user.name);
        text(&mut of_user, "uid", &user.uid);
        if !user.groups.is_empty() {
            name(&mut of_user, "groups");
            texts(&mut of_user, &user.groups);
        }
        if !user.extra.is_empty() {
            let mut extra: Vec<_> = user.extra.iter().collect();
            extra.sort();
            name(&mut of_user, "extra");
            for (at, (key, values)) in extra.into_iter().enumerate() {
                of_user.push(if at == 0 { b'{' } else { b',' });
                write_string(&mut of_user, key);
                of_user.push(b':');
                texts(&mut of_user, values);
            }
            of_user.push(b'}');
        }
        name(out, "userInfo");
        out.push(b'{');
        out.extend_from_slice(of_user.strip_prefix(b",").unwrap_or(&of_user));
        out.push(b'}');
    }

    fn write_end(&self, out: &mut Vec<u8>) {
        name(out, "dryRun");
        let dry_run: &[u8] = if self.request.attributes.dry_run { b"true" } else { b"false" };
        out.extend_from_slice(dry_run);
        name(out, "options");
        out.extend_from_slice(self.request.options().as_deref().unwrap_or("null").as_bytes());
    }
}

fn name(out: &mut Vec<u8>, name: &str) {
    out.extend_from_slice(b",\"");
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\":");
}

/// A member, unless it is empty.
fn text(out: &mut Vec<u8>, member: &str, value: &str) {
    if !value.is_empty() {
        name(out, member);
        write_string(out, value);
    }
}

fn texts(out: &mut Vec<u8>, values: &[String]) {
    out.push(b'[');
    for (at, value) in values.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        write_string(out, value);
    }
    out.push(b']');
}

fn members(out: &mut Vec<u8>, member: &str, values: &[(&str, &str)]) {
    name(out, member);
    for (at, (key, value)) in values.iter().enumerate() {
        out.extend_from_slice(if at == 0 { b"{\"" } else { b",\"" });
        out.extend_from_slice(key.as_bytes());
        out.extend_from_slice(b"\":");
        write_string(out, value);
    }
    out.push(b'}');
}
