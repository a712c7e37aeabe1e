//! Which resources of a quota an object counts against, and what it counts for (`quota.Evaluator`).

use ringbolt_apiserver::admission::Operation;
use ringbolt_machinery::{
    quantity::Quantity,
    value::{Map, Value},
};

use super::{
    list::ResourceList,
    pods,
    scopes::{self, Selector},
};
use crate::{quantity, tree::Members};

/// How objects of one resource are counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Evaluator {
    /// Pods: what they ask for.
    Pods,
    /// Services: node ports and load balancers.
    Services,
    /// Claims of storage, in all and per class.
    PersistentVolumeClaims,
    /// Claims of devices, per class.
    ResourceClaims,
    /// All others: their number, under one name or two.
    Count(String, Option<&'static str>),
}

/// Suffix of what is counted per storage class.
const STORAGE_CLASS: &str = ".storageclass.storage.k8s.io/";
/// Suffix of what is counted per device class.
const DEVICE_CLASS: &str = ".deviceclass.resource.k8s.io/devices";
/// Devices of a request for all of them (`AllocationResultsMaxSize`).
const DEVICES_MAX: i64 = 32;

impl Evaluator {
    /// The evaluator of a resource. `None` where quotas do not count it.
    pub(crate) fn of(group: &str, resource: &str) -> Option<Self> {
        Some(match (group, resource) {
            ("" | "events.k8s.io", "events") => return None,
            ("", "pods") => Evaluator::Pods,
            ("", "services") => Evaluator::Services,
            ("", "persistentvolumeclaims") => Evaluator::PersistentVolumeClaims,
            ("resource.k8s.io", "resourceclaims") => Evaluator::ResourceClaims,
            ("", "configmaps") => Evaluator::Count("count/configmaps".to_owned(), Some("configmaps")),
            ("", "resourcequotas") => {
                Evaluator::Count("count/resourcequotas".to_owned(), Some("resourcequotas"))
            }
            ("", "replicationcontrollers") => {
                Evaluator::Count("count/replicationcontrollers".to_owned(), Some("replicationcontrollers"))
            }
            ("", "secrets") => Evaluator::Count("count/secrets".to_owned(), Some("secrets")),
            ("", _) => Evaluator::Count(format!("count/{resource}"), None),
            _ => Evaluator::Count(format!("count/{resource}.{group}"), None),
        })
    }

    /// Whether a write may change what is counted.
    pub(crate) fn handles(
        &self,
        operation: Operation,
        subresource: &str,
        object: &Value<'_>,
        old: Option<&Value<'_>>,
    ) -> bool {
        let (create, update) = (operation == Operation::Create, operation == Operation::Update);
        match (self, subresource) {
            (Evaluator::Pods, "") => {
                let terminating =
                    |pod: &Value<'_>| pod.path(&["spec"]).and_then(Value::as_map).map(scopes::is_terminating);
                create || (update && old.and_then(terminating) != terminating(object))
            }
            (Evaluator::Pods, "resize") | (Evaluator::PersistentVolumeClaims, "status") => update,
            (Evaluator::Services | Evaluator::PersistentVolumeClaims | Evaluator::ResourceClaims, "") => {
                create || update
            }
            (Evaluator::Count(..), "") => create,
            _ => false,
        }
    }

    /// Whether a quota's resource is one of these.
    pub(crate) fn counts(&self, name: &str) -> bool {
        match self {
            Evaluator::Pods => pods::counts(name),
            Evaluator::Services => matches!(
                name,
                "count/services" | "services" | "services.nodeports" | "services.loadbalancers"
            ),
            Evaluator::PersistentVolumeClaims => {
                let is = |name: &str| matches!(name, "persistentvolumeclaims" | "requests.storage");
                name == "count/persistentvolumeclaims"
                    || is(name)
                    || name.split_once(STORAGE_CLASS).is_some_and(|(_, of_class)| is(of_class))
            }
            Evaluator::ResourceClaims => {
                name == "count/resourceclaims.resource.k8s.io" || name.ends_with(DEVICE_CLASS)
            }
            Evaluator::Count(own, alias) => name == own || Some(name) == *alias,
        }
    }

    /// Whether an object is in a scope. What knows no scopes is in none.
    pub(crate) fn is_in(&self, selector: &Selector<'_>, object: &Value<'_>) -> bool {
        match self {
            Evaluator::Pods => scopes::pod_matches(selector, object),
            Evaluator::PersistentVolumeClaims => scopes::claim_matches(selector, object),
            _ => false,
        }
    }

