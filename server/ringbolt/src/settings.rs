//! What the flags come to: defaults of the no-flag mode filled in, contradictions refused.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    ops::RangeInclusive,
    path::PathBuf,
    time::Duration,
};

use ringbolt_apiserver::{authorization::Mode, filters::chain::FrontConfig, server::InsecureBench};
use ringbolt_controllers::Controllers;
use ringbolt_controlplane::{
    admission,
    services::{AddressRange, PortRange},
};
use ringbolt_engine::TlsVersion;

use crate::{
    admission_plugins, aggregation::AggregationSettings, authentication::AuthenticationSettings,
    authorization_config, flags::Flags, front, kubelets::KubeletFlags, pki::Names,
    service_account::ServiceAccountSettings, serving::SniFiles,
};

/// Where the serving certificate comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Serving {
    /// `--tls-cert-file` and `--tls-private-key-file`
    Files(PathBuf, PathBuf),
    /// `apiserver.crt` and `.key` in `--cert-dir`, self-signed there where they are missing.
    CertDir(PathBuf),
    /// Signed by the authority in the data directory.
    Own,
}

/// A checked command line.
#[derive(Debug)]
pub struct Settings {
    /// `--data-dir`
    pub data_dir: PathBuf,
    /// Where to serve.
    pub address: SocketAddr,
    /// Where clients find the server.
    pub advertised: SocketAddr,
    /// `--service-cluster-ip-range`
    pub service_addresses: Vec<AddressRange>,
    /// `--service-node-port-range`
    pub node_ports: PortRange,
    /// `--kubernetes-service-node-port`, 0 for none
    pub kubernetes_node_port: u16,
    /// `--endpoint-reconciler-type` other than `none`
    pub reconcile_endpoints: bool,
    /// `--endpoint-reconciler-type=master-count`: a server that goes takes its address out of them.
    pub removes_endpoints: bool,
    /// `--storage-initialization-timeout`
    pub storage_initialization_timeout: Duration,
    /// Tokens of service accounts.
    pub service_accounts: ServiceAccountSettings,
    /// Admission plugins.
    pub admission: admission::Config,
    /// `--insecure-bench-port`
    pub bench: Option<InsecureBench>,
    /// What to serve with.
    pub serving: Serving,
    /// `--tls-sni-cert-key`
    pub sni: Vec<SniFiles>,
    /// Who asks, but for service accounts.
    pub authentication: AuthenticationSettings,
    /// `--authorization-mode`
    pub modes: Vec<Mode>,
    /// `--authorization-config`, and what stood in it at the start.
    pub authorization_config: Option<(PathBuf, Vec<u8>)>,
    /// `--tls-min-version`
    pub tls_min_version: TlsVersion,
    /// `--disable-http2-serving` not given
    pub http2: bool,
    /// Names for a serving certificate made here.
    pub names: Names,
    /// `--max-requests-inflight`
    pub max_requests_inflight: u32,
    /// `--max-mutating-requests-inflight`
    pub max_mutating_requests_inflight: u32,
    /// `--enable-priority-and-fairness`
    pub priority_and_fairness: bool,
    /// `--request-timeout`
    pub request_timeout: Duration,
    /// `--min-request-timeout`
    pub min_request_timeout: Duration,
    /// `--http2-max-streams-per-connection`, 0 for the usual number
    pub http2_streams_max: u32,
    /// `--shutdown-delay-duration`
    pub shutdown_delay_duration: Duration,
    /// `--livez-grace-period`
    pub livez_grace_period: Duration,
    /// Flags of the filters in front.
    pub front: FrontConfig,
    /// `--goaway-chance`
    pub goaway_chance: f64,
    /// `--profiling`
    pub profiling: bool,
    /// `--event-ttl`
    pub event_ttl: Duration,
    /// `--storage-quota-bytes`
    pub quota_bytes: u64,
    /// Other servers' APIs.
    pub aggregation: AggregationSettings,
    /// Kubelets, and how they are reached.
    pub kubelets: KubeletFlags,
    /// `--embedded-controllers`
    pub controllers: Controllers,
    /// All flags and their values, for people to see.
    pub flags: Vec<(String, String)>,
    /// Flags that were given and change nothing yet.
    pub without_effect: Vec<&'static str>,
}

