//! Tests of what is between a client and a kubelet.

use super::*;

const ALL: Streams = Streams { stdin: true, stdout: true, stderr: true, tty: false };

/// A session whose streams are open: error 1, then those that were asked for.
fn session(streams: Streams) -> Session {
    Session::open(streams, "v4.channel.k8s.io", &mut Vec::new())
}

fn data(stream: u32, bytes: &[u8], ends: bool) -> Vec<u8> {
    let mut out = Vec::new();
    Encoder::put_data_head(&mut out, stream, bytes.len(), ends);
    out.extend_from_slice(bytes);
    out
}

/// What the client hears of what a kubelet says, channel by channel, and what goes back.
fn told(session: &mut Session, bytes: &[u8]) -> (Vec<(u8, String)>, Vec<u8>) {
    let (mut told, mut up) = (Vec::new(), Vec::new());
    session
        .take(bytes, &mut up, &mut |channel, bytes| {
            told.push((channel, String::from_utf8_lossy(bytes).into_owned()));
        })
        .unwrap();
    (told, up)
}

#[test]
fn streams_that_are_opened() {
    let check = |streams: Streams, version: &str, expect: [Option<u32>; 4]| {
        let opened = Session::open(streams, version, &mut Vec::new()).opened;
        assert_eq!(opened.error, 1);
        assert_eq!(
            [opened.stdin, opened.stdout, opened.stderr, opened.resize],
            expect,
            "{streams:?} {version}"
        );
    };
    check(ALL, SUBPROTOCOL, [Some(3), Some(5), Some(7), None]);
    let terminal = Streams { tty: true, ..ALL };
    check(terminal, "v4.channel.k8s.io", [Some(3), Some(5), None, Some(7)]);
    check(terminal, "v2.channel.k8s.io", [Some(3), Some(5), None, None]);
    check(Streams::default(), "", [None; 4]);
}

