//! `pods/eviction`: deletes a pod unless its PodDisruptionBudget is used up.

mod budget;

use std::sync::Arc;

use bumpalo::Bump;
use ringbolt_machinery::{
    field::FieldError,
    json,
    schema::Schema,
    status::{Reason, Status},
    value::Value,
};
use ringbolt_protocol::{query::CreateOptions, request_info::Verb};
use ringbolt_storage::object::{Object, ResourceId};

use self::budget::Guard;
use super::{
    answer,
    asker::{Asker, KeptAsker},
    create,
    delete::{Delete, Told},
    delete_options::DeleteOptions,
    get,
    guaranteed_update::{Mutate, guaranteed_update},
    metadata,
    not_stored::{self, Sent},
    pod_condition::{self, PodCondition},
    resource::ResourceStore,
};
use crate::{
    admission::dynamic::at_once, authentication::UserInfo, core::CoreContext, limits::EVICTION_ATTEMPTS,
    request::Request, response::Outcome, routes::ResourceEndpoint,
};

const IGNORE_READ_ERROR: &str = "ignoreStoreReadErrorWithClusterBreakingPotential";

/// The endpoint.
#[derive(Clone)]
pub(crate) struct Evictions {
    pods: Arc<ResourceStore>,
    budgets: Arc<ResourceStore>,
    /// The kind in the versions that are taken.
    kinds: Vec<Arc<ResourceStore>>,
}

impl Evictions {
    /// Evicts pods of `pods`, guarded by `budgets`. `None` where the Schema knows no Eviction.
    pub(crate) fn new(
        schema: &'static Schema,
        pods: Arc<ResourceStore>,
        budgets: Arc<ResourceStore>,
        namespaces: ResourceId,
    ) -> Option<Self> {
        let versions = ["v1", "v1beta1"].into_iter();
        let kinds: Vec<_> = versions
            .filter_map(|v| {
                not_stored::kind_of_subresource(schema, ("policy", v, "Eviction"), None, namespaces)
            })
            .collect();
        (!kinds.is_empty()).then_some(Evictions { pods, budgets, kinds })
    }

    fn create(&self, request: &Request<'_>) -> Result<Outcome, Status> {
        let sent = Sent::take(&self.kinds[0], request)?;
        let dry_runs = CreateOptions::parse(request.head.query()).dry_run;
        let dry_runs: Vec<String> = dry_runs.into_iter().map(|text| text.into_owned()).collect();
        if let Some(kept) = KeptAsker::of(request, &self.pods, "eviction", sent.dry_run) {
            let this = self.clone();
            return Ok(Outcome::Task(Box::pin(async move {
                let evicted = this.evict(&sent, kept.asker(), &dry_runs).await;
                let warnings = kept.into_warnings();
                sent.answer.failure(&evicted.err().unwrap_or_else(|| Status::success(201)), &warnings)
            })));
        }
        let asker = Asker::of(request, "eviction", sent.dry_run);
        let admitted = |arena: &Bump| at_once(self.admitted(&sent, asker, &dry_runs, arena));
        let eviction = request.core.with_arena(admitted)?;
        Ok(Outcome::Task(Box::pin(async move {
            match eviction.run().await {
                Ok(()) => sent.answer.status(&Status::success(201)),
                Err(status) => sent.answer.status(&status),
            }
        })))
    }

    async fn evict(&self, sent: &Sent, asker: Asker<'_>, dry_runs: &[String]) -> Result<(), Status> {
        let arena = asker.core.take_arena();
        let eviction = self.admitted(sent, asker, dry_runs, &arena).await?;
        drop(arena);
        eviction.run().await
    }