/// Where another program of the cluster serves etcd, this server cannot follow yet.
const ETCD_LATER: &str = "--etcd-servers is given, but objects are kept in the embedded store only so far: etcd comes \
                          later. Leave the flag out to use the store in --data-dir";

impl Settings {
    /// Checks the flags. Errors are for people.
    pub fn new(flags: &Flags) -> Result<Settings, Vec<String>> {
        let mut errors = Vec::new();
        if !flags.list("etcd-servers").is_empty() {
            return Err(vec![ETCD_LATER.to_owned()]);
        }
        // Who brings no authority gets the one of the data directory, and with it a server for this machine alone.
        let own = flags.path("client-ca-file").is_none();
        let bind = ip(flags, "bind-address").filter(|_| !own || flags.is_given("bind-address"));
        let bind = bind.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
        let port = port(flags, "secure-port", 1, &mut errors);
        let advertise = ip(flags, "advertise-address").unwrap_or(bind);
        let (modes, authorization_config) = modes(flags, own, &mut errors);
        let goaway_chance = flags.float("goaway-chance");
        if !(0.0..=0.02).contains(&goaway_chance) {
            errors.push("--goaway-chance can not be less than 0 or greater than 0.02".to_owned());
        }
        for name in ["max-requests-inflight", "max-mutating-requests-inflight"] {
            if flags.int(name) < 0 {
                errors.push(format!("--{name} can not be negative value"));
            }
        }
        if flags.int("min-request-timeout") < 0 {
            errors.push("--min-request-timeout can not be negative value".to_owned());
        }
        admission_plugins::check(
            &flags.list("enable-admission-plugins"),
            &flags.list("disable-admission-plugins"),
            &mut errors,
        );
        let advertised =
            SocketAddr::new(if advertise.is_unspecified() { localhost(advertise) } else { advertise }, port);
        let external = match flags.text("external-hostname") {
            "" => advertised.to_string(),
            name => format!("{name}:{port}"),
        };
        let (first, last) = flags.port_range("service-node-port-range");
        let settings = Settings {
            data_dir: flags.text("data-dir").into(),
            address: SocketAddr::new(bind, port),
            advertised,
            service_addresses: service_addresses(flags, &mut errors),
            node_ports: PortRange { first, last },
            kubernetes_node_port: kubernetes_node_port(flags, first..=last, &mut errors),
            reconcile_endpoints: reconcile_endpoints(flags, &mut errors),
            removes_endpoints: flags.text("endpoint-reconciler-type") == "master-count",
            storage_initialization_timeout: flags.duration("storage-initialization-timeout"),
            service_accounts: ServiceAccountSettings::new(flags, &external, &mut errors),
            admission: admission(flags, &mut errors),
            bench: bench(flags, &mut errors),
            serving: serving(flags, own, &mut errors),
            sni: sni(flags, &mut errors),
            authentication: AuthenticationSettings::new(
                flags,
                // With a file it is the file that says who may do everything.
                modes.contains(&Mode::AlwaysAllow) && flags.path("authorization-config").is_none(),
                &mut errors,
            ),
            modes,
            authorization_config,
            tls_min_version: tls_version(flags.text("tls-min-version"), &mut errors),
            http2: !flags.bool("disable-http2-serving"),
            names: names(flags, bind, advertise),
            max_requests_inflight: flags.int("max-requests-inflight").try_into().unwrap_or(u32::MAX),
            max_mutating_requests_inflight: flags
                .int("max-mutating-requests-inflight")
                .try_into()
                .unwrap_or(u32::MAX),
            priority_and_fairness: flags.bool("enable-priority-and-fairness"),
            request_timeout: flags.duration("request-timeout"),
            min_request_timeout: Duration::from_secs(
                flags.int("min-request-timeout").try_into().unwrap_or(0),
            ),
            // Like kube-apiserver: nothing below 1 changes anything.
            http2_streams_max: flags.int("http2-max-streams-per-connection").try_into().unwrap_or(0),
            shutdown_delay_duration: flags.duration("shutdown-delay-duration"),
            livez_grace_period: flags.duration("livez-grace-period"),
            front: front::config(flags, &mut errors),
            goaway_chance,
            profiling: flags.bool("profiling"),
            event_ttl: flags.duration("event-ttl"),
            quota_bytes: flags.bytes("storage-quota-bytes"),
            aggregation: AggregationSettings::new(flags, &mut errors),
            kubelets: KubeletFlags::new(flags, &mut errors),
            controllers: controllers(flags, &mut errors),
            flags: flags.shown(),
            without_effect: flags.without_effect(),
        };
        let inflight = [settings.max_requests_inflight, settings.max_mutating_requests_inflight];
        if settings.priority_and_fairness && inflight == [0, 0] {
            errors.push(
                "--max-requests-inflight and --max-mutating-requests-inflight are shared out among priority levels \
                 and can not both be 0 with --enable-priority-and-fairness"
                    .to_owned(),
            );
        }
        if settings.request_timeout.is_zero() {
            errors.push("--request-timeout can not be zero".to_owned());
        }
        if errors.is_empty() { Ok(settings) } else { Err(errors) }
    }
}

