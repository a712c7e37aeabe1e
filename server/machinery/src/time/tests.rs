//! Texts that Go itself gave for these inputs.

use super::*;

#[test]
fn go_texts() {
    let arena = Bump::new();
    for line in include_str!("cases.tsv").lines() {
        let mut columns = line.split('\t');
        let (Some(kind), Some(text), Some(expect)) = (columns.next(), columns.next(), columns.next()) else {
            panic!("columns of {line:?}")
        };
        let got = match kind {
            "time" => canonical_time(&arena, text),
            "micro" => canonical_micro_time(&arena, text),
            _ => canonical_duration(&arena, text).map(Some),
        };
        let got = got.map(|t| t.unwrap_or("null").to_owned()).unwrap_or_else(|e| e);
        assert_eq!(got, expect, "{kind} {text:?}");
    }
}

#[test]
fn dates() {
    for seconds in [ZERO_SECONDS, -1, 0, 951_782_400, 951_868_800, 4_102_444_800, 253_402_300_799] {
        let text = Moment { seconds, nanos: 0 }.to_time();
        assert_eq!(parse_time(&text).map(|m| m.seconds), Ok(seconds), "{text}");
    }
}
