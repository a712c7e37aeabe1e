//! Types of what all expressions of admission see: the request, and its namespace.

use std::{
    collections::BTreeMap,
    sync::{Arc, LazyLock},
};

use crate::{
    decl::{DeclType, Shape},
    types::Type,
};

/// A type of which nothing more is known.
pub(super) fn scalar(t: Type) -> Arc<DeclType> {
    Arc::new(DeclType { shape: Shape::Scalar(t), elements_max: -1, bytes_min: 1 })
}

fn object(name: &str, fields: &[(&str, Arc<DeclType>)]) -> Arc<DeclType> {
    let fields: BTreeMap<String, Arc<DeclType>> =
        fields.iter().map(|(name, t)| ((*name).to_owned(), t.clone())).collect();
    Arc::new(DeclType { shape: Shape::Object { name: name.into(), fields }, elements_max: 0, bytes_min: 2 })
}

fn list(of: Arc<DeclType>) -> Arc<DeclType> {
    Arc::new(DeclType { shape: Shape::List(of), elements_max: -1, bytes_min: 2 })
}

fn map(of: Arc<DeclType>) -> Arc<DeclType> {
    Arc::new(DeclType { shape: Shape::Map(of), elements_max: -1, bytes_min: 2 })
}

/// `request`: `AdmissionRequest` without its uid and its objects.
pub(super) static REQUEST: LazyLock<Arc<DeclType>> = LazyLock::new(|| {
    let text = || scalar(Type::String);
    let kind =
        object("kubernetes.GroupVersionKind", &[("group", text()), ("version", text()), ("kind", text())]);
    let resource = object(
        "kubernetes.GroupVersionResource",
        &[("group", text()), ("version", text()), ("resource", text())],
    );
    let user = object(
        "kubernetes.UserInfo",
        &[("username", text()), ("uid", text()), ("groups", list(text())), ("extra", map(list(text())))],
    );
    object(
        "kubernetes.AdmissionRequest",
        &[
            ("kind", kind.clone()),
            ("resource", resource.clone()),
            ("subResource", text()),
            ("requestKind", kind),
            ("requestResource", resource),
            ("requestSubResource", text()),
            ("name", text()),
            ("namespace", text()),
            ("operation", text()),
            ("userInfo", user),
            ("dryRun", scalar(Type::Bool)),
            ("options", scalar(Type::Dyn)),
        ],
    )
});

/// `namespaceObject`
pub(super) static NAMESPACE: LazyLock<Arc<DeclType>> = LazyLock::new(|| {
    let text = || scalar(Type::String);
    let condition = object(
        "kubernetes.NamespaceCondition",
        &[
            ("status", text()),
            ("type", text()),
            ("lastTransitionTime", scalar(Type::Timestamp)),
            ("message", text()),
            ("reason", text()),
        ],
    );
    let metadata = object(
        "kubernetes.NamespaceMetadata",
        &[
            ("name", text()),
            ("generateName", text()),
            ("namespace", text()),
            ("labels", map(text())),
            ("annotations", map(text())),
            ("UID", text()),
            ("creationTimestamp", scalar(Type::Timestamp)),
            ("deletionGracePeriodSeconds", scalar(Type::Int)),
            ("deletionTimestamp", scalar(Type::Timestamp)),
            ("generation", scalar(Type::Int)),
            ("resourceVersion", text()),
            ("finalizers", list(text())),
        ],
    );
    let spec = object("kubernetes.NamespaceSpec", &[("finalizers", list(text()))]);
    let status = object("kubernetes.NamespaceStatus", &[("conditions", list(condition)), ("phase", text())]);
    object("kubernetes.Namespace", &[("metadata", metadata), ("spec", spec), ("status", status)])
});

/// What expressions know of a variable that has a type: nothing of objects and libraries.
pub(super) fn of_variable(t: &Type) -> Type {
    match t {
        Type::Bool
        | Type::Bytes
        | Type::Double
        | Type::Duration
        | Type::Int
        | Type::Null
        | Type::String
        | Type::Timestamp
        | Type::Uint => t.clone(),
        Type::List(of) => Type::list(of_variable(of)),
        Type::Map(of) => Type::map(of_variable(&of.0), of_variable(&of.1)),
        _ => Type::Dyn,
    }
}