    /// An eviction that was admitted and has nothing wrong with it.
    async fn admitted(
        &self,
        sent: &Sent,
        asker: Asker<'_>,
        dry_runs: &[String],
        arena: &Bump,
    ) -> Result<Eviction, Status> {
        let (mut tree, kind) = self.decode(sent, asker, arena)?;
        create::check_namespace(&self.pods, asker.core, asker.namespace, asker.name)?;
        let attributes = asker.attributes(&self.pods);
        asker.admit(&attributes, &self.pods, kind, arena, &mut tree).await?;
        if asker.name != metadata::text(&tree, "name") {
            return Err(Status::bad_request("name in URL does not match name in Eviction object"));
        }
        let (options, refused) = delete_options(&tree, asker.name, dry_runs)?;
        asker.validate(&attributes, &self.pods, kind, arena, &tree).await?;
        Ok(Eviction {
            pods: self.pods.clone(),
            budgets: self.budgets.clone(),
            core: asker.core.clone(),
            user: asker.user.clone(),
            namespace: asker.namespace.to_owned(),
            name: asker.name.to_owned(),
            options: DeleteOptions { dry_run: options.dry_run || sent.dry_run, ..options },
            refused,
        })
    }

    /// Decodes a body of any version; an error is about the first.
    fn decode<'a>(
        &self,
        sent: &Sent,
        asker: Asker<'_>,
        arena: &'a Bump,
    ) -> Result<(Value<'a>, &ResourceStore), Status> {
        let decode = |kind: &ResourceStore| sent.decode_for(kind, asker.namespace, asker.warnings, arena);
        let first = &*self.kinds[0];
        let status = match decode(first) {
            Ok(tree) => return Ok((tree, first)),
            Err(status) => status,
        };
        let mut others = self.kinds[1..].iter();
        others.find_map(|kind| Some((decode(kind).ok()?, &**kind))).ok_or(status)
    }
}

impl ResourceEndpoint for Evictions {
    fn serve(&self, request: &Request<'_>) -> Outcome {
        let outcome = match request.info.verb {
            Verb::Create => self.create(request),
            _ => Err(Status::method_not_allowed()),
        };
        outcome.unwrap_or_else(|status| answer::failed(request, &status))
    }
}

/// The delete options inside an eviction; options that contradict each other are refused only by the delete itself,
/// with the Status beside them.
fn delete_options<S: AsRef<str>>(
    eviction: &Value<'_>,
    name: &str,
    dry_run: &[S],
) -> Result<(DeleteOptions, Option<Status>), Status> {
    let Some(options) = eviction.path(&["deleteOptions"]).filter(|o| !o.is_null()) else {
        return Ok((DeleteOptions::default(), None));
    };
    if options.path(&[IGNORE_READ_ERROR]).and_then(Value::as_bool) == Some(true) {
        let error = FieldError::invalid(
            format!("deleteOptions.{IGNORE_READ_ERROR}"),
            true,
            "can not be set for pod eviction, try after removing the option",
        );
        return Err(Status::invalid("policy", "Eviction", name, &[error]));
    }
    let inside = options.path(&["dryRun"]).and_then(Value::as_list);
    let inside: Vec<&str> = inside.into_iter().flatten().filter_map(Value::as_str).collect();
    let outside: Vec<&str> = dry_run.iter().map(AsRef::as_ref).collect();
    if !inside.is_empty() && !outside.is_empty() && inside != outside {
        return Err(Status::unknown_error(format!(
            "Non-matching dry-run options in request and content: [{}] and [{}]",
            outside.join(" "),
            inside.join(" ")
        )));
    }
    Ok(match DeleteOptions::from_object(options) {
        Ok(options) => (options, None),
        Err(status) => {
            (DeleteOptions { dry_run: !inside.is_empty(), ..DeleteOptions::default() }, Some(status))
        }
    })
}

/// An eviction under way.
struct Eviction {
    pods: Arc<ResourceStore>,
    budgets: Arc<ResourceStore>,
    core: CoreContext,
    user: UserInfo,
    namespace: String,
    name: String,
    options: DeleteOptions,
    /// What the delete will say of its options.
    refused: Option<Status>,
}

