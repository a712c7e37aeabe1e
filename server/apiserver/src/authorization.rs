//! Who may do what: the union of the modes of `--authorization-mode`.

mod always;
mod hash;
pub mod node;
pub mod rbac;
mod rules;

use std::{fmt::Write as _, sync::Arc};

use arc_swap::ArcSwap;
use ringbolt_machinery::{field::quote, status::Status};
use ringbolt_protocol::request_info::RequestInfo;
use ringbolt_storage::storage::Storage;

pub use self::{
    always::{AlwaysAllow, AlwaysDeny},
    rbac::{Held, HeldRole},
    rules::{RuleSet, Rules},
};
pub(crate) use self::{
    rbac::PolicyRule,
    rules::{Found, RuleWalk},
};
use crate::authentication::{UserInfo, user::SYSTEM_PRIVILEGED};

/// One value of `--authorization-mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Everything is allowed.
    AlwaysAllow,
    /// Nothing is allowed (but to `system:masters`).
    AlwaysDeny,
    /// Roles and bindings.
    Rbac,
    /// Kubelets. It has no opinion on anyone else.
    Node,
}

/// All values of `--authorization-mode` that kube-apiserver knows, in the order its messages name them.
pub const MODE_CHOICES: [&str; 6] = ["AlwaysAllow", "AlwaysDeny", "ABAC", "Webhook", "RBAC", "Node"];

impl Mode {
    /// Reads a mode; an error names what is wrong with it.
    pub fn parse(name: &str) -> Result<Mode, String> {
        match name {
            "AlwaysAllow" => Ok(Mode::AlwaysAllow),
            "AlwaysDeny" => Ok(Mode::AlwaysDeny),
            "RBAC" => Ok(Mode::Rbac),
            "Node" => Ok(Mode::Node),
            "ABAC" | "Webhook" => {
                Err(format!("authorization-mode {} is not built into Ringbolt yet", quote(name)))
            }
            _ => Err(format!("authorization-mode {} is not a valid mode", quote(name))),
        }
    }

    /// As flags and files name it.
    pub fn name(self) -> &'static str {
        match self {
            Mode::AlwaysAllow => "AlwaysAllow",
            Mode::AlwaysDeny => "AlwaysDeny",
            Mode::Rbac => "RBAC",
            Mode::Node => "Node",
        }
    }
}

/// What an authorizer, or all of them, come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Go on.
    Allow,
    /// No authorizer allows it; the reasons given, one a line.
    NoOpinion(String),
}

/// One authorizer. What is asked about is a request, real or made up for the question, with the verb beside it: there
/// are verbs that no request has (`impersonate`, `bind`).
pub trait Authorizer: Send + Sync {
    /// Decides. Allocates only to refuse with a reason.
    fn authorize(&self, user: &UserInfo, verb: &str, info: &RequestInfo<'_>) -> Decision;

    /// Why [`Authorizer::authorize`] allows it, for reviews; empty where there is nothing to say.
    fn explain(&self, user: &UserInfo, verb: &str, info: &RequestInfo<'_>) -> String {
        let _ = (user, verb, info);
        String::new()
    }

    /// Adds what the user may do in a namespace, and everywhere, as far as rules can say it.
    fn rules_for(&self, user: &UserInfo, namespace: &str, rules: &mut Rules);

    /// The roles bound to a user in a namespace, as `storage` has them. `None` from an authorizer that goes by no
    /// bindings, or cannot tell without a look at all of them.
    fn held(&self, user: &UserInfo, namespace: &str, storage: &dyn Storage) -> Option<Held> {
        let _ = (user, namespace, storage);
        None
    }
}

/// All authorizers of a server, in order; the first that allows wins. Clones are the same authorizers, also after they
/// were replaced.
#[derive(Clone)]
pub struct Authorizers(Arc<ArcSwap<Vec<Arc<dyn Authorizer>>>>);

impl Authorizers {
    /// The union of `authorizers`.
    pub fn new(authorizers: Vec<Arc<dyn Authorizer>>) -> Self {
        Authorizers(Arc::new(ArcSwap::from_pointee(authorizers)))
    }