#[test]
fn output_and_the_end() {
    let mut session = session(ALL);
    let (all, up) =
        told(&mut session, &[data(5, b"out", false), data(7, b"err", true), data(9, b"?", true)].concat());
    assert_eq!((all, up), (vec![(STDOUT, "out".to_owned()), (STDERR, "err".to_owned())], Vec::new()));
    assert!(!session.is_over());
    // Who does not read any more is not written to.
    let (_, up) = told(&mut session, &data(3, b"", true));
    assert_eq!(up, data(3, b"", true));
    told(&mut session, &data(1, br#"{"status":"#, false));
    told(&mut session, &data(1, br#""Success"}"#, true));
    assert!(!session.is_over(), "there may be more output");
    told(&mut session, &data(5, b"", true));
    assert!(session.is_over());
    assert!(ended(&session.said, true).success);
    let mut out = Vec::new();
    session.write(STDIN, b"late", &mut out);
    assert!(out.is_empty());
}

#[test]
fn what_never_ran_is_no_success() {
    let reset = |stream: u8| [0x80, 3, 0, 3, 0, 0, 0, 8, 0, 0, 0, stream, 0, 0, 0, 1].to_vec();
    let check = |said: &[u8], expect: Option<&str>| {
        let mut session = session(ALL);
        told(&mut session, said);
        let status = session.status();
        assert_eq!(
            (status.success, status.success || expect == Some(&status.message)),
            (expect.is_none(), true)
        );
    };
    // A reply has the stream and no fields: an empty block, compressed.
    let mut reply = vec![0x80, 3, 0, 2, 0, 0, 0, 4, 0, 0, 0, 1];
    check(&reply, None);
    reply[11] = 5;
    check(&reply, Some("Internal error occurred: EOF"));
    check(b"", Some("Internal error occurred: EOF"));
    check(&data(5, b"out", true), Some("Internal error occurred: EOF"));
    check(&[1, 3, 5, 7].map(reset).concat(), Some("Internal error occurred: Stream reset"));
    check(&data(1, br#"{"status":"Success"}"#, true), None);
}

#[test]
fn what_is_said_of_the_end_is_bounded() {
    let mut session = session(ALL);
    let (mut up, long) = (Vec::new(), vec![b' '; limits::COMMAND_STATUS_BYTES]);
    assert!(session.take(&data(1, &long, false), &mut up, &mut |_, _| ()).is_ok());
    assert!(session.take(&data(1, b"x", false), &mut up, &mut |_, _| ()).is_err());
    let mut session = super::tests::session(ALL);
    assert!(session.take(b"\x80\x02\0\0\0\0\0\0", &mut up, &mut |_, _| ()).is_err());
}

/// What goes to the kubelet of messages, whose first parts are in `parts`.
fn sent(stage: &mut Stage, message: &mut Message, parts: &[(bool, bool, &[u8])]) -> Option<Vec<u8>> {
    let mut up = Vec::new();
    let understood = parts.iter().all(|&(first, last, bytes)| {
        take(Part { binary: true, first, last, bytes }, message, stage, &mut up)
    });
    understood.then_some(up)
}

#[test]
fn messages_of_clients() {
    let check = |parts: &[(bool, bool, &[u8])], expect: Option<&[u8]>| {
        let mut stage = Stage::Runs(session(ALL));
        let found = sent(&mut stage, &mut Message::Begins, parts);
        assert_eq!(found.as_deref(), expect, "{parts:?}");
    };
    check(&[(true, true, b"\0hello")], Some(&data(3, b"hello", false)));
    let split = [data(3, b"he", false), data(3, b"llo", false)].concat();
    check(
        &[(true, false, b""), (false, false, b"\0"), (false, false, b"he"), (false, true, b"llo")],
        Some(&split),
    );
    check(
        &[(true, true, b"\x01x"), (true, true, b"\x04x"), (true, true, b"\x09x"), (true, true, b"")],
        Some(b""),
    );
    check(
        &[(true, false, b"\xff"), (false, true, b"\0"), (true, true, b"\0late")],
        Some(&data(3, b"", true)),
    );
    check(&[(true, true, b"\xff\x02")], Some(b""));
    check(&[(true, true, b"\xff")], None);
    check(&[(true, true, b"\xff\x05")], None);
    check(&[(true, true, b"\xff\0\0")], None);
    let mut stage = Stage::Asked(Early::default());
    let before =
        [(true, true, &b"\0a"[..]), (true, true, b"\x01b"), (true, true, b"\xff\0"), (true, true, b"\0c")];
    assert_eq!(sent(&mut stage, &mut Message::Begins, &before).as_deref(), Some(&b""[..]));
    let Stage::Asked(early) = stage else { panic!("it waits") };
    assert_eq!((early.content, early.stdin_ended), (vec![(STDIN, b"a".to_vec())], true));
}

#[test]
fn ends_of_commands() {
    let check = |said: &str, is_json: bool, expect: &str| {
        let json = bare_json(&ended(said.as_bytes(), is_json));
        assert_eq!(String::from_utf8_lossy(&json), expect, "{said}");
    };
    let success = r#"{"metadata":{},"status":"Success"}"#;
    check("", true, success);
    check("", false, success);
    check(r#"{"status":"Success"}"#, true, success);
    check(
        r#"{"status":"Failure","reason":"NonZeroExitCode","details":{"causes":[{"reason":"X"},{"reason":"ExitCode","message":"9"}]}}"#,
        true,
        r#"{"metadata":{},"status":"Failure","message":"command terminated with non-zero exit code: command terminated with exit code 9","reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode","message":"9"}]}}"#,
    );
    let internal = |why: &str| {
        let why = why.replace('"', "\\\"");
        format!(
            r#"{{"metadata":{{}},"status":"Failure","message":"Internal error occurred: {why}","reason":"InternalError","details":{{"causes":[{{"message":"{why}"}}]}},"code":500}}"#
        )
    };
    let protocol = |why: &str| internal(&format!("error stream protocol error: {why}"));
    check(r#"{"status":"Failure","message":"no"}"#, true, &internal("no"));
    check("no", false, &internal("error executing remote command: no"));
    check("{}", true, &protocol("unknown error"));
    check(r#"{"status":"Failure","reason":"NonZeroExitCode"}"#, true, &protocol("details must be set"));
    check(
        r#"{"status":"Failure","reason":"NonZeroExitCode","details":{}}"#,
        true,
        &protocol("no ExitCode cause given"),
    );
    check(
        r#"{"status":"Failure","reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode","message":"256"}]}}"#,
        true,
        &protocol("invalid exit code value \"256\""),
    );
}

#[test]
fn refusals() {
    let check = |body: &str, expect: &str| assert_eq!(refusal(body.as_bytes()), expect, "{body}");
    check("", "empty server response");
    check(" no \n", "no");
    check(r#"{"message":" no "}"#, "no");
    check(r#"{"error":"no"}"#, "no");
    check("{}", "{}");
}
