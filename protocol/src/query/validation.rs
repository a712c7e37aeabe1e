//! What is wrong with options that parse: field errors of `ListOptions`, `CreateOptions` and their siblings (422).

use std::borrow::Cow;

use super::{CreateOptions, DeleteOptions, ListOptions, PatchOptions};

/// Longest `fieldManager` (`FieldManagerMaxLength` of apimachinery).
const FIELD_MANAGER_MAX: usize = 128;

/// Kinds of field errors that options can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProblemKind {
    /// Required and missing.
    Required,
    /// Malformed.
    Invalid,
    /// Not one of the values supported.
    NotSupported,
    /// Not allowed here.
    Forbidden,
    /// Too long.
    TooLong,
}

/// One field error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionProblem {
    /// Kind.
    pub kind: ProblemKind,
    /// Name of the option.
    pub field: &'static str,
    /// The bad value as the message shows it; empty where the kind shows none.
    pub bad_value: String,
    /// What is wrong.
    pub detail: String,
}

impl OptionProblem {
    fn new(kind: ProblemKind, field: &'static str, bad_value: String, detail: impl Into<String>) -> Self {
        OptionProblem { kind, field, bad_value, detail: detail.into() }
    }
    fn forbidden(field: &'static str, detail: impl Into<String>) -> Self {
        OptionProblem::new(ProblemKind::Forbidden, field, String::new(), detail)
    }
    fn invalid(field: &'static str, bad_value: String, detail: impl Into<String>) -> Self {
        OptionProblem::new(ProblemKind::Invalid, field, bad_value, detail)
    }
    fn not_supported(field: &'static str, bad_value: String, supported: &str) -> Self {
        OptionProblem::new(
            ProblemKind::NotSupported,
            field,
            bad_value,
            format!("supported values: {supported}"),
        )
    }
}

const EXACT: &str = "Exact";
const NOT_OLDER_THAN: &str = "NotOlderThan";

impl ListOptions<'_> {
    /// Checks LIST, or WATCH where `watch` is set.
    pub fn validate(&self) -> Vec<OptionProblem> {
        if self.watch { self.validate_watch() } else { self.validate_list() }
    }

    fn validate_list(&self) -> Vec<OptionProblem> {
        const FIELD: &str = "resourceVersionMatch";
        let mut problems = Vec::new();
        let asked = self.resource_version_match.as_ref();
        if !asked.is_empty() {
            if self.resource_version.is_empty() {
                problems.push(OptionProblem::forbidden(
                    FIELD,
                    "resourceVersionMatch is forbidden unless resourceVersion is provided",
                ));
            }
            if !self.continue_token.is_empty() {
                problems.push(OptionProblem::forbidden(
                    FIELD,
                    "resourceVersionMatch is forbidden when continue is provided",
                ));
            }
            if asked != EXACT && asked != NOT_OLDER_THAN {
                problems.push(OptionProblem::not_supported(
                    FIELD,
                    quote(asked),
                    r#""Exact", "NotOlderThan", """#,
                ));
            }
            if asked == EXACT && self.resource_version == "0" {
                problems.push(OptionProblem::forbidden(
                    FIELD,
                    r#"resourceVersionMatch "exact" is forbidden for resourceVersion "0""#,
                ));
            }
        }
        if self.send_initial_events.is_some() {
            problems.push(OptionProblem::forbidden(
                "sendInitialEvents",
                "sendInitialEvents is forbidden for list",
            ));
        }
        problems
    }

    fn validate_watch(&self) -> Vec<OptionProblem> {
        const FIELD: &str = "resourceVersionMatch";
        let mut problems = Vec::new();
        let asked = self.resource_version_match.as_ref();
        if self.send_initial_events.is_some() && asked != NOT_OLDER_THAN {
            problems.push(OptionProblem::forbidden(
                FIELD,
                "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
            ));
        }
        if !asked.is_empty() {
            if self.send_initial_events.is_none() {
                problems.push(OptionProblem::forbidden(
                    FIELD,
                    "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
                ));
            }
            if asked != NOT_OLDER_THAN {
                problems.push(OptionProblem::not_supported(FIELD, quote(asked), r#""NotOlderThan""#));
            }
            if !self.continue_token.is_empty() {
                problems.push(OptionProblem::forbidden(
                    FIELD,
                    "resourceVersionMatch is forbidden when continue is provided",
                ));
            }
        }
        problems
    }
}

impl CreateOptions<'_> {
    /// Checks the options of POST or PUT.
    pub fn validate(&self) -> Vec<OptionProblem> {
        let mut problems = Vec::new();
        self.validate_into(&mut problems);
        problems
    }

    fn validate_into(&self, problems: &mut Vec<OptionProblem>) {
        validate_field_manager(&self.field_manager, problems);
        validate_dry_run(&self.dry_run, problems);
        if !matches!(self.field_validation.as_ref(), "" | "Ignore" | "Warn" | "Strict") {
            problems.push(OptionProblem::not_supported(
                "fieldValidation",
                quote(&self.field_validation),
                r#""", "Ignore", "Strict", "Warn""#,
            ));
        }
    }
}

