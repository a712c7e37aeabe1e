//! What may change of a pod while its scheduling is gated: its choice of nodes can only become narrower.

use ringbolt_machinery::{
    field::{FieldError, Verbatim},
    value::{Map, Value},
};

use super::{Errors, go, sorted};
use crate::tree::{Members, same};

pub(crate) fn node_selector(new: &Map<'_>, was: &Map<'_>, errors: &mut Errors) {
    let given = new.child("nodeSelector");
    let kept = sorted(was.child("nodeSelector"))
        .into_iter()
        .all(|(name, value)| given.is_some_and(|g| g.has(name) && g.text(name) == value));
    if !kept {
        let shown = new.get("nodeSelector").unwrap_or(&Value::Null);
        let why = "only additions to spec.nodeSelector are allowed (no mutations or deletions)";
        errors.push(FieldError::invalid("spec.nodeSelector", shown, why));
    }
}

fn terms<'v, 'a>(spec: &'v Map<'a>) -> Option<&'v Value<'a>> {
    let affinity = spec.child("affinity")?.child("nodeAffinity")?;
    affinity.child("requiredDuringSchedulingIgnoredDuringExecution")?.get("nodeSelectorTerms")
}

pub(crate) fn node_affinity(new: &Map<'_>, was: &Map<'_>, errors: &mut Errors) {
    const PATH: &str =
        "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms";
    let items = |v: Option<&Value<'_>>| v.and_then(Value::as_list).map_or(0, |l| l.len());
    let (now, before) = (terms(new), terms(was));
    if items(before) == 0 {
        return;
    }
    if items(now) != items(before) {
        let shown = go::list("core", "NodeSelectorTerm", now);
        let why = "no additions/deletions to non-empty NodeSelectorTerms list are allowed";
        errors.push(FieldError::invalid(PATH, Verbatim(&shown), why));
        return;
    }
    let list = |v| Option::<&Value<'_>>::and_then(v, Value::as_list).into_iter().flatten();
    for (at, (now, before)) in list(now).zip(list(before)).enumerate() {
        if !only_additions(now, before) {
            let shown = go::text("core", "NodeSelectorTerm", Some(now));
            let why = "only additions are allowed (no mutations or deletions)";
            errors.push(FieldError::invalid(format!("{PATH}[{at}]"), Verbatim(&shown), why));
        }
    }
}

fn items<'v, 'a>(term: &'v Value<'a>, member: &str) -> &'v [Value<'a>] {
    term.as_map().map(|t| t.items(member)).unwrap_or_default()
}

fn only_additions(now: &Value<'_>, before: &Value<'_>) -> bool {
    let lists = ["matchExpressions", "matchFields"];
    if lists.iter().all(|l| items(before, l).is_empty()) {
        return lists.iter().all(|l| items(now, l).is_empty());
    }
    lists.iter().all(|list| {
        let (now, before) = (items(now, list), items(before, list));
        now.len() >= before.len() && now.iter().zip(before).all(|(a, b)| same(Some(a), Some(b)))
    })
}
