//! Texts that Kubernetes' YAML library itself gave for these inputs.

use std::collections::BTreeMap;

use super::*;

fn cases(lines: &str) -> Vec<BTreeMap<String, String>> {
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn loads() {
    let mut wrong = Vec::new();
    for case in cases(include_str!("load.jsonl")) {
        let (out, strict) = match to_json(case["in"].as_bytes()) {
            Ok(loaded) => (String::from_utf8(loaded.json).unwrap(), loaded.duplicates.unwrap_or_default()),
            Err(error) => (format!("error: {error}"), String::new()),
        };
        let expect = (case["out"].clone(), case.get("strict").cloned().unwrap_or_default());
        if (&out, &strict) != (&expect.0, &expect.1) {
            wrong.push(format!(
                "{:?}\n  got      {out} {strict}\n  expected {} {}",
                case["in"], expect.0, expect.1
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn dumps() {
    let mut wrong = Vec::new();
    for case in cases(include_str!("dump.jsonl")) {
        let mut out = Vec::new();
        from_json(case["in"].as_bytes(), &mut out).unwrap();
        let out = String::from_utf8(out).unwrap();
        for (got, expect) in out.lines().zip(case["out"].lines()).filter(|(a, b)| a != b) {
            wrong.push(format!("got      {got:?}\nexpected {expect:?}"));
        }
        if out.lines().count() != case["out"].lines().count() {
            wrong.push(format!("got {out}\nexpected {}", case["out"]));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
