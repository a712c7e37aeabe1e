//! `serviceaccounts/token`: a token for a service account (TokenRequest).

use std::{cell::RefCell, sync::Arc};

use bumpalo::Bump;
use bytes::Bytes;
use ringbolt_machinery::{
    field::FieldError,
    scan,
    schema::Schema,
    status::Status,
    validation::names::dns1123_subdomain_errors,
    value::{Map, Value},
};
use ringbolt_protocol::{query::CreateOptions, request_info::Verb};
use ringbolt_storage::object::{Object, ResourceId};

use super::{
    answer,
    asker::{Asker, KeptAsker},
    create,
    get::check_name,
    identity::rfc3339,
    managed_fields::Tracker,
    metadata,
    not_stored::{self, Sent},
    resource::{Key, ResourceStore},
};
use crate::{
    admission::dynamic::at_once,
    authentication::{
        Authenticators,
        service_account::{Claims, EXTENDED_SECONDS, Reference, ServiceAccountTokens, WARN_ONLY_SECONDS},
    },
    core::CoreContext,
    request::Request,
    response::Outcome,
    routes::ResourceEndpoint,
};

/// Group and kind of what is asked.
const GROUP: &str = "authentication.k8s.io";
const KIND: &str = "TokenRequest";
/// Shortest life of a token that can be asked for (`MinTokenAgeSec`).
const SHORTEST_SECONDS: i64 = 600;
/// The longest.
const LONGEST_SECONDS: i64 = 1 << 32;
/// The life of a token that asks for none.
const DEFAULT_SECONDS: i64 = 3600;
/// What a webhook's token can be for.
const ATTESTATION: &str = "admissionReviewAPIGroups";
/// Kinds that only servers with an alpha gate bind tokens to.
const WEBHOOKS: [&str; 2] = ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"];

/// The endpoint.
#[derive(Clone)]
pub(crate) struct TokenRequests {
    accounts: Arc<ResourceStore>,
    requests: Arc<ResourceStore>,
    authenticators: Arc<Authenticators>,
}

impl TokenRequests {
    /// Issues tokens for `accounts`. `None` where the server issues none.
    pub(crate) fn new(
        schema: &'static Schema,
        accounts: Arc<ResourceStore>,
        authenticators: Arc<Authenticators>,
        namespaces: ResourceId,
    ) -> Option<Self> {
        authenticators.service_accounts.as_ref()?;
        let requests = not_stored::kind_of_subresource(schema, (GROUP, "v1", KIND), None, namespaces)?;
        Some(TokenRequests { accounts, requests, authenticators })
    }

    fn create(&self, request: &Request<'_>) -> Result<Outcome, Status> {
        let sent = Sent::take(&self.requests, request)?;
        let options = CreateOptions::parse(request.head.query());
        let tracker = Tracker::new(&self.requests, request, &options.field_manager);
        if let Some(kept) = KeptAsker::of(request, &self.accounts, "token", sent.dry_run) {
            let this = self.clone();
            return Ok(Outcome::Task(Box::pin(async move {
                let arena = kept.asker().core.take_arena();
                let issued = this.issue(&sent, kept.asker(), &tracker, &arena).await;
                drop(arena);
                let warnings = kept.into_warnings();
                match issued {
                    Ok(json) => sent.answer.object(&this.requests, 201, &json, &warnings),
                    Err(status) => sent.answer.failure(&status, &warnings),
                }
            })));
        }
        let asker = Asker::of(request, "token", sent.dry_run);
        let json = request.core.with_arena(|arena| at_once(self.issue(&sent, asker, &tracker, arena)))?;
        Ok(Outcome::Ready(sent.answer.object(&self.requests, 201, &json, &[])))
    }

