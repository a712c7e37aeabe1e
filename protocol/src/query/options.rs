//! The options of the API verbs, parsed from a query string (`metav1.ListOptions` and its siblings).

use std::{borrow::Cow, fmt};

use super::{boolean, get, pairs};
use crate::selector::{FieldSelector, LabelSelector};

/// Options that do not parse: 400 with this message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionsError(pub String);

impl fmt::Display for OptionsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for OptionsError {}

/// Options of GET.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GetOptions<'q> {
    /// `resourceVersion`
    pub resource_version: Cow<'q, str>,
}

/// Options of LIST, WATCH and deletecollection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListOptions<'q> {
    /// `labelSelector`
    pub label_selector: LabelSelector,
    /// `fieldSelector`
    pub field_selector: FieldSelector,
    /// `watch`
    pub watch: bool,
    /// `allowWatchBookmarks`
    pub allow_watch_bookmarks: bool,
    /// `resourceVersion`
    pub resource_version: Cow<'q, str>,
    /// `resourceVersionMatch`
    pub resource_version_match: Cow<'q, str>,
    /// `timeoutSeconds`
    pub timeout_seconds: Option<i64>,
    /// `limit`; 0 for none.
    pub limit: i64,
    /// `continue`
    pub continue_token: Cow<'q, str>,
    /// `sendInitialEvents`
    pub send_initial_events: Option<bool>,
}

/// Options of POST.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CreateOptions<'q> {
    /// `dryRun`, every value given.
    pub dry_run: Vec<Cow<'q, str>>,
    /// `fieldManager`
    pub field_manager: Cow<'q, str>,
    /// `fieldValidation`
    pub field_validation: Cow<'q, str>,
    /// `pretty` is true.
    pub pretty: bool,
}

/// Options of PUT: the same as those of POST.
pub type UpdateOptions<'q> = CreateOptions<'q>;

/// Options of PATCH.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PatchOptions<'q> {
    /// What it shares with PUT.
    pub update: UpdateOptions<'q>,
    /// `force`
    pub force: Option<bool>,
}

/// Options of DELETE as far as the query gives them; the body's `DeleteOptions` win where there is a body.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeleteOptions<'q> {
    /// `gracePeriodSeconds`
    pub grace_period_seconds: Option<i64>,
    /// `orphanDependents`
    pub orphan_dependents: Option<bool>,
    /// `propagationPolicy`
    pub propagation_policy: Option<Cow<'q, str>>,
    /// `dryRun`, every value given.
    pub dry_run: Vec<Cow<'q, str>>,
    /// `ignoreStoreReadErrorWithClusterBreakingPotential`
    pub ignore_store_read_error_with_cluster_breaking_potential: Option<bool>,
    /// `uid`, a precondition.
    pub precondition_uid: Option<Cow<'q, str>>,
    /// `resourceVersion`, a precondition.
    pub precondition_resource_version: Option<Cow<'q, str>>,
}

/// How much of each object a Table row carries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IncludeObject {
    /// Its `PartialObjectMetadata` (default).
    #[default]
    Metadata,
    /// All of it.
    Object,
    /// Nothing.
    None,
}

/// Options of an answer in Table form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableOptions {
    /// `includeObject`
    pub include_object: IncludeObject,
}

impl<'q> GetOptions<'q> {
    /// Parses a query; every text is a valid option here.
    pub fn parse(query: &'q str) -> Self {
        GetOptions { resource_version: get(query, "resourceVersion").unwrap_or_default() }
    }
}

impl<'q> ListOptions<'q> {
    /// Parses a query; errors come in the order the real server finds them.
    pub fn parse(query: &'q str) -> Result<Self, OptionsError> {
        if query.is_empty() {
            return Ok(ListOptions::default());
        }
        let mut options = ListOptions::default();
        let (mut label, mut field) = (None, None);
        let (mut timeout, mut limit) = (None, None);
        let (mut version, mut version_match, mut token) = (None, None, None);
        let (mut watch, mut bookmarks, mut initial) = (None, None, None);
        for (key, value) in pairs(query) {
            let slot = match key.as_ref() {
                "labelSelector" => &mut label,
                "fieldSelector" => &mut field,
                "watch" => &mut watch,
                "allowWatchBookmarks" => &mut bookmarks,
                "resourceVersion" => &mut version,
                "resourceVersionMatch" => &mut version_match,
                "timeoutSeconds" => &mut timeout,
                "limit" => &mut limit,
                "continue" => &mut token,
                "sendInitialEvents" => &mut initial,
                _ => continue,
            };
            // The first value counts.
            if slot.is_none() {
                *slot = Some(value);
            }
        }
        options.watch = watch.is_some_and(|v| boolean(&v));
        options.allow_watch_bookmarks = bookmarks.is_some_and(|v| boolean(&v));
        options.resource_version = version.unwrap_or_default();
        options.resource_version_match = version_match.unwrap_or_default();
        options.timeout_seconds = timeout.map(|v| parse_int(&v)).transpose()?;
        options.limit = limit.map(|v| parse_int(&v)).transpose()?.unwrap_or(0);
        options.continue_token = token.unwrap_or_default();
        options.send_initial_events = initial.map(|v| boolean(&v));
        if let Some(text) = label {
            options.label_selector = LabelSelector::parse(&text).map_err(|e| OptionsError(e.to_string()))?;
        }
        if let Some(text) = field {
            options.field_selector = FieldSelector::parse(&text).map_err(|e| OptionsError(e.to_string()))?;
        }
        Ok(options)
    }

