//! Fills the stores through the API, on both sides the same way.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use super::{
    http::Client,
    limits,
    server::{Common, Server},
};
use crate::{
    error::{Context as _, Error, Result},
    objects,
};

/// The group of the user whose requests are measured.
pub const GROUP: &str = "benchmark";

/// Makes the user whose requests are measured allowed by a role: a ClusterRole of what cases do, bound to its group.
pub fn role(server: &Server, common: &Common) -> Result<()> {
    let name = "ringbolt-bench";
    let verbs = ["create", "delete", "get", "list", "patch", "update", "watch"];
    let rule = |group: &str, resources: &[&str]| serde_json::json!({"apiGroups": [group], "resources": resources, "verbs": verbs});
    let core = ["configmaps", "namespaces", "pods", "pods/status", "serviceaccounts"];
    let role = serde_json::json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": name},
        "rules": [rule("", &core), rule("coordination.k8s.io", &["leases"]), rule(objects::CUSTOM_GROUP, &["widgets"])],
    });
    let binding = serde_json::json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": name},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": GROUP}],
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
    });
    let mut client = server.client(common)?;
    post(&mut client, "/apis/rbac.authorization.k8s.io/v1/clusterroles", &role)?;
    post(&mut client, "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", &binding)?;
    // Authorizers learn of it a moment later.
    let path = format!("/api/v1/namespaces/{}/configmaps", objects::NAMESPACE);
    let mut client = server.measured_client(common)?;
    let since = std::time::Instant::now();
    loop {
        let answer = client.get(&path, "application/json")?;
        if answer.status != 403 || since.elapsed() > limits::ANSWER {
            answer.expect(200, &path)?;
            return Ok(());
        }
        std::thread::sleep(limits::READY_STEP);
    }
}

/// Creates a namespace, and the account that its pods run as.
pub fn namespace(server: &Server, common: &Common, name: &str) -> Result<()> {
    let body = serde_json::json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    let mut client = server.client(common)?;
    post(&mut client, "/api/v1/namespaces", &body)?;
    let account =
        serde_json::json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}});
    post(&mut client, &format!("/api/v1/namespaces/{name}/serviceaccounts"), &account)
}

/// Creates a ConfigMap of 1 KiB.
pub fn config_map(server: &Server, common: &Common, name: &str) -> Result<()> {
    let namespace = objects::NAMESPACE;
    let path = format!("/api/v1/namespaces/{namespace}/configmaps");
    post(&mut server.client(common)?, &path, &objects::config_map(namespace, name))
}

/// Creates a definition of custom resources, and waits until they are served.
pub fn definition(server: &Server, common: &Common, plural: &str, kind: &str) -> Result<()> {
    let mut client = server.client(common)?;
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    post(&mut client, definitions, &objects::definition(plural, kind))?;
    let path = format!("/apis/{}/v1/{plural}", objects::CUSTOM_GROUP);
    let since = std::time::Instant::now();
    while client.get(&path, "application/json")?.status != 200 {
        if since.elapsed() > limits::ANSWER {
            return Err(Error::new(format!("{path} is not served")));
        }
        std::thread::sleep(limits::READY_STEP);
    }
    Ok(())
}

/// Creates `count` custom resources.
pub fn widgets(server: &Server, common: &Common, count: usize) -> Result<()> {
    let path = objects::widgets(objects::NAMESPACE);
    in_parallel(server, common, count, |client, number| {
        post(client, &path, &objects::widget(objects::NAMESPACE, &format!("widget-{number:05}")))
    })
}

/// Creates `count` pods with a status, and spreads them over as many namespaces as there are names.
pub fn pods(server: &Server, common: &Common, namespaces: &[String], count: usize) -> Result<()> {
    in_parallel(server, common, count, |client, number| {
        let namespace = &namespaces[number % namespaces.len()];
        let path = format!("/api/v1/namespaces/{namespace}/pods");
        post(client, &path, &objects::pod(namespace, number))?;
        let path = format!("{path}/{}/status", objects::pod_name(number));
        let body = objects::pod_status(number).to_string();
        let headers = [("Content-Type", "application/merge-patch+json")];
        client.request("PATCH", &path, &headers, body.as_bytes())?.expect(200, &path)?;
        Ok(())
    })
}

/// Lists once from the watch cache until it has as many objects as there must be: what was just written may reach it
/// later.
pub fn warm(server: &Server, common: &Common, path: &str, count: usize) -> Result<()> {
    let mut client = server.client(common)?;
    let since = std::time::Instant::now();
    loop {
        let answer =
            client.get(&format!("{path}?resourceVersion=0"), "application/json")?.expect(200, path)?;
        let found = super::check::objects(&answer)?;
        if found == count {
            return Ok(());
        }
        if since.elapsed() > limits::ANSWER {
            return Err(Error::new(format!("{path} has {found} objects from the cache, not {count}")));
        }
        std::thread::sleep(limits::SETTLE);
    }
}

fn post(client: &mut Client, path: &str, body: &serde_json::Value) -> Result<()> {
    let body = body.to_string();
    let headers = [("Content-Type", "application/json")];
    client.request("POST", path, &headers, body.as_bytes())?.expect(201, path)?;
    Ok(())
}

/// Calls `each` for 0 to `count` from [`limits::SEEDERS`] connections.
fn in_parallel(
    server: &Server,
    common: &Common,
    count: usize,
    each: impl Fn(&mut Client, usize) -> Result<()> + Sync,
) -> Result<()> {
    let next = Arc::new(AtomicUsize::new(0));
    std::thread::scope(|scope| {
        let seeders: Vec<_> = (0..limits::SEEDERS.min(count))
            .map(|_| {
                scope.spawn(|| -> Result<()> {
                    let mut client = server.client(common)?;
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        if number >= count {
                            return Ok(());
                        }
                        each(&mut client, number)?;
                    }
                })
            })
            .collect();
        seeders
            .into_iter()
            .try_for_each(|seeder| seeder.join().map_err(|_| Error::new("a seeder panicked"))?)
            .context("seeding")
    })
}