    async fn issue(
        &self,
        sent: &Sent,
        asker: Asker<'_>,
        tracker: &Tracker,
        arena: &Bump,
    ) -> Result<Bytes, Status> {
        let core = asker.core;
        let asked = &mut sent.decode_for(&self.requests, asker.namespace, asker.warnings, arena)?;
        let tokens = self.authenticators.service_accounts.as_ref().ok_or_else(Status::not_found_path)?;
        // What the client says of the account is held against it, and would be taken for the server's to set.
        let uid = metadata::text(asked, "uid").to_owned();
        let seconds = number(asked, "expirationSeconds").unwrap_or(DEFAULT_SECONDS);
        spec(arena, asked).insert("expirationSeconds", Value::Int(seconds));
        metadata::of(arena, asked).remove("creationTimestamp");
        tracker.created(arena, &self.requests, asked);
        create::check_namespace(&self.accounts, core, asker.namespace, asker.name)?;
        let attributes = asker.attributes(&self.accounts);
        asker.admit(&attributes, &self.accounts, &self.requests, arena, asked).await?;
        let seconds = number(asked, "expirationSeconds").unwrap_or(seconds);

        let named = metadata::text(asked, "name");
        if !named.is_empty() && named != asker.name {
            let why = "must match the service account name if specified";
            let errors = [FieldError::invalid("metadata.name", named, why)];
            return Err(Status::invalid(GROUP, KIND, asker.name, &errors));
        }
        check_name(asker.name)?;
        let account = look_up(core, self.accounts.stored(), asker.namespace, asker.name)
            .ok_or_else(|| self.accounts.not_found(asker.name))?;
        let account = reference(&account);
        if !uid.is_empty() && uid != account.uid {
            let why = format!(
                "the UID in the token request ({uid}) does not match the UID of the service account ({})",
                account.uid
            );
            return Err(Status::conflict(GROUP, KIND, asker.name, &why));
        }
        if audiences(asked).is_empty() {
            let own = tokens.audiences.iter().map(|a| Value::String(arena.alloc_str(a)));
            spec(arena, asked).insert("audiences", list(arena, own));
        }
        let now = jiff::Timestamp::now();
        let meta = metadata::of(arena, asked);
        meta.insert("name", Value::String(arena.alloc_str(&account.name)));
        meta.insert("uid", Value::String(arena.alloc_str(&account.uid)));
        meta.insert("creationTimestamp", Value::String(arena.alloc_str(&rfc3339(now))));
        let errors = errors(asked);
        if !errors.is_empty() {
            return Err(Status::invalid(GROUP, KIND, "", &errors));
        }
        asker.validate(&attributes, &self.accounts, &self.requests, arena, asked).await?;

        let mut claims = Claims {
            audiences: audiences(asked),
            issued: Some(now.as_second()),
            not_before: Some(now.as_second()),
            subject: format!("system:serviceaccount:{}:{}", asker.namespace, account.name),
            id: String::from_utf8_lossy(&core.uuid()).into_owned(),
            namespace: asker.namespace.to_owned(),
            account,
            ..Claims::default()
        };
        bind(tokens, core, asked, &mut claims)?;
        let seconds =
            self.lifetime(asker.warnings, tokens, arena, asked, seconds, &mut claims, now.as_second());
        let token =
            tokens.issuer.sign(claims).ok_or_else(|| Status::internal_error("failed to generate token"))?;
        let expires = jiff::Timestamp::from_second(now.as_second() + seconds)
            .map_err(|e| Status::internal_error(e.to_string()))?;
        let mut status = Map::new_in(arena);
        status.push_unique("token", Value::String(arena.alloc_str(&token)));
        status.push_unique("expirationTimestamp", Value::String(arena.alloc_str(&rfc3339(expires))));
        if let Some(map) = asked.as_map_mut() {
            map.insert("status", Value::Map(status));
        }
        Ok(not_stored::encoded(&self.requests, asked))
    }