fn ip(flags: &Flags, name: &str) -> Option<IpAddr> {
    flags.text(name).trim().parse().ok()
}

fn localhost(like: IpAddr) -> IpAddr {
    if like.is_ipv4() { Ipv4Addr::LOCALHOST.into() } else { std::net::Ipv6Addr::LOCALHOST.into() }
}

fn port(flags: &Flags, name: &str, least: u16, errors: &mut Vec<String>) -> u16 {
    match u16::try_from(flags.int(name)) {
        Ok(port) if port >= least => port,
        _ => {
            errors.push(format!(
                "--{name} {} must be between {least} and 65535, inclusive. It cannot be turned off with 0",
                flags.int(name)
            ));
            0
        }
    }
}

/// The port of the service `kubernetes` on nodes.
fn kubernetes_node_port(flags: &Flags, range: RangeInclusive<u16>, errors: &mut Vec<String>) -> u16 {
    let name = "kubernetes-service-node-port";
    match u16::try_from(flags.int(name)) {
        Ok(port) if port == 0 || range.contains(&port) => port,
        _ => {
            errors.push(format!("--{name} {} must be within --service-node-port-range", flags.int(name)));
            0
        }
    }
}

/// Which admission plugins run, and how they are set up.
fn admission(flags: &Flags, errors: &mut Vec<String>) -> admission::Config {
    let list = |name: &str| flags.list(name);
    let enabled =
        admission::Enabled::new(&list("enable-admission-plugins"), &list("disable-admission-plugins"));
    admission::Config {
        enabled,
        not_ready_seconds: flags.int("default-not-ready-toleration-seconds"),
        unreachable_seconds: flags.int("default-unreachable-toleration-seconds"),
        configurations: admission_plugins::configurations(flags, enabled, errors),
    }
}

/// Whether the endpoints of the service `kubernetes` are this server's to write.
fn reconcile_endpoints(flags: &Flags, errors: &mut Vec<String>) -> bool {
    match flags.text("endpoint-reconciler-type") {
        "none" => false,
        "lease" | "master-count" => true,
        other => {
            errors.push(format!("--endpoint-reconciler-type {other:?} is none of lease, master-count, none"));
            false
        }
    }
}

fn bench(flags: &Flags, errors: &mut Vec<String>) -> Option<InsecureBench> {
    if flags.int("insecure-bench-port") == 0 {
        return None;
    }
    let port = port(flags, "insecure-bench-port", 1, errors);
    InsecureBench::new(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port))
        .map_err(|e| errors.push(e.to_string()))
        .ok()
}

