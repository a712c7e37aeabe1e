//! By which right a user may be somebody else: the modes of KEP-5284, then the older one.
//!
//! A constrained mode asks twice: whether the user may do *this request* as somebody of that kind
//! (`impersonate-on:MODE:VERB`), and whether it may be that one (`impersonate:MODE`). The older mode asks the second
//! only (`impersonate`). The first mode that allows it decides, and else the first that refused is heard.
//!
//! The mode that last worked for a user is tried before the others.

use std::{borrow::Cow, time::Instant};

use ringbolt_machinery::{
    field::quote,
    status::Status,
    validation::names::{dns1123_subdomain_errors, name_is_dns_label},
};
use ringbolt_protocol::request_info::RequestInfo;

use super::last_modes::LastModes;
use crate::{
    authentication::{
        UserInfo,
        user::{
            ALL_AUTHENTICATED, ALL_UNAUTHENTICATED, ANONYMOUS, SERVICE_ACCOUNT_NODE_NAME_KEY,
            SYSTEM_PRIVILEGED,
        },
    },
    authorization::{Authorizers, Decision, forbidden_verb},
    metrics::Metrics,
};

/// Group of all nodes.
const NODES: &str = "system:nodes";
const NODE_PREFIX: &str = "system:node:";
const SERVICE_ACCOUNT_PREFIX: &str = "system:serviceaccount:";
const SERVICE_ACCOUNTS: &str = "system:serviceaccounts";
/// From so many groups or extra values on, one question about all of them comes first.
const MANY: usize = 4;

/// How a user becomes another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    AssociatedNode,
    ArbitraryNode,
    ServiceAccount,
    UserInfo,
    Legacy,
}

const MODES: [Mode; 5] =
    [Mode::AssociatedNode, Mode::ArbitraryNode, Mode::ServiceAccount, Mode::UserInfo, Mode::Legacy];

/// What the name of a user says of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Named<'n> {
    Node(&'n str),
    ServiceAccount { namespace: &'n str, name: &'n str },
    Other,
}

impl<'n> Named<'n> {
    fn of(user: &'n str) -> Named<'n> {
        if let Some(name) = user.strip_prefix(NODE_PREFIX)
            && dns1123_subdomain_errors(name).is_empty()
        {
            return Named::Node(name);
        }
        if let Some((namespace, name)) =
            user.strip_prefix(SERVICE_ACCOUNT_PREFIX).and_then(|n| n.split_once(':'))
            && name_is_dns_label(namespace, false).is_empty()
            && dns1123_subdomain_errors(name).is_empty()
        {
            return Named::ServiceAccount { namespace, name };
        }
        Named::Other
    }
}

impl Mode {
    /// Its part of the verbs; empty for the older one.
    fn name(self) -> &'static str {
        match self {
            Mode::AssociatedNode => "associated-node",
            Mode::ArbitraryNode => "arbitrary-node",
            Mode::ServiceAccount => "serviceaccount",
            Mode::UserInfo => "user-info",
            Mode::Legacy => "",
        }
    }

    /// Whether it is about such users at all.
    fn applies(self, requestor: &UserInfo, wanted: &UserInfo) -> bool {
        let only_name = wanted.uid.is_empty() && wanted.groups.is_empty() && wanted.extra.is_empty();
        match (self, Named::of(&wanted.name)) {
            (Mode::AssociatedNode, Named::Node(node)) => only_name && runs_on(requestor, node),
            (Mode::ArbitraryNode, Named::Node(_)) => only_name,
            (Mode::ServiceAccount, Named::ServiceAccount { .. }) => only_name,
            (Mode::UserInfo, Named::Other) | (Mode::Legacy, _) => true,
            _ => false,
        }
    }
}

/// Whether this is a service account whose token is bound to a pod on the node.
fn runs_on(requestor: &UserInfo, node: &str) -> bool {
    let is_account = matches!(Named::of(&requestor.name), Named::ServiceAccount { .. });
    let mut nodes = requestor.extra.iter().filter(|(key, _)| key == SERVICE_ACCOUNT_NODE_NAME_KEY);
    is_account && nodes.next().is_some_and(|(_, values)| values.len() == 1 && values[0] == node)
}

