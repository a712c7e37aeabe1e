//! Writes: creates, updates, patches and deletes, so many in flight, as fast as they are answered or by a pace.

use super::{
    batch,
    error::LoadError,
    latency::Latencies,
    limits,
    net::{
        Request, Sink,
        driver::{Driver, Outbox, Turn, Work},
    },
    objects::{Generator, Kind, SEQUENCE_MARK, STATUS_MARK, renew, set_sequence},
    outcome::LoadOutcome,
    pace::Pace,
    window::{Phase, Window},
};
use clap::ValueEnum;
use std::{collections::VecDeque, time::Instant};

/// What is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Verb {
    /// POST of new objects.
    Create,
    /// PUT of the object that the last answer gave, one value changed.
    Update,
    /// DELETE of objects that were made before.
    Delete,
    /// PUT of the status, one value changed.
    Status,
    /// PUT of a Lease, renewed.
    Lease,
    /// JSON merge patch of one value.
    MergePatch,
    /// JSON patch of one value.
    JsonPatch,
    /// Server-side apply of the whole object, one value changed.
    Apply,
}

impl Verb {
    /// Whether each request is about an object that is there before and after.
    fn owns_objects(self) -> bool {
        !matches!(self, Verb::Create | Verb::Delete)
    }

    /// Whether the object of the last answer is sent.
    fn sends_last_answer(self) -> bool {
        matches!(self, Verb::Update | Verb::Status | Verb::Lease)
    }
}

/// A load of writes.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) verb: Verb,
    pub(crate) generator: Generator,
    pub(crate) in_flight: usize,
    /// Objects that are written in turn; for creates and deletes, how many there are to write at most.
    pub(crate) objects: u64,
    /// Writes a second over all; as fast as they are answered without.
    pub(crate) rate: Option<f64>,
}

/// An object that is written again and again.
#[derive(Debug)]
struct Owned {
    path: String,
    /// What is sent next, but for the value that changes.
    body: Vec<u8>,
    /// The last write failed: it is read before the next.
    stale: bool,
}

/// A request in flight.
#[derive(Debug)]
struct Slot {
    number: u64,
    start: Instant,
    status: u16,
    body: Vec<u8>,
    reads: bool,
}

/// A load of writes that runs.
#[derive(Debug)]
pub(crate) struct Writes {
    plan: Plan,
    window: Window,
    pace: Option<Pace>,
    /// Since when some slot is free.
    room: Instant,
    owned: Vec<Owned>,
    /// Numbers of owned objects that are not in flight, longest idle first.
    idle: VecDeque<u64>,
    /// Creates and deletes: the number of the next object.
    next: u64,
    sequence: u64,
    slots: Vec<Slot>,
    free: Vec<u32>,
    now: Instant,
    patch: Vec<u8>,
    latencies: Latencies,
    outcome: LoadOutcome,
}

/// Makes ready what the writes need: namespaces and, for all but creates and deletes, objects.
pub(crate) fn prepare(driver: &mut Driver, plan: &Plan) -> Result<Vec<Vec<u8>>, LoadError> {
    batch::namespaces(driver, &plan.generator)?;
    match plan.verb {
        Verb::Create | Verb::Delete => Ok(Vec::new()),
        Verb::Status => {
            batch::objects(driver, &plan.generator, plan.objects, false)?;
            batch::statuses(driver, &plan.generator, plan.objects)
        }
        verb => batch::objects(driver, &plan.generator, plan.objects, verb == Verb::Apply),
    }
}

/// Runs the writes on what [`prepare`] gave.
pub(crate) fn run(
    driver: &mut Driver,
    plan: Plan,
    objects: Vec<Vec<u8>>,
    window: impl FnOnce(Instant) -> Window,
) -> Result<LoadOutcome, LoadError> {
    let most = driver.room() * driver.len();
    if plan.in_flight > most {
        let message =
            format!("{} in flight: the connections take {most}; raise --connections", plan.in_flight);
        return Err(LoadError::new(message));
    }
    if plan.in_flight == 1 && plan.rate.is_none() {
        driver.stay_awake();
    }
    let now = Instant::now();
    let mut writes = Writes::new(plan, objects, now, window(now))?;
    driver.run(&mut writes)?;
    Ok(writes.report())
}