/// The modes, and the file that names them with its text where there is one.
type Modes = (Vec<Mode>, Option<(PathBuf, Vec<u8>)>);

fn modes(flags: &Flags, own: bool, errors: &mut Vec<String>) -> Modes {
    if let Some(path) = flags.path("authorization-config") {
        if flags.is_given("authorization-mode") || flags.given_with_prefix("authorization-webhook-") {
            errors.push(
                "--authorization-config can not be specified when --authorization-mode or \
                 --authorization-webhook-* flags are defined"
                    .to_owned(),
            );
            return Modes::default();
        }
        let (modes, text) =
            authorization_config::open(&path).map_err(|why| errors.push(why)).unwrap_or_default();
        return (modes, Some((path, text)));
    }
    let given = flags.list("authorization-mode");
    if given.is_empty() {
        // kube-apiserver allows everything by default. A server that made its own authority made an administrator
        // too, so nobody else needs that.
        let is_left_out = own && !flags.is_given("authorization-mode");
        return (if is_left_out { vec![Mode::Node, Mode::Rbac] } else { vec![Mode::AlwaysAllow] }, None);
    }
    let mut modes = Vec::new();
    for name in &given {
        match Mode::parse(name) {
            Ok(mode) if modes.contains(&mode) => {
                errors.push(format!("authorization-mode {name:?} has mode specified more than once"));
            }
            Ok(mode) => modes.push(mode),
            Err(why) => errors.push(why),
        }
    }
    (modes, None)
}

/// The controllers to run: those that are named, else all in the no-flag mode. Who brings an authority or says how to
/// authorize has the command line of a cluster, which has its kube-controller-manager.
fn controllers(flags: &Flags, errors: &mut Vec<String>) -> Controllers {
    const OF_A_CLUSTER: [&str; 4] =
        ["client-ca-file", "authorization-mode", "authorization-config", "etcd-servers"];
    if flags.is_given("embedded-controllers") {
        return Controllers::named(&flags.list("embedded-controllers"))
            .map_err(|why| errors.push(why))
            .unwrap_or_default();
    }
    if OF_A_CLUSTER.iter().any(|name| flags.is_given(name)) { Controllers::NONE } else { Controllers::all() }
}

fn serving(flags: &Flags, own: bool, errors: &mut Vec<String>) -> Serving {
    match (flags.path("tls-cert-file"), flags.path("tls-private-key-file")) {
        (Some(certificate), Some(key)) => Serving::Files(certificate, key),
        (None, None) if own && !flags.is_given("cert-dir") => Serving::Own,
        (None, None) => Serving::CertDir(flags.text("cert-dir").into()),
        _ => {
            errors.push("--tls-cert-file and --tls-private-key-file must be given together".to_owned());
            Serving::Own
        }
    }
}

fn sni(flags: &Flags, errors: &mut Vec<String>) -> Vec<SniFiles> {
    let mut all = Vec::new();
    for text in flags.texts("tls-sni-cert-key") {
        match SniFiles::parse(&text) {
            Ok(files) => all.push(files),
            Err(why) => {
                errors.push(format!("invalid argument {text:?} for \"--tls-sni-cert-key\" flag: {why}"))
            }
        }
    }
    all
}

fn tls_version(name: &str, errors: &mut Vec<String>) -> TlsVersion {
    match name {
        "" | "VersionTLS12" => TlsVersion::Tls12,
        "VersionTLS13" => TlsVersion::Tls13,
        "VersionTLS10" | "VersionTLS11" => {
            errors.push(format!("--tls-min-version {name} is not offered: use VersionTLS12 or VersionTLS13"));
            TlsVersion::Tls12
        }
        _ => {
            errors.push(format!("unknown tls version {name:?}"));
            TlsVersion::Tls12
        }
    }
}

