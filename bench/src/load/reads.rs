//! Reads of whole collections: full LISTs, and walks from page to page, so many at the same time.

use super::{
    batch::{self, Call},
    error::LoadError,
    latency::Latencies,
    limits,
    net::{
        Request, Sink,
        driver::{Driver, Outbox, Turn, Work},
    },
    outcome::LoadOutcome,
    pace::Pace,
    window::{Phase, Window},
};
use clap::ValueEnum;
use memchr::memmem;
use serde::{Deserialize, de::IgnoredAny};
use std::time::Instant;

/// How answers are encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Encoding {
    /// `application/json`.
    Json,
    /// `application/vnd.kubernetes.protobuf`.
    Protobuf,
}

impl Encoding {
    fn accept(self) -> &'static str {
        match self {
            Encoding::Json => batch::JSON,
            Encoding::Protobuf => "application/vnd.kubernetes.protobuf",
        }
    }
}

/// A load of reads.
#[derive(Debug)]
pub(crate) struct Plan {
    /// Path and query, without limit and continue.
    pub(crate) path: String,
    pub(crate) encoding: Encoding,
    /// Readers at the same time.
    pub(crate) parallel: usize,
    /// Items of a page; whole lists without.
    pub(crate) limit: Option<u64>,
    /// Lists a second over all; as fast as they are answered without.
    pub(crate) rate: Option<f64>,
}

/// One reader.
#[derive(Debug)]
struct Reader {
    start: Instant,
    walk_start: Instant,
    status: u16,
    /// The start of the answer, with the list's metadata.
    head: Vec<u8>,
    bytes: u64,
    token: Option<String>,
}

/// A load of reads that runs.
#[derive(Debug)]
pub(crate) struct Reads {
    plan: Plan,
    window: Window,
    pace: Option<Pace>,
    /// Since when some reader is free.
    room: Instant,
    readers: Vec<Reader>,
    free: Vec<u32>,
    /// Lists, or walks, that ended, and those that began.
    done: u64,
    begun: u64,
    /// Lists or walks to begin at most.
    most: u64,
    now: Instant,
    latencies: Latencies,
    walks: Latencies,
    outcome: LoadOutcome,
}

/// Runs the reads; `most` lists or walks. One list before them tells how many items there are.
pub(crate) fn run(
    driver: &mut Driver,
    plan: Plan,
    most: Option<u64>,
    window: impl FnOnce(Instant) -> Window,
) -> Result<LoadOutcome, LoadError> {
    #[derive(Deserialize)]
    struct List {
        items: Vec<IgnoredAny>,
    }
    let room = driver.room() * driver.len();
    if plan.parallel > room {
        return Err(LoadError::new(format!("{} readers: the connections take {room}", plan.parallel)));
    }
    let probe = [Call::get(plan.path.clone())];
    let answer = batch::call(driver, &probe)?.remove(0);
    batch::expect(&probe[0], &answer, &[200])?;
    let list: List = serde_json::from_slice(&answer.body)
        .map_err(|error| LoadError::new(format!("{} is no list: {error}", plan.path)))?;
    let now = Instant::now();
    let reader =
        |_| Reader { start: now, walk_start: now, status: 0, head: Vec::new(), bytes: 0, token: None };
    let mut reads = Reads {
        readers: (0..plan.parallel).map(reader).collect(),
        free: (0..plan.parallel as u32).rev().collect(),
        done: 0,
        begun: 0,
        most: most.unwrap_or(u64::MAX),
        now,
        pace: plan.rate.map(|rate| Pace::new(now, rate, None)),
        room: now,
        latencies: Latencies::new()?,
        walks: Latencies::new()?,
        outcome: LoadOutcome::default(),
        plan,
        window: window(now),
    };
    reads.outcome.extra.insert("items".to_owned(), list.items.len() as f64);
    driver.run(&mut reads)?;
    Ok(reads.report())
}

impl Reads {
    fn send(&mut self, tag: u32, now: Instant, outbox: &mut Outbox<'_>) -> bool {
        let reader = &mut self.readers[tag as usize];
        let path = match (self.plan.limit, &reader.token) {
            (None, _) => self.plan.path.clone(),
            (Some(limit), token) => {
                let sign = if self.plan.path.contains('?') { '&' } else { '?' };
                let token = token.as_deref().map_or(String::new(), |token| format!("&continue={token}"));
                format!("{}{sign}limit={limit}{token}", self.plan.path)
            }
        };
        (reader.start, reader.status, reader.bytes) = (now, 0, 0);
        reader.head.clear();
        let accept = self.plan.encoding.accept();
        let sent = outbox.send(
            tag as usize,
            tag,
            &Request { method: "GET", path: &path, accept, content_type: "", body: &[] },
        );
        self.outcome.sent += u64::from(sent);
        sent
    }

