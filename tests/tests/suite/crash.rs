//! `kill -9` in a storm of creates, fifty times on the same data: what was acknowledged is there with its revision
//! and data, what was not is there whole or not at all, revisions never go back.

use std::{
    collections::{BTreeMap, HashSet},
    thread,
    time::{Duration, Instant},
};

use ringbolt_tests::{
    Dice, alone,
    http1::{Connection, resource_version},
    note,
    server::Server,
};
use serde_json::{Value, json};

const ROUNDS: u32 = 50;
const CONNECTIONS: u32 = 4;
const CONFIGMAPS: &str = "/api/v1/namespaces/default/configmaps";
/// The storm lasts at most this long, so that the objects of all rounds can be read again and again.
const STORM: Duration = Duration::from_millis(250);

/// What a ConfigMap of this name holds: known from its name, of sizes from nothing to beyond a block of the journal.
fn data(name: &str) -> String {
    let hash = name.bytes().fold(0_u64, |h, b| h.wrapping_mul(1_000_003).wrapping_add(u64::from(b)));
    let mut dice = Dice::seeded(hash);
    let size = if dice.below(20) == 0 { dice.below(30_000) } else { dice.below(1_500) };
    (0..size).map(|_| char::from(b'a' + dice.below(26) as u8)).collect()
}

fn object(round: u32, name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "labels": {"round": round.to_string()}},
        "data": {"content": data(name)},
    })
}

/// What one connection knows after the kill: what was acknowledged with its revision, and the one name whose answer
/// did not come.
struct Outcome {
    acknowledged: Vec<(String, u64)>,
    open: String,
}

fn storm(mut connection: Connection, round: u32, number: u32) -> Outcome {
    let mut acknowledged = Vec::new();
    for i in 0_u32.. {
        let name = format!("r{round}-c{number}-{i}");
        match connection.post(CONFIGMAPS, &object(round, &name)) {
            Ok(answer) => {
                assert_eq!(answer.status, 201, "{}", answer.text());
                acknowledged.push((name, answer.resource_version()));
            }
            Err(_) => return Outcome { acknowledged, open: name },
        }
    }
    unreachable!("the kill comes first")
}

/// All ConfigMaps of a selector by name, read in pages, and the revision of the list.
fn list(server: &Server, selector: &str) -> (BTreeMap<String, Value>, u64) {
    let mut connection = Connection::plain(server);
    let (mut found, mut token) = (BTreeMap::new(), String::new());
    loop {
        let path = format!("{CONFIGMAPS}?limit=2000&labelSelector={selector}&continue={token}");
        let page = connection.get(&path).unwrap();
        assert_eq!(page.status, 200, "{}", page.text());
        let page = page.json();
        for item in page["items"].as_array().unwrap() {
            let name = item["metadata"]["name"].as_str().unwrap().to_owned();
            assert!(found.insert(name, item.clone()).is_none(), "listed twice: {item}");
        }
        token = page["metadata"]["continue"].as_str().unwrap_or_default().to_owned();
        if token.is_empty() {
            return (found, resource_version(&page));
        }
    }
}

/// The object is what its name says, whole.
fn assert_whole(name: &str, item: &Value) {
    assert_eq!(item["data"], json!({"content": data(name)}), "{name}");
    let meta = &item["metadata"];
    assert!(meta["uid"].as_str().is_some_and(|u| u.len() == 36), "{name}: {meta}");
    assert!(meta["creationTimestamp"].is_string(), "{name}: {meta}");
}

#[test]
fn kill_9_in_a_storm_of_creates() {
    let _alone = alone();
    let mut dice = Dice::new();
    let seed = dice.seed();
    let start = Instant::now();
    let mut server = Server::start("crash", &[]);
    let mut every: BTreeMap<String, u64> = BTreeMap::new();
    let mut newest = 0;
    for round in 0..ROUNDS {
        let storms: Vec<_> = (0..CONNECTIONS)
            .map(|number| {
                let connection = Connection::plain(&server);
                thread::spawn(move || storm(connection, round, number))
            })
            .collect();
        thread::sleep(Duration::from_micros(dice.below(STORM.as_micros() as u64)));
        server.kill();
        let outcomes: Vec<Outcome> = storms.into_iter().map(|s| s.join().expect("the storm holds")).collect();
        server.spawn();

        let what = format!("seed {seed}, round {round}");
        let (mut found, revision) = list(&server, &format!("round%3D{round}"));
        let mut revisions = HashSet::new();
        let before = newest;
        for (name, acknowledged) in outcomes.iter().flat_map(|o| &o.acknowledged) {
            let item =
                found.remove(name).unwrap_or_else(|| panic!("{what}: {name} was acknowledged and is lost"));
            assert_eq!(resource_version(&item), *acknowledged, "{what}: {name}");
            assert_whole(name, &item);
            assert!(
                *acknowledged > before,
                "{what}: {name} got {acknowledged}, and {before} was given out before"
            );
            assert!(revisions.insert(*acknowledged), "{what}: {acknowledged} was given twice");
            newest = newest.max(*acknowledged);
            every.insert(name.clone(), *acknowledged);
        }
        for outcome in &outcomes {
            if let Some(item) = found.remove(&outcome.open) {
                assert_whole(&outcome.open, &item);
                let revision = resource_version(&item);
                assert!(
                    revision > before && revisions.insert(revision),
                    "{what}: {revision} was given twice"
                );
                newest = newest.max(revision);
                every.insert(outcome.open.clone(), revision);
            }
        }
        assert!(found.is_empty(), "{what}: never asked for: {:?}", found.keys());
        assert!(revision >= newest, "{what}: the list is at {revision}, {newest} was acknowledged");
        newest = newest.max(revision);
    }
    // All rounds together, after a last clean start.
    assert_eq!(server.terminate().unwrap(), Some(0));
    server.spawn();
    let (found, _) = list(&server, "");
    for (name, revision) in &every {
        let item = found.get(name).unwrap_or_else(|| panic!("seed {seed}: {name} is lost"));
        assert_eq!(resource_version(item), *revision, "seed {seed}: {name}");
        assert_whole(name, item);
    }
    let ours = found.keys().filter(|n| n.starts_with('r')).count();
    assert_eq!(ours, every.len(), "seed {seed}");
    assert!(every.len() > ROUNDS as usize, "the storm wrote something");
    note(&format!("kill -9: {ROUNDS} rounds, {} objects, {:?}", every.len(), start.elapsed()));
}
