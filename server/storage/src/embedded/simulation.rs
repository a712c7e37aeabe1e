//! The embedded store on a simulated disk: thousands of seeded lives, each with crashes at any operation of the
//! disk, failed flushes, a full disk, and flipped bits.
//!
//! The claim, checked after every restart: the store holds exactly what was acknowledged, or that and all of the
//! one batch that was under way. Where bits were flipped it may refuse to open instead. Nothing else.
//!
//! `STORAGE_SEED=n cargo test -p ringbolt-storage simulat` replays one life, `STORAGE_RUNS=n` sets how many there
//! are.

use std::{collections::BTreeMap, collections::VecDeque, sync::Arc};

use super::{EmbeddedOptions, OpenError, open, sequencer::Sequencer, tools};
use crate::{
    api::{Precondition, Write, WriteError},
    clock::ManualClock,
    future::WriteFuture,
    object::ResourceId,
    testing::{LabelInspect, Random, SimDisk, delete, put},
};

/// All objects: resource and key to revision and bytes.
type Model = BTreeMap<(u16, String), (u64, Vec<u8>)>;

#[derive(Clone, Default)]
struct Expected {
    revision: u64,
    objects: Model,
}

struct Life {
    seed: u64,
    random: Random,
    disk: SimDisk,
    options: EmbeddedOptions,
    acknowledged: Expected,
    /// What it is if all that was asked for made it.
    possible: Expected,
    /// What it is after each write on the way there.
    steps: Vec<Expected>,
    text: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Trouble {
    Crash,
    FailedFlush,
    Full,
    Flip,
}

#[derive(Default, Debug)]
struct Tally {
    restarts: u64,
    writes: u64,
    made_it: u64,
    lost: u64,
    refused: u64,
    survived_flip: u64,
    no_space: u64,
    compacted: u64,
    failed_flushes: u64,
}

impl Life {
    fn new(seed: u64) -> Life {
        let mut random = Random::new(seed);
        let mut options = EmbeddedOptions::new(
            vec!["namespaces".into(), "pods".into()],
            Some(ResourceId(0)),
            Arc::new(LabelInspect),
        );
        options.clock = Arc::new(ManualClock::new(1_000_000));
        options.segment_bytes = (32 * 1024, [32, 64, 128][random.below(3) as usize] * 1024);
        options.object_bytes_max = 8 * 1024;
        // With few in a batch, those of the next are gathered while one is written.
        options.batch_writes_max = [1, 2, 1000, 1000][random.below(4) as usize];
        options.compact_bytes = random.below(200) * 1024;
        Life {
            seed,
            disk: SimDisk::new(random.next()),
            random,
            options,
            acknowledged: Expected::default(),
            possible: Expected::default(),
            steps: Vec::new(),
            text: 0,
        }
    }
    fn write(&mut self) -> Write {
        let resource = ResourceId(self.random.below(2) as u16);
        let key = match resource.0 {
            0 => format!("ns{}", self.random.below(4)),
            _ => format!("ns{}/pod{}", self.random.below(3), self.random.below(8)),
        };
        // The revision as of some batch ago: some preconditions fail.
        let known = self.possible.objects.get(&(resource.0, key.clone())).map(|(revision, _)| *revision);
        let precondition = match known {
            Some(revision) if !self.random.one_in(10) => Precondition::Revision(revision),
            Some(_) => Precondition::Absent,
            None if self.random.one_in(10) => Precondition::Revision(1 + self.random.below(9)),
            None => Precondition::Absent,
        };
        if let Precondition::Revision(revision) = precondition
            && self.random.one_in(3)
        {
            return delete(resource, &key, revision);
        }
        self.text += 1;
        let len = match self.random.below(20) {
            0 => self.random.below(6000),
            _ => self.random.below(300),
        };
        let text = format!("{}-{}", self.text, "x".repeat(len as usize));
        put(resource, &key, precondition, &text)
    }
    /// Runs one batch. Whether the sequencer still works.
    fn batch(&mut self, sequencer: &mut Sequencer, tally: &mut Tally) -> bool {
        let mut futures: Vec<(Write, WriteFuture)> = Vec::new();
        let mut requests = VecDeque::new();
        for _ in 0..1 + self.random.below(6) {
            let write = self.write();
            let (promise, future) = WriteFuture::new();
            requests.push_back((write.clone(), promise));
            futures.push((write, future));
            tally.writes += 1;
        }
        self.possible = self.acknowledged.clone();
        self.steps.clear();
        for (write, _) in &futures {
            apply(&mut self.possible, write);
            self.steps.push(self.possible.clone());
        }
        let mut failed = false;
        // A full disk splits what is queued into smaller batches.
        while !requests.is_empty() || sequencer.has_gathered() {
            sequencer.run_batch(&mut requests);
        }
        for (write, future) in futures {
            let before = self.acknowledged.revision;
            match future.wait() {
                Ok(object) => {
                    assert_eq!(object.revision, before + 1, "seed {}", self.seed);
                    apply(&mut self.acknowledged, &write);
                    assert_eq!(
                        self.acknowledged.revision,
                        before + 1,
                        "seed {}: accepted {write:?}",
                        self.seed
                    );
                }
                Err(WriteError::Precondition(found)) => {
                    let expected = self.acknowledged.objects.get(&(write.resource.0, write.key.to_string()));
                    let found = found.map(|object| (object.revision, object.json.to_vec()));
                    assert_eq!(found.as_ref(), expected, "seed {}", self.seed);
                    let mut unchanged = self.acknowledged.clone();
                    apply(&mut unchanged, &write);
                    assert_eq!(unchanged.revision, before, "seed {}: refused {write:?}", self.seed);
                }
                Err(WriteError::Failed(_)) => failed = true,
                Err(WriteError::NoSpace(_)) => tally.no_space += 1,
                Err(other) => panic!("seed {}: {other:?}", self.seed),
            }
        }
        if !failed {
            self.possible = self.acknowledged.clone();
            self.steps.clear();
        }
        !failed
    }
    fn check(&mut self, sequencer: &Sequencer, tally: &mut Tally) {
        let mut found = Expected { revision: sequencer.gatherer.state.revision, objects: Model::new() };
        for resource in 0..2 {
            let snapshot = sequencer.published.snapshot(ResourceId(resource));
            assert_eq!(snapshot.revision(), found.revision, "seed {}", self.seed);
            for object in snapshot.range("", None) {
                let value = (object.revision, object.json.to_vec());
                found.objects.insert((resource, object.key.to_string()), value);
                let version = format!("\"resourceVersion\":\"{}\",", object.revision);
                let spliced = &object.json[object.splice.start as usize..object.splice.end as usize];
                assert_eq!(spliced, version.as_bytes());
            }
        }
        if found.revision == self.acknowledged.revision {
            assert_eq!(found.objects, self.acknowledged.objects, "seed {}", self.seed);
            tally.lost += u64::from(self.possible.revision != found.revision);
        } else {
            // One batch at most, and all of it: none ends between two writes of it.
            let batch = self.options.batch_writes_max as u64;
            assert!(found.revision <= self.acknowledged.revision + batch, "seed {}", self.seed);
            let step = self.steps.iter().find(|step| step.revision == found.revision);
            let step = step.unwrap_or_else(|| panic!("seed {}: {}", self.seed, found.revision));
            assert_eq!(found.objects, step.objects, "seed {}", self.seed);
            let is_whole = found.revision == self.possible.revision;
            assert!(is_whole || batch < 6, "seed {}: a part of a batch", self.seed);
            tally.made_it += 1;
        }
        // The history is whole, from its oldest revision on.
        let mut cursor = sequencer.published.log.after(sequencer.published.log.oldest()).unwrap();
        let mut next = sequencer.published.log.oldest() + 1;
        while let Some(event) = cursor.next(u64::MAX) {
            assert_eq!(event.revision, next, "seed {}", self.seed);
            next += 1;
        }
        assert_eq!(next, found.revision + 1, "seed {}", self.seed);
        self.acknowledged = found.clone();
        self.possible = found;
        self.steps.clear();
    }
    fn live(&mut self, tally: &mut Tally) {
        let troubles = [Trouble::Crash, Trouble::Crash, Trouble::FailedFlush, Trouble::Full, Trouble::Flip];
        for _ in 0..2 + self.random.below(3) {
            let trouble = troubles[self.random.below(troubles.len() as u64) as usize];
            match trouble {
                Trouble::Crash => self.disk.crash_in(1 + self.random.below(90)),
                Trouble::FailedFlush => self.disk.fail_flush_in(1 + self.random.below(20)),
                Trouble::Full => {
                    let free = self.random.below(200 * 1024);
                    self.disk.set_capacity(Some(self.disk.used() + free));
                }
                Trouble::Flip => {}
            }
            let disk = Box::new(self.disk.clone());
            match open(self.options.clone(), disk) {
                Ok(mut sequencer) => {
                    tally.restarts += 1;
                    self.check(&sequencer, tally);
                    for _ in 0..self.random.below(40) {
                        if !self.batch(&mut sequencer, tally) {
                            tally.failed_flushes += u64::from(!self.disk.has_crashed());
                            break;
                        }
                    }
                    tally.compacted +=
                        u64::from(self.disk.names().iter().any(|name| name.starts_with("snapshot-0")));
                }
                Err(OpenError::Io(_)) if self.disk.has_crashed() => {}
                Err(OpenError::Io(error)) if trouble == Trouble::FailedFlush || trouble == Trouble::Full => {
                    assert!(!error.to_string().is_empty());
                }
                Err(error) => panic!("seed {}: {error}", self.seed),
            }
            self.disk.power_cycle();
            self.disk.set_capacity(None);
            if trouble == Trouble::Flip && !self.disk.names().is_empty() {
                let place = self.disk.flip_bit();
                let verified = tools::verify(&mut self.disk.clone());
                match open(self.options.clone(), Box::new(self.disk.clone())) {
                    Ok(sequencer) => {
                        assert!(verified.is_ok());
                        tally.survived_flip += 1;
                        self.check(&sequencer, tally);
                    }
                    Err(OpenError::Corrupt { .. }) => {
                        assert!(verified.is_err());
                        tally.refused += 1;
                        return;
                    }
                    Err(error) => panic!("seed {}, {place:?}: {error}", self.seed),
                }
            }
        }
        match open(self.options.clone(), Box::new(self.disk.clone())) {
            Ok(sequencer) => self.check(&sequencer, tally),
            Err(error) => panic!("seed {}: {error}", self.seed),
        }
    }
}

/// What the write does to the model, if its precondition holds.
fn apply(expected: &mut Expected, write: &Write) {
    let key = (write.resource.0, write.key.to_string());
    let current = expected.objects.get(&key).map(|(revision, _)| *revision);
    let holds = match write.precondition {
        Precondition::Absent => current.is_none(),
        Precondition::Revision(revision) => current == Some(revision),
    };
    if !holds {
        return;
    }
    expected.revision += 1;
    match &write.action {
        crate::api::Action::Put { object, .. } => {
            let (json, _) = crate::splice::splice(object.clone(), expected.revision);
            expected.objects.insert(key, (expected.revision, json.to_vec()));
        }
        crate::api::Action::Delete { .. } => {
            expected.objects.remove(&key);
        }
        crate::api::Action::Group(_) => unreachable!("the lives make none"),
    }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn simulated_lives() {
    let mut tally = Tally::default();
    if let Some(seed) = number("STORAGE_SEED") {
        Life::new(seed).live(&mut tally);
        println!("seed {seed}: {tally:?}");
        return;
    }
    let runs = number("STORAGE_RUNS").unwrap_or(10_000);
    for seed in 0..runs {
        let life = std::panic::catch_unwind(|| {
            let mut tally = Tally::default();
            Life::new(seed).live(&mut tally);
            tally
        });
        match life {
            Ok(life) => tally.add(&life),
            Err(_) => panic!("failed: replay with STORAGE_SEED={seed}"),
        }
    }
    println!("{runs} lives: {tally:?}");
    if runs >= 1000 {
        // Every kind of trouble did happen.
        for count in
            [tally.made_it, tally.lost, tally.refused, tally.no_space, tally.compacted, tally.failed_flushes]
        {
            assert!(count > 0, "{tally:?}");
        }
    }
}

impl Tally {
    fn add(&mut self, other: &Tally) {
        self.restarts += other.restarts;
        self.writes += other.writes;
        self.made_it += other.made_it;
        self.lost += other.lost;
        self.refused += other.refused;
        self.survived_flip += other.survived_flip;
        self.no_space += other.no_space;
        self.compacted += other.compacted;
        self.failed_flushes += other.failed_flushes;
    }
}
