//! From checked flags to a server that has ended.

use std::{fs, path::Path, sync::Arc, time::Instant};

use ringbolt_aggregator::api_service;
use ringbolt_apiserver::{
    authentication::bootstrap_token::BootstrapTokens,
    informer::Follower,
    metrics::{Durations, Family, Kind},
    server::{Config, NotFound, SecureServing},
};
use ringbolt_controlplane::{
    policies::Policies,
    registry::{self, Registry},
};
use ringbolt_engine::{DirLock, EngineConfig, RingDisk, TlsConfig};
use ringbolt_extensions::{ConverterFactory, definition};
use ringbolt_machinery::schema::Schema;
use ringbolt_outgoing::Outgoing;
use ringbolt_storage::embedded::{Embedded, EmbeddedOptions};
use signal_hook::{
    consts::{SIGINT, SIGTERM},
    iterator::Signals,
};

use crate::{
    aggregation,
    authentication::Authentication,
    authorization::{self, Authorization, authorization},
    config_reloads::{self, ConfigReloads},
    control_plane,
    disk::JournalDisk,
    flags::Flags,
    identity_lease,
    inspect::StoredInspect,
    kubeconfig, layout, lifecycle, pages,
    pki::{self, Pair, Pki},
    rest,
    service_account::Keyring,
    serving::{Handshakes, ServingCertificates},
    settings::{Serving, Settings},
    trust::Told,
};

