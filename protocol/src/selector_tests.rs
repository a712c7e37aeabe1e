//! Tests of label and field selectors.

use super::*;

const LABELS: &[(&str, &str)] = &[("a", "1"), ("b", "x"), ("n", "10"), ("e", ""), ("example.com/k", "v")];

fn label(key: &str) -> Option<&'static str> {
    LABELS.iter().find(|(k, _)| *k == key).map(|(_, v)| *v)
}

#[test]
fn label_selectors() {
    fn check(text: &str, canonical: &str, selected: bool) {
        let selector = LabelSelector::parse(text).unwrap_or_else(|e| panic!("{text}: {e}"));
        assert_eq!(selector.to_string(), canonical, "{text}");
        assert_eq!(selector.matches(label), selected, "{text}");
        assert_eq!(LabelSelector::parse(canonical).expect("canonical"), selector, "{text}");
    }
    check("", "", true);
    check("  ", "", true);
    check("a=1", "a=1", true);
    check(" a = 1 ", "a=1", true);
    check("a==1", "a==1", true);
    check("a!=1", "a!=1", false);
    check("z!=1", "z!=1", true);
    check("a in (2, 1,2)", "a in (1,2)", true);
    check("a notin (1)", "a notin (1)", false);
    check("z notin (1)", "z notin (1)", true);
    check("a", "a", true);
    check("z", "z", false);
    check("!z", "!z", true);
    check("! a", "!a", false);
    check("n>9", "n>9", true);
    check("n<9", "n<9", false);
    check("a>0,n<20", "a>0,n<20", true);
    check("b>0", "b>0", false);
    check("e=", "e=", true);
    check("e in ()", "e in ()", true);
    check("e in (,)", "e in ()", true);
    check("e in (x,)", "e in (,x)", true);
    check("e in (,,y)", "e in (,y)", true);
    check("b=x,a=1", "a=1,b=x", true);
    check("in=notin,in", "in=notin,in", false);
    check("example.com/k=v", "example.com/k=v", true);
    check("a\0=2", "a", true);
}

#[test]
fn label_selectors_that_do_not_parse() {
    fn check(text: &str, expect: &str) {
        let error = LabelSelector::parse(text).map(|s| s.to_string()).expect_err(text);
        assert_eq!(error.to_string(), expect, "{text}");
    }
    check("a=1,,b", "found ',', expected: identifier after ','");
    check("a,", "found '', expected: identifier after ','");
    check("a in 1", "unable to parse requirement: found '1' expected: '('");
    check("a ~ b", "unable to parse requirement: found '~', expected: in, notin, =, ==, !=, gt, lt");
    check("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt");
    check("a=bad value", "found 'value', expected: ',' or 'end of string'");
    check("(a)", "found '(', expected: !, identifier, or 'end of string'");
    check("a!", "unable to parse requirement: found '!', expected: in, notin, =, ==, !=, gt, lt");
    check("in (a)", "unable to parse requirement: found '(', expected: in, notin, =, ==, !=, gt, lt");
    check("!", "unable to parse requirement: found '', expected: identifier");
    check("a in (b", "unable to parse requirement: found '', expected: ',' or ')'");
    check("a in (b c)", "unable to parse requirement: found 'c', expected: ',' or ')'");
    check("a in (", "unable to parse requirement: found '', expected: ',', ')' or identifier");
    check("a in (,", "unable to parse requirement: found '', expected: ',', or identifier");
    check("a=(b)", "unable to parse requirement: found '(', expected: identifier");
    check("a=!b", "unable to parse requirement: found '!', expected: identifier");
    check("!a=b", "found '=', expected: ',' or 'end of string'");
    check(
        "a>x",
        "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value must be an \
         integer",
    );
    check(
        "a/b/c=1",
        "unable to parse requirement: <nil>: Invalid value: \"a/b/c\": a valid label key must consist of alphanumeric \
         characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or \
         'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an \
         optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
    );
    check(
        "a=_",
        "unable to parse requirement: values[0][a]: Invalid value: \"_\": a valid label must be an empty string or \
         consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character \
         (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is \
         '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
    );
}

#[test]
fn label_keys_and_values() {
    fn key(key: &str, errors: usize) {
        assert_eq!(validation::label_key_errors(key).len(), errors, "{key}");
    }
    key("a", 0);
    key("A_b.c-d9", 0);
    key("example.com/a", 0);
    key("", 2);
    key("/a", 1);
    key("Example.com/a", 1);
    key("a/b/c", 1);
    key("-a", 1);
    key(&"a".repeat(63), 0);
    key(&"a".repeat(64), 1);
    key(&format!("{}/a", "a".repeat(254)), 1);
    assert!(validation::label_value_errors("").is_empty());
    assert_eq!(validation::label_value_errors(&"a".repeat(64)), ["must be no more than 63 bytes"]);
    assert!(validation::is_path_segment_name("a:b") && !validation::is_path_segment_name(".."));
}

#[test]
fn label_selector_requires_exact() {
    let selector = LabelSelector::parse("a=1,b in (x),c in (x,y),d!=1").expect("parses");
    assert_eq!(selector.requires_exact("a"), Some("1"));
    assert_eq!(selector.requires_exact("b"), Some("x"));
    assert_eq!(selector.requires_exact("c"), None);
    assert_eq!(selector.requires_exact("d"), None);
    assert_eq!(selector.requires_exact("z"), None);
}

#[test]
fn field_selectors() {
    fn check(text: &str, canonical: &str, selected: bool) {
        let selector = FieldSelector::parse(text).unwrap_or_else(|e| panic!("{text}: {e}"));
        assert_eq!(selector.to_string(), canonical, "{text}");
        let get = |field: &str| match field {
            "metadata.name" => Some("a"),
            "spec.x" => Some("p,q=r\\"),
            _ => None,
        };
        assert_eq!(selector.matches(get), selected, "{text}");
    }
    check("", "", true);
    check("metadata.name=a", "metadata.name=a", true);
    check("metadata.name==a", "metadata.name=a", true);
    check("metadata.name!=a", "metadata.name!=a", false);
    check("metadata.name=a,", "metadata.name=a", true);
    check("z=,metadata.name=a", "metadata.name=a,z=", true);
    check("=", "", true);
    check(r"spec.x=p\,q\=r\\", r"spec.x=p\,q\=r\\", true);
    check("metadata.name= a", "metadata.name= a", false);
}

#[test]
fn field_selectors_that_do_not_parse() {
    fn check(text: &str, expect: &str) {
        assert_eq!(FieldSelector::parse(text).expect_err(text).to_string(), expect);
    }
    check("metadata.name", "invalid selector: 'metadata.name'; can't understand 'metadata.name'");
    check(
        "metadata.name in (a)",
        "invalid selector: 'metadata.name in (a)'; can't understand 'metadata.name in (a)'",
    );
    check("a=b=c", "invalid field selector: unescaped character in value: 61");
    check(r"a=\q", r"invalid field selector: invalid escape sequence: \q");
    check("a=b\\", "invalid field selector: invalid escape sequence: \\");
}

#[test]
fn field_selector_requires_exact() {
    let selector = FieldSelector::parse("metadata.name=a,spec.nodeName!=b").expect("parses");
    assert_eq!(selector.requires_exact("metadata.name"), Some("a"));
    assert_eq!(selector.requires_exact("spec.nodeName"), None);
}