    /// Sets when the token ends. Answers the seconds that the client is told, which may be less.
    #[expect(clippy::too_many_arguments, reason = "one caller, which has each of them as it is")]
    fn lifetime<'a>(
        &self,
        warnings: &RefCell<Vec<String>>,
        tokens: &ServiceAccountTokens,
        arena: &'a Bump,
        asked: &mut Value<'a>,
        mut seconds: i64,
        claims: &mut Claims,
        now: i64,
    ) -> i64 {
        let longest = tokens.issuer.longest_seconds;
        if longest > 0 && seconds > longest {
            warnings
                .borrow_mut()
                .push(format!("requested expiration of {seconds} seconds shortened to {longest} seconds"));
            seconds = longest;
            spec(arena, asked).insert("expirationSeconds", Value::Int(seconds));
        }
        let for_server_only = claims.audiences.iter().all(|a| tokens.audiences.contains(a));
        let extended =
            tokens.issuer.extends && claims.pod.is_some() && seconds == WARN_ONLY_SECONDS && for_server_only;
        claims.warn_after = extended.then_some(now + seconds);
        claims.expires = Some(now + if extended { EXTENDED_SECONDS } else { seconds });
        seconds
    }
}

impl ResourceEndpoint for TokenRequests {
    fn serve(&self, request: &Request<'_>) -> Outcome {
        let outcome = match request.info.verb {
            Verb::Create => self.create(request),
            _ => Err(Status::method_not_allowed()),
        };
        outcome.unwrap_or_else(|status| answer::failed(request, &status))
    }
}

fn spec<'v, 'a>(arena: &'a Bump, asked: &'v mut Value<'a>) -> &'v mut Map<'a> {
    if asked.as_map().is_none() {
        *asked = Value::Map(Map::new_in(arena));
    }
    match asked {
        Value::Map(map) => map.map_mut("spec"),
        _ => unreachable!("just made a map"),
    }
}

fn number(asked: &Value<'_>, field: &str) -> Option<i64> {
    asked.path(&["spec", field]).and_then(Value::as_i64)
}

