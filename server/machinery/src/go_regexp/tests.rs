//! What Go's `regexp` answers: each case is an expression, a text, and the error or where the leftmost match is.

use super::Regexp;

#[test]
fn as_go() {
    let mut wrong = Vec::new();
    for line in include_str!("cases.jsonl").lines() {
        let [expr, text, expect]: [String; 3] = serde_json::from_str(line).unwrap();
        let found = match Regexp::compile(&expr) {
            Err(error) => error.to_string(),
            Ok(regexp) => {
                let found = regexp.find(&text, 0);
                assert_eq!(regexp.is_match(&text), found.is_some(), "{line}");
                found.map_or("none".into(), |(start, end)| format!("{start} {end}"))
            }
        };
        if found != expect {
            wrong.push(format!("{expr:?} on {text:?}: {found}, expected {expect}"));
        }
    }
    assert!(wrong.is_empty(), "{} cases:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn no_text_takes_long() {
    // Backtracking would take 2^40 steps.
    let regexp = Regexp::compile("^(a*)*(a|aa)*$").unwrap();
    let text = "a".repeat(40);
    assert!(regexp.is_match(&text));
    assert!(!regexp.is_match(&format!("{text}b")));
}

#[test]
fn finds_from_a_place() {
    let regexp = Regexp::compile("^a|b").unwrap();
    assert_eq!(regexp.find("aab", 0), Some((0, 1)));
    assert_eq!(regexp.find("aab", 1), Some((2, 3)));
    assert_eq!(Regexp::compile("\\b.").unwrap().find("ab c", 1), Some((2, 3)));
}

#[test]
fn large_and_deep() {
    let deep = format!("{}a{}", "(".repeat(1001), ")".repeat(1001));
    let error = Regexp::compile(&deep).unwrap_err().to_string();
    assert!(error.starts_with("error parsing regexp: expression nests too deeply: `((("), "{error}");
    assert!(Regexp::compile(&format!("{}a{}", "(".repeat(900), ")".repeat(900))).is_ok());
    let large = "(?:abcdefghij){1000}".repeat(9);
    let error = Regexp::compile(&large).unwrap_err().to_string();
    assert!(error.starts_with("error parsing regexp: expression too large: `(?:abc"), "{error}");
}