    /// What an object must say where these resources are limited.
    ///
    /// # Errors
    /// What it does not say.
    pub(crate) fn constraints<'n>(
        &self,
        required: impl Iterator<Item = &'n str>,
        object: &Value<'_>,
    ) -> Result<(), String> {
        if *self == Evaluator::Pods { pods::constraints(required, object) } else { Ok(()) }
    }

    /// What an object counts for.
    pub(crate) fn usage(&self, object: &Value<'_>) -> ResourceList {
        let mut usage = ResourceList::default();
        match self {
            Evaluator::Pods => return pods::usage(object),
            Evaluator::Services => service(object, &mut usage),
            Evaluator::PersistentVolumeClaims => claim(object, &mut usage),
            Evaluator::ResourceClaims => devices(object, &mut usage),
            Evaluator::Count(own, alias) => {
                usage.count(own.as_str(), 1);
                if let Some(alias) = alias {
                    usage.count(*alias, 1);
                }
            }
        }
        usage
    }
}

fn service(service: &Value<'_>, usage: &mut ResourceList) {
    let Some(spec) = service.path(&["spec"]).and_then(Value::as_map) else { return };
    let ports = spec.items("ports");
    let given = || ports.iter().filter(|p| p.path(&["nodePort"]).and_then(Value::as_i64) > Some(0)).count();
    let allocates = spec.get("allocateLoadBalancerNodePorts").and_then(Value::as_bool) != Some(false);
    let (node_ports, balancers) = match spec.text("type") {
        "NodePort" => (ports.len(), 0),
        "LoadBalancer" if allocates => (ports.len(), 1),
        "LoadBalancer" => (given(), 1),
        _ => (0, 0),
    };
    usage.count("count/services", 1);
    usage.count("services", 1);
    usage.count("services.nodeports", node_ports as i64);
    usage.count("services.loadbalancers", balancers);
}

fn claim(claim: &Value<'_>, usage: &mut ResourceList) {
    usage.count("count/persistentvolumeclaims", 1);
    let annotation = claim.str_at(&["metadata", "annotations", "volume.beta.kubernetes.io/storage-class"]);
    let class = annotation.or_else(|| claim.str_at(&["spec", "storageClassName"])).unwrap_or("");
    let mut both = |name: &str, amount: Quantity| {
        if !class.is_empty() {
            usage.set(format!("{class}{STORAGE_CLASS}{name}"), amount.clone());
        }
        usage.set(name, amount);
    };
    both("persistentvolumeclaims", Quantity::new(1, ringbolt_machinery::quantity::Format::DecimalSi));
    let amount = |path: &[&str]| claim.str_at(path).and_then(quantity::parse).map(whole);
    let asked = amount(&["spec", "resources", "requests", "storage"]);
    let given = amount(&["status", "allocatedResources", "storage"]);
    if let Some(asked) = asked {
        both("requests.storage", given.filter(|given| *given > asked).unwrap_or(asked));
    }
}

/// Rounded up to a whole number.
fn whole(amount: Quantity) -> Quantity {
    if amount.is_integer() { amount } else { Quantity::new(amount.value(), amount.format()) }
}

fn devices(claim: &Value<'_>, usage: &mut ResourceList) {
    usage.count("count/resourceclaims.resource.k8s.io", 1);
    let requests = claim.path(&["spec", "devices", "requests"]).and_then(Value::as_list);
    let wants = |request: &Map<'_>| {
        let number = match request.text("allocationMode") {
            "ExactCount" => request.int("count").unwrap_or(0),
            "All" => DEVICES_MAX,
            _ => 0,
        };
        (format!("{}{DEVICE_CLASS}", request.text("deviceClassName")), number)
    };
    for request in requests.into_iter().flatten().filter_map(Value::as_map) {
        // Of several that would do, the most of each class.
        let mut most = std::collections::BTreeMap::new();
        let choice = request.items("firstAvailable").iter().filter_map(Value::as_map);
        let exact = request.child("exactly").filter(|_| request.items("firstAvailable").is_empty());
        for (name, number) in choice.chain(exact).map(wants) {
            let entry: &mut i64 = most.entry(name).or_default();
            *entry = number.max(*entry);
        }
        for (name, number) in most {
            usage.add_to(&name, &Quantity::new(number, ringbolt_machinery::quantity::Format::DecimalSi));
        }
    }
}

#[cfg(test)]
mod tests {
    use bumpalo::Bump;
    use ringbolt_machinery::json;

    use super::*;

    fn usage(group: &str, resource: &str, object: &str) -> String {
        let arena = Bump::new();
        let tree = json::decode_untyped(&arena, arena.alloc_slice_copy(object.as_bytes())).unwrap();
        Evaluator::of(group, resource).unwrap().usage(&tree).to_string()
    }