    /// Others from now on: what is being decided is decided by those that were there when it began.
    pub fn replace(&self, authorizers: Vec<Arc<dyn Authorizer>>) {
        self.0.store(Arc::new(authorizers));
    }

    /// The union of modes over a store that has no roles, and no nodes: roles give nothing.
    pub fn of_modes(modes: &[Mode]) -> Self {
        let authorizer = |mode: &Mode| -> Option<Arc<dyn Authorizer>> {
            match mode {
                Mode::AlwaysAllow => Some(Arc::new(AlwaysAllow)),
                Mode::AlwaysDeny => Some(Arc::new(AlwaysDeny)),
                Mode::Rbac => Some(Arc::new(rbac::Rbac::default())),
                Mode::Node => None,
            }
        };
        Authorizers::new(modes.iter().filter_map(authorizer).collect())
    }

    /// Decides. Allocates only to refuse.
    pub fn authorize(&self, user: &UserInfo, info: &RequestInfo<'_>) -> Decision {
        self.authorize_verb(user, info.verb.as_str(), info)
    }

    /// Decides on a verb that no request has by itself (`impersonate`), in place of that in `info`.
    pub fn authorize_verb(&self, user: &UserInfo, verb: &str, info: &RequestInfo<'_>) -> Decision {
        // Stands in front of all modes, so that no policy can lock its administrators out.
        if user.is_in_group(SYSTEM_PRIVILEGED) {
            return Decision::Allow;
        }
        let mut reasons = String::new();
        for authorizer in &**self.0.load() {
            match authorizer.authorize(user, verb, info) {
                Decision::Allow => return Decision::Allow,
                Decision::NoOpinion(reason) if reason.is_empty() => {}
                Decision::NoOpinion(reason) if reasons.is_empty() => reasons = reason,
                Decision::NoOpinion(reason) => {
                    let _ = write!(reasons, "\n{reason}");
                }
            }
        }
        Decision::NoOpinion(reasons)
    }

    /// Why it is allowed, in the words of the first authorizer that allows it.
    pub fn explain(&self, user: &UserInfo, verb: &str, info: &RequestInfo<'_>) -> String {
        if user.is_in_group(SYSTEM_PRIVILEGED) {
            return String::new();
        }
        let allows = |a: &&Arc<dyn Authorizer>| a.authorize(user, verb, info) == Decision::Allow;
        self.0.load().iter().find(allows).map(|a| a.explain(user, verb, info)).unwrap_or_default()
    }

    /// The roles bound to a user in a namespace, as far as an authorizer has an index of them.
    pub fn held(&self, user: &UserInfo, namespace: &str, storage: &dyn Storage) -> Option<Held> {
        self.0.load().iter().find_map(|authorizer| authorizer.held(user, namespace, storage))
    }