/// The user that `wanted` comes to, or why `requestor` may not be it.
pub(super) fn impersonated(
    authorizers: &Authorizers,
    requestor: &UserInfo,
    info: &RequestInfo<'_>,
    wanted: &UserInfo,
    last_modes: &LastModes,
    counts: Counts<'_>,
) -> Result<UserInfo, Status> {
    let begun = Instant::now();
    let (mode, result) = first_that_allows(authorizers, requestor, info, wanted, last_modes, counts);
    if let Some((metrics, core)) = counts {
        metrics.observe_impersonation(core, mode, result.is_ok(), begun.elapsed());
    }
    result
}

/// Who counts, and on which core.
pub(super) type Counts<'c> = Option<(&'c Metrics, usize)>;

/// The user with the place of its mode among labels, 0 for none.
fn first_that_allows(
    authorizers: &Authorizers,
    requestor: &UserInfo,
    info: &RequestInfo<'_>,
    wanted: &UserInfo,
    last_modes: &LastModes,
    counts: Counts<'_>,
) -> (usize, Result<UserInfo, Status>) {
    let mut refusal = None;
    let last = last_modes.get(&requestor.name);
    let others = (0..MODES.len()).filter(|at| Some(*at) != last);
    for at in last.into_iter().chain(others) {
        let Some(&mode) = MODES.get(at).filter(|mode| mode.applies(requestor, wanted)) else { continue };
        let questions = Questions { authorizers, requestor, mode, counts };
        match questions.on(info).and_then(|()| questions.become_user(wanted)) {
            Ok(user) => {
                if last != Some(at) {
                    last_modes.set(&requestor.name, at);
                }
                return (at + 1, Ok(user));
            }
            Err(status) => refusal.get_or_insert(status),
        };
    }
    // The older mode is about everyone, so somebody has refused.
    (0, Err(refusal.unwrap_or_else(|| Status::internal_error("all impersonation modes failed"))))
}

/// What has to be asked for one mode.
struct Questions<'q> {
    authorizers: &'q Authorizers,
    requestor: &'q UserInfo,
    mode: Mode,
    counts: Counts<'q>,
}

