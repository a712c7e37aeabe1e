//! Who asks: what the flags say of it, and the files they name, which are read anew when they change.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use ringbolt_apiserver::{
    authentication::{
        Anonymous, Authenticators,
        current::Current,
        request_header::{RequestHeader, RequestHeaderConfig},
        token_file::TokenFile,
        x509::ClientCertificates,
    },
    server::watched_files::WatchedFiles,
};

use crate::{
    authentication_config::AuthenticationConfiguration,
    config_reloads::{self, ConfigReloads},
    flags::Flags,
    settings::Settings,
    trust::{Notice, Trust},
};

/// What the flags say, apart from tokens of service accounts.
#[derive(Debug)]
pub struct AuthenticationSettings {
    /// `--client-ca-file`; without it the authority in the data directory is trusted.
    pub client_ca: Option<PathBuf>,
    /// `--requestheader-client-ca-file`
    request_header_ca: Option<PathBuf>,
    /// The other flags of front proxies.
    request_header: RequestHeaderConfig,
    /// `--token-auth-file`
    tokens: Option<PathBuf>,
    /// `--enable-bootstrap-token-auth`
    pub bootstrap_tokens: bool,
    /// `--authentication-config`
    config: Option<PathBuf>,
    /// `--anonymous-auth`
    pub anonymous: bool,
    /// Whether that was given.
    anonymous_given: bool,
}

impl AuthenticationSettings {
    /// Checks the flags. `allows_all` is whether requests are not authorized at all.
    pub fn new(flags: &Flags, allows_all: bool, errors: &mut Vec<String>) -> Self {
        let mut anonymous = flags.bool("anonymous-auth");
        if anonymous && allows_all {
            // Everybody could do everything.
            tracing::warn!(
                "AnonymousAuth is not allowed with the AlwaysAllow authorizer: it is switched off"
            );
            anonymous = false;
        }
        let config = flags.path("authentication-config");
        let oidc = flags.given_with_prefix("oidc-");
        if config.is_some() && oidc {
            errors.push("authentication-config file and oidc-* flags are mutually exclusive".to_owned());
        } else if oidc
            && (flags.text("oidc-issuer-url").is_empty() || flags.text("oidc-client-id").is_empty())
        {
            errors.push(
                "oidc-issuer-url and oidc-client-id must be specified together when any oidc-* flags are set"
                    .to_owned(),
            );
        }
        AuthenticationSettings {
            client_ca: flags.path("client-ca-file"),
            request_header_ca: flags.path("requestheader-client-ca-file"),
            request_header: request_header(flags, errors),
            tokens: flags.path("token-auth-file"),
            bootstrap_tokens: flags.bool("enable-bootstrap-token-auth"),
            config,
            anonymous,
            anonymous_given: flags.is_given("anonymous-auth"),
        }
    }
}

fn request_header(flags: &Flags, errors: &mut Vec<String>) -> RequestHeaderConfig {
    let mut list = |name: &str, standard: Option<(&str, bool)>| {
        let values = flags.list(name);
        if values.iter().any(|value| value.trim().is_empty()) {
            errors.push(format!("empty value in {name:?}"));
        }
        if let Some((standard, required)) = standard
            && !values.is_empty()
            && !values.iter().any(|value| value.eq_ignore_ascii_case(standard))
        {
            let kind = if standard.ends_with('-') { "header prefix" } else { "header" };
            let text = format!(
                "--{name} is set without specifying the standard {standard} {kind} - API aggregation will not work"
            );
            if required {
                errors.push(text);
            } else {
                tracing::warn!("{text}");
            }
        }
        values
    };
    RequestHeaderConfig {
        username_headers: list("requestheader-username-headers", Some(("X-Remote-User", false))),
        group_headers: list("requestheader-group-headers", Some(("X-Remote-Group", false))),
        extra_header_prefixes: list("requestheader-extra-headers-prefix", Some(("X-Remote-Extra-", false))),
        allowed_names: list("requestheader-allowed-names", None),
        uid_headers: list("requestheader-uid-headers", Some(("X-Remote-Uid", true))),
    }
}

/// Authentication as far as it needs no store.
pub struct Authentication {
    /// All but the tokens that lie in objects.
    pub authenticators: Authenticators,
    /// Whose certificates are taken, for servers that take the same.
    pub trust: Arc<Trust>,
    /// The files it was read from.
    pub files: WatchedFiles,
    /// How often `--authentication-config` was read anew.
    pub config_reloads: Option<Arc<ConfigReloads>>,
}

