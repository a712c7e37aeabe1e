//! Watches: many watchers of one namespace, a writer by a pace, and what of its updates came to each of them.

mod report;
mod writer;

use super::{
    batch::{self, Call},
    error::LoadError,
    events::{Event, EventReader, Lines},
    latency::Latencies,
    limits,
    net::{
        Request, Sink,
        driver::{Driver, Outbox, Turn, Work},
    },
    objects::Generator,
    outcome::LoadOutcome,
    pace::Pace,
    target::Target,
    window::{Length, Window},
};
use memchr::memmem;
use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

/// A load of watches.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) generator: Generator,
    pub(crate) connections: usize,
    /// Watches on each connection.
    pub(crate) streams: usize,
    /// Time that the watches are held before the first update.
    pub(crate) hold: Duration,
    pub(crate) updates_per_second: f64,
    /// How long updates are written.
    pub(crate) write: Duration,
    /// Time that events may come after the last update.
    pub(crate) grace: Duration,
    /// Objects that are updated in turn.
    pub(crate) objects: u64,
    /// The server, as the writer speaks to it.
    pub(crate) writer: Target,
    /// Processes whose CPU in the window is told.
    pub(crate) processes: Vec<u32>,
}

/// A watch.
#[derive(Debug, Default)]
struct Watcher {
    lines: Lines,
    established: bool,
    status: u16,
    last_version: u64,
    /// A bit an update: whether its event came.
    seen: Vec<u64>,
}

/// An update.
#[derive(Debug, Clone, Copy)]
struct Update {
    due: Instant,
    sent: Instant,
    acknowledged: Option<Instant>,
}

/// An object that the writer updates.
#[derive(Debug)]
struct Object {
    path: String,
    body: Vec<u8>,
    answer: Vec<u8>,
    status: u16,
    update: usize,
}

/// Where the load stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Watches are being opened: this many were asked for.
    Opening(usize),
    /// Nothing is written until then.
    Holding(Instant),
    Writing,
    /// Events may come until then.
    Grace(Instant),
}

/// What went wrong with events, by kind.
#[derive(Debug, Default)]
struct Wrong {
    duplicates: u64,
    out_of_order: u64,
    errors: u64,
    ended: u64,
    refused_updates: u64,
}

/// A load of watches that runs.
#[derive(Debug)]
pub(crate) struct Watches {
    plan: Plan,
    path: String,
    writer: usize,
    stage: Stage,
    window: Window,
    start: Instant,
    established_after: Duration,
    watchers: Vec<Watcher>,
    established: usize,
    reader: EventReader,
    objects: Vec<Object>,
    idle: VecDeque<usize>,
    pace: Pace,
    updates: Vec<Update>,
    /// The number that the first update has.
    first_sequence: u64,
    acknowledged: u64,
    open_updates: usize,
    last_acknowledged: Instant,
    delivered: u64,
    bookmarks: u64,
    wrong: Wrong,
    now: Instant,
    since_sent: Latencies,
    since_due: Latencies,
    since_acknowledged: Latencies,
    update_latencies: Latencies,
    outcome: LoadOutcome,
}

