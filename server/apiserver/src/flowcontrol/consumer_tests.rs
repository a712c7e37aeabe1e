//! What is stored comes into force, and what it says of itself is looked at.

use std::sync::mpsc;

use ringbolt_storage::{
    api::{Action, Precondition, Write},
    object::{Attributes, EncodedObject},
};

use super::*;
use crate::{authentication::service_account::empty_store, flowcontrol::builtin};

const STORED: FlowControlObjects =
    FlowControlObjects { flow_schemas: ResourceId(1), priority_levels: ResourceId(2) };

struct Rig {
    storage: Arc<dyn Storage>,
    consumer: ConfigConsumer,
    published: mpsc::Receiver<Config>,
    at: u64,
}

impl Rig {
    fn new() -> Rig {
        let (publish, published) = mpsc::channel();
        let (consumer, _) = ConfigConsumer::new(move |config| publish.send(config).unwrap(), STORED);
        Rig { storage: empty_store(), consumer, published, at: 0 }
    }

    fn write(&self, resource: ResourceId, name: &str, action: Action) {
        let precondition = match self.storage.get(resource, name) {
            Some(object) => Precondition::Revision(object.revision),
            None => Precondition::Absent,
        };
        let write = Write {
            resource,
            key: name.into(),
            namespace_len: 0,
            precondition,
            needs_namespace: false,
            action,
        };
        self.storage.submit(write).wait().expect("room for it");
    }