impl Authentication {
    /// Reads the files. `own_ca` is the authority of clients where no flag names a file of it.
    pub fn open(settings: &Settings, own_ca: &str) -> Result<Authentication, String> {
        let flags = &settings.authentication;
        let mut files = WatchedFiles::default();
        let changed = Arc::new(Notice::default());
        let client_ca = match &flags.client_ca {
            Some(path) => authorities("client-ca-bundle", path, &mut files, &changed)?,
            None => Arc::new(Current::new(parse_authorities(own_ca.as_bytes())?)),
        };
        let ca_files = flags.client_ca.iter().chain(&flags.request_header_ca).cloned().collect();
        let proxies = flags.request_header_ca.as_ref();
        let proxies =
            proxies.map(|path| authorities("request-header", path, &mut files, &changed)).transpose()?;
        if let Some(proxies) = &proxies
            && flags.request_header.allowed_names.is_empty()
            && flags.client_ca.is_some()
            && client_ca.load().overlaps(&proxies.load())
        {
            return Err("--requestheader-client-ca-file and --client-ca-file contain overlapping certificates; \
                        --requestheader-allowed-names must be specified to ensure regular client certificates cannot \
                        set authenticating proxy headers for arbitrary users"
                .to_owned());
        }
        let (anonymous, config_reloads) = anonymous(flags, &mut files)?;
        let mut authenticators = Authenticators::new(None, None, anonymous);
        authenticators.tokens = flags.tokens.as_ref().map(|path| tokens(path, &mut files)).transpose()?;
        authenticators.client_certificates = Some(client_ca.clone());
        authenticators.request_header =
            proxies.clone().map(|trust| RequestHeader::new(trust, &flags.request_header));
        let proxies = proxies.map(|authorities| (authorities, flags.request_header.clone()));
        Ok(Authentication {
            authenticators,
            trust: Arc::new(Trust { client_ca, proxies, files: ca_files, changed }),
            files,
            config_reloads,
        })
    }
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|e| format!("{}: {e}", path.display()))
}

fn parse_authorities(pem: &[u8]) -> Result<ClientCertificates, String> {
    ClientCertificates::from_pem(pem).map_err(|e| e.to_string())
}

/// The authorities of a file, now and when it changes.
fn authorities(
    what: &'static str,
    path: &Path,
    files: &mut WatchedFiles,
    changed: &Arc<Notice>,
) -> Result<Arc<Current<ClientCertificates>>, String> {
    let pem = read(path)?;
    let found = parse_authorities(&pem).map_err(|e| format!("{}: {e}", path.display()))?;
    let current = Arc::new(Current::new(found));
    let (to, changed) = (current.clone(), changed.clone());
    files.add(what, vec![path.to_owned()], &[pem], move |contents| {
        to.replace(parse_authorities(contents.first().map_or(&[], Vec::as_slice))?);
        changed.give();
        Ok(())
    });
    Ok(current)
}

/// The tokens of a file, now and when it changes.
fn tokens(path: &Path, files: &mut WatchedFiles) -> Result<Arc<Current<TokenFile>>, String> {
    let parse = |text: &[u8]| -> Result<TokenFile, String> {
        let text = std::str::from_utf8(text).map_err(|e| e.to_string())?;
        TokenFile::parse(text).map_err(|e| e.to_string())
    };
    let text = read(path)?;
    let found = parse(&text).map_err(|e| format!("token file {}: {e}", path.display()))?;
    let current = Arc::new(Current::new(found));
    let to = current.clone();
    files.add("token-auth-file", vec![path.to_owned()], &[text], move |contents| {
        to.replace(parse(contents.first().map_or(&[], Vec::as_slice))?);
        Ok(())
    });
    Ok(current)
}

/// Who may come without credentials. A changed file is checked and changes nothing of that, as in kube-apiserver.
fn anonymous(
    flags: &AuthenticationSettings,
    files: &mut WatchedFiles,
) -> Result<(Anonymous, Option<Arc<ConfigReloads>>), String> {
    let by_flag = Anonymous::new(flags.anonymous);
    let Some(path) = &flags.config else { return Ok((by_flag, None)) };
    let (first, text) = AuthenticationConfiguration::open(path)?;
    let anonymous = match &first.anonymous {
        Some(_) if flags.anonymous_given => {
            return Err("anonymous: Forbidden: --anonymous-auth flag cannot be set when anonymous field is configured \
                        in authentication configuration file"
                .to_owned());
        }
        Some(anonymous) => anonymous.admitted(),
        None => by_flag,
    };
    let reloads = ConfigReloads::new(&config_reloads::AUTHENTICATION, &text);
    let counts = reloads.clone();
    let check = move |text: &[u8]| {
        let new = AuthenticationConfiguration::parse(text)?;
        new.check()?;
        if new.anonymous != first.anonymous {
            return Err("anonymous: Forbidden: changed from initial configuration file".to_owned());
        }
        Ok(())
    };
    files.add("authentication-config", vec![path.clone()], &[text], move |contents| {
        let text = contents.first().map_or(&[][..], Vec::as_slice);
        counts.note(text, check(text))
    });
    Ok((anonymous, Some(reloads)))
}