impl Writes {
    fn new(plan: Plan, objects: Vec<Vec<u8>>, now: Instant, window: Window) -> Result<Writes, LoadError> {
        let suffix = if plan.verb == Verb::Status { "/status" } else { "" };
        let owned = objects.into_iter().enumerate().map(|(number, body)| Owned {
            path: match plan.verb {
                Verb::Apply => batch::apply_path(&plan.generator, number as u64),
                _ => plan.generator.path(number as u64) + suffix,
            },
            body: if plan.verb == Verb::Apply { plan.generator.object(number as u64) } else { body },
            stale: false,
        });
        let owned: Vec<Owned> = owned.collect();
        let slot = |_| Slot { number: 0, start: now, status: 0, body: Vec::new(), reads: false };
        Ok(Writes {
            pace: plan.rate.map(|rate| Pace::new(now, rate, None)),
            room: now,
            idle: (0..owned.len() as u64).collect(),
            owned,
            next: 0,
            // So that a run never writes what the last one left: then nothing would change.
            sequence: jiff::Timestamp::now().as_microsecond().unsigned_abs(),
            slots: (0..plan.in_flight).map(slot).collect(),
            free: (0..plan.in_flight as u32).rev().collect(),
            now,
            patch: match plan.verb {
                Verb::MergePatch => plan.generator.kind.merge_patch(),
                Verb::JsonPatch => plan.generator.kind.json_patch(),
                _ => Vec::new(),
            },
            latencies: Latencies::new()?,
            outcome: LoadOutcome::default(),
            plan,
            window,
        })
    }

    /// Sends the next request, on a free slot. False: there is nothing to write, or no room.
    fn send(&mut self, start: Instant, outbox: &mut Outbox<'_>) -> Result<bool, LoadError> {
        let Some(tag) = self.free.pop() else { return Ok(false) };
        let number = match self.plan.verb.owns_objects() {
            true => self.idle.pop_front(),
            false => (self.next < self.plan.objects).then_some(self.next),
        };
        let Some(number) = number else {
            self.free.push(tag);
            return Ok(false);
        };
        self.sequence += 1;
        let slot = &mut self.slots[tag as usize];
        (slot.number, slot.start, slot.status, slot.reads) = (number, start, 0, false);
        slot.body.clear();
        let (path, made);
        let mut request =
            Request { method: "PUT", path: "", accept: batch::JSON, content_type: batch::JSON, body: &[] };
        let changed = match self.plan.verb {
            Verb::Create => {
                (path, made) = (self.plan.generator.collection(number), self.plan.generator.object(number));
                (request.method, request.path, request.body) = ("POST", &path, &made);
                true
            }
            Verb::Delete => {
                path = self.plan.generator.path(number);
                (request.method, request.path, request.body) =
                    ("DELETE", &path, delete_options(self.plan.generator.kind));
                true
            }
            verb => {
                let owned = &mut self.owned[number as usize];
                request.path = &owned.path;
                if owned.stale {
                    slot.reads = true;
                    (request.method, request.content_type) = ("GET", "");
                    true
                } else {
                    let changed = match verb {
                        Verb::Lease => renew(&mut owned.body),
                        Verb::Status => set_sequence(&mut owned.body, STATUS_MARK, self.sequence),
                        Verb::MergePatch | Verb::JsonPatch => {
                            set_sequence(&mut self.patch, SEQUENCE_MARK, self.sequence)
                        }
                        _ => set_sequence(&mut owned.body, SEQUENCE_MARK, self.sequence),
                    };
                    (request.method, request.content_type, request.body) = match verb {
                        Verb::MergePatch => ("PATCH", batch::MERGE_PATCH, &self.patch),
                        Verb::JsonPatch => ("PATCH", "application/json-patch+json", &self.patch),
                        Verb::Apply => ("PATCH", batch::APPLY_PATCH, &owned.body),
                        _ => ("PUT", batch::JSON, &owned.body),
                    };
                    changed
                }
            }
        };
        if !changed {
            return Err(LoadError::new(format!("{}: the value that changes is not in it", request.path)));
        }
        if outbox.send(number as usize, tag, &request) {
            self.outcome.sent += u64::from(!self.slots[tag as usize].reads);
            self.next += u64::from(!self.plan.verb.owns_objects());
            return Ok(true);
        }
        self.free.push(tag);
        if self.plan.verb.owns_objects() {
            self.idle.push_front(number);
        }
        Ok(false)
    }

