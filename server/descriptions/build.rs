//! Writes the table of descriptions, `descriptions.z`: what `k8s-openapi` says of each type and property, deflated.
//!
//! The crate has the texts in the schemas it makes for `schemars`. Taking them out here keeps its code, several
//! megabytes, out of the server.

use std::{env, fs, io::Write, path::Path};

use flate2::{Compression, write::DeflateEncoder};
use k8s_openapi::{
    api, apiextensions_apiserver,
    apimachinery::pkg::{apis::meta, runtime::RawExtension},
    kube_aggregator,
};
use schemars::{SchemaGenerator, generate::SchemaSettings};

/// Asks for the schemas of kinds, and with them for those of everything they lead to.
macro_rules! kinds {
    ($generator:ident: $($at:path { $($kind:ident),+ })+) => {
        $({ use $at as at; $($generator.subschema_for::<at::$kind>();)+ })+
    };
}

fn schemas() -> SchemaGenerator {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    kinds! { generator:
        api::admissionregistration::v1 {
            MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding, MutatingWebhookConfiguration,
            ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding, ValidatingWebhookConfiguration
        }
        api::admissionregistration::v1alpha1 { MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding }
        api::admissionregistration::v1beta1 { MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding }
        api::apiserverinternal::v1alpha1 { StorageVersion }
        api::apps::v1 { ControllerRevision, DaemonSet, Deployment, ReplicaSet, StatefulSet }
        api::authentication::v1 { SelfSubjectReview, TokenRequest, TokenReview }
        api::authorization::v1 {
            LocalSubjectAccessReview, SelfSubjectAccessReview, SelfSubjectRulesReview, SubjectAccessReview
        }
        api::autoscaling::v1 { HorizontalPodAutoscaler, Scale }
        api::autoscaling::v2 { HorizontalPodAutoscaler }
        api::batch::v1 { CronJob, Job }
        api::certificates::v1 { CertificateSigningRequest, ClusterTrustBundle, PodCertificateRequest }
        api::certificates::v1beta1 { ClusterTrustBundle, PodCertificateRequest }
        api::coordination::v1 { Lease }
        api::coordination::v1alpha2 { LeaseCandidate }
        api::coordination::v1beta1 { LeaseCandidate }
        api::core::v1 {
            Binding, ComponentStatus, ConfigMap, Endpoints, Event, LimitRange, Namespace, Node, PersistentVolume,
            PersistentVolumeClaim, Pod, PodTemplate, ReplicationController, ResourceQuota, Secret, Service,
            ServiceAccount
        }
        api::discovery::v1 { EndpointSlice }
        api::events::v1 { Event }
        api::flowcontrol::v1 { FlowSchema, PriorityLevelConfiguration }
        api::lifecycle::v1alpha1 { Eviction, EvictionRequest }
        api::networking::v1 { IPAddress, Ingress, IngressClass, NetworkPolicy, ServiceCIDR }
        api::node::v1 { RuntimeClass }
        api::policy::v1 { Eviction, PodDisruptionBudget }
        api::rbac::v1 { ClusterRole, ClusterRoleBinding, Role, RoleBinding }
        api::resource::v1 { DeviceClass, DeviceTaintRule, ResourceClaim, ResourceClaimTemplate, ResourceSlice }
        api::resource::v1alpha3 { DeviceTaintRule, ResourcePoolStatusRequest }
        api::resource::v1beta1 { DeviceClass, ResourceClaim, ResourceClaimTemplate, ResourceSlice }
        api::resource::v1beta2 {
            DeviceClass, DeviceTaintRule, ResourceClaim, ResourceClaimTemplate, ResourceSlice
        }
        api::scheduling::v1 { PriorityClass }
        api::scheduling::v1alpha3 { CompositePodGroup, PodGroup, Workload }
        api::scheduling::v1beta1 { PodGroup, Workload }
        api::storage::v1 {
            CSIDriver, CSINode, CSIStorageCapacity, StorageClass, VolumeAttachment, VolumeAttributesClass
        }
        api::storagemigration::v1 { StorageVersionMigration }
        api::storagemigration::v1beta1 { StorageVersionMigration }
        apiextensions_apiserver::pkg::apis::apiextensions::v1 { CustomResourceDefinition }
        kube_aggregator::pkg::apis::apiregistration::v1 { APIService }
        // Of no kind's objects, but of requests and answers.
        meta::v1 {
            APIGroup, APIGroupList, APIResourceList, APIVersions, DeleteOptions, Patch, Status
        }
    }
    generator.subschema_for::<meta::v1::WatchEvent<RawExtension>>();
    generator
}

/// Ends a type; `FIELD` ends each text of it: name, description, then name and description of each property.
const RECORD: char = '\u{1E}';
const FIELD: char = '\u{1F}';

fn put(out: &mut String, text: &str) {
    assert!(!text.contains([RECORD, FIELD]), "a separator of the table is part of {text:?}");
    out.push_str(text);
    out.push(FIELD);
}

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let mut generator = schemas();
    let mut types: Vec<_> = generator.take_definitions(true).into_iter().collect();
    types.sort_by(|(a, _), (b, _)| a.cmp(b));
    let mut table = String::new();
    for (name, schema) in &types {
        put(&mut table, name);
        put(&mut table, schema["description"].as_str().unwrap_or(""));
        for (property, schema) in schema["properties"].as_object().into_iter().flatten() {
            if let Some(description) = schema["description"].as_str() {
                put(&mut table, property);
                put(&mut table, description);
            }
        }
        table.push(RECORD);
    }
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(table.as_bytes()).expect("memory takes it");
    let packed = encoder.finish().expect("memory takes it");
    let folder = env::var_os("OUT_DIR").expect("cargo says where");
    fs::write(Path::new(&folder).join("descriptions.z"), packed).expect("the table is written");
}