/// Runs the server until it is told to stop.
pub fn run(flags: &Flags, begun: Instant) -> Result<(), String> {
    log(flags.int("v"));
    pages::small();
    let settings = Settings::new(flags).map_err(|errors| errors.join("\nError: "))?;
    // Signals that come from here on are kept until the server can be stopped in good order.
    let mut signals = Signals::new([SIGTERM, SIGINT]).map_err(|e| format!("signals: {e}"))?;
    if !settings.without_effect.is_empty() {
        eprintln!("These flags are taken and have no effect yet: --{}", settings.without_effect.join(", --"));
    }
    let _lock = DirLock::acquire(&settings.data_dir).map_err(|e| format!("--data-dir: {e}"))?;

    // Half of a start is making keys and seeding the generator they come from, the other half is reading the Schema
    // and the store. Neither needs the other.
    let (keys, opened) = std::thread::scope(|scope| {
        let keys = scope.spawn(|| Keys::open(&settings));
        let opened = Opened::open(&settings);
        (keys.join(), opened)
    });
    let (keys, authentication, keyring) = keys.map_err(|_| "making keys panicked".to_owned())??;
    let Authentication { mut authenticators, trust, mut files, config_reloads } = authentication;
    let Opened { schema, registry, store, writes } = opened?;
    pages::by_size_of(&store);
    authenticators.service_accounts = Some(keyring.tokens(&settings, &registry));
    let Authorization { authorizers, built, mut followers } = authorization(&settings.modes, &registry)?;
    let mut reloads: Vec<_> = config_reloads.into_iter().collect();
    if let Some((path, text)) = &settings.authorization_config {
        let counts = ConfigReloads::new(&config_reloads::AUTHORIZATION, text);
        reloads.push(counts.clone());
        let (modes, authorizers) = (settings.modes.clone(), authorizers.clone());
        files.add("authorization-config", vec![path.clone()], &[text], move |contents| {
            let text = contents.first().map_or(&[][..], Vec::as_slice);
            counts.note(text, authorization::reload(text, &modes, &built, &authorizers))
        });
    }
    followers.extend(
        registry
            .find("", "v1", "configmaps")
            .map(|s| Box::new(Told::new(s.stored, &trust)) as Box<dyn Follower>),
    );
    let policies = Policies::new(schema, &registry);
    followers.push(policies.follower());
    authenticators.bootstrap_tokens = settings.authentication.bootstrap_tokens.then(|| BootstrapTokens {
        secrets: registry
            .find("", "v1", "secrets")
            .map_or_else(|| unreachable!("they are built in"), |s| s.stored),
    });
    let config = Config {
        storage: store.clone(),
        secure_serving: SecureServing { address: settings.address, tls: keys.tls.clone() },
        insecure_bench: settings.bench,
        authenticators: Arc::new(authenticators),
        authorizers: Arc::new(authorizers),
        max_requests_inflight: settings.max_requests_inflight,
        max_mutating_requests_inflight: settings.max_mutating_requests_inflight,
        priority_and_fairness: settings.priority_and_fairness,
        request_timeout: settings.request_timeout,
        min_request_timeout: settings.min_request_timeout,
        http2_streams_max: settings.http2_streams_max,
        shutdown_delay_duration: settings.shutdown_delay_duration,
        livez_grace_period: settings.livez_grace_period,
        front: settings.front.clone(),
        goaway_chance: settings.goaway_chance,
        profiling: settings.profiling,
        followers,
        engine: EngineConfig::default(),
    };
    let stored = aggregation::Stored::new(&registry);
    // All calls to other servers are on one thread.
    let outgoing = Outgoing::default();
    let services = stored.services(store.clone(), &settings.aggregation);
    let converters = ConverterFactory::new(outgoing.clone(), services);
    let connector = settings.kubelets.open(outgoing.clone(), &mut files)?;
    let mut server = control_plane::server(
        config.complete(),
        NotFound,
        schema,
        registry,
        &settings,
        control_plane::Parts { root_ca: keys.root_ca().to_owned(), trust, policies, converters, connector },
    )?;
    let proxy_identity = settings.aggregation.open(&mut files)?;
    aggregation::install(&mut server, &settings.aggregation, stored, proxy_identity, outgoing)?;
    server.metrics().register(move |out| writes.collect(out, &WRITES, &WRITE));
    let identity = identity_lease::identity(&identity_lease::host());
    reloads.into_iter().for_each(|reloads| reloads.register(server.metrics(), &identity));
    let prepared = server.prepare_run().map_err(|e| e.to_string())?;
    let running = prepared.start().map_err(|e| e.to_string())?;
    running.wait_for_hooks().map_err(|(hook, why)| format!("PostStartHook {hook:?} failed: {why}"))?;
    let _files = files.start().map_err(|e| format!("files that are read anew: {e}"))?;
    announce(&settings, &keys, begun)?;
    lifecycle::notify("READY=1\n");
    rest::begin();

    if let Some(signal) = signals.forever().next() {
        tracing::info!(signal, "shutting down");
    }
    lifecycle::notify("STOPPING=1\n");
    // The second signal does not wait for anything.
    std::thread::spawn(move || {
        if signals.forever().next().is_some() {
            std::process::exit(1);
        }
    });
    running.shutdown();
    store.close();
    Ok(())
}

fn log(verbosity: i64) {
    let level = match verbosity {
        i64::MIN..=0 => tracing::Level::WARN,
        1..=3 => tracing::Level::INFO,
        4..=5 => tracing::Level::DEBUG,
        _ => tracing::Level::TRACE,
    };
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_max_level(level).with_target(false).init();
}

/// What a store's requests take is looked for under this name, whatever the store is.
const WRITES: Family = Family {
    name: "etcd_request_duration_seconds",
    help: "[ALPHA] Seconds that a write of the journal took until it was durable.",
    kind: Kind::Histogram,
};
/// The labels of it.
const WRITE: [(&str, &str); 2] = [("operation", "write"), ("type", "journal")];

/// What is served, and where it is kept.
struct Opened {
    schema: &'static Schema,
    registry: Registry,
    store: Arc<Embedded>,
    /// What its writes take.
    writes: Arc<Durations>,
}

