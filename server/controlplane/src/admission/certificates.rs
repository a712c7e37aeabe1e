//! CertificateApproval, CertificateSigning, ClusterTrustBundleAttest and CertificateSubjectRestriction: who may speak
//! for a signer, and what no client certificate may say.

use ringbolt_apiserver::{
    admission::{Attributes, Operation},
    authentication::user::SYSTEM_PRIVILEGED,
    authorization::Authorizers,
};
use ringbolt_machinery::{field::quote, status::Status, value::Value};

use super::{certificate_request, permissions::may_for_signer};
use crate::semantic;

const GROUP: &str = "certificates.k8s.io";
const REQUESTS: &str = "certificatesigningrequests";
/// The signer of client certificates for the server itself (`KubeAPIServerClientSignerName`).
const CLIENT_SIGNER: &str = "kubernetes.io/kube-apiserver-client";

/// Whether a write is an update of this part of a request to sign.
fn updates(attributes: &Attributes<'_>, part: &str) -> bool {
    attributes.operation == Operation::Update
        && attributes.subresource == part
        && attributes.is_part_of(GROUP, REQUESTS)
}

fn signer<'a>(object: &Value<'a>) -> &'a str {
    object.str_at(&["spec", "signerName"]).unwrap_or("")
}

/// CertificateApproval: who approves or denies must be let to by the signer's name. It is the stored one that counts.
pub(super) fn approve(
    authorizers: &Authorizers,
    attributes: &Attributes<'_>,
    old: Option<&Value<'_>>,
) -> Result<(), Status> {
    let Some(old) = old.filter(|_| updates(attributes, "approval")) else { return Ok(()) };
    let signer = signer(old);
    if may_for_signer(authorizers, attributes, "approve", signer) {
        return Ok(());
    }
    let why = format!("user not permitted to approve requests with signerName {}", quote(signer));
    Err(attributes.forbidden(&why))
}

/// CertificateSigning: so must who issues the certificate or says how the request ended.
pub(super) fn sign(
    authorizers: &Authorizers,
    attributes: &Attributes<'_>,
    object: Option<&Value<'_>>,
    old: Option<&Value<'_>>,
) -> Result<(), Status> {
    let (Some(object), Some(old)) = (object, old) else { return Ok(()) };
    if !updates(attributes, "status") {
        return Ok(());
    }
    let same = |field: &str| {
        let at = ["status", field];
        let kind = (GROUP, "v1", "CertificateSigningRequest");
        semantic::field_equal(kind, &at, object.path(&at), old.path(&at))
    };
    let signer = signer(old);
    if (same("certificate") && same("conditions")) || may_for_signer(authorizers, attributes, "sign", signer)
    {
        return Ok(());
    }
    let why = format!("user not permitted to sign requests with signerName {}", quote(signer));
    Err(attributes.forbidden(&why))
}

/// ClusterTrustBundleAttest: so must who writes a bundle of trust in a signer's name. What garbage collection changes
/// is no matter of the signer.
pub(super) fn attest(
    authorizers: &Authorizers,
    attributes: &Attributes<'_>,
    object: Option<&Value<'_>>,
    old: Option<&Value<'_>>,
) -> Result<(), Status> {
    let writes = matches!(attributes.operation, Operation::Create | Operation::Update);
    let Some(object) = object.filter(|_| writes && attributes.is_part_of(GROUP, "clustertrustbundles"))
    else {
        return Ok(());
    };
    let signer = signer(object);
    let ty = attributes.served.stored_type;
    let is_collected = || old.is_some_and(|old| semantic::only_gc_fields_differ(ty, object, old));
    if signer.is_empty() || is_collected() || may_for_signer(authorizers, attributes, "attest", signer) {
        return Ok(());
    }
    let why = format!("user not permitted to attest for signerName {}", quote(signer));
    Err(attributes.forbidden(&why))
}

/// CertificateSubjectRestriction: no one becomes an administrator by the signer of client certificates.
pub(super) fn restrict_subject(
    attributes: &Attributes<'_>,
    object: Option<&Value<'_>>,
) -> Result<(), Status> {
    let creates = attributes.operation == Operation::Create && attributes.is(GROUP, REQUESTS);
    let Some(object) = object.filter(|o| creates && signer(o) == CLIENT_SIGNER) else { return Ok(()) };
    let request = object.str_at(&["spec", "request"]).unwrap_or("");
    let subject = certificate_request::subject(request)
        .map_err(|why| attributes.forbidden(&format!("failed to parse CSR: {why}")))?;
    if subject.organizations.iter().any(|o| o == SYSTEM_PRIVILEGED) {
        let why = format!("use of {CLIENT_SIGNER} signer with {SYSTEM_PRIVILEGED} group is not allowed");
        return Err(attributes.forbidden(&why));
    }
    Ok(())
}
