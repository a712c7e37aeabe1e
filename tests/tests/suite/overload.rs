//! One tenant asks for twenty times as much as another where seats are scarce: the other gets its share, every request
//! is answered, and metrics say the same as the clients.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use ringbolt_tests::{http1::Connection, note, server::Server, wait_for};
use serde_json::{Value, json};

/// Connections of the heavy tenant, each with a request on the way all the time; the light one has one.
const HEAVY: usize = 20;
const PATIENCE: Duration = Duration::from_secs(10);
const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";

/// Answers by their status, and how long the good ones took.
#[derive(Default)]
struct Answers {
    statuses: BTreeMap<u16, u64>,
    times: Vec<Duration>,
}

impl Answers {
    fn add(&mut self, other: Answers) {
        for (status, count) in other.statuses {
            *self.statuses.entry(status).or_default() += count;
        }
        self.times.extend(other.times);
    }

    fn of(&self, status: u16) -> u64 {
        self.statuses.get(&status).copied().unwrap_or(0)
    }

    fn percentile(&mut self, part: f64) -> Duration {
        self.times.sort();
        let last = self.times.len().saturating_sub(1);
        self.times.get((last as f64 * part) as usize).copied().unwrap_or_default()
    }
}

/// A patch of a tenant's ConfigMap, as that tenant.
fn patch(connection: &mut Connection, tenant: &str, number: u64) -> (u16, Option<String>) {
    let path = format!("/api/v1/namespaces/default/configmaps/{tenant}");
    let body = json!({"data": {"number": number.to_string()}}).to_string();
    let head = Connection::head("PATCH", &path);
    let rest = format!(
        "Impersonate-User: {tenant}\r\nContent-Type: application/merge-patch+json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    connection.send(format!("{head}{rest}").as_bytes()).unwrap();
    let answer = connection.response("PATCH").unwrap();
    (answer.status, answer.header("x-kubernetes-pf-prioritylevel-uid").map(str::to_owned))
}

/// Patches one after the other until told to stop.
fn patches(server: &Server, tenant: &str, stop: &AtomicBool) -> Answers {
    let (mut connection, mut answers) = (Connection::plain(server), Answers::default());
    for number in 0.. {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let asked = Instant::now();
        let (status, level) = patch(&mut connection, tenant, number);
        assert!(level.is_some(), "an answer without its level: {status}");
        *answers.statuses.entry(status).or_default() += 1;
        if status == 200 {
            answers.times.push(asked.elapsed());
        }
    }
    answers
}

/// A number of metrics: the sum of a family's series of the schema that tenants belong to.
fn counted(server: &Server, family: &str) -> u64 {
    let answer = Connection::plain(server).get("/metrics").unwrap();
    let mine = |line: &&str| line.starts_with(family) && line.contains("flow_schema=\"global-default\"");
    answer
        .text()
        .lines()
        .filter(mine)
        .filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok())
        .sum::<f64>() as u64
}

fn make(server: &Server, path: &str, body: &Value) {
    let answer = Connection::plain(server).post(path, body).unwrap();
    assert_eq!(answer.status, 201, "{path}: {}", answer.text());
}

#[test]
fn a_tenant_that_asks_for_much_leaves_another_its_share() {
    let flags =
        ["--embedded-controllers=", "--max-requests-inflight=10", "--max-mutating-requests-inflight=10"];
    let server = Server::start("overload", &flags);
    let role = json!({"metadata": {"name": "tenant"}, "rules": [
        {"verbs": ["patch"], "apiGroups": [""], "resources": ["configmaps"]}
    ]});
    make(&server, &format!("{RBAC}/clusterroles"), &role);
    let subject = |name| json!({"kind": "User", "name": name, "apiGroup": "rbac.authorization.k8s.io"});
    let binding = json!({"metadata": {"name": "tenant"}, "subjects": [subject("heavy"), subject("light")],
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "tenant"}});
    make(&server, &format!("{RBAC}/clusterrolebindings"), &binding);
    for tenant in ["heavy", "light"] {
        make(&server, "/api/v1/namespaces/default/configmaps", &json!({"metadata": {"name": tenant}}));
        let mut connection = Connection::plain(&server);
        wait_for(PATIENCE, || (patch(&mut connection, tenant, 0).0 == 200).then_some(())).unwrap();
    }
    let families = ["dispatched_requests_total", "rejected_requests_total"]
        .map(|family| format!("apiserver_flowcontrol_{family}"));
    let before = families.each_ref().map(|family| counted(&server, family));

    let alone = Arc::new(AtomicBool::new(false));
    let mut idle = thread::scope(|scope| {
        let light = scope.spawn(|| patches(&server, "light", &alone));
        thread::sleep(Duration::from_secs(1));
        alone.store(true, Ordering::Relaxed);
        light.join().unwrap()
    });
    let stop = AtomicBool::new(false);
    let (mut light, mut heavy) = thread::scope(|scope| {
        let heavy: Vec<_> = (0..HEAVY).map(|_| scope.spawn(|| patches(&server, "heavy", &stop))).collect();
        let light = scope.spawn(|| patches(&server, "light", &stop));
        thread::sleep(Duration::from_secs(4));
        stop.store(true, Ordering::Relaxed);
        let mut all = Answers::default();
        heavy.into_iter().for_each(|one| all.add(one.join().unwrap()));
        (light.join().unwrap(), all)
    });

    note(&format!(
        "overload: the light tenant's patches took {:?} (p99 {:?}) alone and {:?} (p99 {:?}) beside {} of the heavy \
         one's, of which {} were turned away; it had {} to the other's {}",
        idle.percentile(0.5),
        idle.percentile(0.99),
        light.percentile(0.5),
        light.percentile(0.99),
        HEAVY,
        heavy.of(429),
        light.of(200),
        heavy.of(200),
    ));
    for answers in [&idle, &light, &heavy] {
        let known: u64 = [200, 429].map(|status| answers.of(status)).iter().sum();
        assert_eq!(known, answers.statuses.values().sum::<u64>(), "{:?}", answers.statuses);
    }
    // Without queues by flow it would have a twentieth of the other's.
    assert!(light.of(200) * 8 > heavy.of(200), "{:?} beside {:?}", light.statuses, heavy.statuses);
    assert!(light.of(429) == 0, "it never has more than one request on the way: {:?}", light.statuses);
    let after = families.each_ref().map(|family| counted(&server, family));
    let seen = [200, 429].map(|status| [&idle, &light, &heavy].map(|a| a.of(status)).iter().sum::<u64>());
    assert_eq!([after[0] - before[0], after[1] - before[1]], seen, "metrics count what clients saw");
    heavy.percentile(0.5);
}