impl PatchOptions<'_> {
    /// Checks the options of PATCH; `apply` for server-side apply.
    pub fn validate(&self, apply: bool) -> Vec<OptionProblem> {
        let mut problems = Vec::new();
        if apply && self.update.field_manager.is_empty() {
            problems.push(OptionProblem::new(
                ProblemKind::Required,
                "fieldManager",
                String::new(),
                "is required for apply patch",
            ));
        }
        if !apply && self.force.is_some() {
            problems.push(OptionProblem::forbidden("force", "may not be specified for non-apply patch"));
        }
        self.update.validate_into(&mut problems);
        problems
    }
}

impl DeleteOptions<'_> {
    /// Checks the options of DELETE. `has_preconditions` tells of preconditions in the body.
    pub fn validate(&self, has_preconditions: bool) -> Vec<OptionProblem> {
        let mut problems = Vec::new();
        if let Some(policy) = &self.propagation_policy {
            if self.orphan_dependents.is_some() {
                problems.push(OptionProblem::invalid(
                    "propagationPolicy",
                    quote(policy),
                    "orphanDependents and deletionPropagation cannot be both set",
                ));
            }
            if !matches!(policy.as_ref(), "Foreground" | "Background" | "Orphan") {
                problems.push(OptionProblem::not_supported(
                    "propagationPolicy",
                    quote(policy),
                    r#""Foreground", "Background", "Orphan", "nil""#,
                ));
            }
        }
        validate_dry_run(&self.dry_run, &mut problems);
        if self.ignore_store_read_error_with_cluster_breaking_potential == Some(true) {
            let preconditions = has_preconditions
                || self.precondition_uid.is_some()
                || self.precondition_resource_version.is_some();
            for (set, with) in [
                (self.propagation_policy.is_some(), ".propagationPolicy"),
                (self.orphan_dependents.is_some(), ".orphanDependents"),
                (self.grace_period_seconds.is_some(), ".gracePeriodSeconds"),
                (preconditions, ".preconditions"),
            ] {
                if set {
                    problems.push(OptionProblem::invalid(
                        "ignoreStoreReadErrorWithClusterBreakingPotential",
                        "true".to_owned(),
                        format!("cannot be set together with {with}"),
                    ));
                }
            }
        }
        problems
    }
}

fn validate_dry_run(values: &[Cow<'_, str>], problems: &mut Vec<OptionProblem>) {
    if values.iter().all(|v| v == "All") {
        return;
    }
    let shown: Vec<String> = values.iter().map(|v| quote(v)).collect();
    problems.push(OptionProblem::not_supported("dryRun", format!("[{}]", shown.join(",")), r#""All""#));
}

fn validate_field_manager(manager: &str, problems: &mut Vec<OptionProblem>) {
    const FIELD: &str = "fieldManager";
    if manager.len() > FIELD_MANAGER_MAX {
        problems.push(OptionProblem::new(
            ProblemKind::TooLong,
            FIELD,
            String::new(),
            format!("may not be more than {FIELD_MANAGER_MAX} bytes"),
        ));
    }
    for (at, c) in manager.char_indices() {
        if !is_print(c) {
            problems.push(OptionProblem::invalid(
                FIELD,
                quote(manager),
                format!("invalid character U+{:04X} (at position {at})", c as u32),
            ));
        }
    }
}

/// Go's `unicode.IsPrint`: letters, marks, numbers, punctuation, symbols and the ASCII space. The standard library
/// escapes exactly the others within a string, quotes and the backslash aside.
fn is_print(c: char) -> bool {
    if c.is_ascii() {
        return matches!(c, ' '..='~');
    }
    let mut buffer = [0; 5];
    buffer[0] = b'a';
    let len = 1 + c.encode_utf8(&mut buffer[1..]).len();
    let text = std::str::from_utf8(&buffer[..len]).unwrap_or("");
    text.escape_debug().nth(1) == Some(c)
}

/// Go's `%q`.
pub(crate) fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{b}' => out.push_str("\\v"),
            '\u{c}' => out.push_str("\\f"),
            c if is_print(c) => out.push(c),
            c if (c as u32) < 0x80 => out.push_str(&format!("\\x{:02x}", c as u32)),
            c if (c as u32) < 0x10000 => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push_str(&format!("\\U{:08x}", c as u32)),
        }
    }
    out.push('"');
    out
}
