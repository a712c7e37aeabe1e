//! A webhook as its configuration says it is.

use std::{sync::Arc, time::Duration};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use ringbolt_apiserver::admission::dynamic::Matcher;
use ringbolt_cel::admission::Compiler;
use ringbolt_controlplane::dynamic::MatchConditions;
use ringbolt_machinery::value::{Map, Value};
use ringbolt_outgoing::{Hook, HookConfig, HookService, Outgoing, ServiceResolver};

use crate::limits::TIMEOUT_DEFAULT;

/// Port of a service where none is given.
const HTTPS_PORT: u16 = 443;

/// What becomes of a dry run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DryRun {
    /// The webhook is called.
    Fine,
    /// It has side effects.
    Unsupported,
    /// It does not say whether it has.
    Unknown,
}

/// A webhook.
pub(crate) struct Webhook {
    /// The name of its configuration.
    pub(crate) configuration: Box<str>,
    /// Its name.
    pub(crate) name: Box<str>,
    /// Tells it from all others: the configuration, the name, and how many of that name came before.
    pub(crate) uid: Box<str>,
    /// What it is about.
    pub(crate) matcher: Matcher,
    /// What else must hold.
    pub(crate) conditions: Option<MatchConditions>,
    /// How it is reached, or why it cannot be.
    pub(crate) hook: Result<Hook, String>,
    /// The version of the review that it takes, if it takes one that there is.
    pub(crate) review_version: Option<&'static str>,
    /// For how long it is waited for.
    pub(crate) timeout: Duration,
    /// Whether failures are ignored.
    pub(crate) fails_open: bool,
    /// Whether it may be asked about dry runs.
    pub(crate) dry_run: DryRun,
    /// Whether it is asked again where later webhooks changed the object.
    pub(crate) reinvokes: bool,
    config: HookConfig,
}

impl Webhook {
    /// Reads one; connections of one of `before` that is reached in the same way go on to be used.
    pub(crate) fn read(
        configuration: &str,
        nth: usize,
        hook: &Map<'_>,
        (outgoing, services): (&Outgoing, &Arc<dyn ServiceResolver>),
        before: &[Arc<Webhook>],
    ) -> Webhook {
        let text = |member: &str| hook.get(member).and_then(Value::as_str).unwrap_or("");
        let name = text("name");
        let config = client_config(hook);
        let same = before.iter().find(|before| before.config == config);
        let client = match same {
            Some(same) => same.hook.clone(),
            None => Hook::new(outgoing, services.clone(), &config),
        };
        let conditions = hook.get("matchConditions").and_then(Value::as_list).map_or(&[][..], |list| list);
        let fails_open = text("failurePolicy") == "Ignore";
        let versions = hook.get("admissionReviewVersions").and_then(Value::as_list).into_iter().flatten();
        let known = |version: &Value<'_>| ["v1", "v1beta1"].into_iter().find(|v| version.as_str() == Some(v));
        let seconds = hook.get("timeoutSeconds").and_then(Value::as_i64).and_then(|s| u64::try_from(s).ok());
        Webhook {
            configuration: configuration.into(),
            name: name.into(),
            uid: format!("{configuration}/{name}/{nth}").into(),
            matcher: Matcher::of_webhook(hook),
            conditions: MatchConditions::compile(conditions, &Compiler::plain(), false, !fails_open),
            hook: client,
            review_version: versions.clone().find_map(known),
            timeout: seconds.map_or(TIMEOUT_DEFAULT, Duration::from_secs),
            fails_open,
            dry_run: match text("sideEffects") {
                "None" | "NoneOnDryRun" => DryRun::Fine,
                "" => DryRun::Unknown,
                _ => DryRun::Unsupported,
            },
            reinvokes: text("reinvocationPolicy") == "IfNeeded",
            config,
        }
    }
}

fn client_config(hook: &Map<'_>) -> HookConfig {
    let Some(config) = hook.get("clientConfig") else { return HookConfig::default() };
    let service = config.path(&["service"]).and_then(Value::as_map).map(|service| {
        let text = |member: &str| service.get(member).and_then(Value::as_str).unwrap_or("").to_owned();
        let port = service.get("port").and_then(Value::as_i64).and_then(|port| u16::try_from(port).ok());
        HookService {
            namespace: text("namespace"),
            name: text("name"),
            port: port.unwrap_or(HTTPS_PORT),
            path: text("path"),
        }
    });
    let bundle = config.str_at(&["caBundle"]).unwrap_or("");
    HookConfig {
        url: config.str_at(&["url"]).map(str::to_owned),
        service,
        // What is no base64 is no PEM either: it must not be taken for nothing, which stands for the system's authorities.
        ca_bundle: BASE64_STANDARD.decode(bundle).unwrap_or_else(|_| bundle.as_bytes().to_vec()),
    }
}
