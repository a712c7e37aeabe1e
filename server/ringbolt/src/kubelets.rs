//! Flags about kubelets, and what goes there.

use std::{fs, path::PathBuf, sync::Arc};

use ringbolt_apiserver::server::watched_files::WatchedFiles;
use ringbolt_outgoing::{ClientPair, Outgoing};
use ringbolt_proxy::{KubeletSettings, Kubelets};

use crate::flags::Flags;

/// Flags about kubelets, with the files they name.
#[derive(Clone, Debug)]
pub struct KubeletFlags {
    settings: KubeletSettings,
    /// `--kubelet-client-certificate` and `--kubelet-client-key`
    identity: Option<[PathBuf; 2]>,
    /// `--kubelet-certificate-authority`
    authority: Option<PathBuf>,
}

impl KubeletFlags {
    /// Checks the flags.
    pub fn new(flags: &Flags, errors: &mut Vec<String>) -> Self {
        let identity = match [flags.path("kubelet-client-certificate"), flags.path("kubelet-client-key")] {
            [Some(certificate), Some(key)] => Some([certificate, key]),
            [None, None] => None,
            _ => {
                let why = "--kubelet-client-certificate and --kubelet-client-key go together";
                errors.push(why.to_owned());
                None
            }
        };
        let port = flags.int("kubelet-port");
        let port = u16::try_from(port).ok().filter(|port| *port > 0).unwrap_or_else(|| {
            errors.push(format!("--kubelet-port {port} must be between 1 and 65535, inclusive"));
            0
        });
        let address_types = flags.list("kubelet-preferred-address-types");
        let authority = flags.path("kubelet-certificate-authority");
        KubeletFlags { settings: KubeletSettings { address_types, port }, identity, authority }
    }

    /// What goes to kubelets, kept as the files are.
    ///
    /// # Errors
    /// A file cannot be read, or is not what it should be.
    pub fn open(&self, outgoing: Outgoing, watched: &mut WatchedFiles) -> Result<Arc<Kubelets>, String> {
        let identity = self.identity.iter().flatten();
        let paths: Vec<PathBuf> = identity.chain(&self.authority).cloned().collect();
        let read = |path: &PathBuf| fs::read(path).map_err(|e| format!("{}: {e}", path.display()));
        let contents = paths.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        let has_identity = self.identity.is_some();
        let (pair, authorities) = sorted(&contents, has_identity);
        let kubelets = Kubelets::new(outgoing, self.settings.clone(), pair, authorities);
        let kubelets = Arc::new(kubelets.map_err(|why| format!("--kubelet-* files: {why}"))?);
        if !paths.is_empty() {
            let kept = kubelets.clone();
            watched.add("kubelet-client", paths, &contents, move |contents| {
                let (pair, authorities) = sorted(contents, has_identity);
                kept.replace(pair, authorities)
            });
        }
        Ok(kubelets)
    }
}

/// What the files have: the identity, where there is one, comes first.
fn sorted(contents: &[Vec<u8>], has_identity: bool) -> (Option<ClientPair>, Vec<u8>) {
    match contents {
        [certificate, key, rest @ ..] if has_identity => {
            let pair = ClientPair { certificate: certificate.clone(), key: key.clone() };
            (Some(pair), rest.first().cloned().unwrap_or_default())
        }
        rest => (None, rest.first().cloned().unwrap_or_default()),
    }
}
