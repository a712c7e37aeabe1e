//! The batch group.

use bumpalo::Bump;
use ringbolt_apiserver::registry::Part;
use ringbolt_machinery::value::Value;

use super::{Rules, apps, pod, selectable::JOB};
use crate::{
    tree::{Members, root},
    validation, warnings,
};

const JOB_NAME: [&str; 2] = ["job-name", "batch.kubernetes.io/job-name"];
const CONTROLLER_UID: [&str; 2] = ["controller-uid", "batch.kubernetes.io/controller-uid"];
const CRON_TEMPLATE: &[&str] = &["spec", "jobTemplate", "spec", "template"];

pub(super) fn rules(resource: &str) -> Option<Rules> {
    Some(match resource {
        "jobs" => Rules {
            disabled: &[&["spec", "scheduling"]],
            orphans_by_default: true,
            selectable: &JOB,
            prepare_for_create: Some(prepare_job),
            prepare_for_update: Some(apps::prepare_update),
            warnings: Some(warnings::job),
            validate: Some(validation::batch::validate_job),
            validate_update: Some(validation::batch::validate_job_update),
            ..Rules::SPEC_AND_STATUS
        },
        "cronjobs" => Rules {
            disabled: &[&["spec", "jobTemplate", "spec", "scheduling"]],
            prepare_for_create: Some(|arena, object| pod::prepare_template(arena, object, CRON_TEMPLATE)),
            prepare_for_update: Some(|arena, part, object, old| {
                if part == Part::Main {
                    pod::prepare_template_update(arena, object, old, CRON_TEMPLATE);
                }
            }),
            warnings: Some(warnings::cron_job),
            validate: Some(validation::batch::validate_cron_job),
            validate_update: Some(validation::batch::validate_cron_job_update),
            ..Rules::SPEC_AND_STATUS
        },
        _ => return None,
    })
}

/// A job whose selector is not the client's matter selects its pods by its own uid.
fn prepare_job<'a>(arena: &'a Bump, object: &mut Value<'a>) {
    let name = object.str_at(&["metadata", "name"]).unwrap_or("");
    let uid = object.str_at(&["metadata", "uid"]).unwrap_or("");
    let labels_are_the_templates = shares_labels(object);
    let spec = root(arena, object).map_mut("spec");
    if !spec.flag("manualSelector") {
        let labels = spec.map_mut("template").map_mut("metadata").map_mut("labels");
        for key in JOB_NAME {
            labels.default_nil(key, Value::String(name));
        }
        for key in CONTROLLER_UID {
            labels.default_nil(key, Value::String(uid));
        }
        let selected = spec.map_mut("selector").map_mut("matchLabels");
        selected.default_nil(CONTROLLER_UID[1], Value::String(uid));
        if labels_are_the_templates {
            let labels = object.path(&["spec", "template", "metadata", "labels"]).cloned();
            root(arena, object).map_mut("metadata").put("labels", labels);
        }
    }
    apps::prepare(arena, object);
}

/// Whether a job has its labels from its template. In kube-apiserver they are one map then, so what the template gets
/// the job gets as well. The texts of labels that a client wrote twice stand in two places.
fn shares_labels(object: &Value<'_>) -> bool {
    let labels = |path: &[&str]| object.path(path).and_then(Value::as_map);
    let (Some(own), Some(templates)) =
        (labels(&["metadata", "labels"]), labels(&["spec", "template", "metadata", "labels"]))
    else {
        return false;
    };
    own.len() == templates.len()
        && own.iter().zip(templates.iter()).all(|((a, _), (b, _))| std::ptr::eq(a, b))
}
