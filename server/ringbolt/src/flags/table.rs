//! Every flag of kube-apiserver 1.37 with its type and default, and Ringbolt's own.

/// What a flag's value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `true` or `false`; the bare flag is `true`.
    Bool,
    /// A whole number.
    Int,
    /// A number.
    Float,
    /// A Go duration.
    Duration,
    /// Any text; the last one counts.
    Text,
    /// Texts separated by commas; repeats add to them.
    List,
    /// Any text; repeats add to it.
    Texts,
    /// Whole numbers separated by commas.
    Ints,
    /// `key=value` pairs separated by commas; repeats add to them.
    Map,
    /// An IP address.
    Ip,
    /// `first-last`, `first+size`, or one port.
    PortRange,
    /// A Kubernetes quantity.
    Quantity,
}

impl Kind {
    /// The type as `--help` shows it, in pflag's words.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Bool => "",
            Kind::Int => "int",
            Kind::Float => "float",
            Kind::Duration => "duration",
            Kind::Text => "string",
            Kind::List => "strings",
            Kind::Texts => "stringArray",
            Kind::Ints => "int32Slice",
            Kind::Map => "mapStringString",
            Kind::Ip => "ip",
            Kind::PortRange => "portRange",
            Kind::Quantity => "quantity",
        }
    }
}

/// Heading in `--help`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    Ringbolt,
    Generic,
    Etcd,
    SecureServing,
    Auditing,
    Features,
    Authentication,
    Authorization,
    ApiEnablement,
    EgressSelector,
    Admission,
    Metrics,
    Logs,
    Traces,
    Misc,
    Global,
    /// Still parsed, not shown.
    Deprecated,
}

impl Section {
    /// As it stands in front of its flags.
    pub fn title(self) -> &'static str {
        match self {
            Section::Ringbolt => "Ringbolt",
            Section::Generic => "Generic",
            Section::Etcd => "Etcd",
            Section::SecureServing => "Secure serving",
            Section::Auditing => "Auditing",
            Section::Features => "Features",
            Section::Authentication => "Authentication",
            Section::Authorization => "Authorization",
            Section::ApiEnablement => "API enablement",
            Section::EgressSelector => "Egress selector",
            Section::Admission => "Admission",
            Section::Metrics => "Metrics",
            Section::Logs => "Logs",
            Section::Traces => "Traces",
            Section::Misc => "Misc",
            Section::Global => "Global",
            Section::Deprecated => "Deprecated",
        }
    }
}

/// One flag.
#[derive(Clone, Copy, Debug)]
pub struct Flag {
    /// Heading.
    pub section: Section,
    /// Name, without dashes.
    pub name: &'static str,
    /// Type.
    pub kind: Kind,
    /// Default as text; empty for none.
    pub default: &'static str,
    /// What it does; `None` for flags that are taken and change nothing yet, which the server says at start.
    pub help: Option<&'static str>,
}

const fn now(
    section: Section,
    name: &'static str,
    kind: Kind,
    default: &'static str,
    help: &'static str,
) -> Flag {
    Flag { section, name, kind, default, help: Some(help) }
}

const fn later(section: Section, name: &'static str, kind: Kind, default: &'static str) -> Flag {
    Flag { section, name, kind, default, help: None }
}

