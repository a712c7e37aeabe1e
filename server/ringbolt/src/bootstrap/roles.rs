//! The roles and bindings that every cluster has.

use std::{
    thread,
    time::{Duration, Instant},
};

use ringbolt_apiserver::{response::JSON, server::hooks::HookContext, serving::loopback::Call};
use ringbolt_controlplane::bootstrap::policy::{BootstrapPolicy, Change, Need};

use super::MANAGED;

/// For how long it is tried. A server whose roles nobody has is of no use, so it ends then.
const PATIENCE: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(5);

/// Makes them as they should be, and waits until those who decide by them know them: whoever comes when the server is
/// ready has the roles that they have.
pub(super) fn reconcile(context: &HookContext, policy: &BootstrapPolicy) -> Result<(), String> {
    make(context, policy)?;
    // One who is behind catches up; nothing is gained by not serving meanwhile.
    if !context.feed.wait(context.storage.revision(), PATIENCE) {
        tracing::warn!("the roles of the bootstrap policy are stored, and not decided by yet");
    }
    Ok(())
}

/// All that can be done at once is asked for at once, until nothing is left to do.
fn make(context: &HookContext, policy: &BootstrapPolicy) -> Result<(), String> {
    let (storage, begun) = (&*context.storage, Instant::now());
    let mut pending: Vec<usize> = (0..policy.count()).collect();
    loop {
        let namespaces = policy.missing_namespaces(storage).into_iter().map(namespace);
        let mut changes: Vec<(Option<usize>, Change)> = namespaces.map(|change| (None, change)).collect();
        pending.retain(|number| match policy.need(storage, *number) {
            Need::Nothing => false,
            Need::Later => true,
            Need::Change(change) => {
                changes.push((Some(*number), change));
                true
            }
        });
        if pending.is_empty() {
            return Ok(());
        }
        let answers = context.loopback.call_all(changes.iter().map(|(_, change)| call(change)).collect());
        let (mut done, mut error) = (Vec::new(), None);
        for ((number, change), answer) in changes.iter().zip(answers) {
            match answer {
                Some((200..=299, _)) if change.last => done.extend(*number),
                // Somebody else was there, or is about to be: what is to be done then is seen the next time.
                Some((200..=299 | 404 | 409, _)) => {}
                other => error = Some(format!("{} {}: {}", change.method, change.path, told(other))),
            }
        }
        pending.retain(|number| !done.contains(number));
        if pending.is_empty() {
            return Ok(());
        }
        if begun.elapsed() > PATIENCE {
            let why = error.unwrap_or_else(|| format!("{} objects are not as they should be", pending.len()));
            return Err(format!("unable to initialize roles: {why}"));
        }
        if let Some(error) = error {
            tracing::warn!(error, "bootstrap policy");
            thread::sleep(PAUSE);
        } else if done.is_empty() {
            thread::sleep(PAUSE);
        }
    }
}

fn namespace(name: &str) -> Change {
    let body =
        format!(r#"{{"apiVersion":"v1","kind":"Namespace","metadata":{{"name":"{name}"}}}}"#).into_bytes();
    Change { method: "POST", path: "/api/v1/namespaces".to_owned(), body, last: false }
}

fn call(change: &Change) -> Call {
    let manager = if change.method == "DELETE" { "" } else { MANAGED };
    let target = format!("{}{manager}", change.path);
    Call::of_server(change.method, target, JSON, change.body.clone().into())
}

fn told(answer: Option<(u16, Vec<u8>)>) -> String {
    match answer {
        Some((code, body)) => format!("{code}: {}", String::from_utf8_lossy(&body)),
        None => "no answer".to_owned(),
    }
}