    /// What the list handlers assume before they validate: a watch from the start, or from any version, sends
    /// initial events (WatchList). Nothing changes where the client named either option.
    pub fn set_defaults(&mut self) {
        let named = self.send_initial_events.is_some() || !self.resource_version_match.is_empty();
        if self.watch && !named && matches!(self.resource_version.as_ref(), "" | "0") {
            self.send_initial_events = Some(true);
            self.resource_version_match = Cow::Borrowed("NotOlderThan");
        }
    }
}

impl<'q> CreateOptions<'q> {
    /// Parses a query; every text is a valid option until it is validated.
    pub fn parse(query: &'q str) -> Self {
        let mut options = CreateOptions::default();
        if query.is_empty() {
            return options;
        }
        let (mut manager, mut validation) = (None, None);
        for (key, value) in pairs(query) {
            match key.as_ref() {
                "dryRun" => options.dry_run.push(value),
                "fieldManager" if manager.is_none() => manager = Some(value),
                "fieldValidation" if validation.is_none() => validation = Some(value),
                _ => {}
            }
        }
        options.field_manager = manager.unwrap_or_default();
        options.field_validation = validation.unwrap_or_default();
        options.pretty = is_pretty(query, b"");
        options
    }

    /// Whether the write is only tried.
    pub fn is_dry_run(&self) -> bool {
        !self.dry_run.is_empty()
    }
}

impl<'q> PatchOptions<'q> {
    /// Parses a query.
    pub fn parse(query: &'q str) -> Self {
        PatchOptions { update: UpdateOptions::parse(query), force: get(query, "force").map(|v| boolean(&v)) }
    }
}

impl<'q> DeleteOptions<'q> {
    /// Parses a query.
    pub fn parse(query: &'q str) -> Result<Self, OptionsError> {
        let mut options = DeleteOptions::default();
        if query.is_empty() {
            return Ok(options);
        }
        options.grace_period_seconds = get(query, "gracePeriodSeconds").map(|v| parse_int(&v)).transpose()?;
        options.orphan_dependents = get(query, "orphanDependents").map(|v| boolean(&v));
        options.propagation_policy = get(query, "propagationPolicy");
        options.dry_run = pairs(query).filter(|(k, _)| k == "dryRun").map(|(_, v)| v).collect();
        options.ignore_store_read_error_with_cluster_breaking_potential =
            get(query, "ignoreStoreReadErrorWithClusterBreakingPotential").map(|v| boolean(&v));
        options.precondition_uid = get(query, "uid").filter(|v| !v.is_empty());
        options.precondition_resource_version = get(query, "resourceVersion").filter(|v| !v.is_empty());
        Ok(options)
    }

    /// Whether the delete is only tried.
    pub fn is_dry_run(&self) -> bool {
        !self.dry_run.is_empty()
    }
}

impl TableOptions {
    /// Parses a query; another value of `includeObject` is 400.
    pub fn parse(query: &str) -> Result<Self, OptionsError> {
        let include_object = match get(query, "includeObject").as_deref() {
            None | Some("" | "Metadata") => IncludeObject::Metadata,
            Some("Object") => IncludeObject::Object,
            Some("None") => IncludeObject::None,
            Some(other) => {
                return Err(OptionsError(format!(
                    "Unable to convert to Table as requested: includeObject: Invalid value: {}: must be 'Metadata', \
                     'Object', 'None', or empty",
                    super::validation::quote(other)
                )));
            }
        };
        Ok(TableOptions { include_object })
    }
}

/// Whether JSON goes out indented: `pretty` in the query where it is given, else for browsers, curl and Wget.
pub fn is_pretty(query: &str, user_agent: &[u8]) -> bool {
    if query.contains("pretty")
        && let Some(value) = get(query, "pretty").filter(|v| !v.is_empty())
    {
        return matches!(value.as_ref(), "1" | "t" | "T" | "TRUE" | "true" | "True");
    }
    [&b"curl"[..], b"Wget", b"Mozilla/5.0"].iter().any(|agent| user_agent.starts_with(agent))
}

/// `strconv.ParseInt(text, 10, 64)` with its errors.
fn parse_int(text: &str) -> Result<i64, OptionsError> {
    text.parse().map_err(|error: std::num::ParseIntError| {
        use std::num::IntErrorKind::{NegOverflow, PosOverflow};
        let why = match error.kind() {
            PosOverflow | NegOverflow => "value out of range",
            _ => "invalid syntax",
        };
        OptionsError(format!("strconv.ParseInt: parsing {}: {why}", super::validation::quote(text)))
    })
}