/// What of a pod an eviction looks at.
struct Pod {
    phase: String,
    terminating: bool,
    ready: bool,
    revision: u64,
    stored: Arc<Object>,
}

impl Pod {
    /// Whether its end disrupts nothing: it has not begun, has ended, or is ending.
    fn needs_no_budget(&self) -> bool {
        self.terminating || matches!(self.phase.as_str(), "Succeeded" | "Failed" | "Pending")
    }

    /// Whether it must not have become healthy meanwhile.
    fn must_be_unchanged(&self) -> bool {
        !self.terminating && !matches!(self.phase.as_str(), "Succeeded" | "Failed")
    }
}

impl Eviction {
    async fn run(self) -> Result<(), Status> {
        let names_version = self.options.precondition_resource_version.is_some();
        let mut conflict = None;
        let mut guarded = None;
        for _ in 0..EVICTION_ATTEMPTS {
            let pod = self.pod()?;
            if !pod.needs_no_budget() {
                guarded = Some(pod);
                break;
            }
            let mut options = self.options.clone();
            if pod.must_be_unchanged() && !names_version {
                options.precondition_resource_version = Some(pod.revision.to_string());
            }
            match self.delete(options).await {
                Ok(()) => return Ok(()),
                Err(status) if status.reason == Reason::Conflict && !names_version => conflict = Some(status),
                Err(status) => return Err(status),
            }
        }
        match (guarded, conflict) {
            (Some(pod), _) => self.run_guarded(&pod).await,
            (None, Some(status)) => Err(status),
            (None, None) => Err(self.pods.not_found(&self.name)),
        }
    }

    /// Evicts a pod that a budget may guard.
    async fn run_guarded(&self, pod: &Pod) -> Result<(), Status> {
        let guards = budget::guards(&self.core, &self.budgets, &pod.stored)?;
        let guard = match guards.as_slice() {
            [] => return self.delete(self.options.clone()).await,
            [guard] => guard,
            _ => {
                return Err(Status::unknown_error(
                    "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
                ));
            }
        };
        if !pod.ready && guard.lets_unhealthy_go() {
            return self.delete_unhealthy(pod, guard).await;
        }
        let spend = budget::Spend { pod: &self.name, budget: &guard.name };
        let target = (self.namespace.as_str(), guard.name.as_str());
        guaranteed_update(&self.budgets, &self.core, target, self.options.dry_run, &spend).await?;
        self.delete(self.options.clone()).await
    }

    /// Evicts a pod that counts for nothing in its budget, unless it has become healthy meanwhile.
    async fn delete_unhealthy(&self, pod: &Pod, guard: &Guard) -> Result<(), Status> {
        let mut options = self.options.clone();
        options.precondition_resource_version = Some(pod.revision.to_string());
        match self.delete(options).await {
            Err(status)
                if status.reason == Reason::Conflict
                    && self.options.precondition_resource_version.is_none() =>
            {
                Err(budget::not_ready(&guard.name))
            }
            result => result,
        }
    }

    fn pod(&self) -> Result<Pod, Status> {
        let stored = get::lookup(&self.pods, &self.core, &self.namespace, &self.name)?;
        let store = &*self.pods;
        self.core.with_arena(|arena| {
            let tree = json::decode_stored(arena, store.schema, store.served.stored_type, &stored.json)
                .map_err(|e| Status::internal_error(e.to_string()))?;
            Ok(Pod {
                phase: tree.str_at(&["status", "phase"]).unwrap_or("").to_owned(),
                terminating: metadata::is_terminating(&tree),
                ready: pod_condition::status(&tree, "Ready") == "True",
                revision: stored.revision,
                stored: stored.clone(),
            })
        })
    }