    /// What a user may do in a namespace, authorizer by authorizer.
    pub fn rules_for(&self, user: &UserInfo, namespace: &str) -> Rules {
        let mut rules = Rules::default();
        for authorizer in &**self.0.load() {
            authorizer.rules_for(user, namespace, &mut rules);
        }
        rules
    }
}

/// The 403 that names user, verb and what was asked for.
pub fn forbidden(user: &UserInfo, info: &RequestInfo<'_>, reason: &str) -> Status {
    forbidden_verb(user, info.verb.as_str(), info, reason)
}

/// [`forbidden`], with a verb in place of that in `info`.
pub fn forbidden_verb(user: &UserInfo, verb: &str, info: &RequestInfo<'_>, reason: &str) -> Status {
    let mut why = escape_html(&refusal(user, verb, info));
    if !reason.is_empty() {
        let _ = write!(why, ": {reason}");
    }
    Status::forbidden(info.api_group, info.resource, info.name, &why)
}

fn refusal(user: &UserInfo, verb: &str, info: &RequestInfo<'_>) -> String {
    let name = quote(&user.name);
    if !info.is_resource_request {
        return format!("User {name} cannot {verb} path {}", quote(info.path));
    }
    let slash = if info.subresource.is_empty() { "" } else { "/" };
    let resource = quote(&format!("{}{slash}{}", info.resource, info.subresource));
    let group = quote(info.api_group);
    if info.namespace.is_empty() {
        format!("User {name} cannot {verb} resource {resource} in API group {group} at the cluster scope")
    } else {
        let namespace = quote(info.namespace);
        format!(
            "User {name} cannot {verb} resource {resource} in API group {group} in the namespace {namespace}"
        )
    }
}

/// Keeps a browser from reading markup in the message.
fn escape_html(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(name: &str, groups: &[&str]) -> UserInfo {
        let groups = groups.iter().map(|g| (*g).to_owned()).collect();
        UserInfo { name: name.to_owned(), groups, ..UserInfo::default() }
    }

    fn info<'r>(method: &str, path: &'r str) -> RequestInfo<'r> {
        RequestInfo::new(method, path, "").expect("a well-formed path")
    }

    #[test]
    fn decisions() {
        let check = |modes: &[Mode], groups: &[&str], path: &str, expect: Result<(), &str>| {
            let union = Authorizers::of_modes(modes);
            let found = match union.authorize(&user("u", groups), &info("GET", path)) {
                Decision::Allow => Ok(()),
                Decision::NoOpinion(reason) => Err(reason),
            };
            assert_eq!(found, expect.map_err(str::to_owned), "{modes:?} {groups:?} {path}");
        };
        let rbac = [Mode::Node, Mode::Rbac];
        check(&rbac, &["system:masters"], "/api/v1/secrets", Ok(()));
        check(&rbac, &["system:unauthenticated"], "/healthz", Err(""));
        check(&rbac, &["system:authenticated"], "/api/v1/secrets", Err(""));
        check(&[Mode::AlwaysAllow], &[], "/api/v1/secrets", Ok(()));
        check(&[Mode::AlwaysDeny], &[], "/healthz", Err("alwaysdeny: Everything is forbidden."));
        check(&[Mode::AlwaysDeny, Mode::AlwaysAllow], &[], "/healthz", Ok(()));
        check(&[Mode::AlwaysDeny], &["system:masters"], "/healthz", Ok(()));
    }

    #[test]
    fn who_holds_them_sees_others_that_come() {
        let union = Authorizers::of_modes(&[Mode::AlwaysDeny]);
        let elsewhere = union.clone();
        union.replace(vec![Arc::new(AlwaysAllow)]);
        assert_eq!(elsewhere.authorize(&user("u", &[]), &info("GET", "/x")), Decision::Allow);
    }

    #[test]
    fn messages() {
        let check = |method: &str, path: &str, expect: &str| {
            let status = forbidden(&user("x", &[]), &info(method, path), "");
            assert_eq!((status.code, status.message.as_str()), (403, expect), "{method} {path}");
        };
        check("GET", "/y", r#"forbidden: User "x" cannot get path "/y""#);
        check("GET", "/<y>&", r#"forbidden: User "x" cannot get path "/&lt;y&gt;&amp;""#);
        check(
            "GET",
            "/api/v1/namespaces/default/configmaps",
            r#"configmaps is forbidden: User "x" cannot list resource "configmaps" in API group "" in the namespace "default""#,
        );
        check(
            "PUT",
            "/apis/apps/v1/namespaces/d/deployments/web/status",
            r#"deployments.apps "web" is forbidden: User "x" cannot update resource "deployments/status" in API group "apps" in the namespace "d""#,
        );
        check(
            "DELETE",
            "/api/v1/nodes",
            r#"nodes is forbidden: User "x" cannot deletecollection resource "nodes" in API group "" at the cluster scope"#,
        );
    }

    #[test]
    fn modes() {
        assert_eq!(Mode::parse("RBAC"), Ok(Mode::Rbac));
        assert_eq!(
            Mode::parse("rbac").expect_err("case counts"),
            r#"authorization-mode "rbac" is not a valid mode"#
        );
        assert!(Mode::parse("Webhook").is_err());
    }
}
