//! The table, by examples of each form.

use super::*;

#[test]
fn types_and_properties_are_described() {
    let all = Descriptions::unpack();
    let cases = [
        ("io.k8s.api.core.v1.Pod", "", "Pod is a collection of containers that can run on a host."),
        ("io.k8s.api.core.v1.Pod", "spec", "Specification of the desired behavior of the pod."),
        ("io.k8s.api.core.v1.Container", "image", "Container image name."),
        ("io.k8s.api.apps.v1.DeploymentSpec", "replicas", "Number of desired pods."),
        ("io.k8s.api.networking.v1.IngressSpec", "rules", "rules is a list of host rules"),
        ("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta", "finalizers", "Must be empty before the object"),
        ("io.k8s.apimachinery.pkg.api.resource.Quantity", "", "Quantity is a fixed-point representation"),
        (
            "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions",
            "propagationPolicy",
            "Whether and how garbage",
        ),
        ("io.k8s.api.core.v1.PodList", "", "PodList is a list of objects of kind Pod."),
        ("io.k8s.api.core.v1.PodList", "items", "The objects of the list, each of kind Pod."),
        ("io.k8s.api.core.v1.PodList", "apiVersion", "APIVersion defines the versioned schema"),
        ("io.k8s.apimachinery.pkg.apis.meta.v1.APIGroupList", "groups", "groups is a list of APIGroup."),
    ];
    for (name, property, begins) in cases {
        let text = if property.is_empty() { all.of_type(name) } else { all.of_property(name, property) };
        let text = text.unwrap_or_else(|| panic!("{name} {property}"));
        assert!(text.starts_with(begins), "{name} {property}: {text}");
    }
}

#[test]
fn what_is_not_there_has_no_description() {
    let all = Descriptions::unpack();
    for name in ["", "Pod", "io.k8s.api.core.v1.Po", "io.k8s.api.core.v1.Pods", "io.k8s.api.core.v1.ListList"]
    {
        assert!(all.of_type(name).is_none(), "{name}");
        assert!(all.of_property(name, "metadata").is_none(), "{name}");
    }
    // Neither a text that stands beside the names of properties, nor a type's name or description.
    for property in
        ["", "Spec", "io.k8s.api.core.v1.Pod", "Specification of the desired behavior of the pod."]
    {
        assert!(all.of_property("io.k8s.api.core.v1.Pod", property).is_none(), "{property}");
    }
}

#[test]
fn names_are_sorted_and_many() {
    let all = Descriptions::unpack();
    let names: Vec<_> = all.names().collect();
    assert!(names.is_sorted_by(|a, b| a < b));
    assert!(names.len() > 700, "{}", names.len());
    assert!(names.iter().all(|name| name.starts_with("io.k8s.")));
}
