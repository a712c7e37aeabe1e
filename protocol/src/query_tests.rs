//! Tests of query pairs and options; texts of errors are those the recordings of a real server hold.

use super::*;

#[test]
fn pairs_as_go_reads_them() {
    fn check(query: &str, expect: &[(&str, &str)]) {
        let got: Vec<(String, String)> =
            pairs(query).map(|(k, v)| (k.into_owned(), v.into_owned())).collect();
        let expect: Vec<(String, String)> =
            expect.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
        assert_eq!(got, expect, "{query}");
    }
    check("", &[]);
    check("a=1&b=2", &[("a", "1"), ("b", "2")]);
    check("a", &[("a", "")]);
    check("a=&=b&&", &[("a", ""), ("", "b")]);
    check("a=b+c%20d&e%3D=f", &[("a", "b c d"), ("e=", "f")]);
    check("a=%zz&b=1", &[("b", "1")]);
    check("a=1;b=2&c=3", &[("c", "3")]);
    check("a=b=c", &[("a", "b=c")]);
    check("a=%ff", &[("a", "\u{fffd}")]);
}

#[test]
fn pairs_borrow() {
    assert!(matches!(get("limit=500&watch=1", "watch"), Some(Cow::Borrowed("1"))));
}

#[test]
fn list_options() {
    let options = ListOptions::parse(
        "labelSelector=a%3Db&fieldSelector=metadata.name%3Dx&watch=1&allowWatchBookmarks=true&resourceVersion=7\
         &resourceVersionMatch=Exact&timeoutSeconds=9&limit=3&continue=c&sendInitialEvents=false&limit=4&x=y",
    )
    .expect("well formed");
    assert_eq!(options.label_selector.to_string(), "a=b");
    assert_eq!(options.field_selector.to_string(), "metadata.name=x");
    assert!(options.watch && options.allow_watch_bookmarks);
    assert_eq!((options.resource_version.as_ref(), options.resource_version_match.as_ref()), ("7", "Exact"));
    assert_eq!((options.timeout_seconds, options.limit), (Some(9), 3));
    assert_eq!((options.continue_token.as_ref(), options.send_initial_events), ("c", Some(false)));
}