impl Questions<'_> {
    fn ask(&self, verb: &str, info: &RequestInfo<'_>) -> Result<(), Status> {
        let begun = Instant::now();
        let decision = self.authorizers.authorize_verb(self.requestor, verb, info);
        if let Some((metrics, core)) = self.counts {
            let label = MODES.iter().position(|mode| *mode == self.mode).map_or(0, |at| at + 1);
            let is_allowed = decision == Decision::Allow;
            metrics.observe_impersonation_check(core, label, is_allowed, begun.elapsed());
        }
        match decision {
            Decision::Allow => Ok(()),
            Decision::NoOpinion(reason) => Err(forbidden_verb(self.requestor, verb, info, &reason)),
        }
    }

    /// May the request be made in this mode?
    fn on(&self, info: &RequestInfo<'_>) -> Result<(), Status> {
        match self.mode {
            Mode::Legacy => Ok(()),
            mode => self.ask(&format!("impersonate-on:{}:{}", mode.name(), info.verb.as_str()), info),
        }
    }

    fn verb(&self) -> Cow<'static, str> {
        match self.mode {
            Mode::Legacy => "impersonate".into(),
            mode => format!("impersonate:{}", mode.name()).into(),
        }
    }

    /// One of the things a user consists of, as authorization knows it.
    fn part<'a>(&self, resource: &'a str, name: &'a str) -> RequestInfo<'a> {
        let is_core = self.mode == Mode::Legacy && matches!(resource, "users" | "groups" | "serviceaccounts");
        RequestInfo {
            is_resource_request: true,
            api_group: if is_core { "" } else { "authentication.k8s.io" },
            api_version: "v1",
            resource,
            name,
            ..RequestInfo::default()
        }
    }

    /// May the requestor be this user?
    fn become_user(&self, wanted: &UserInfo) -> Result<UserInfo, Status> {
        let mut user = wanted.clone();
        let constrained = self.mode != Mode::Legacy;
        let verb = self.verb();
        let who = match Named::of(&wanted.name) {
            Named::Node(name) if constrained => {
                user.groups = vec![NODES.to_owned()];
                // Any node: the requestor may be on each of them.
                let name = if self.mode == Mode::AssociatedNode { "*" } else { name };
                self.part("nodes", name)
            }
            Named::ServiceAccount { namespace, name } => {
                if wanted.groups.is_empty() {
                    user.groups =
                        vec![SERVICE_ACCOUNTS.to_owned(), format!("{SERVICE_ACCOUNTS}:{namespace}")];
                }
                RequestInfo { namespace, ..self.part("serviceaccounts", name) }
            }
            Named::Node(_) | Named::Other => self.part("users", &wanted.name),
        };
        self.ask(&verb, &who)?;
        if !wanted.uid.is_empty() {
            self.ask(&verb, &self.part("uids", &wanted.uid))?;
        }
        self.may_have_groups(&verb, &wanted.groups)?;
        self.may_have_extra(&verb, &wanted.extra)?;
        let has = |user: &UserInfo, group| user.is_in_group(group);
        if user.name == ANONYMOUS {
            if !has(&user, ALL_UNAUTHENTICATED) {
                user.groups.push(ALL_UNAUTHENTICATED.to_owned());
            }
        } else if !has(&user, ALL_UNAUTHENTICATED) && !has(&user, ALL_AUTHENTICATED) {
            user.groups.push(ALL_AUTHENTICATED.to_owned());
        }
        Ok(user)
    }

    fn may_have_groups(&self, verb: &str, groups: &[String]) -> Result<(), Status> {
        let refuse =
            |name, why: &str| Err(forbidden_verb(self.requestor, verb, &self.part("groups", name), why));
        if self.mode != Mode::Legacy {
            if groups.iter().any(String::is_empty) {
                return refuse("", "impersonating the empty string group is not allowed");
            }
            if groups.iter().any(|group| group == SYSTEM_PRIVILEGED) {
                return refuse(SYSTEM_PRIVILEGED, "impersonating the system:masters group is not allowed");
            }
            if groups.len() >= MANY && self.ask(verb, &self.part("groups", "*")).is_ok() {
                return Ok(());
            }
        }
        groups.iter().try_for_each(|group| self.ask(verb, &self.part("groups", group)))
    }

    fn may_have_extra(&self, verb: &str, extra: &[(String, Vec<String>)]) -> Result<(), Status> {
        if self.mode != Mode::Legacy {
            if let Some(why) = extra.iter().find_map(|(key, values)| objection(key, values)) {
                return Err(forbidden_verb(self.requestor, verb, &self.part("userextras", ""), &why));
            }
            let values: usize = extra.iter().map(|(_, values)| values.len()).sum();
            let all = RequestInfo { subresource: "*", ..self.part("userextras", "*") };
            if values >= MANY && self.ask(verb, &all).is_ok() {
                return Ok(());
            }
        }
        for (key, values) in extra {
            for value in values {
                self.ask(verb, &RequestInfo { subresource: key, ..self.part("userextras", value) })?;
            }
        }
        Ok(())
    }
}

/// Why a constrained mode does not take an extra.
fn objection(key: &str, values: &[String]) -> Option<String> {
    if key.is_empty() {
        return Some("impersonating the empty string key in extra is not allowed".to_owned());
    }
    let errors = domain_prefixed_path_errors(key);
    if !errors.is_empty() {
        let errors = if let [one] = &errors[..] { one.clone() } else { format!("[{}]", errors.join(", ")) };
        return Some(format!("impersonating an invalid key in extra is not allowed: {errors}"));
    }
    if key.chars().any(char::is_uppercase) {
        return Some(format!("impersonating a non-lowercase key in extra is not allowed: {}", quote(key)));
    }
    values
        .iter()
        .any(String::is_empty)
        .then(|| "impersonating the empty string value in extra is not allowed".to_owned())
}

/// `IsDomainPrefixedPath`: what is wrong with a key like `acme.io/foo`.
fn domain_prefixed_path_errors(key: &str) -> Vec<String> {
    let invalid = |value: &str, why: &str| format!("extra.key: Invalid value: {}: {why}", quote(value));
    let (host, path) = match key.split_once('/') {
        Some((host, path)) if !host.is_empty() && !path.is_empty() => (host, path),
        _ => return vec![invalid(key, r#"must be a domain-prefixed path (such as "acme.io/foo")"#)],
    };
    let mut errors: Vec<_> = dns1123_subdomain_errors(host).iter().map(|why| invalid(host, why)).collect();
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || br"/-._~%!$&'()*+,;=:".contains(&byte);
    if !path.bytes().all(is_allowed) {
        const REGEX: &str = r"Invalid path (regex used for validation is '[A-Za-z0-9/\-._~%!$&'()*+,;=:]+')";
        errors.push(invalid(path, REGEX));
    }
    errors
}

#[cfg(test)]
#[path = "mode_tests.rs"]
mod tests;
