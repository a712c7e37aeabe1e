//! What expressions may ask authorizers, and what they are told.

use crate::types::{AUTHORIZER, DECISION, GROUP_CHECK, PATH_CHECK, RESOURCE_CHECK};

/// Whom an expression asks (`authorizer`).
pub trait Authorizer {
    /// Whether `who` may do `verb`.
    fn authorize(&self, who: Subject<'_>, what: Target<'_>, verb: &str) -> Decision;
}

/// Who would do it.
#[derive(Clone, Copy, Debug)]
pub enum Subject<'a> {
    /// Who made the request.
    Requester,
    /// A service account.
    ServiceAccount {
        /// Its namespace.
        namespace: &'a str,
        /// Its name.
        name: &'a str,
    },
}

/// What it would be done to.
#[derive(Clone, Copy, Debug)]
pub enum Target<'a> {
    /// A path that is no resource.
    Path(&'a str),
    /// A resource.
    Resource(ResourceCheck<'a>),
}

/// A resource, and how much of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct ResourceCheck<'a> {
    /// Its group.
    pub group: &'a str,
    /// Its plural name.
    pub resource: &'a str,
    /// A part of it.
    pub subresource: &'a str,
    /// Namespace, empty for all of them or none.
    pub namespace: &'a str,
    /// Name, empty for all.
    pub name: &'a str,
    /// As the expression has it.
    pub field_selector: &'a str,
    /// As the expression has it.
    pub label_selector: &'a str,
}

/// What authorizers come to.
#[derive(Clone, Debug, Default)]
pub struct Decision {
    /// Whether it may be done.
    pub allowed: bool,
    /// Why.
    pub reason: String,
    /// What went wrong, where something did.
    pub error: Option<String>,
}

/// A question as far as it is put, or the answer.
#[derive(Clone, Debug)]
pub(crate) enum Question<'a> {
    Authorizer(Asked<'a>),
    Path(Asked<'a>, &'a str),
    Group(Asked<'a>, &'a str),
    Resource(Asked<'a>, ResourceCheck<'a>),
    Decision { allowed: bool, reason: &'a str, error: Option<&'a str> },
}

/// Whom to ask, and about whom.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) authorizer: &'a dyn Authorizer,
    pub(crate) who: Subject<'a>,
}

impl std::fmt::Debug for Asked<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Asked").field("who", &self.who).finish_non_exhaustive()
    }
}

impl Question<'_> {
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Question::Authorizer(_) => AUTHORIZER,
            Question::Path(..) => PATH_CHECK,
            Question::Group(..) => GROUP_CHECK,
            Question::Resource(..) => RESOURCE_CHECK,
            Question::Decision { .. } => DECISION,
        }
    }
}