/// All flags, in the order of `--help`.
#[rustfmt::skip]
pub const FLAGS: &[Flag] = &[
    // Ringbolt's own
    now(Section::Ringbolt, "data-dir", Kind::Text, "ringbolt-data", "Folder of the embedded store, and of the keys and certificates made on first start."),
    now(Section::Ringbolt, "insecure-bench-port", Kind::Int, "0", "Serve plain HTTP/1.1 and HTTP/2 on this port of 127.0.0.1, for benchmarks; 0 for not at all."),
    now(Section::Ringbolt, "embedded-controllers", Kind::List, "", "Controllers to run inside: namespace, serviceaccount, garbagecollector, clusterroleaggregation, resourcequota. All of them where neither this nor --client-ca-file, --authorization-mode or --etcd-servers is given."),
    now(Section::Ringbolt, "storage-quota-bytes", Kind::Quantity, "8Gi", "Bytes the embedded store may take; writes are refused beyond, reads and deletes go on."),
    // Generic
    now(Section::Generic, "advertise-address", Kind::Ip, "", "Address that other members of the cluster reach this server at."),
    now(Section::Generic, "cors-allowed-origins", Kind::List, "", "Regular expressions of the origins whose pages may use the API; each matches a whole host, as ^https://example\\.com$ does."),
    later(Section::Generic, "emulated-version", Kind::List, ""),
    later(Section::Generic, "emulation-forward-compatible", Kind::Bool, "false"),
    now(Section::Generic, "external-hostname", Kind::Text, "", "Name clients reach this server by; a serving certificate made here has it."),
    later(Section::Generic, "feature-gates", Kind::Map, ""),
    now(Section::Generic, "goaway-chance", Kind::Float, "0", "Chance, from 0 to 0.02, that an HTTP/2 connection is ended after a request so that clients spread."),
    now(Section::Generic, "livez-grace-period", Kind::Duration, "0s", "How long after the start /livez passes without its boot checks."),
    now(Section::Generic, "max-mutating-requests-inflight", Kind::Int, "200", "Writes worked on at once; 0 for no limit."),
    now(Section::Generic, "max-requests-inflight", Kind::Int, "400", "Reads worked on at once; 0 for no limit."),
    later(Section::Generic, "min-compatibility-version", Kind::List, ""),
    now(Section::Generic, "min-request-timeout", Kind::Int, "1800", "Seconds a watch that names no timeout lives at least; each lives up to twice that."),
    now(Section::Generic, "request-timeout", Kind::Duration, "1m0s", "Time an answer may take; long-running requests are free of it."),
    later(Section::Generic, "runtime-config-emulation-forward-compatible", Kind::Bool, "false"),
    now(Section::Generic, "shutdown-delay-duration", Kind::Duration, "0s", "Time between SIGTERM and the last request taken; /readyz fails from the start of it."),
    now(Section::Generic, "shutdown-send-retry-after", Kind::Bool, "false", "Listen until the last request is answered, and send new ones elsewhere meanwhile with 429."),
    now(Section::Generic, "shutdown-watch-termination-grace-period", Kind::Duration, "0s", "Time within which watches end one after the other when the server stops; 0 ends all of them at once."),
    now(Section::Generic, "storage-initialization-timeout", Kind::Duration, "1m0s", "Time that the check poststarthook/storage-readiness waits for the store to be well."),
    now(Section::Generic, "strict-transport-security-directives", Kind::List, "", "Directives of Strict-Transport-Security: max-age=SECONDS, includeSubDomains, preload. Without any the header is not sent."),
    // Etcd
    later(Section::Etcd, "delete-collection-workers", Kind::Int, "1"),
    later(Section::Etcd, "enable-garbage-collector", Kind::Bool, "true"),
    later(Section::Etcd, "encryption-provider-config", Kind::Text, ""),
    later(Section::Etcd, "encryption-provider-config-automatic-reload", Kind::Bool, "false"),
    later(Section::Etcd, "etcd-cafile", Kind::Text, ""),
    later(Section::Etcd, "etcd-certfile", Kind::Text, ""),
    later(Section::Etcd, "etcd-compaction-interval", Kind::Duration, "5m0s"),
    later(Section::Etcd, "etcd-count-metric-poll-period", Kind::Duration, "1m0s"),
    later(Section::Etcd, "etcd-db-metric-poll-interval", Kind::Duration, "30s"),
    later(Section::Etcd, "etcd-healthcheck-timeout", Kind::Duration, "2s"),
    later(Section::Etcd, "etcd-keyfile", Kind::Text, ""),
    later(Section::Etcd, "etcd-prefix", Kind::Text, "/registry"),
    later(Section::Etcd, "etcd-readycheck-timeout", Kind::Duration, "2s"),
    now(Section::Etcd, "etcd-servers", Kind::List, "", "Servers of an etcd cluster to keep objects in. Not built yet: leave it out for the embedded store."),
    later(Section::Etcd, "etcd-servers-overrides", Kind::List, ""),
    later(Section::Etcd, "lease-reuse-duration-seconds", Kind::Int, "60"),
    later(Section::Etcd, "storage-backend", Kind::Text, ""),
    later(Section::Etcd, "storage-media-type", Kind::Text, "application/vnd.kubernetes.protobuf"),
    later(Section::Etcd, "watch-cache", Kind::Bool, "true"),
    later(Section::Etcd, "watch-cache-sizes", Kind::List, ""),
    // Secure serving
    now(Section::SecureServing, "bind-address", Kind::Ip, "0.0.0.0", "Address to listen on."),
    now(Section::SecureServing, "cert-dir", Kind::Text, "/var/run/kubernetes", "Folder of apiserver.crt and apiserver.key, which are made there where they are missing."),
    now(Section::SecureServing, "disable-http2-serving", Kind::Bool, "false", "Serve HTTP/1.1 only."),
    now(Section::SecureServing, "http2-max-streams-per-connection", Kind::Int, "0", "Requests at once on an HTTP/2 connection; 0 for 100."),
    later(Section::SecureServing, "permit-address-sharing", Kind::Bool, "false"),
    later(Section::SecureServing, "permit-port-sharing", Kind::Bool, "false"),
    now(Section::SecureServing, "secure-port", Kind::Int, "6443", "Port to serve HTTPS on."),
    now(Section::SecureServing, "tls-cert-file", Kind::Text, "", "Certificate to serve with, followed by its intermediates."),
    later(Section::SecureServing, "tls-cipher-suites", Kind::List, ""),
    later(Section::SecureServing, "tls-curve-preferences", Kind::Ints, ""),
    now(Section::SecureServing, "tls-min-version", Kind::Text, "", "Oldest TLS version taken: VersionTLS12 or VersionTLS13."),
    now(Section::SecureServing, "tls-private-key-file", Kind::Text, "", "Key of --tls-cert-file."),
    now(Section::SecureServing, "tls-sni-cert-key", Kind::Texts, "", "CERTIFICATE,KEY or CERTIFICATE,KEY:NAME,NAME: files of a certificate to serve with under those names (*.DOMAIN, or an address for clients that name no host), else under those it is made out to; may be repeated."),
    // Auditing
    later(Section::Auditing, "audit-log-batch-buffer-size", Kind::Int, "10000"),
    later(Section::Auditing, "audit-log-batch-max-size", Kind::Int, "1"),
    later(Section::Auditing, "audit-log-batch-max-wait", Kind::Duration, "0s"),
    later(Section::Auditing, "audit-log-batch-throttle-burst", Kind::Int, "0"),
    later(Section::Auditing, "audit-log-batch-throttle-enable", Kind::Bool, "false"),
    later(Section::Auditing, "audit-log-batch-throttle-qps", Kind::Float, "0"),
    later(Section::Auditing, "audit-log-compress", Kind::Bool, "false"),
    later(Section::Auditing, "audit-log-format", Kind::Text, "json"),
    later(Section::Auditing, "audit-log-maxage", Kind::Int, "366"),
    later(Section::Auditing, "audit-log-maxbackup", Kind::Int, "100"),
    later(Section::Auditing, "audit-log-maxsize", Kind::Int, "100"),
    later(Section::Auditing, "audit-log-mode", Kind::Text, "blocking"),
    later(Section::Auditing, "audit-log-path", Kind::Text, ""),
    later(Section::Auditing, "audit-log-truncate-enabled", Kind::Bool, "false"),
    later(Section::Auditing, "audit-log-truncate-max-batch-size", Kind::Int, "10485760"),
    later(Section::Auditing, "audit-log-truncate-max-event-size", Kind::Int, "102400"),
    later(Section::Auditing, "audit-log-version", Kind::Text, "audit.k8s.io/v1"),
    later(Section::Auditing, "audit-policy-file", Kind::Text, ""),
    later(Section::Auditing, "audit-webhook-batch-buffer-size", Kind::Int, "10000"),
    later(Section::Auditing, "audit-webhook-batch-max-size", Kind::Int, "400"),
    later(Section::Auditing, "audit-webhook-batch-max-wait", Kind::Duration, "30s"),
    later(Section::Auditing, "audit-webhook-batch-throttle-burst", Kind::Int, "15"),
    later(Section::Auditing, "audit-webhook-batch-throttle-enable", Kind::Bool, "true"),
    later(Section::Auditing, "audit-webhook-batch-throttle-qps", Kind::Float, "10"),
    later(Section::Auditing, "audit-webhook-config-file", Kind::Text, ""),
    later(Section::Auditing, "audit-webhook-initial-backoff", Kind::Duration, "10s"),
    later(Section::Auditing, "audit-webhook-mode", Kind::Text, "batch"),
    later(Section::Auditing, "audit-webhook-truncate-enabled", Kind::Bool, "false"),
    later(Section::Auditing, "audit-webhook-truncate-max-batch-size", Kind::Int, "10485760"),
    later(Section::Auditing, "audit-webhook-truncate-max-event-size", Kind::Int, "102400"),
    later(Section::Auditing, "audit-webhook-version", Kind::Text, "audit.k8s.io/v1"),
    // Features
    later(Section::Features, "contention-profiling", Kind::Bool, "false"),
    later(Section::Features, "debug-socket-path", Kind::Text, ""),
    now(Section::Features, "enable-priority-and-fairness", Kind::Bool, "true", "Share what is worked on at once fairly, by FlowSchemas and PriorityLevelConfigurations; else only count it."),
    now(Section::Features, "profiling", Kind::Bool, "true", "Serve /debug/pprof/."),
    // Authentication
    now(Section::Authentication, "anonymous-auth", Kind::Bool, "true", "Let requests without credentials through as system:anonymous."),
    now(Section::Authentication, "api-audiences", Kind::List, "", "Audiences that this server is to tokens; without it the issuers of --service-account-issuer."),
    now(Section::Authentication, "authentication-config", Kind::Text, "", "AuthenticationConfiguration file: whether and for which paths requests without credentials are let through. Not together with --anonymous-auth where it says so."),
    later(Section::Authentication, "authentication-token-webhook-cache-ttl", Kind::Duration, "2m0s"),
    later(Section::Authentication, "authentication-token-webhook-config-file", Kind::Text, ""),
    later(Section::Authentication, "authentication-token-webhook-version", Kind::Text, "v1beta1"),
    now(Section::Authentication, "client-ca-file", Kind::Text, "", "Authorities whose client certificates are users: common name the name, organizations the groups."),
    now(Section::Authentication, "enable-bootstrap-token-auth", Kind::Bool, "false", "Take tokens that lie in secrets of the type bootstrap.kubernetes.io/token in kube-system."),
    later(Section::Authentication, "oidc-ca-file", Kind::Text, ""),
    later(Section::Authentication, "oidc-client-id", Kind::Text, ""),
    later(Section::Authentication, "oidc-groups-claim", Kind::Text, ""),
    later(Section::Authentication, "oidc-groups-prefix", Kind::Text, ""),
    later(Section::Authentication, "oidc-issuer-url", Kind::Text, ""),
    later(Section::Authentication, "oidc-required-claim", Kind::Map, ""),
    later(Section::Authentication, "oidc-signing-algs", Kind::List, "RS256"),
    later(Section::Authentication, "oidc-username-claim", Kind::Text, "sub"),
    later(Section::Authentication, "oidc-username-prefix", Kind::Text, ""),
    now(Section::Authentication, "requestheader-allowed-names", Kind::List, "", "Common names of certificates that front proxies have; without it all that --requestheader-client-ca-file has signed."),
    now(Section::Authentication, "requestheader-client-ca-file", Kind::Text, "", "Authorities of front proxies, which say in headers whom they ask for."),
    now(Section::Authentication, "requestheader-extra-headers-prefix", Kind::List, "", "Prefixes of headers in which front proxies say more of a user; what follows is the key. X-Remote-Extra- is usual."),
    now(Section::Authentication, "requestheader-group-headers", Kind::List, "", "Headers in which front proxies name groups. X-Remote-Group is usual."),
    now(Section::Authentication, "requestheader-uid-headers", Kind::List, "", "Headers in which front proxies give the uid. X-Remote-Uid is usual."),
    now(Section::Authentication, "requestheader-username-headers", Kind::List, "", "Headers in which front proxies name the user; the first that is there counts. X-Remote-User is usual."),
    now(Section::Authentication, "service-account-extend-token-expiration", Kind::Bool, "true", "Let tokens that kubelets ask for an hour be good for a year, for clients that do not read them anew."),
    now(Section::Authentication, "service-account-issuer", Kind::Texts, "", "Issuer of tokens of service accounts; repeated, the tokens of the others count too. Without it https://kubernetes.default.svc."),
    now(Section::Authentication, "service-account-jwks-uri", Kind::Text, "", "Where /.well-known/openid-configuration says that the keys of tokens are; without it this server."),
    now(Section::Authentication, "service-account-key-file", Kind::Texts, "", "PEM file of RSA or ECDSA keys that tokens of service accounts are checked with; may be repeated. Without it the key that signs."),
    now(Section::Authentication, "service-account-lookup", Kind::Bool, "true", "Hold tokens that lie in secrets against the secret and the account."),
    now(Section::Authentication, "service-account-max-token-expiration", Kind::Duration, "0s", "Longest life of a token that can be asked for; 0 for no limit."),
    now(Section::Authentication, "token-auth-file", Kind::Text, "", "CSV file of bearer tokens: token,user,uid[,\"group1,group2\"]."),
    // Authorization
    now(Section::Authorization, "authorization-config", Kind::Text, "", "AuthorizationConfiguration file, in the place of --authorization-mode. Read at start."),
    now(Section::Authorization, "authorization-mode", Kind::List, "", "Authorizers in order: AlwaysAllow, AlwaysDeny, Node, RBAC."),
    later(Section::Authorization, "authorization-policy-file", Kind::Text, ""),
    later(Section::Authorization, "authorization-webhook-cache-authorized-ttl", Kind::Duration, "5m0s"),
    later(Section::Authorization, "authorization-webhook-cache-unauthorized-ttl", Kind::Duration, "30s"),
    later(Section::Authorization, "authorization-webhook-config-file", Kind::Text, ""),
    later(Section::Authorization, "authorization-webhook-version", Kind::Text, "v1beta1"),
    // API enablement
    later(Section::ApiEnablement, "runtime-config", Kind::Map, ""),
    // Egress selector
    later(Section::EgressSelector, "egress-selector-config-file", Kind::Text, ""),
    // Admission
    later(Section::Admission, "admission-control", Kind::List, ""),
    now(Section::Admission, "admission-control-config-file", Kind::Text, "", "File with an AdmissionConfiguration: how admission plugins are set up."),
    now(Section::Admission, "default-not-ready-toleration-seconds", Kind::Int, "300", "Seconds a pod stays on a node that is not ready, where the pod does not say."),
    now(Section::Admission, "default-unreachable-toleration-seconds", Kind::Int, "300", "Seconds a pod stays on a node that nobody hears of, where the pod does not say."),
    now(Section::Admission, "disable-admission-plugins", Kind::List, "", "Admission plugins to switch off that are on by default."),
    now(Section::Admission, "enable-admission-plugins", Kind::List, "", "Admission plugins to switch on besides those on by default."),
    // Metrics
    later(Section::Metrics, "allow-metric-labels", Kind::Map, ""),
    later(Section::Metrics, "allow-metric-labels-manifest", Kind::Text, ""),
    later(Section::Metrics, "disabled-metrics", Kind::List, ""),
    later(Section::Metrics, "show-hidden-metrics-for-version", Kind::Text, ""),
    // Logs
    later(Section::Logs, "log-flush-frequency", Kind::Duration, "5s"),
    later(Section::Logs, "log-json-info-buffer-size", Kind::Quantity, ""),
    later(Section::Logs, "log-json-split-stream", Kind::Bool, "false"),
    later(Section::Logs, "log-text-info-buffer-size", Kind::Quantity, ""),
    later(Section::Logs, "log-text-split-stream", Kind::Bool, "false"),
    later(Section::Logs, "logging-format", Kind::Text, "text"),
    now(Section::Logs, "v", Kind::Int, "0", "Verbosity of the log."),
    later(Section::Logs, "vmodule", Kind::List, ""),
    // Traces
    later(Section::Traces, "tracing-config-file", Kind::Text, ""),
    // Misc
    now(Section::Misc, "aggregator-reject-forwarding-redirect", Kind::Bool, "true", "Answer 502 where an aggregated server redirects."),
    later(Section::Misc, "allow-privileged", Kind::Bool, "false"),
    later(Section::Misc, "coordinated-leadership-lease-duration", Kind::Duration, "15s"),
    later(Section::Misc, "coordinated-leadership-renew-deadline", Kind::Duration, "10s"),
    later(Section::Misc, "coordinated-leadership-retry-period", Kind::Duration, "2s"),
    now(Section::Misc, "enable-aggregator-routing", Kind::Bool, "false", "Reach aggregated servers by the addresses of their endpoints, not by that of their service."),
    later(Section::Misc, "enable-logs-handler", Kind::Bool, "false"),
    now(Section::Misc, "endpoint-reconciler-type", Kind::Text, "lease", "Whether the server writes the endpoints of the service kubernetes: lease, master-count, or none. A loopback address is never written."),
    now(Section::Misc, "event-ttl", Kind::Duration, "1h0m0s", "How long events are kept."),
    now(Section::Misc, "kubelet-certificate-authority", Kind::Text, "", "PEM file of the authorities that sign kubelets' serving certificates. Without it kubelets are not asked who they are. Read anew when it changes."),
    now(Section::Misc, "kubelet-client-certificate", Kind::Text, "", "PEM file of the certificate shown to kubelets. Read anew when it changes."),
    now(Section::Misc, "kubelet-client-key", Kind::Text, "", "PEM file of its key."),
    now(Section::Misc, "kubelet-preferred-address-types", Kind::List, "Hostname,InternalDNS,InternalIP,ExternalDNS,ExternalIP", "Types of a node's addresses at which its kubelet is reached, the preferred first."),
    now(Section::Misc, "kubelet-timeout", Kind::Duration, "5s", "Taken, and as in kube-apiserver of no effect: what is asked of kubelets lasts."),
    now(Section::Misc, "kubernetes-service-node-port", Kind::Int, "0", "Port of nodes that the service kubernetes has; 0 for none."),
    later(Section::Misc, "max-connection-bytes-per-sec", Kind::Int, "0"),
    later(Section::Misc, "peer-advertise-ip", Kind::Text, ""),
    later(Section::Misc, "peer-advertise-port", Kind::Text, ""),
    later(Section::Misc, "peer-ca-file", Kind::Text, ""),
    now(Section::Misc, "proxy-client-cert-file", Kind::Text, "", "PEM file of the certificate shown to aggregated servers. Read anew when it changes."),
    now(Section::Misc, "proxy-client-key-file", Kind::Text, "", "PEM file of its key."),
    later(Section::Misc, "service-account-signing-endpoint", Kind::Text, ""),
    now(Section::Misc, "service-account-signing-key-file", Kind::Text, "", "PEM file of the key that signs tokens of service accounts. Without it one is made on first start and kept in --data-dir."),
    now(Section::Misc, "service-cluster-ip-range", Kind::Text, "", "Range of service addresses; its first one is in the serving certificate."),
    now(Section::Misc, "service-node-port-range", Kind::PortRange, "30000-32767", "Ports of nodes that services get."),
    // Global
    now(Section::Global, "help", Kind::Bool, "false", "Show this."),
    now(Section::Global, "version", Kind::Text, "", "Show the Kubernetes version served."),
    // Deprecated; still parsed
    later(Section::Deprecated, "apiserver-count", Kind::Int, "1"),
    later(Section::Deprecated, "audit-webhook-batch-initial-backoff", Kind::Duration, "10s"),
    later(Section::Deprecated, "default-watch-cache-size", Kind::Int, "100"),
    now(Section::Deprecated, "kubelet-port", Kind::Int, "10250", "Port of kubelets whose nodes say none."),
    now(Section::Deprecated, "kubelet-read-only-port", Kind::Int, "10255", "Taken, and as in kube-apiserver of no effect."),
];
