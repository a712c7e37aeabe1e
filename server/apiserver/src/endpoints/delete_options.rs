//! `metav1.DeleteOptions`, from the body where there is one, else from the query.

use ringbolt_machinery::{status::Status, value::Value};
use ringbolt_protocol::query::{self, OptionProblem, ProblemKind};

use super::{answer, body, resource::ResourceStore};
use crate::{
    admission::dynamic::{OperationOptions, options},
    request::Request,
};

/// What becomes of the dependents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Propagation {
    /// They are set free.
    Orphan,
    /// They go afterwards.
    Background,
    /// They go first.
    Foreground,
}

/// The options of a delete.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeleteOptions {
    pub(crate) grace_period_seconds: Option<i64>,
    pub(crate) propagation: Option<Propagation>,
    pub(crate) dry_run: bool,
    pub(crate) precondition_uid: Option<String>,
    pub(crate) precondition_resource_version: Option<String>,
    /// What cannot be read is to go as well.
    pub(crate) ignore_read_errors: bool,
    /// `orphanDependents` as it was given, for plugins of admission.
    pub(crate) orphan_dependents: Option<bool>,
    /// The same.
    pub(crate) dry_runs: Vec<String>,
}

impl DeleteOptions {
    /// Takes the options of a request: 400 where they do not decode, 422 where they contradict each other.
    pub(crate) fn take(store: &ResourceStore, request: &Request<'_>) -> Result<Self, Status> {
        let from_query =
            query::DeleteOptions::parse(request.head.query()).map_err(|e| Status::bad_request(e.0))?;
        if request.body.is_empty() {
            return Self::checked(from_query);
        }
        request.core.with_arena(|arena| {
            let options = body::decode_delete_options(store, arena, request)?;
            Self::from_object(&options)
        })
    }

    /// Takes the options that an object holds (an eviction's); the same 422 as for those of a request.
    pub(crate) fn from_object(options: &Value<'_>) -> Result<Self, Status> {
        Self::checked(from_tree(options))
    }

    fn checked(given: query::DeleteOptions<'_>) -> Result<Self, Status> {
        let has_preconditions =
            given.precondition_uid.is_some() || given.precondition_resource_version.is_some();
        answer::check_options("DeleteOptions", given.validate(has_preconditions))?;
        let propagation = match (given.propagation_policy.as_deref(), given.orphan_dependents) {
            (Some("Orphan"), _) | (None, Some(true)) => Some(Propagation::Orphan),
            (Some("Foreground"), _) => Some(Propagation::Foreground),
            (Some(_), _) | (None, Some(false)) => Some(Propagation::Background),
            (None, None) => None,
        };
        Ok(DeleteOptions {
            orphan_dependents: given.orphan_dependents,
            dry_runs: given.dry_run.iter().map(|text| text.clone().into_owned()).collect(),
            grace_period_seconds: given.grace_period_seconds,
            propagation,
            dry_run: given.is_dry_run(),
            precondition_uid: given.precondition_uid.map(|v| v.into_owned()),
            precondition_resource_version: given.precondition_resource_version.map(|v| v.into_owned()),
            ignore_read_errors: given.ignore_store_read_error_with_cluster_breaking_potential == Some(true),
        })
    }

    /// The options as plugins of admission see them.
    pub(crate) fn for_plugins(&self) -> OperationOptions {
        let mut options = options::Builder::default();
        options.json("gracePeriodSeconds", self.grace_period_seconds);
        let mut preconditions = options::Builder::default();
        preconditions.string("uid", self.precondition_uid.as_deref().unwrap_or(""));
        preconditions.string("resourceVersion", self.precondition_resource_version.as_deref().unwrap_or(""));
        options.object("preconditions", preconditions);
        options.json("orphanDependents", self.orphan_dependents);
        let policy = self.propagation.filter(|_| self.orphan_dependents.is_none());
        options.string(
            "propagationPolicy",
            match policy {
                Some(Propagation::Orphan) => "Orphan",
                Some(Propagation::Background) => "Background",
                Some(Propagation::Foreground) => "Foreground",
                None => "",
            },
        );
        options.strings("dryRun", &self.dry_runs);
        let ignored = self.ignore_read_errors.then_some(true);
        options.json("ignoreStoreReadErrorWithClusterBreakingPotential", ignored);
        OperationOptions::of(options)
    }

    /// Refuses with 422 what is not for more than one object at a time.
    pub(crate) fn check_collection(&self) -> Result<(), Status> {
        let problem = self.ignore_read_errors.then(|| OptionProblem {
            kind: ProblemKind::Invalid,
            field: "ignoreStoreReadErrorWithClusterBreakingPotential",
            bad_value: "true".to_owned(),
            detail: "is not allowed with DELETECOLLECTION, try again after removing the option".to_owned(),
        });
        answer::check_options("DeleteOptions", Vec::from_iter(problem))
    }
}

fn from_tree<'a>(options: &Value<'a>) -> query::DeleteOptions<'a> {
    let flag = |name: &str| options.path(&[name]).and_then(Value::as_bool);
    let dry_run = options.path(&["dryRun"]).and_then(Value::as_list);
    query::DeleteOptions {
        grace_period_seconds: options.path(&["gracePeriodSeconds"]).and_then(Value::as_i64),
        orphan_dependents: flag("orphanDependents"),
        propagation_policy: options.str_at(&["propagationPolicy"]).map(Into::into),
        dry_run: dry_run
            .map(|l| l.iter().filter_map(Value::as_str).map(Into::into).collect())
            .unwrap_or_default(),
        ignore_store_read_error_with_cluster_breaking_potential: flag(
            "ignoreStoreReadErrorWithClusterBreakingPotential",
        ),
        precondition_uid: options.str_at(&["preconditions", "uid"]).map(Into::into),
        precondition_resource_version: options.str_at(&["preconditions", "resourceVersion"]).map(Into::into),
    }
}