    fn put(&self, resource: ResourceId, name: &str, spec: &str, status: &str) {
        let json = format!(r#""metadata":{{"name":"{name}"}},"spec":{spec},"status":{status}}}"#);
        let object = EncodedObject { json: json.into(), splice: r#""metadata":{"#.len() as u32 };
        self.write(resource, name, Action::Put { object, attributes: Attributes::default(), ttl: None });
    }

    fn schema(&self, name: &str, level: &str, status: &str) {
        let spec = format!(r#"{{"matchingPrecedence":7,"priorityLevelConfiguration":{{"name":"{level}"}}}}"#);
        self.put(STORED.flow_schemas, name, &spec, status);
    }

    fn level(&self, name: &str, shares: u32) {
        let spec = format!(
            r#"{{"type":"Limited","limited":{{"nominalConcurrencyShares":{shares},"limitResponse":{{"type":"Reject"}}}}}}"#
        );
        self.put(STORED.priority_levels, name, &spec, "{}");
    }

    /// Tells the consumer what was written since the last time.
    fn tell(&mut self) {
        let mut events = self.storage.events_after(self.at).unwrap();
        self.at = self.storage.revision();
        while let Some(event) = events.next(self.at) {
            self.consumer.observe(&event);
        }
        self.consumer.settle();
    }

    /// Schemas of what was published since the last time, and whose conditions are not true.
    fn outcome(&self) -> (Option<String>, String) {
        let config = self.published.try_iter().last();
        let names = config.map(|config| {
            config.flow_schemas().iter().map(|s| s.name.as_str()).collect::<Vec<_>>().join(" ")
        });
        let untrue: Vec<String> = self.consumer.untrue().into_iter().map(Into::into).collect();
        (names, untrue.join(" "))
    }
}

fn condition(level: &str, found: bool) -> String {
    let arena = Bump::new();
    let body = Dangling::expected(level, found).body("f", "2026-01-02T03:04:05Z");
    let tree = decode_untyped(&arena, &body).unwrap();
    let mut status = Vec::new();
    ringbolt_machinery::json::encode_untyped(tree.path(&["status"]).unwrap(), &mut status);
    String::from_utf8(status).unwrap()
}

#[test]
fn what_matters_is_published_and_what_is_untrue_found() {
    let mut rig = Rig::new();
    rig.consumer.resync(&*rig.storage);
    rig.consumer.settle();
    let check = |rig: &Rig, names: Option<&str>, untrue: &str| {
        assert_eq!(rig.outcome(), (names.map(str::to_owned), untrue.to_owned()));
    };
    check(&rig, Some("exempt catch-all"), "");
    // Its level is not there.
    rig.schema("f", "mine", "{}");
    rig.tell();
    check(&rig, Some("exempt catch-all"), "f");
    rig.schema("f", "mine", &condition("mine", false));
    rig.tell();
    // Only its status changed.
    check(&rig, None, "");
    rig.level("mine", 5);
    rig.tell();
    check(&rig, Some("exempt f catch-all"), "f");
    rig.schema("f", "mine", &condition("mine", true));
    rig.tell();
    check(&rig, None, "");
    // A level that does not work is as good as none.
    rig.put(STORED.priority_levels, "mine", r#"{"type":"Limited"}"#, "{}");
    rig.tell();
    check(&rig, Some("exempt catch-all"), "f");
    rig.level("mine", 6);
    rig.tell();
    check(&rig, Some("exempt f catch-all"), "");
    rig.write(STORED.priority_levels, "mine", Action::Delete { last: None });
    rig.write(STORED.flow_schemas, "f", Action::Delete { last: None });
    rig.tell();
    check(&rig, Some("exempt catch-all"), "");
}

#[test]
fn mandatory_levels_that_are_no_objects_leave_schemas_dangling() {
    let mut rig = Rig::new();
    rig.schema("f", builtin::EXEMPT, "{}");
    rig.consumer.resync(&*rig.storage);
    rig.consumer.settle();
    let writes = rig.consumer.status.take(Duration::ZERO);
    assert_eq!(writes.into_iter().collect::<Vec<_>>(), ["f".into()]);
    let level = Dangling::expected(builtin::EXEMPT, false);
    assert_eq!(level.status, "True");
}

#[test]
fn mandatory_levels_stay_when_their_objects_go() {
    let mut rig = Rig::new();
    rig.consumer.resync(&*rig.storage);
    rig.level(builtin::CATCH_ALL, 5);
    rig.schema(builtin::CATCH_ALL, builtin::CATCH_ALL, &condition(builtin::CATCH_ALL, true));
    rig.schema("f", builtin::CATCH_ALL, &condition(builtin::CATCH_ALL, true));
    rig.tell();
    assert_eq!(rig.outcome(), (Some("exempt catch-all f".to_owned()), String::new()));
    let level = rig.consumer.levels[builtin::CATCH_ALL].clone();
    rig.write(STORED.priority_levels, builtin::CATCH_ALL, Action::Delete { last: None });
    rig.tell();
    let config = rig.published.try_iter().last().unwrap();
    assert!(config.priority_levels().contains(&level));
    // The schema that is supplied, not the one that refers to nothing.
    let names: Vec<_> = config.flow_schemas().iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["exempt", "catch-all"]);
    assert_eq!(config.flow_schemas()[1], builtin::mandatory_schemas()[1]);
    assert_eq!(rig.consumer.untrue().len(), 2);
    rig.level(builtin::CATCH_ALL, 5);
    rig.tell();
    assert!(rig.consumer.retained.is_empty());
}

#[test]
fn events_that_were_read_already_change_nothing() {
    let mut rig = Rig::new();
    rig.level("mine", 5);
    rig.write(STORED.priority_levels, "mine", Action::Delete { last: None });
    rig.consumer.resync(&*rig.storage);
    let mut events = rig.storage.events_after(0).unwrap();
    let created = events.next(rig.storage.revision()).unwrap();
    rig.consumer.observe(&created);
    assert!(rig.consumer.levels.is_empty());
}

#[test]
fn the_condition_of_a_schema_is_written_so_often_a_minute() {
    let mut updates = Updates::default();
    let start = Instant::now();
    let at = |seconds| start + Duration::from_secs(seconds);
    for second in 0..DANGLING_UPDATES_MAX as u64 {
        assert_eq!(updates.delay("f", at(second)), None);
        updates.note("f", at(second));
    }
    assert_eq!(updates.delay("f", at(10)), Some(at(60)));
    assert_eq!(updates.delay("g", at(10)), None);
    assert_eq!(updates.delay("f", at(60)), None);
    updates.note("f", at(60));
    assert_eq!(updates.delay("f", at(60)), Some(at(61)));
    // What is older than a minute is forgotten.
    assert_eq!(updates.delay("g", at(200)), None);
    assert!(updates.0.is_empty());
}
