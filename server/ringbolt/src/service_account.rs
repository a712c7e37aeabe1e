//! Tokens of service accounts: what the flags say of them, and the keys they are signed and checked with.

use std::{fs, path::PathBuf, sync::Arc};

use ringbolt_apiserver::authentication::service_account::{
    BoundKinds, Issuer, ServiceAccountTokens,
    keys::{PublicKey, SigningKey},
    openid::KEYS_PATH,
};
use ringbolt_controlplane::registry::Registry;

use crate::{flags::Flags, layout, pki, settings::Settings};

/// Who issues tokens where `--service-account-issuer` does not say.
const DEFAULT_ISSUER: &str = "https://kubernetes.default.svc";
/// Bounds of `--service-account-max-token-expiration`, in seconds.
const LONGEST_SECONDS: std::ops::RangeInclusive<u64> = 3600..=1 << 32;

/// What the flags say.
#[derive(Debug)]
pub struct ServiceAccountSettings {
    /// `--service-account-issuer`
    issuers: Vec<String>,
    /// `--api-audiences`, else the issuers.
    audiences: Vec<String>,
    /// `--service-account-key-file`; without any, the key that signs.
    key_files: Vec<PathBuf>,
    /// `--service-account-signing-key-file`; without it, the key in the data directory.
    signing_key_file: Option<PathBuf>,
    /// `--service-account-max-token-expiration`, 0 for none.
    longest_seconds: u64,
    /// `--service-account-extend-token-expiration`
    extends: bool,
    /// `--service-account-lookup`
    lookup: bool,
    /// `--service-account-jwks-uri`, else where this server has its keys.
    pub keys_uri: String,
}

impl ServiceAccountSettings {
    /// Checks the flags. `address` is where clients find the server.
    pub fn new(flags: &Flags, address: &str, errors: &mut Vec<String>) -> Self {
        let given = flags.texts("service-account-issuer");
        for (at, issuer) in given.iter().enumerate() {
            if issuer.is_empty() {
                errors.push("service-account-issuer should not be an empty string".to_owned());
            } else if given[..at].contains(issuer) {
                errors.push(format!("service-account-issuer {issuer:?} is already specified"));
            }
        }
        let issuers = if given.is_empty() { vec![DEFAULT_ISSUER.to_owned()] } else { given };
        let longest_seconds = flags.duration("service-account-max-token-expiration").as_secs();
        if longest_seconds != 0 && !LONGEST_SECONDS.contains(&longest_seconds) {
            errors.push(
                "the service-account-max-token-expiration must be between 1 hour and 2^32 seconds".to_owned(),
            );
        }
        let key_files: Vec<PathBuf> =
            flags.texts("service-account-key-file").into_iter().map(Into::into).collect();
        let signing_key_file = flags.path("service-account-signing-key-file");
        if !key_files.is_empty() && signing_key_file.is_none() {
            errors.push(
                "--service-account-key-file needs --service-account-signing-key-file: nobody would know tokens that \
                 are signed with a key made here"
                    .to_owned(),
            );
        }
        let keys_uri = match flags.text("service-account-jwks-uri") {
            "" => format!("https://{address}{KEYS_PATH}"),
            uri => {
                if !uri.starts_with("https://") {
                    errors.push(format!("service-account-jwks-uri requires https scheme, parsed as: {uri}"));
                }
                uri.to_owned()
            }
        };
        let audiences = flags.list("api-audiences");
        ServiceAccountSettings {
            audiences: if audiences.is_empty() { issuers.clone() } else { audiences },
            issuers,
            key_files,
            signing_key_file,
            longest_seconds,
            extends: flags.bool("service-account-extend-token-expiration"),
            lookup: flags.bool("service-account-lookup"),
            keys_uri,
        }
    }
}

/// The keys.
pub struct Keyring {
    signing: SigningKey,
    checking: Vec<PublicKey>,
}

impl Keyring {
    /// Reads the files that are named, or the key in the data directory, which is made on first start.
    pub fn open(settings: &Settings) -> Result<Keyring, String> {
        let flags = &settings.service_accounts;
        let read = |path: &PathBuf| fs::read(path).map_err(|e| format!("{}: {e}", path.display()));
        let (name, pem) = match &flags.signing_key_file {
            Some(path) => (path.clone(), read(path)?),
            None => {
                let folder = layout::pki(&settings.data_dir);
                let pem = pki::service_account_key(&folder).map_err(|e| e.to_string())?;
                (folder, pem.into_bytes())
            }
        };
        let signing = SigningKey::read(&pem).map_err(|e| {
            format!("failed to parse service-account-issuer-key-file: {}: {e}", name.display())
        })?;
        let mut checking = Vec::new();
        for path in &flags.key_files {
            checking
                .extend(PublicKey::read_all(&read(path)?).map_err(|e| format!("{}: {e}", path.display()))?);
        }
        if checking.is_empty() {
            checking = PublicKey::read_all(&pem).map_err(|e| format!("{}: {e}", name.display()))?;
        }
        Ok(Keyring { signing, checking })
    }

    /// Who issues and checks tokens for the objects of a registry.
    pub fn tokens(self, settings: &Settings, registry: &Registry) -> ServiceAccountTokens {
        let flags = &settings.service_accounts;
        let stored = |resource: &str| {
            let served = registry.find("", "v1", resource);
            served.unwrap_or_else(|| unreachable!("{resource} are built in")).stored
        };
        ServiceAccountTokens {
            issuers: flags.issuers.clone(),
            keys: self.checking,
            audiences: flags.audiences.as_slice().into(),
            lookup: flags.lookup,
            issuer: Issuer {
                key: self.signing,
                name: flags.issuers.first().cloned().unwrap_or_default(),
                longest_seconds: i64::try_from(flags.longest_seconds).unwrap_or(i64::MAX),
                extends: flags.extends,
            },
            kinds: BoundKinds {
                service_accounts: stored("serviceaccounts"),
                pods: stored("pods"),
                secrets: stored("secrets"),
                nodes: stored("nodes"),
            },
            uses: Arc::default(),
            counts: Arc::default(),
        }
    }
}
