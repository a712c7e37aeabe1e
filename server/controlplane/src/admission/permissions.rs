//! What plugins ask the authorizers: whether the writer may do something that is no request by itself.

use ringbolt_apiserver::{
    admission::Attributes,
    authorization::{Authorizers, Decision, forbidden_verb},
};
use ringbolt_machinery::status::Status;
use ringbolt_protocol::request_info::{RequestInfo, Verb};

/// Whether the writer may do `verb` to what `of` is about. An authorizer that errs says no.
pub(crate) fn may(
    authorizers: &Authorizers,
    attributes: &Attributes<'_>,
    verb: &str,
    of: &RequestInfo<'_>,
) -> bool {
    authorizers.authorize_verb(attributes.user, verb, of) == Decision::Allow
}

/// A question about a named object, as [`may`] asks it.
pub(crate) fn about<'r>(
    (group, version, resource): (&'r str, &'r str, &'r str),
    namespace: &'r str,
    name: &'r str,
) -> RequestInfo<'r> {
    RequestInfo {
        is_resource_request: true,
        verb: Verb::Other,
        api_prefix: if group.is_empty() { "api" } else { "apis" },
        api_group: group,
        api_version: version,
        namespace,
        resource,
        name,
        ..RequestInfo::default()
    }
}

/// 403 where the writer may change the object `requested`, but not create it.
pub(super) fn confirm_create(
    authorizers: &Authorizers,
    attributes: &Attributes<'_>,
    requested: &str,
) -> Result<(), Status> {
    let facts = attributes.served.facts;
    let of = about((facts.group, facts.version, facts.resource), attributes.namespace, requested);
    match authorizers.authorize_verb(attributes.user, "create", &of) {
        Decision::Allow => Ok(()),
        Decision::NoOpinion(reason) => Err(forbidden_verb(attributes.user, "create", &of, &reason)),
    }
}

/// Whether the writer may do `verb` in the name of a signer, or of all signers of its domain.
pub(super) fn may_for_signer(
    authorizers: &Authorizers,
    attributes: &Attributes<'_>,
    verb: &str,
    signer: &str,
) -> bool {
    let ask = |name: &str| {
        may(authorizers, attributes, verb, &about(("certificates.k8s.io", "*", "signers"), "", name))
    };
    let domain = signer.split('/').next().unwrap_or("");
    ask(signer) || ask(&format!("{domain}/*"))
}