    /// Whether there is an object to write now.
    fn has_next(&self) -> bool {
        if self.plan.verb.owns_objects() { !self.idle.is_empty() } else { self.next < self.plan.objects }
    }

    fn report(mut self) -> LoadOutcome {
        self.latencies.report(&mut self.outcome);
        self.window.report(&mut self.outcome);
        if let Some(pace) = &self.pace {
            self.outcome.extra.insert("paced".to_owned(), pace.taken() as f64);
        }
        self.outcome
    }
}

impl Sink for Writes {
    fn head(&mut self, tag: u32, status: u16) {
        self.slots[tag as usize].status = status;
    }

    fn data(&mut self, tag: u32, bytes: &[u8]) {
        self.slots[tag as usize].body.extend_from_slice(bytes);
    }

    fn end(&mut self, tag: u32, whole: bool) {
        let slot = &mut self.slots[tag as usize];
        let good = whole && matches!(slot.status, 200 | 201);
        if self.plan.verb.owns_objects() {
            let owned = &mut self.owned[slot.number as usize];
            owned.stale = !good && self.plan.verb.sends_last_answer();
            if good && self.plan.verb.sends_last_answer() {
                std::mem::swap(&mut owned.body, &mut slot.body);
            }
            self.idle.push_back(slot.number);
        }
        if !slot.reads {
            self.outcome.answer(slot.status, whole);
        }
        if self.window.holds(self.now) && !slot.reads {
            self.outcome.status(slot.status);
            if good {
                self.outcome.operations += 1;
                self.latencies.record(self.now.saturating_duration_since(slot.start));
            } else {
                self.outcome.errors += 1;
            }
            let answer = if good && self.plan.verb.sends_last_answer() {
                &self.owned[slot.number as usize].body
            } else {
                &slot.body
            };
            self.outcome.bytes += answer.len() as u64;
        }
        if !good {
            let what =
                if whole { format!("status {}", slot.status) } else { "the answer was cut off".to_owned() };
            self.outcome.note(&what, &slot.body);
        }
        if self.free.is_empty() {
            self.room = self.now;
        }
        self.free.push(tag);
    }
}

impl Work for Writes {
    fn arrived(&mut self) {
        self.now = Instant::now();
    }

    fn turn(&mut self, now: Instant, outbox: &mut Outbox<'_>) -> Result<Turn, LoadError> {
        let done = self.outcome.operations + self.outcome.errors;
        let phase = self.window.phase(now, done)?;
        if phase != Phase::Over {
            loop {
                // An operation is taken only by who can send it, and keeps the time it was due.
                if self.free.is_empty() || !self.has_next() {
                    break;
                }
                let start = match &mut self.pace {
                    Some(pace) => pace.take_with_room(now, self.room),
                    None => Some(now),
                };
                match start {
                    Some(start) if self.send(start, outbox)? => {}
                    _ => break,
                }
            }
        }
        let nothing_open = self.free.len() == self.slots.len();
        if nothing_open && (phase == Phase::Over || !self.has_next()) {
            self.window.finish(now)?;
            return Ok(Turn::Done);
        }
        if !nothing_open && now > self.now + limits::STALL_TIMEOUT {
            return Err(LoadError::new("no answer for too long"));
        }
        let due = self.pace.as_ref().filter(|_| !self.free.is_empty()).and_then(Pace::next);
        let stall = Some(now + limits::STALL_TIMEOUT);
        Ok(Turn::Wait([due, self.window.next(), stall].into_iter().flatten().min()))
    }

    fn lost(&mut self, why: &str) -> Result<(), LoadError> {
        Err(LoadError::new(format!("a connection was lost: {why}")))
    }
}

/// What clients send with a delete; of pods, not to wait for a kubelet that is not there.
fn delete_options(kind: Kind) -> &'static [u8] {
    match kind {
        Kind::Pods | Kind::NewPods => br#"{"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":0}"#,
        _ => br#"{"kind":"DeleteOptions","apiVersion":"v1"}"#,
    }
}
