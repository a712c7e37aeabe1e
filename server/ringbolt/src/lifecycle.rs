//! Hooks of the server as a whole, each by its name in kube-apiserver: what is ready when they have run, and what is
//! put away before the server goes. And the word to whoever started the process.

use std::{
    env,
    os::{
        linux::net::SocketAddrExt as _,
        unix::{ffi::OsStrExt as _, net},
    },
    thread,
    time::{Duration, Instant},
};

use bytes::Bytes;
use ringbolt_apiserver::server::{
    GenericApiServer,
    hooks::{DuplicateHook, HookContext},
};
use ringbolt_storage::object::ResourceId;

use crate::{identity_lease, settings::Settings};

/// How often the store is asked whether it is ready.
const POLL: Duration = Duration::from_millis(100);
/// How long followers may take to see what is stored.
const PATIENCE: Duration = Duration::from_secs(60);

/// Adds the hooks. `leases` is the resource.
pub fn install(
    server: &mut GenericApiServer,
    settings: &Settings,
    leases: ResourceId,
) -> Result<(), DuplicateHook> {
    server.add_post_start_hook("start-apiserver-admission-initializer", Box::new(admission_answers))?;
    server.add_post_start_hook("generic-apiserver-start-informers", Box::new(followers_follow))?;
    // A store of its own has one server: there are no peers to be told of it.
    server.add_post_start_hook("peer-endpoint-reconciler-controller", Box::new(|_| Ok(())))?;
    identity_lease::install(server, settings.advertised, leases)?;
    let patience = settings.storage_initialization_timeout;
    server.add_post_start_hook(
        "storage-readiness",
        Box::new(move |context| {
            storage_is_ready(context, patience);
            Ok(())
        }),
    )
}

/// Waits until a write has gone through admission: one that makes nothing, and of a kind that no webhook is asked about.
/// What webhooks and policies say is no reason not to start: who configured them could never take them back, and webhooks
/// may be run by what waits for this server.
fn admission_answers(context: &HookContext) -> Result<(), String> {
    const PATH: &str = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations?dryRun=All";
    let configuration = Bytes::from_static(
        br#"{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingWebhookConfiguration","metadata":{"generateName":"admission-initializer-"}}"#,
    );
    match context.loopback.request("POST", PATH, configuration) {
        // Any answer is one, also that the kind is not served.
        Some(_) => Ok(()),
        None => Err("a write that makes nothing: no answer".to_owned()),
    }
}

/// Waits until the followers have seen everything that is stored.
fn followers_follow(context: &HookContext) -> Result<(), String> {
    if context.feed.wait(context.storage.revision(), PATIENCE) {
        Ok(())
    } else {
        Err("followers do not keep up with the store".to_owned())
    }
}

/// Waits until the store takes writes, at most for `--storage-initialization-timeout`: a store that is not well is what
/// other checks tell of.
fn storage_is_ready(context: &HookContext, patience: Duration) {
    let until = Instant::now() + patience;
    while let Err(error) = context.storage.health() {
        if Instant::now() >= until {
            tracing::warn!(%error, "deadline exceeded while waiting for storage readiness");
            return;
        }
        thread::sleep(POLL);
    }
}

/// Tells whoever started the process how it is, where they want to know (`sd_notify(3)`).
pub fn notify(state: &str) {
    let Some(path) = env::var_os("NOTIFY_SOCKET").filter(|path| !path.is_empty()) else { return };
    if let Err(error) = send(path.as_bytes(), state) {
        tracing::warn!(%error, state, "NOTIFY_SOCKET");
    }
}

fn send(path: &[u8], state: &str) -> std::io::Result<()> {
    let address = match path.strip_prefix(b"@") {
        Some(name) => net::SocketAddr::from_abstract_name(name)?,
        None => net::SocketAddr::from_pathname(std::ffi::OsStr::from_bytes(path))?,
    };
    net::UnixDatagram::unbound()?.send_to_addr(state.as_bytes(), &address).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_arrive_at_paths_and_at_names() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let name = format!("ringbolt-test-{}", std::process::id());
        let at_path = net::UnixDatagram::bind(&path).unwrap();
        let abstract_name = net::SocketAddr::from_abstract_name(&name).unwrap();
        let at_name = net::UnixDatagram::bind_addr(&abstract_name).unwrap();
        for (socket, address) in [(at_path, path.display().to_string()), (at_name, format!("@{name}"))] {
            send(address.as_bytes(), "READY=1\n").unwrap();
            let mut buffer = [0; 64];
            let length = socket.recv(&mut buffer).unwrap();
            assert_eq!(&buffer[..length], b"READY=1\n", "{address}");
        }
        assert!(send(b"/nowhere/to/be/found", "READY=1\n").is_err());
    }
}