/// Makes the objects, opens the watches, writes, and tells what came.
pub(crate) fn run(driver: &mut Driver, plan: Plan) -> Result<LoadOutcome, LoadError> {
    if driver.room() < plan.streams {
        let message = format!("{} streams a connection: the server allows {}", plan.streams, driver.room());
        return Err(LoadError::new(message));
    }
    batch::namespaces(driver, &plan.generator)?;
    let bodies = batch::objects(driver, &plan.generator, plan.objects, false)?;
    let list = [Call::get(format!("{}?limit=1", plan.generator.collection(0)))];
    let answer = batch::call(driver, &list)?.remove(0);
    batch::expect(&list[0], &answer, &[200])?;
    let version =
        list_version(&answer.body).ok_or_else(|| LoadError::new("a list without a resourceVersion"))?;
    let path = format!(
        "{}?watch=true&allowWatchBookmarks=true&resourceVersion={version}&timeoutSeconds=3600",
        plan.generator.collection(0)
    );
    let writer = driver.add(&plan.writer, 1)?;
    let now = Instant::now();
    let objects = bodies.into_iter().enumerate().map(|(number, body)| Object {
        path: plan.generator.path(number as u64),
        body,
        answer: Vec::new(),
        status: 0,
        update: 0,
    });
    let objects: Vec<Object> = objects.collect();
    let mut watchers = Vec::new();
    watchers.resize_with(plan.connections * plan.streams, Watcher::default);
    let mut watches = Watches {
        path,
        writer,
        stage: Stage::Opening(0),
        window: Window::new(now, Duration::ZERO, Length::Count(u64::MAX), &plan.processes),
        start: now,
        established_after: Duration::ZERO,
        watchers,
        established: 0,
        reader: EventReader::new(),
        idle: (0..objects.len()).collect(),
        objects,
        pace: Pace::new(now, plan.updates_per_second, Some(plan.write)),
        updates: Vec::new(),
        // So that a run never writes what the last one left: then nothing would change, and no event come.
        first_sequence: jiff::Timestamp::now().as_microsecond().unsigned_abs(),
        acknowledged: 0,
        open_updates: 0,
        last_acknowledged: now,
        delivered: 0,
        bookmarks: 0,
        wrong: Wrong::default(),
        now,
        since_sent: Latencies::new()?,
        since_due: Latencies::new()?,
        since_acknowledged: Latencies::new()?,
        update_latencies: Latencies::new()?,
        outcome: LoadOutcome::default(),
        plan,
    };
    driver.run(&mut watches)?;
    Ok(watches.report())
}

/// The resourceVersion of a list in JSON.
fn list_version(list: &[u8]) -> Option<&str> {
    const KEY: &[u8] = b"\"resourceVersion\":\"";
    let metadata = &list[..memmem::find(list, b"\"items\":")?];
    let rest = &metadata[memmem::find(metadata, KEY)? + KEY.len()..];
    std::str::from_utf8(&rest[..memchr::memchr(b'"', rest)?]).ok()
}

impl Watches {
    fn open_watches(&mut self, mut opened: usize, outbox: &mut Outbox<'_>) {
        while opened < self.watchers.len() {
            let request =
                Request { method: "GET", path: &self.path, accept: batch::JSON, content_type: "", body: &[] };
            if !outbox.send_on(opened / self.plan.streams, opened as u32, &request) {
                break;
            }
            opened += 1;
        }
        self.stage = Stage::Opening(opened);
    }

    fn event(&mut self, watcher: usize, event: Event, line: &[u8]) {
        let (version, sequence) = match event {
            Event::Bookmark => {
                self.bookmarks += 1;
                return;
            }
            Event::Error => {
                self.wrong.errors += 1;
                return self.outcome.note("event", line);
            }
            Event::Change { resource_version, sequence } => (resource_version, sequence),
        };
        let watcher = &mut self.watchers[watcher];
        if version <= watcher.last_version {
            self.wrong.out_of_order += 1;
        }
        watcher.last_version = version;
        // Smaller ones were written before this run.
        let Some(number) = sequence.and_then(|sequence| sequence.checked_sub(self.first_sequence)) else {
            return;
        };
        let number = usize::try_from(number).unwrap_or(usize::MAX);
        let Some(update) = self.updates.get(number) else {
            self.wrong.errors += 1;
            return self.outcome.note("an update that was not written", line);
        };
        if watcher.seen.len() <= number / 64 {
            watcher.seen.resize(number / 64 + 1, 0);
        }
        let bit = 1 << (number % 64);
        if watcher.seen[number / 64] & bit != 0 {
            self.wrong.duplicates += 1;
            return;
        }
        watcher.seen[number / 64] |= bit;
        self.delivered += 1;
        self.since_sent.record(self.now.saturating_duration_since(update.sent));
        self.since_due.record(self.now.saturating_duration_since(update.due));
        let acknowledged = update.acknowledged.unwrap_or(self.now);
        self.since_acknowledged.record(self.now.saturating_duration_since(acknowledged));
    }
}

