//! Requests that make ready what a load needs: each answered in full, none measured.

use super::{
    error::LoadError,
    limits,
    net::{
        Request, Sink,
        driver::{Driver, Outbox, Turn, Work},
    },
    objects::Generator,
};
use std::{collections::VecDeque, time::Instant};

/// A request of a batch.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) method: &'static str,
    pub(crate) path: String,
    pub(crate) content_type: &'static str,
    pub(crate) body: Vec<u8>,
}

/// The answer to a call.
#[derive(Debug, Clone, Default)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

impl Call {
    pub(crate) fn get(path: String) -> Call {
        Call { method: "GET", path, content_type: "", body: Vec::new() }
    }

    pub(crate) fn post(path: String, body: Vec<u8>) -> Call {
        Call { method: "POST", path, content_type: JSON, body }
    }
}

pub(crate) const JSON: &str = "application/json";
pub(crate) const MERGE_PATCH: &str = "application/merge-patch+json";

/// Sends all calls, some at a time, and gives their answers in order.
pub(crate) fn call(driver: &mut Driver, calls: &[Call]) -> Result<Vec<Answer>, LoadError> {
    let mut batch = Batch {
        waiting: (0..calls.len()).collect(),
        calls,
        answers: vec![Answer::default(); calls.len()],
        open: 0,
        cut: None,
        heard: Instant::now(),
    };
    driver.run(&mut batch)?;
    Ok(batch.answers)
}

struct Batch<'a> {
    calls: &'a [Call],
    answers: Vec<Answer>,
    waiting: VecDeque<usize>,
    open: usize,
    cut: Option<usize>,
    heard: Instant,
}

impl Sink for Batch<'_> {
    fn head(&mut self, tag: u32, status: u16) {
        self.answers[tag as usize].status = status;
    }

    fn data(&mut self, tag: u32, bytes: &[u8]) {
        self.answers[tag as usize].body.extend_from_slice(bytes);
    }

    fn end(&mut self, tag: u32, whole: bool) {
        self.open -= 1;
        if !whole {
            self.cut = Some(tag as usize);
        }
    }
}

impl Work for Batch<'_> {
    fn arrived(&mut self) {
        self.heard = Instant::now();
    }

    fn turn(&mut self, now: Instant, outbox: &mut Outbox<'_>) -> Result<Turn, LoadError> {
        if let Some(call) = self.cut.map(|index| &self.calls[index]) {
            return Err(LoadError::new(format!("{} {}: the answer was cut off", call.method, call.path)));
        }
        if now > self.heard + limits::STALL_TIMEOUT {
            return Err(LoadError::new("no answer while objects were made ready"));
        }
        while self.open < limits::SETUP_IN_FLIGHT
            && let Some(index) = self.waiting.pop_front()
        {
            let call = &self.calls[index];
            let request = Request {
                method: call.method,
                path: &call.path,
                accept: JSON,
                content_type: call.content_type,
                body: &call.body,
            };
            if !outbox.send(index, index as u32, &request) {
                self.waiting.push_front(index);
                break;
            }
            self.open += 1;
        }
        match self.open == 0 && self.waiting.is_empty() {
            true => Ok(Turn::Done),
            false => Ok(Turn::Wait(Some(self.heard + limits::STALL_TIMEOUT))),
        }
    }

    fn lost(&mut self, why: &str) -> Result<(), LoadError> {
        Err(LoadError::new(format!("a connection was lost: {why}")))
    }
}

/// An error of what a call was answered, unless by one of these statuses.
pub(crate) fn expect(call: &Call, answer: &Answer, statuses: &[u16]) -> Result<(), LoadError> {
    if statuses.contains(&answer.status) {
        return Ok(());
    }
    let body = &answer.body[..answer.body.len().min(limits::NOTE_BYTES_MAX)];
    Err(LoadError::new(format!(
        "{} {}: {} {}",
        call.method,
        call.path,
        answer.status,
        String::from_utf8_lossy(body)
    )))
}

/// Makes sure of the namespaces, and of what pods need in them.
pub(crate) fn namespaces(driver: &mut Driver, generator: &Generator) -> Result<(), LoadError> {
    let create = |path: String, kind: &str, name: &str| {
        let body = format!(r#"{{"apiVersion":"v1","kind":"{kind}","metadata":{{"name":"{name}"}}}}"#);
        Call::post(path, body.into_bytes())
    };
    let mut waves = vec![
        generator
            .namespaces()
            .map(|name| create("/api/v1/namespaces".to_owned(), "Namespace", &name))
            .collect(),
    ];
    if generator.kind.is_pods() {
        // Where no controller makes it, admission refuses pods.
        let account = |name: String| {
            create(format!("/api/v1/namespaces/{name}/serviceaccounts"), "ServiceAccount", "default")
        };
        waves.push(generator.namespaces().map(account).collect::<Vec<_>>());
    }
    for calls in waves {
        for (call, answer) in calls.iter().zip(call(driver, &calls)?) {
            expect(call, &answer, &[201, 409])?;
        }
    }
    Ok(())
}

/// Makes sure of objects `0..count`, and gives them as the server has them. `as_applied`: those that are not there
/// are made by server-side apply, so that whoever applies them owns them.
pub(crate) fn objects(
    driver: &mut Driver,
    generator: &Generator,
    count: u64,
    as_applied: bool,
) -> Result<Vec<Vec<u8>>, LoadError> {
    let gets: Vec<Call> = (0..count).map(|number| Call::get(generator.path(number))).collect();
    let mut answers = call(driver, &gets)?;
    let missing: Vec<u64> = (0..count).filter(|number| answers[*number as usize].status == 404).collect();
    let make = |number: &u64| match as_applied {
        true => Call {
            method: "PATCH",
            path: apply_path(generator, *number),
            content_type: APPLY_PATCH,
            body: generator.object(*number),
        },
        false => Call::post(generator.collection(*number), generator.object(*number)),
    };
    let made: Vec<Call> = missing.iter().map(make).collect();
    for ((number, request), answer) in missing.iter().zip(&made).zip(call(driver, &made)?) {
        expect(request, &answer, &[200, 201])?;
        answers[*number as usize] = Answer { status: 200, ..answer };
    }
    for (request, answer) in gets.iter().zip(&answers) {
        expect(request, answer, &[200])?;
    }
    Ok(answers.into_iter().map(|answer| answer.body).collect())
}

pub(crate) const APPLY_PATCH: &str = "application/apply-patch+yaml";

/// The path at which an object is applied.
pub(crate) fn apply_path(generator: &Generator, number: u64) -> String {
    format!("{}?fieldManager=ringbolt-bench&force=true", generator.path(number))
}

/// Gives every object a status; gives the objects as the server has them then.
pub(crate) fn statuses(
    driver: &mut Driver,
    generator: &Generator,
    count: u64,
) -> Result<Vec<Vec<u8>>, LoadError> {
    let patch = generator
        .kind
        .status_patch()
        .ok_or_else(|| LoadError::new(format!("{} have no status", generator.kind.resource())))?;
    let patches: Vec<Call> = (0..count)
        .map(|number| Call {
            method: "PATCH",
            path: format!("{}/status", generator.path(number)),
            content_type: MERGE_PATCH,
            body: patch.clone(),
        })
        .collect();
    let answers = call(driver, &patches)?;
    for (request, answer) in patches.iter().zip(&answers) {
        expect(request, answer, &[200])?;
    }
    Ok(answers.into_iter().map(|answer| answer.body).collect())
}