    #[test]
    fn pods() {
        let check = |pod: &str, expect: &str| assert_eq!(usage("", "pods", pod), expect, "{pod}");
        check(
            r#"{"spec":{"containers":[{"name":"a","resources":{"requests":{"cpu":"100m","example.com/gpu":"2"},"limits":{"cpu":"1"}}},{"name":"b","resources":{"requests":{"cpu":"200m","memory":"1Gi"}}}]}}"#,
            "count/pods=1,cpu=300m,limits.cpu=1,memory=1Gi,pods=1,requests.cpu=300m,requests.example.com/gpu=2,\
             requests.memory=1Gi",
        );
        check(
            r#"{"spec":{"initContainers":[{"name":"i","resources":{"requests":{"cpu":"2"}}}],"containers":[{"name":"a","resources":{"requests":{"cpu":"1"}}}],"overhead":{"cpu":"250m"}}}"#,
            "count/pods=1,cpu=2250m,pods=1,requests.cpu=2250m",
        );
        check(r#"{"spec":{"containers":[]},"status":{"phase":"Succeeded"}}"#, "count/pods=1");
        // More was given than is asked for now.
        check(
            r#"{"spec":{"containers":[{"name":"a","resources":{"requests":{"cpu":"1"}}}]},"status":{"containerStatuses":[{"name":"a","resources":{"requests":{"cpu":"2"}}}]}}"#,
            "count/pods=1,cpu=2,pods=1,requests.cpu=2",
        );
        check(
            r#"{"spec":{"resources":{"requests":{"cpu":"3"}},"containers":[{"name":"a","resources":{"requests":{"cpu":"1"}}}]}}"#,
            "count/pods=1,cpu=3,pods=1,requests.cpu=3",
        );
    }

    #[test]
    fn what_pods_must_say() {
        let arena = Bump::new();
        let pod = br#"{"spec":{"containers":[{"name":"b"},{"name":"a","resources":{"requests":{"cpu":"1"}}}],"initContainers":[{"name":"c"}]}}"#;
        let pod = json::decode_untyped(&arena, pod).unwrap();
        let required = ["requests.cpu", "limits.memory", "pods", "requests.storage"].into_iter();
        let error = Evaluator::Pods.constraints(required, &pod).unwrap_err();
        assert_eq!(error, "must specify limits.memory for: a,b,c; requests.cpu for: b,c");
        assert!(Evaluator::Pods.constraints(["pods"].into_iter(), &pod).is_ok());
    }

    #[test]
    fn services_and_claims() {
        let check = |spec: &str, expect: &str| {
            assert_eq!(usage("", "services", &format!(r#"{{"spec":{spec}}}"#)), expect, "{spec}");
        };
        check(
            r#"{"type":"ClusterIP","ports":[{"port":1}]}"#,
            "count/services=1,services=1,services.loadbalancers=0,services.nodeports=0",
        );
        check(
            r#"{"type":"NodePort","ports":[{"port":1},{"port":2}]}"#,
            "count/services=1,services=1,services.loadbalancers=0,services.nodeports=2",
        );
        check(
            r#"{"type":"LoadBalancer","allocateLoadBalancerNodePorts":false,"ports":[{"port":1,"nodePort":30000},{"port":2}]}"#,
            "count/services=1,services=1,services.loadbalancers=1,services.nodeports=1",
        );
        assert_eq!(
            usage(
                "",
                "persistentvolumeclaims",
                r#"{"spec":{"storageClassName":"gold","resources":{"requests":{"storage":"1Gi"}}}}"#
            ),
            "count/persistentvolumeclaims=1,gold.storageclass.storage.k8s.io/persistentvolumeclaims=1,\
             gold.storageclass.storage.k8s.io/requests.storage=1Gi,persistentvolumeclaims=1,requests.storage=1Gi"
        );
        assert_eq!(
            usage(
                "resource.k8s.io",
                "resourceclaims",
                r#"{"spec":{"devices":{"requests":[{"exactly":{"deviceClassName":"gpu","allocationMode":"ExactCount","count":2}},{"firstAvailable":[{"deviceClassName":"gpu","allocationMode":"ExactCount","count":1},{"deviceClassName":"gpu","allocationMode":"All"}]}]}}}"#
            ),
            "count/resourceclaims.resource.k8s.io=1,gpu.deviceclass.resource.k8s.io/devices=34"
        );
        assert_eq!(usage("apps", "deployments", "{}"), "count/deployments.apps=1");
        assert_eq!(usage("", "secrets", "{}"), "count/secrets=1,secrets=1");
        assert_eq!(Evaluator::of("", "events"), None);
    }

    #[test]
    fn names() {
        let check = |group: &str, resource: &str, name: &str, expect: bool| {
            assert_eq!(Evaluator::of(group, resource).unwrap().counts(name), expect, "{resource} {name}");
        };
        check("", "pods", "requests.example.com/gpu", true);
        check("", "pods", "requests.storage", false);
        check("", "pods", "hugepages-2Mi", true);
        check("", "persistentvolumeclaims", "gold.storageclass.storage.k8s.io/requests.storage", true);
        check("", "persistentvolumeclaims", "gold.storageclass.storage.k8s.io/other", false);
        check("", "services", "services.nodeports", true);
        check("apps", "deployments", "count/deployments.apps", true);
        check("", "configmaps", "configmaps", true);
    }
}