impl Sink for Watches {
    fn head(&mut self, tag: u32, status: u16) {
        let index = tag as usize;
        match index.checked_sub(self.watchers.len()) {
            Some(object) => self.objects[object].status = status,
            None => {
                self.watchers[index].status = status;
                if status == 200 {
                    self.watchers[index].established = true;
                    self.established += 1;
                }
            }
        }
    }

    fn data(&mut self, tag: u32, bytes: &[u8]) {
        let index = tag as usize;
        if let Some(object) = index.checked_sub(self.watchers.len()) {
            return self.objects[object].answer.extend_from_slice(bytes);
        }
        self.outcome.bytes += bytes.len() as u64;
        let mut lines = std::mem::take(&mut self.watchers[index].lines);
        let fed = lines.feed(bytes, |line| {
            let event = self.reader.read(line);
            self.event(index, event, line);
        });
        self.watchers[index].lines = lines;
        if fed.is_err() {
            self.wrong.errors += 1;
            self.outcome.note("a line that is longer than any event", &[]);
        }
    }

    fn end(&mut self, tag: u32, whole: bool) {
        let index = tag as usize;
        match index.checked_sub(self.watchers.len()) {
            Some(object) => self.update_answered(object, whole),
            None => {
                self.wrong.ended += 1;
                let what = format!("a watch ended, status {}", self.watchers[index].status);
                self.outcome.note(&what, &[]);
            }
        }
    }
}

impl Work for Watches {
    fn arrived(&mut self) {
        self.now = Instant::now();
    }

    fn turn(&mut self, now: Instant, outbox: &mut Outbox<'_>) -> Result<Turn, LoadError> {
        if let Stage::Opening(opened) = self.stage {
            self.open_watches(opened, outbox);
            if self.wrong.ended > 0 {
                return Err(LoadError::new(format!("watches do not open: {:?}", self.outcome.notes)));
            }
            let give_up = self.start + limits::OPENING_TIMEOUT;
            if self.established < self.watchers.len() {
                return match now < give_up {
                    true => Ok(Turn::Wait(Some(give_up))),
                    false => Err(LoadError::new(format!(
                        "{} watches of {} opened",
                        self.established,
                        self.watchers.len()
                    ))),
                };
            }
            self.established_after = now - self.start;
            eprintln!("watches open");
            self.window.phase(now, 0)?;
            self.outcome.bytes = 0;
            self.stage = Stage::Holding(now + self.plan.hold);
        }
        if let Stage::Holding(until) = self.stage {
            if now < until {
                return Ok(Turn::Wait(Some(until)));
            }
            self.pace = Pace::new(now, self.plan.updates_per_second, Some(self.plan.write));
            self.stage = Stage::Writing;
        }
        if self.stage == Stage::Writing {
            self.write(now, outbox)?;
            if self.pace.next().is_none() && self.open_updates == 0 {
                self.stage = Stage::Grace(now + self.plan.grace);
            } else if self.idle.is_empty() && self.open_updates == 0 {
                return Err(LoadError::new(format!("all updates are refused: {:?}", self.outcome.notes)));
            } else if self.open_updates > 0 && now > self.now + limits::STALL_TIMEOUT {
                return Err(LoadError::new("no answer for too long"));
            } else {
                let due = if self.idle.is_empty() { None } else { self.pace.next() };
                return Ok(Turn::Wait(due.or(Some(now + limits::STALL_TIMEOUT))));
            }
        }
        match self.stage {
            Stage::Grace(until) if now < until && self.delivered < self.expected() => {
                Ok(Turn::Wait(Some(until)))
            }
            _ => {
                self.window.finish(now)?;
                Ok(Turn::Done)
            }
        }
    }

    fn lost(&mut self, why: &str) -> Result<(), LoadError> {
        // Its watches are counted as ended.
        self.outcome.note(&format!("a connection was lost: {why}"), &[]);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_that_of_the_list() {
        let list = br#"{"kind":"ConfigMapList","metadata":{"resourceVersion":"42"},"items":[{"metadata":{"resourceVersion":"7"}}]}"#;
        assert_eq!(list_version(list), Some("42"));
        assert_eq!(list_version(br#"{"items":[{"metadata":{"resourceVersion":"7"}}]}"#), None);
    }
}