#[test]
fn numbers_that_do_not_parse() {
    fn check(query: &str, expect: &str) {
        let error = ListOptions::parse(query).expect_err(query);
        assert_eq!(error.0, expect, "{query}");
    }
    check("limit=abc", r#"strconv.ParseInt: parsing "abc": invalid syntax"#);
    check("limit=", r#"strconv.ParseInt: parsing "": invalid syntax"#);
    check("timeoutSeconds=x&limit=y", r#"strconv.ParseInt: parsing "x": invalid syntax"#);
    check(
        "limit=99999999999999999999",
        r#"strconv.ParseInt: parsing "99999999999999999999": value out of range"#,
    );
    check(
        "limit=1&labelSelector=a+~+b",
        "unable to parse requirement: found '~', expected: in, notin, =, ==, !=, gt, lt",
    );
    let error = DeleteOptions::parse("gracePeriodSeconds=x").expect_err("no number");
    assert_eq!(error.0, r#"strconv.ParseInt: parsing "x": invalid syntax"#);
    assert_eq!(ListOptions::parse("limit=-1").expect("a number").limit, -1);
    assert_eq!(ListOptions::parse("limit=%2B5").expect("Go takes a sign").limit, 5);
}

/// `field: Kind: [value: ]detail`, joined by newlines.
fn show(problems: &[OptionProblem]) -> String {
    let line = |p: &OptionProblem| match p.bad_value.as_str() {
        "" => format!("{}: {:?}: {}", p.field, p.kind, p.detail),
        value => format!("{}: {:?}: {value}: {}", p.field, p.kind, p.detail),
    };
    problems.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn list_options_are_validated() {
    fn check(query: &str, expect: &str) {
        let mut options = ListOptions::parse(query).expect("parses");
        options.set_defaults();
        assert_eq!(show(&options.validate()), expect, "{query}");
    }
    const NO_VERSION: &str = "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided";
    check("", "");
    check("resourceVersion=5&resourceVersionMatch=Exact", "");
    check("resourceVersionMatch=NotOlderThan", NO_VERSION);
    check(
        "resourceVersionMatch=Bogus&resourceVersion=0",
        r#"resourceVersionMatch: NotSupported: "Bogus": supported values: "Exact", "NotOlderThan", """#,
    );
    check(
        "resourceVersionMatch=Exact&resourceVersion=0",
        r#"resourceVersionMatch: Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0""#,
    );
    check(
        "resourceVersionMatch=Exact&continue=x",
        &format!(
            "{NO_VERSION}\nresourceVersionMatch: Forbidden: resourceVersionMatch is forbidden when continue is provided"
        ),
    );
    check("sendInitialEvents=true", "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list");
    check("watch=1", "");
    check("watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan", "");
    check(
        "watch=1&sendInitialEvents=true",
        "resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
    );
    check(
        "watch=1&resourceVersionMatch=Exact",
        "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is \
         provided\nresourceVersionMatch: NotSupported: \"Exact\": supported values: \"NotOlderThan\"",
    );
}

#[test]
fn a_watch_from_the_start_sends_initial_events() {
    fn check(query: &str, expect: Option<bool>) {
        let mut options = ListOptions::parse(query).expect("parses");
        options.set_defaults();
        assert_eq!(options.send_initial_events, expect, "{query}");
    }
    check("watch=1", Some(true));
    check("watch=1&resourceVersion=0", Some(true));
    check("watch=1&resourceVersion=5", None);
    check("watch=1&resourceVersionMatch=NotOlderThan", None);
    check("watch=1&sendInitialEvents=false", Some(false));
    check("resourceVersion=0", None);
}

#[test]
fn write_options_are_validated() {
    fn check(query: &str, expect: &str) {
        assert_eq!(show(&CreateOptions::parse(query).validate()), expect, "{query}");
    }
    check("", "");
    check("dryRun=All&dryRun=All&fieldManager=me&fieldValidation=Strict", "");
    check("dryRun=", r#"dryRun: NotSupported: [""]: supported values: "All""#);
    check("dryRun=All&dryRun=x", r#"dryRun: NotSupported: ["All","x"]: supported values: "All""#);
    check(
        "fieldValidation=strict",
        r#"fieldValidation: NotSupported: "strict": supported values: "", "Ignore", "Strict", "Warn""#,
    );
    check("fieldManager=a%07", r#"fieldManager: Invalid: "a\a": invalid character U+0007 (at position 1)"#);
    check("fieldManager=%C3%A4%E2%80%94", "");
    check(
        "fieldManager=%E2%80%8B",
        r#"fieldManager: Invalid: "\u200b": invalid character U+200B (at position 0)"#,
    );
    let long = format!("fieldManager={}", "a".repeat(129));
    check(&long, "fieldManager: TooLong: may not be more than 128 bytes");
    check(&long[..long.len() - 1], "");
}

#[test]
fn patch_and_delete_options_are_validated() {
    fn patch(query: &str, apply: bool, expect: &str) {
        assert_eq!(show(&PatchOptions::parse(query).validate(apply)), expect, "{query}");
    }
    patch("fieldManager=m&force=true", true, "");
    patch("", true, "fieldManager: Required: is required for apply patch");
    patch("force=false", false, "force: Forbidden: may not be specified for non-apply patch");
    fn delete(query: &str, expect: &str) {
        let options = DeleteOptions::parse(query).expect("parses");
        assert_eq!(show(&options.validate(false)), expect, "{query}");
    }
    delete("gracePeriodSeconds=-1&propagationPolicy=Foreground", "");
    delete(
        "propagationPolicy=Bogus",
        r#"propagationPolicy: NotSupported: "Bogus": supported values: "Foreground", "Background", "Orphan", "nil""#,
    );
    delete(
        "propagationPolicy=Orphan&orphanDependents=true",
        r#"propagationPolicy: Invalid: "Orphan": orphanDependents and deletionPropagation cannot be both set"#,
    );
    delete(
        "ignoreStoreReadErrorWithClusterBreakingPotential=true&gracePeriodSeconds=1&uid=u",
        "ignoreStoreReadErrorWithClusterBreakingPotential: Invalid: true: cannot be set together with \
         .gracePeriodSeconds\nignoreStoreReadErrorWithClusterBreakingPotential: Invalid: true: cannot be set together \
         with .preconditions",
    );
}

#[test]
fn pretty_for_people() {
    fn check(query: &str, agent: &str, expect: bool) {
        assert_eq!(is_pretty(query, agent.as_bytes()), expect, "{query} {agent}");
    }
    check("", "kubectl/v1.37.2", false);
    check("", "curl/8.5", true);
    check("", "Mozilla/5.0 (X11)", true);
    check("pretty=0", "curl/8.5", false);
    check("pretty=true", "kubectl/v1.37.2", true);
    check("pretty=yes", "curl/8.5", false);
    check("pretty=", "curl/8.5", true);
}

#[test]
fn table_options() {
    let parse = |query| TableOptions::parse(query).map(|o| o.include_object).map_err(|e| e.0);
    assert_eq!(parse(""), Ok(IncludeObject::Metadata));
    assert_eq!(parse("includeObject=Object"), Ok(IncludeObject::Object));
    assert_eq!(parse("includeObject=None"), Ok(IncludeObject::None));
    assert_eq!(
        parse("includeObject=x"),
        Err("Unable to convert to Table as requested: includeObject: Invalid value: \"x\": must be 'Metadata', \
             'Object', 'None', or empty"
            .to_owned())
    );
}
