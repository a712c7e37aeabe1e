//! Fields that field selectors know besides `metadata.name` and `metadata.namespace`.

use ringbolt_apiserver::selectable::{Path, Refusal, Selectable};

/// The fields of one served resource.
#[derive(Debug)]
pub(crate) struct Table {
    /// In the order that the store keeps their values in.
    fields: &'static [Field],
    /// The store has an index of the first one.
    indexed: bool,
    /// The table of the resource in whose store its objects are, where that is another one. It has all values.
    kept_as: Option<&'static Table>,
    /// `metadata.namespace` is none of the fields.
    no_namespace: bool,
    /// What is said of a field that is none of them.
    refusal: Refusal,
}

/// One field.
#[derive(Debug)]
struct Field {
    /// As the selector names it.
    name: &'static str,
    /// Where it stands in the stored form; the first path that leads to something counts.
    paths: &'static [Path],
    /// Its value where no path leads anywhere.
    absent: &'static str,
}

impl Table {
    /// The columns and names.
    pub(crate) fn build(&self) -> Selectable {
        let kept = self.kept_as.unwrap_or(self);
        let mut selectable = Selectable::default().refusing(self.refusal);
        if self.no_namespace {
            selectable = selectable.without_namespace();
        }
        if kept.indexed {
            selectable = selectable.indexed();
        }
        for field in kept.fields {
            selectable.keep(field.paths, field.absent);
        }
        for field in self.fields {
            let is_kept = selectable.name(field.name, field.paths, field.absent);
            assert!(is_kept, "the store keeps no value for {}", field.name);
        }
        selectable
    }
}

macro_rules! selectable {
    ($table:ident $($rule:ident = $value:tt),*:
        $($field:literal => [$([$($step:literal),+]),*] or $absent:literal;)*) => {
        pub(crate) static $table: Table = Table {
            fields: &[$(Field { name: $field, paths: &[$(&[$($step),+]),*], absent: $absent }),*],
            $($rule: $value,)*
            ..NONE
        };
    };
}

/// Without fields.
const NONE: Table =
    Table { fields: &[], indexed: false, kept_as: None, no_namespace: false, refusal: Refusal::Plain };

/// The table of a resource without fields of its own.
pub(crate) static NO_FIELDS: Table = NONE;

selectable! { POD indexed = true:
    "spec.nodeName" => [["spec", "nodeName"]] or "";
    "spec.host" => [["spec", "nodeName"]] or "";
    "spec.restartPolicy" => [["spec", "restartPolicy"]] or "";
    "spec.schedulerName" => [["spec", "schedulerName"]] or "";
    "spec.serviceAccountName" => [["spec", "serviceAccountName"]] or "";
    "spec.hostNetwork" => [["spec", "hostNetwork"]] or "false";
    "status.phase" => [["status", "phase"]] or "";
    "status.podIP" => [["status", "podIPs", "0", "ip"]] or "";
    // Accepted, though no pod has a value for it.
    "status.podIPs" => [] or "";
    "status.nominatedNodeName" => [["status", "nominatedNodeName"]] or "";
}

selectable! { NODE no_namespace = true:
    "spec.unschedulable" => [["spec", "unschedulable"]] or "false";
}

selectable! { REPLICATION_CONTROLLER:
    "status.replicas" => [["status", "replicas"]] or "0";
}

selectable! { EVENT indexed = true:
    "involvedObject.name" => [["involvedObject", "name"]] or "";
    "involvedObject.kind" => [["involvedObject", "kind"]] or "";
    "involvedObject.namespace" => [["involvedObject", "namespace"]] or "";
    "involvedObject.uid" => [["involvedObject", "uid"]] or "";
    "involvedObject.apiVersion" => [["involvedObject", "apiVersion"]] or "";
    "involvedObject.resourceVersion" => [["involvedObject", "resourceVersion"]] or "";
    "involvedObject.fieldPath" => [["involvedObject", "fieldPath"]] or "";
    "reason" => [["reason"]] or "";
    "reportingComponent" => [["reportingComponent"]] or "";
    "source" => [["source", "component"], ["reportingComponent"]] or "";
    "type" => [["type"]] or "";
}

selectable! { NEW_EVENT kept_as = (Some(&EVENT)):
    "reason" => [["reason"]] or "";
    "regarding.kind" => [["involvedObject", "kind"]] or "";
    "regarding.namespace" => [["involvedObject", "namespace"]] or "";
    "regarding.name" => [["involvedObject", "name"]] or "";
    "regarding.uid" => [["involvedObject", "uid"]] or "";
    "regarding.apiVersion" => [["involvedObject", "apiVersion"]] or "";
    "regarding.resourceVersion" => [["involvedObject", "resourceVersion"]] or "";
    "regarding.fieldPath" => [["involvedObject", "fieldPath"]] or "";
    "reportingController" => [["reportingComponent"]] or "";
    "type" => [["type"]] or "";
}

selectable! { NAMESPACE no_namespace = true:
    "status.phase" => [["status", "phase"]] or "";
}

selectable! { SECRET:
    "type" => [["type"]] or "";
}

selectable! { SERVICE:
    "spec.clusterIP" => [["spec", "clusterIP"]] or "";
    "spec.type" => [["spec", "type"]] or "";
}

selectable! { JOB refusal = (Refusal::OfKind):
    "status.successful" => [["status", "succeeded"]] or "0";
}

selectable! { SIGNER no_namespace = true:
    "spec.signerName" => [["spec", "signerName"]] or "";
}

selectable! { POD_CERTIFICATE no_namespace = true:
    "spec.signerName" => [["spec", "signerName"]] or "";
    "spec.podName" => [["spec", "podName"]] or "";
    "spec.nodeName" => [["spec", "nodeName"]] or "";
}

selectable! { RESOURCE_SLICE indexed = true, no_namespace = true, refusal = (Refusal::OfVersion):
    "spec.nodeName" => [["spec", "nodeName"]] or "";
    "spec.driver" => [["spec", "driver"]] or "";
    "spec.pool.name" => [["spec", "pool", "name"]] or "";
}
