//! Command lines and what kube-apiserver makes of them.

use std::collections::HashSet;

use super::*;

fn line(text: &str) -> Result<Request, String> {
    parse(text.split_whitespace().map(str::to_owned))
}

fn flags(text: &str) -> Flags {
    match line(text) {
        Ok(Request::Serve(flags)) => flags,
        other => panic!("{text}: {other:?}"),
    }
}

/// Errors as the real binary gives them (the name of the program aside).
#[test]
fn errors() {
    let check = |text: &str, expect: &str| assert_eq!(line(text).expect_err(text), expect, "{text}");
    check("--foo", "unknown flag: --foo");
    check("--foo=1", "unknown flag: --foo");
    check("--insecure-port=0", "unknown flag: --insecure-port");
    check("-x", "unknown shorthand flag: 'x' in -x");
    check("--secure-port", "flag needs an argument: --secure-port");
    check(
        "--secure-port=x",
        r#"invalid argument "x" for "--secure-port" flag: strconv.ParseInt: parsing "x": invalid syntax"#,
    );
    check(
        "--anonymous-auth=maybe",
        r#"invalid argument "maybe" for "--anonymous-auth" flag: strconv.ParseBool: parsing "maybe": invalid syntax"#,
    );
    check(
        "--event-ttl=5",
        r#"invalid argument "5" for "--event-ttl" flag: time: missing unit in duration "5""#,
    );
    check("--bind-address=x", r#"invalid argument "x" for "--bind-address" flag: failed to parse IP: "x""#);
    check("x", r#""ringbolt" does not take any arguments, got ["x"]"#);
}

#[test]
fn values() {
    let given = flags(
        "--secure-port 7443 --anonymous-auth=false --profiling --event-ttl=30m --authorization-mode=Node,RBAC \
         --service-account-issuer=a --service-account-issuer=b,c -v 4 --max_requests_inflight=0x10",
    );
    assert_eq!(given.int("secure-port"), 7443);
    assert!(!given.bool("anonymous-auth") && given.bool("profiling"));
    assert_eq!(given.duration("event-ttl"), Duration::from_secs(1800));
    assert_eq!(given.list("authorization-mode"), ["Node", "RBAC"]);
    assert_eq!(given.0["service-account-issuer"], ["a", "b,c"]);
    assert_eq!((given.int("v"), given.int("max-requests-inflight")), (4, 16));
}

#[test]
fn defaults() {
    let none = flags("");
    assert_eq!((none.int("secure-port"), none.text("data-dir")), (6443, "ringbolt-data"));
    assert_eq!(none.duration("request-timeout"), Duration::from_secs(60));
    assert_eq!(none.bytes("storage-quota-bytes"), 8 << 30);
    assert!(none.bool("anonymous-auth") && !none.bool("allow-privileged"));
    assert!(none.list("authorization-mode").is_empty());
    for flag in FLAGS.iter().filter(|flag| !flag.default.is_empty()) {
        assert_eq!(value::check(flag, flag.default), Ok(()), "default of --{}", flag.name);
    }
}

/// What the tools that start API servers pass, as `reference/flags.md` of the project collects it.
#[test]
fn lines_of_tools() {
    let envtest = "--advertise-address=127.0.0.1 --allow-privileged=true --authorization-mode=RBAC \
        --bind-address=127.0.0.1 --cert-dir=/tmp/c --client-ca-file=/tmp/ca \
        --disable-admission-plugins=ServiceAccount --secure-port=1 --service-account-issuer=https://x/ \
        --service-account-key-file=/tmp/k --service-account-signing-key-file=/tmp/k \
        --service-cluster-ip-range=10.0.0.0/24";
    assert_eq!(flags(envtest).without_effect(), ["allow-privileged"]);
    let kwok = "--admission-control= --max-requests-inflight=0 --endpoint-reconciler-type=none --runtime-config= \
        --feature-gates= --enable-priority-and-fairness=false";
    let given = flags(kwok);
    assert_eq!(given.int("max-requests-inflight"), 0);
    assert!(given.list("admission-control").is_empty());
}

#[test]
fn other_requests() {
    assert!(matches!(line("--help"), Ok(Request::Help)));
    assert!(matches!(line("-h"), Ok(Request::Help)));
    assert!(matches!(line("--version"), Ok(Request::Version)));
    assert!(matches!(line("--version=raw"), Ok(Request::Version)));
    assert!(matches!(line("--version=false"), Ok(Request::Serve(_))));
    let storage = line("storage verify --data-dir x");
    assert!(matches!(storage, Ok(Request::Storage { action, arguments })
        if action == "verify" && arguments == ["--data-dir", "x"]));
}

#[test]
fn names_are_unique_and_help_shows_each_on_a_line() {
    let mut seen = HashSet::new();
    let help = help();
    for flag in FLAGS {
        assert!(seen.insert(flag.name), "{} is there twice", flag.name);
        let shown = help.lines().filter(|line| {
            let line = line.trim_start().trim_start_matches("-v, ").trim_start_matches("-h, ");
            line.starts_with(&format!("--{} ", flag.name))
        });
        assert_eq!(shown.count(), usize::from(flag.section != Section::Deprecated), "{}", flag.name);
    }
    assert!(!help.contains("--insecure-port"));
}

#[test]
fn numbers() {
    let check = |text: &str, expect: Option<i64>| assert_eq!(value::int(text).ok(), expect, "{text}");
    check("0", Some(0));
    check("-5", Some(-5));
    check("010", Some(8));
    check("0x1F", Some(31));
    check("1_000", Some(1000));
    check("", None);
    check("1.5", None);
    check("9223372036854775808", None);
    assert_eq!(value::quantity("1Gi"), Ok(1 << 30));
    assert_eq!(value::quantity("5M"), Ok(5_000_000));
    assert!(value::quantity("x").is_err());
    assert_eq!(value::port_range("30000-32767"), Ok((30000, 32767)));
    assert_eq!(value::port_range("80"), Ok((80, 80)));
    assert!(value::port_range("2-1").is_err());
}