fn audiences(asked: &Value<'_>) -> Vec<String> {
    let list = asked.path(&["spec", "audiences"]).and_then(Value::as_list);
    list.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn list<'a>(arena: &'a Bump, items: impl Iterator<Item = Value<'a>>) -> Value<'a> {
    let mut list = bumpalo::collections::Vec::new_in(arena);
    list.extend(items);
    Value::List(list)
}

fn look_up(core: &CoreContext, resource: ResourceId, namespace: &str, name: &str) -> Option<Arc<Object>> {
    Key::new(namespace, name).and_then(|key| core.storage.get(resource, key.as_str()))
}

fn reference(object: &Object) -> Reference {
    let uid = scan::scalar(&object.json, &["metadata", "uid"]).unwrap_or_default().into_owned();
    Reference { name: object.name().to_owned(), uid }
}

/// Binds a token to the object that it names.
fn bind(
    tokens: &ServiceAccountTokens,
    core: &CoreContext,
    asked: &Value<'_>,
    claims: &mut Claims,
) -> Result<(), Status> {
    let Some(to) = asked.path(&["spec", "boundObjectRef"]).filter(|r| !r.is_null()) else { return Ok(()) };
    let text = |field: &str| to.path(&[field]).and_then(Value::as_str).unwrap_or("");
    let (kind, name) = (text("kind"), text("name"));
    let (group, version) = group_version(text("apiVersion"));
    let found = |resource: ResourceId, plural: &str, namespace: &str| {
        check_name(name)?;
        look_up(core, resource, namespace, name).ok_or_else(|| Status::not_found("", plural, name))
    };
    let kinds = &tokens.kinds;
    let bound = match (group, kind) {
        ("", "Pod") => {
            let pod = found(kinds.pods, "pods", &claims.namespace)?;
            let runs_as = scan::scalar(&pod.json, &["spec", "serviceAccountName"]).unwrap_or_default();
            if runs_as != claims.account.name {
                return Err(Status::bad_request(format!(
                    "cannot bind token for serviceaccount {:?} to pod running with different serviceaccount name.",
                    claims.account.name
                )));
            }
            let node = scan::scalar(&pod.json, &["spec", "nodeName"]).unwrap_or_default();
            if !node.is_empty() {
                // A node that is not there is told by its name.
                let known = look_up(core, kinds.nodes, "", &node).map(|node| reference(&node));
                let unknown = || Reference { name: node.into_owned(), uid: String::new() };
                claims.node = Some(known.unwrap_or_else(unknown));
            }
            claims.pod.insert(reference(&pod))
        }
        ("", "Secret") => {
            claims.secret.insert(reference(&*found(kinds.secrets, "secrets", &claims.namespace)?))
        }
        ("", "Node") => claims.node.insert(reference(&*found(kinds.nodes, "nodes", "")?)),
        _ => {
            let gate = match is_webhook(to) {
                true => " (feature gate APIServerWebhookAuthenticationToken is disabled)",
                false => "",
            };
            return Err(Status::bad_request(format!(
                "cannot bind token to object of type {group}/{version}, Kind={kind}{gate}"
            )));
        }
    };
    let uid = text("uid");
    if !uid.is_empty() && uid != bound.uid {
        let why = format!(
            "the UID in the bound object reference ({uid}) does not match the UID in record. The object might have \
             been deleted and then recreated"
        );
        return Err(Status::conflict(group, kind, name, &why));
    }
    Ok(())
}

/// `group/version` or `version`; what is neither says nothing.
fn group_version(text: &str) -> (&str, &str) {
    match text.split_once('/') {
        None => ("", text),
        Some((group, version)) if !version.contains('/') => (group, version),
        Some(_) => ("", ""),
    }
}

fn is_webhook(to: &Value<'_>) -> bool {
    let text = |field: &str| to.path(&[field]).and_then(Value::as_str).unwrap_or("");
    WEBHOOKS.contains(&text("kind")) && text("apiVersion") == "admissionregistration.k8s.io/v1"
}

/// What is wrong with a request (`ValidateTokenRequest`).
fn errors(asked: &Value<'_>) -> Vec<FieldError> {
    let shown = |field: &str| asked.path(&["spec", field]).cloned().unwrap_or(Value::Null);
    let attested = asked.path(&["spec", "attestations"]).and_then(Value::as_map);
    let webhook = asked.path(&["spec", "boundObjectRef"]).is_some_and(is_webhook);
    if !webhook && attested.is_some_and(|a| !a.is_empty()) {
        let why = "attestations may only be specified with a webhook bound object reference";
        return vec![FieldError::invalid("spec.attestations", shown("attestations"), why)];
    }
    let mut errors = Vec::new();
    let seconds = number(asked, "expirationSeconds").unwrap_or(DEFAULT_SECONDS);
    let path = "spec.expirationSeconds";
    if seconds < SHORTEST_SECONDS {
        errors.push(FieldError::invalid(path, seconds, "may not specify a duration less than 10 minutes"));
    }
    if seconds > LONGEST_SECONDS {
        errors.push(FieldError::invalid(
            path,
            seconds,
            "may not specify a duration larger than 2^32 seconds",
        ));
    }
    if !webhook {
        return errors;
    }
    if audiences(asked).len() != 1 {
        let why = "must be length 1 when bound to a webhook config";
        errors.push(FieldError::invalid("spec.audiences", shown("audiences"), why));
    }
    match attested.and_then(|a| a.iter().next().filter(|_| a.len() == 1)) {
        None => {
            let why = "webhook bound requests require exactly one admissionReviewAPIGroups attestation";
            errors.push(FieldError::invalid("spec.attestations", shown("attestations"), why));
        }
        Some((key, values)) => attestation_errors(key, values, &mut errors),
    }
    errors
}

fn attestation_errors(key: &str, values: &Value<'_>, errors: &mut Vec<FieldError>) {
    let path = format!("spec.attestations[{key}]");
    if key != ATTESTATION {
        errors.push(FieldError::not_supported(path, key, &[ATTESTATION]));
        return;
    }
    let [group] = values.as_list().map_or(&[][..], |list| list.as_slice()) else {
        errors.push(FieldError::invalid(path, values.clone(), "must specify a single value"));
        return;
    };
    let (path, group) = (format!("{path}[0]"), group.as_str().unwrap_or(""));
    match group {
        "" => errors.push(FieldError::invalid(path, group, "may not be an empty string")),
        "*" => {}
        group => errors.extend(dns1123_subdomain_errors(group).into_iter().map(|why| {
            FieldError::invalid(path.clone(), group, format!("must specify a valid API Group: {why}"))
        })),
    }
}