/// Every name and address that a certificate made here is for.
fn names(flags: &Flags, bind: IpAddr, advertise: IpAddr) -> Names {
    let mut dns: Vec<String> = [
        "localhost",
        "kubernetes",
        "kubernetes.default",
        "kubernetes.default.svc",
        "kubernetes.default.svc.cluster.local",
    ]
    .map(str::to_owned)
    .into();
    if let Ok(host) = std::fs::read_to_string("/proc/sys/kernel/hostname") {
        dns.push(host.trim().to_owned());
    }
    dns.extend(flags.path("external-hostname").map(|name| name.display().to_string()));
    dns.retain(|name| !name.is_empty());
    let mut ips = vec![localhost(bind), "::1".parse().unwrap_or(bind)];
    ips.extend(service_ranges(flags).split(',').filter_map(first_service_address));
    ips.extend([bind, advertise].into_iter().filter(|ip| !ip.is_unspecified()));
    dns.sort();
    dns.dedup();
    ips.sort();
    ips.dedup();
    Names { dns, ips }
}

/// The ranges of addresses of services as text.
fn service_ranges(flags: &Flags) -> &str {
    match flags.text("service-cluster-ip-range") {
        "" => "10.0.0.0/24",
        given => given,
    }
}

/// The ranges of addresses of services: one, or one of each family.
fn service_addresses(flags: &Flags, errors: &mut Vec<String>) -> Vec<AddressRange> {
    let text = service_ranges(flags);
    let ranges: Option<Vec<_>> = text.split(',').map(AddressRange::parse).collect();
    match ranges {
        Some(ranges) if ranges.len() <= 2 => ranges,
        _ => {
            errors
                .push(format!("--service-cluster-ip-range {text:?} is not one range, or one of each family"));
            Vec::new()
        }
    }
}

