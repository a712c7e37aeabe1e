//! Fields that field selectors know besides `metadata.name` and `metadata.namespace`.

/// One field.
#[derive(Debug)]
pub(crate) struct Selectable {
    /// As the selector names it.
    pub(crate) field: &'static str,
    /// Where it stands in the stored form; the first path that leads to something counts.
    pub(crate) paths: &'static [&'static [&'static str]],
    /// Its value where no path leads anywhere.
    pub(crate) absent: &'static str,
}

macro_rules! selectable {
    ($table:ident, $names:ident: $($field:literal => [$([$($step:literal),+]),*] or $absent:literal;)*) => {
        pub(crate) static $table: &[Selectable] = &[$(
            Selectable { field: $field, paths: &[$(&[$($step),+]),*], absent: $absent },
        )*];
        pub(crate) static $names: &[&str] = &[$($field),*];
    };
}

selectable! { POD, POD_NAMES:
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

selectable! { NODE, NODE_NAMES:
    "spec.unschedulable" => [["spec", "unschedulable"]] or "false";
}

selectable! { REPLICATION_CONTROLLER, REPLICATION_CONTROLLER_NAMES:
    "status.replicas" => [["status", "replicas"]] or "0";
}

selectable! { EVENT, EVENT_NAMES:
    "involvedObject.kind" => [["involvedObject", "kind"]] or "";
    "involvedObject.namespace" => [["involvedObject", "namespace"]] or "";
    "involvedObject.name" => [["involvedObject", "name"]] or "";
    "involvedObject.uid" => [["involvedObject", "uid"]] or "";
    "involvedObject.apiVersion" => [["involvedObject", "apiVersion"]] or "";
    "involvedObject.resourceVersion" => [["involvedObject", "resourceVersion"]] or "";
    "involvedObject.fieldPath" => [["involvedObject", "fieldPath"]] or "";
    "reason" => [["reason"]] or "";
    "reportingComponent" => [["reportingComponent"]] or "";
    "source" => [["source", "component"], ["reportingComponent"]] or "";
    "type" => [["type"]] or "";
}

selectable! { NEW_EVENT, NEW_EVENT_NAMES:
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

selectable! { NAMESPACE, NAMESPACE_NAMES:
    "status.phase" => [["status", "phase"]] or "";
}

selectable! { SECRET, SECRET_NAMES:
    "type" => [["type"]] or "";
}

selectable! { SERVICE, SERVICE_NAMES:
    "spec.clusterIP" => [["spec", "clusterIP"]] or "";
    "spec.type" => [["spec", "type"]] or "";
}

selectable! { JOB, JOB_NAMES:
    "status.successful" => [["status", "succeeded"]] or "0";
}

selectable! { SIGNER, SIGNER_NAMES:
    "spec.signerName" => [["spec", "signerName"]] or "";
}

selectable! { POD_CERTIFICATE, POD_CERTIFICATE_NAMES:
    "spec.signerName" => [["spec", "signerName"]] or "";
    "spec.podName" => [["spec", "podName"]] or "";
    "spec.nodeName" => [["spec", "nodeName"]] or "";
}

selectable! { RESOURCE_SLICE, RESOURCE_SLICE_NAMES:
    "spec.nodeName" => [["spec", "nodeName"]] or "";
    "spec.driver" => [["spec", "driver"]] or "";
    "spec.pool.name" => [["spec", "pool", "name"]] or "";
}