    /// When the next request of a reader counts as begun; none before it is due. A page follows the one before.
    fn begin(&mut self, new: bool, now: Instant) -> Option<Instant> {
        match &mut self.pace {
            Some(pace) if new => pace.take_with_room(now, self.room),
            _ => Some(now),
        }
    }

    fn report(mut self) -> LoadOutcome {
        self.latencies.report(&mut self.outcome);
        self.window.report(&mut self.outcome);
        if self.plan.limit.is_some() {
            let extra = &mut self.outcome.extra;
            extra.insert("walks".to_owned(), self.done as f64);
            extra.insert("walk_p50_us".to_owned(), self.walks.percentile_us(50.0));
            extra.insert("walk_p99_us".to_owned(), self.walks.percentile_us(99.0));
        }
        self.outcome
    }
}

/// The token of the next page, from the start of a list in JSON.
fn continue_token(head: &[u8]) -> Option<&str> {
    const KEY: &[u8] = b"\"continue\":\"";
    let metadata = &head[..memmem::find(head, b"\"items\":").unwrap_or(head.len())];
    let rest = &metadata[memmem::find(metadata, KEY)? + KEY.len()..];
    // A token is base64url, and needs no escapes.
    let token = &rest[..memchr::memchr(b'"', rest)?];
    std::str::from_utf8(token).ok().filter(|token| !token.is_empty())
}

impl Sink for Reads {
    fn head(&mut self, tag: u32, status: u16) {
        self.readers[tag as usize].status = status;
    }

    fn data(&mut self, tag: u32, bytes: &[u8]) {
        let reader = &mut self.readers[tag as usize];
        reader.bytes += bytes.len() as u64;
        if reader.head.len() < limits::LIST_HEAD_BYTES {
            let room = limits::LIST_HEAD_BYTES - reader.head.len();
            reader.head.extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
        if self.window.holds(self.now) {
            self.outcome.bytes += bytes.len() as u64;
        }
    }

    fn end(&mut self, tag: u32, whole: bool) {
        let reader = &mut self.readers[tag as usize];
        let good = whole && reader.status == 200;
        let measured = self.window.holds(self.now);
        self.outcome.answer(reader.status, whole);
        if measured {
            self.outcome.status(reader.status);
            if good {
                self.outcome.operations += 1;
                self.latencies.record(self.now.saturating_duration_since(reader.start));
            } else {
                self.outcome.errors += 1;
            }
        }
        if !good {
            let what =
                if whole { format!("status {}", reader.status) } else { "the answer was cut off".to_owned() };
            self.outcome.note(&what, &reader.head);
        }
        reader.token = match self.plan.limit {
            Some(_) if good => continue_token(&reader.head).map(str::to_owned),
            _ => None,
        };
        if reader.token.is_none() && measured {
            self.done += 1;
            if good {
                self.walks.record(self.now.saturating_duration_since(reader.walk_start));
            }
        }
        if self.free.is_empty() {
            self.room = self.now;
        }
        self.free.push(tag);
    }
}

impl Work for Reads {
    fn arrived(&mut self) {
        self.now = Instant::now();
    }

    fn turn(&mut self, now: Instant, outbox: &mut Outbox<'_>) -> Result<Turn, LoadError> {
        let phase = self.window.phase(now, self.done)?;
        let mut waiting = Vec::new();
        while phase != Phase::Over
            && let Some(tag) = self.free.pop()
        {
            let new = self.readers[tag as usize].token.is_none();
            if new && self.begun == self.most {
                waiting.push(tag);
                continue;
            }
            let Some(start) = self.begin(new, now) else {
                waiting.push(tag);
                break;
            };
            if !self.send(tag, start, outbox) {
                waiting.push(tag);
                continue;
            }
            if new {
                self.begun += 1;
                self.readers[tag as usize].walk_start = start;
            }
        }
        self.free.append(&mut waiting);
        let open = self.readers.len() - self.free.len();
        if phase == Phase::Over && open == 0 {
            return Ok(Turn::Done);
        }
        if open > 0 && now > self.now + limits::STALL_TIMEOUT {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_token_is_that_of_the_list() {
        for (head, token) in [
            (
                r#"{"kind":"PodList","metadata":{"resourceVersion":"7","continue":"abc_-1","remainingItemCount":3},"items":[{"#,
                Some("abc_-1"),
            ),
            (r#"{"metadata":{"resourceVersion":"7"},"items":[{"data":{"continue":"no"}}"#, None),
            (r#"{"metadata":{"resourceVersion":"7","continue":""},"items":[]}"#, None),
            (r#"{"metadata":{"resourceVersion":"7","continue":"cut"#, None),
            ("", None),
        ] {
            assert_eq!(continue_token(head.as_bytes()), token, "{head}");
        }
    }
}
