//! Durations, cells and columns.

use bumpalo::Bump;

use super::*;
use crate::{json, time::Moment};

const NOW: Moment = Moment { seconds: 1_700_000_000, nanos: 500_000_000 };

#[test]
fn durations() {
    const DAY: i64 = 24 * 3600;
    for (seconds, expect) in [
        (-5, "<invalid>"),
        (-1, "0s"),
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (121, "2m1s"),
        (599, "9m59s"),
        (600, "10m"),
        (3 * 3600 - 1, "179m"),
        (3 * 3600, "3h"),
        (7 * 3600 + 59 * 60, "7h59m"),
        (8 * 3600 + 60, "8h"),
        (2 * DAY - 1, "47h"),
        (2 * DAY, "2d"),
        (7 * DAY + 23 * 3600, "7d23h"),
        (8 * DAY, "8d"),
        (2 * 365 * DAY - 1, "729d"),
        (2 * 365 * DAY, "2y"),
        (3 * 365 * DAY + DAY, "3y1d"),
        (8 * 365 * DAY, "8y"),
    ] {
        assert_eq!(human_duration(seconds * 1_000_000_000), expect, "{seconds} s");
    }
    assert_eq!(human_duration(-1_999_999_999), "0s", "cut, not rounded");
    assert_eq!(human_duration(until(Moment { seconds: i64::MIN, nanos: 0 }, NOW)), "292y");
}

fn object(text: &str, print: impl FnOnce(&Value<'_>, &mut Row<'_>)) -> String {
    let arena = Bump::new();
    let value = json::decode_untyped(&arena, text.as_bytes()).expect("the test's own text");
    let mut out = Vec::new();
    let mut row = Row::begin(&mut out, NOW, false);
    print(&value, &mut row);
    row.end();
    String::from_utf8(out).expect("cells are text")
}

#[test]
fn cells_keep_their_types() {
    let text = object(r#"{"metadata":{"name":"a<b"}}"#, |object, row| {
        row.name(object);
        row.int(-3);
        row.bool(true);
        row.text_or("", "<none>");
        row.age(object);
        row.since("2023-11-14T22:13:18.25Z");
        row.completed("Succeeded", "done");
    });
    assert_eq!(
        text,
        "{\"cells\":[\"a\\u003cb\",-3,true,\"\\u003cnone\\u003e\",\"\\u003cunknown\\u003e\",\"2s\"],\
         \"conditions\":[{\"type\":\"Completed\",\"status\":\"True\",\"reason\":\"Succeeded\",\"message\":\"done\"}]"
    );
}

#[test]
fn the_default_shows_the_zero_time() {
    assert_eq!(object("{}", default_row), "{\"cells\":[\"\",\"0001-01-01T00:00:00Z\"]");
    assert_eq!(
        object(r#"{"metadata":{"name":"n","creationTimestamp":"2020-01-02T03:04:05Z"}}"#, default_row),
        "{\"cells\":[\"n\",\"2020-01-02T03:04:05Z\"]"
    );
}

#[test]
fn columns_in_json() {
    let column = Column { name: "A", ty: "string", format: "", description: "say \"<x>\"\n", priority: 1 };
    assert_eq!(
        String::from_utf8(column_definitions(&[column.clone(), column])).expect("text"),
        "[{\"name\":\"A\",\"type\":\"string\",\"format\":\"\",\"description\":\"say \\\"\\u003cx\\u003e\\\"\\n\",\"priority\":1},\
         {\"name\":\"A\",\"type\":\"string\",\"format\":\"\",\"description\":\"say \\\"\\u003cx\\u003e\\\"\\n\",\"priority\":1}]"
    );
    assert_eq!(column_definitions(&[]), b"[]");
}