impl Opened {
    fn open(settings: &Settings) -> Result<Opened, String> {
        let schema = Schema::builtin();
        let mut registry = registry::build(schema);
        registry.serve(schema, &definition::served());
        registry.serve(schema, &api_service::served());
        let folder = layout::store(&settings.data_dir);
        let disk = RingDisk::open_folder(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        let inspect = Arc::new(StoredInspect::new(registry.stored_names.len(), &registry.served));
        let mut options =
            EmbeddedOptions::new(registry.stored_names.clone(), Some(registry.namespaces), inspect);
        options.quota_bytes = settings.quota_bytes;
        let writes: Arc<Durations> = Arc::default();
        let observed = writes.clone();
        let disk = JournalDisk::new(disk).observed(move |took| observed.observe(took));
        let store =
            Embedded::open(options, Box::new(disk)).map_err(|e| format!("{}: {e}", folder.display()))?;
        Ok(Opened { schema, registry, store, writes })
    }
}

/// Certificates and keys, from files or made here.
struct Keys {
    tls: Arc<TlsConfig>,
    /// What the server shows.
    certificate: String,
    /// The authority that signed it, where that was made here.
    authority: Option<String>,
    /// The authority made here and its administrator, where clients are not verified by another one.
    own: Option<Pki>,
}

impl Keys {
    fn open(settings: &Settings) -> Result<(Keys, Authentication, Keyring), String> {
        let needs_own = settings.authentication.client_ca.is_none() || settings.serving == Serving::Own;
        let own = needs_own
            .then(|| Pki::open(&layout::pki(&settings.data_dir), &settings.names))
            .transpose()
            .map_err(|e| e.to_string())?;
        let (serving, files) = match (&settings.serving, &own) {
            (Serving::Files(certificate, key), _) => {
                let pair = Pair { certificate: read(certificate)?, key: read(key)? };
                (pair, [certificate.clone(), key.clone()])
            }
            (Serving::CertDir(folder), _) => {
                let pair = pki::self_signed(folder, &settings.names).map_err(|e| e.to_string())?;
                (pair, layout::serving(folder))
            }
            (Serving::Own, Some(own)) => {
                (own.serving.clone(), layout::serving(&layout::pki(&settings.data_dir)))
            }
            (Serving::Own, None) => return Err("no serving certificate".to_owned()),
        };
        let keyring = Keyring::open(settings)?;
        let mut authentication = Authentication::open(settings, own.as_ref().map_or("", |own| &own.ca))?;
        let handshakes = Handshakes {
            min_version: settings.tls_min_version,
            http2: settings.http2,
            trust: authentication.trust.clone(),
        };
        let watched = &mut authentication.files;
        let tls = ServingCertificates::open(handshakes, serving.clone(), files, &settings.sni, watched)?;
        let keys = Keys {
            tls,
            certificate: serving.certificate,
            authority: own.as_ref().filter(|_| settings.serving == Serving::Own).map(|own| own.ca.clone()),
            own: own.filter(|_| settings.authentication.client_ca.is_none()),
        };
        Ok((keys, authentication, keyring))
    }

    /// What clients know the server by. The server of `--tls-cert-file` and `--cert-dir` is known by its own
    /// certificate.
    fn root_ca(&self) -> &str {
        self.authority.as_ref().unwrap_or(&self.certificate)
    }
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))
}

/// Says that the server is there, and how to use it.
fn announce(settings: &Settings, keys: &Keys, begun: Instant) -> Result<(), String> {
    // Whoever reads that it is ready may take it at its word.
    let kubeconfig = keys.own.as_ref().map(|own| {
        let path = layout::admin_kubeconfig(&settings.data_dir);
        kubeconfig::write(&path, settings.advertised, keys.root_ca(), &own.admin)
            .map_err(|e| e.to_string())?;
        Ok::<_, String>(fs::canonicalize(&path).unwrap_or(path))
    });
    let kubeconfig = kubeconfig.transpose()?;
    println!(
        "Serving Kubernetes 1.37 on https://{}, ready in {} ms",
        settings.address,
        begun.elapsed().as_millis()
    );
    if let Some(bench) = settings.bench {
        println!("Serving plain text for benchmarks on http://{}", bench.address());
    }
    if let Some(path) = kubeconfig {
        println!("  export KUBECONFIG={}", path.display());
        println!("  kubectl create configmap hello --from-literal=greeting=world");
    }
    Ok(())
}