    /// Says in the pod's status why it goes, then deletes it.
    async fn delete(&self, mut options: DeleteOptions) -> Result<(), Status> {
        if !options.dry_run {
            let target = (self.namespace.as_str(), self.name.as_str());
            let mark = Mark { options: &options };
            let revision = guaranteed_update(&self.pods, &self.core, target, false, &mark).await?;
            if let Some(version) = &mut options.precondition_resource_version {
                *version = revision.to_string();
            }
        }
        if let Some(status) = &self.refused {
            return Err(status.clone());
        }
        let (store, core, user) = (self.pods.clone(), self.core.clone(), self.user.clone());
        let delete = Delete { store, core, user, options, told: Told::Nothing, dynamic: None };
        delete.run(&self.namespace, &self.name).await.map(drop)
    }
}

/// Puts the condition on a pod that is about to be evicted.
struct Mark<'o> {
    options: &'o DeleteOptions,
}

impl Mutate for Mark<'_> {
    fn mutate<'a>(&self, arena: &'a Bump, pod: &mut Value<'a>, stored: &Object) -> Result<(), Status> {
        let uid = metadata::text(pod, "uid");
        if let Some(want) =
            self.options.precondition_uid.as_deref().filter(|want| !want.is_empty() && *want != uid)
        {
            let why = format!(
                "the UID in the precondition ({want}) does not match the UID in record ({uid}). The object might \
                 have been deleted and then recreated"
            );
            return Err(Status::conflict("", "Pod", stored.name(), &why));
        }
        let version = stored.revision.to_string();
        let wanted = self.options.precondition_resource_version.as_deref();
        if let Some(want) = wanted.filter(|want| !want.is_empty() && **want != version) {
            let why = format!(
                "the ResourceVersion in the precondition ({want}) does not match the ResourceVersion in record \
                 ({version}). The object might have been modified"
            );
            return Err(Status::conflict("", "Pod", stored.name(), &why));
        }
        let condition = PodCondition {
            ty: "DisruptionTarget",
            status: "True",
            reason: "EvictionByEvictionAPI",
            message: "Eviction API: evicting",
        };
        pod_condition::update(arena, pod, condition);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Grace, whether it is a dry run, and the code that the delete will refuse it with.
    type Options = (Option<i64>, bool, Option<u16>);

    #[test]
    fn options_inside() {
        let check = |text: &str, outside: &[&str], expect: Result<Options, (u16, &str)>| {
            let arena = Bump::new();
            let tree = json::decode_untyped(&arena, arena.alloc_slice_copy(text.as_bytes())).unwrap();
            let found = delete_options(&tree, "p", outside)
                .map(|(o, refused)| (o.grace_period_seconds, o.dry_run, refused.map(|s| s.code)))
                .map_err(|s| (s.code, s.message));
            assert_eq!(found, expect.map_err(|(code, text)| (code, text.to_owned())), "{text}");
        };
        check("{}", &["All"], Ok((None, false, None)));
        check(
            r#"{"deleteOptions":{"gracePeriodSeconds":3,"dryRun":["All"]}}"#,
            &[],
            Ok((Some(3), true, None)),
        );
        check(r#"{"deleteOptions":{"dryRun":["All"]}}"#, &["All"], Ok((None, true, None)));
        check(
            r#"{"deleteOptions":{"orphanDependents":true,"propagationPolicy":"Orphan"}}"#,
            &[],
            Ok((None, false, Some(422))),
        );
        check(
            r#"{"deleteOptions":{"dryRun":["x","y"]}}"#,
            &["All"],
            Err((500, "Non-matching dry-run options in request and content: [All] and [x y]")),
        );
        check(
            r#"{"deleteOptions":{"ignoreStoreReadErrorWithClusterBreakingPotential":true}}"#,
            &[],
            Err((
                422,
                "Eviction.policy \"p\" is invalid: \
                 deleteOptions.ignoreStoreReadErrorWithClusterBreakingPotential: Invalid value: true: can not be \
                 set for pod eviction, try after removing the option",
            )),
        );
    }
}