/// The first address of a range is that of the service `kubernetes`.
fn first_service_address(cidr: &str) -> Option<IpAddr> {
    let (address, bits) = cidr.trim().split_once('/')?;
    let bits: u32 = bits.parse().ok()?;
    match address.parse().ok()? {
        IpAddr::V4(ip) => {
            let mask = u32::MAX.checked_shl(32_u32.checked_sub(bits)?).unwrap_or(0);
            Some(Ipv4Addr::from((u32::from(ip) & mask).checked_add(1)?).into())
        }
        IpAddr::V6(ip) => {
            let mask = u128::MAX.checked_shl(128_u32.checked_sub(bits)?).unwrap_or(0);
            Some(std::net::Ipv6Addr::from((u128::from(ip) & mask).checked_add(1)?).into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flags::{Request, parse};

    fn settings(line: &str) -> Result<Settings, Vec<String>> {
        match parse(line.split_whitespace().map(str::to_owned)) {
            Ok(Request::Serve(flags)) => Settings::new(&flags),
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn no_flags() {
        let none = settings("").unwrap();
        assert_eq!(none.address, "127.0.0.1:6443".parse().unwrap());
        assert_eq!(none.advertised, none.address);
        assert_eq!((none.serving, none.modes), (Serving::Own, vec![Mode::Node, Mode::Rbac]));
        assert!(none.authentication.anonymous && none.bench.is_none() && none.without_effect.is_empty());
        assert!(none.names.ips.contains(&"10.0.0.1".parse().unwrap()));
    }

    #[test]
    fn with_an_authority_the_defaults_are_those_of_kube_apiserver() {
        let given = settings("--client-ca-file=ca.crt").unwrap();
        assert_eq!(given.address, "0.0.0.0:6443".parse().unwrap());
        assert_eq!(given.advertised, "127.0.0.1:6443".parse().unwrap());
        assert_eq!(given.serving, Serving::CertDir("/var/run/kubernetes".into()));
        assert_eq!((given.modes, given.authentication.anonymous), (vec![Mode::AlwaysAllow], false));
    }

    #[test]
    fn controllers_of_the_no_flag_mode() {
        let check = |line: &str, expect: Controllers| {
            assert_eq!(settings(line).unwrap().controllers, expect, "{line}");
        };
        let some = |names: &str| Controllers::named(&[names.to_owned()]).unwrap();
        check("", Controllers::all());
        check("--data-dir=d --secure-port=7443 --token-auth-file=t", Controllers::all());
        check("--embedded-controllers=", Controllers::NONE);
        check("--embedded-controllers=namespace", some("namespace"));
        check("--client-ca-file=ca.crt", Controllers::NONE);
        check("--authorization-mode=Node,RBAC", Controllers::NONE);
        check("--authorization-mode=RBAC --embedded-controllers=garbagecollector", some("garbagecollector"));
    }

    #[test]
    fn serving_certificates() {
        let check =
            |line: &str, expect: Serving| assert_eq!(settings(line).unwrap().serving, expect, "{line}");
        check("--cert-dir=/c", Serving::CertDir("/c".into()));
        check(
            "--cert-dir=/c --tls-cert-file=a --tls-private-key-file=b",
            Serving::Files("a".into(), "b".into()),
        );
        assert!(settings("--tls-cert-file=a").is_err());
    }

    #[test]
    fn streams_and_watches() {
        let check = |line: &str, streams: u32, seconds: u64| {
            let settings = settings(line).unwrap();
            let found = (settings.http2_streams_max, settings.min_request_timeout.as_secs());
            assert_eq!(found, (streams, seconds), "{line}");
        };
        check("", 0, 1800);
        check("--http2-max-streams-per-connection=7 --min-request-timeout=30", 7, 30);
        check("--http2-max-streams-per-connection=-1 --min-request-timeout=0", 0, 0);
    }

    #[test]
    fn refusals() {
        let check = |line: &str, part: &str| {
            let errors = settings(line).expect_err(line).join("\n");
            assert!(errors.contains(part), "{line}: {errors}");
        };
        check("--etcd-servers=http://127.0.0.1:2379", "etcd comes later");
        check("--secure-port=0", "between 1 and 65535");
        check("--authorization-mode=RBAC,RBAC", "more than once");
        check("--authorization-mode=Nonsense", "not a valid mode");
        check(
            "--authorization-mode=RBAC --authorization-config=a.yaml",
            "--authorization-config can not be specified when --authorization-mode or --authorization-webhook-* flags are defined",
        );
        check("--authorization-config=/there/is/none", "failed to load AuthorizationConfiguration from file");
        check("--requestheader-username-headers=a,,b", r#"empty value in "requestheader-username-headers""#);
        check("--requestheader-allowed-names=a,", r#"empty value in "requestheader-allowed-names""#);
        check(
            "--requestheader-uid-headers=X-Uid",
            "--requestheader-uid-headers is set without specifying the standard X-Remote-Uid header - API aggregation will not work",
        );
        check(
            "--oidc-issuer-url=https://x",
            "oidc-issuer-url and oidc-client-id must be specified together when any oidc-* flags are set",
        );
        check(
            "--authentication-config=a.yaml --oidc-client-id=x",
            "authentication-config file and oidc-* flags are mutually exclusive",
        );
        check("--goaway-chance=0.5", "greater than 0.02");
        check("--max-requests-inflight=-1", "negative");
        check("--tls-min-version=VersionTLS11", "VersionTLS12");
        check("--embedded-controllers=gc", "there is no controller \"gc\"");
        check("--kubelet-client-key=k", "--kubelet-client-certificate and --kubelet-client-key go together");
        check("--kubelet-port=70000", "--kubelet-port 70000 must be between 1 and 65535");
        check("--request-timeout=0s", "can not be zero");
        check("--min-request-timeout=-1", "--min-request-timeout can not be negative value");
        check("--enable-admission-plugins=Nonsense", "plugin \"Nonsense\" is unknown");
    }

    #[test]
    fn service_addresses() {
        let check = |cidr: &str, expect: Option<&str>| {
            assert_eq!(first_service_address(cidr), expect.map(|ip| ip.parse().unwrap()), "{cidr}");
        };
        check("10.0.0.0/24", Some("10.0.0.1"));
        check("10.96.3.7/12", Some("10.96.0.1"));
        check("fd00::/108", Some("fd00::1"));
        check("10.0.0.0", None);
        check("10.0.0.0/33", None);
    }
}
