//! Texts that Kubernetes itself gave for these inputs.

use super::*;

fn check(text: &str, expect: &str) {
    match Quantity::parse(text) {
        Ok(quantity) => assert_eq!(quantity.to_string(), expect, "{text:?}"),
        Err(error) => assert_eq!(format!("{error:?}"), expect, "{text:?}"),
    }
}

#[test]
fn canonical_texts() {
    for (text, expect) in include_str!("cases.tsv").lines().filter_map(|l| l.split_once('\t')) {
        check(text, expect);
    }
}

#[test]
fn arithmetic() {
    let q = |s: &str| Quantity::parse(s).unwrap();
    assert!(q("1Gi") > q("1G"));
    assert_eq!(q("1000m"), q("1"));
    assert!(q("-1") < q("0"));
    assert!(q("1e2000000000") > q("1e1999999999"));
    assert_eq!(q("1500m").value(), 2);
    assert_eq!(q("-1500m").value(), -2);
    assert_eq!(q("1.0001").milli_value(), 1001);
    // What does not fit is nothing, or what the bits leave, as Kubernetes holds it.
    assert_eq!(q("1e30").value(), 0);
    assert_eq!(q("100000000000000000000000000").value(), -2537764290115403776);
    assert_eq!(q("9223372036854775807").milli_value(), -1000);
    assert_eq!(q("-9223372036854775808").milli_value(), 0);
    assert_eq!(q("1234567890123456789.5").value(), 1234567890123456790);
    assert!(q("2.0").is_integer() && !q("2.5").is_integer());
    let mut sum = q("0");
    sum.add(&q("1536Mi"));
    sum.add(&q("512Mi"));
    assert_eq!(sum.to_string(), "2Gi");
    sum.sub(&q("3Gi"));
    assert_eq!(sum.to_string(), "-1Gi");
    let mut sum = q("1500m");
    sum.add(&q("0.5"));
    assert_eq!(sum.to_string(), "2");
}

#[test]
fn plain_texts_are_canonical() {
    let arena = Bump::new();
    let slowly = |text: &str| Quantity { text: None, ..Quantity::parse(text).unwrap() }.to_string();
    let mut plain = 0;
    for number in
        ["1", "7", "8", "100", "250", "999", "1000", "1024", "1500", "2048", "4095", "64000", "123456"]
    {
        for suffix in ["", "m", "k", "M", "G", "Ki", "Mi", "Gi", "Ti"] {
            let text = format!("{number}{suffix}");
            assert_eq!(canonical(&arena, arena.alloc_str(&text)).unwrap(), slowly(&text));
            plain += usize::from(is_plainly_canonical(&text));
        }
    }
    assert!(plain > 80, "{plain}");
    for text in ["", "0", "01", "+1", "1.5", "1234567", "1000", "1024Mi", "1n", "1e3", "1Pi", "Mi"] {
        assert!(!is_plainly_canonical(text), "{text}");
    }
}

#[test]
fn amounts_without_a_suffix() {
    let arena = Bump::new();
    for (text, expect) in [
        ("100000000000000000000000000", "100"),
        ("1000E", "1"),
        ("1000000P", "1"),
        ("1234E", "1234E"),
        ("9E", "9E"),
    ] {
        // In a tree the amount is what was sent, in the text of an object it no longer is.
        let kept = canonical(&arena, text).unwrap();
        assert_eq!(Quantity::parse(kept).unwrap(), Quantity::parse(text).unwrap(), "{text}");
        assert_eq!(written(kept), expect, "{text}");
    }
}
