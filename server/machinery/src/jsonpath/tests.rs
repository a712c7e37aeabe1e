//! What client-go answers: the first line has the object, the others a template and what it finds, or the error. Parts of
//! the template stand between bars, what one part finds between commas.

use bumpalo::Bump;

use super::JsonPath;
use crate::json::decode_untyped;

#[test]
fn as_client_go() {
    let mut lines =
        include_str!("cases.jsonl").lines().map(|line| serde_json::from_str::<[String; 2]>(line).unwrap());
    let arena = Bump::new();
    let [_, object] = lines.next().unwrap();
    let object = decode_untyped(&arena, arena.alloc_str(&object).as_bytes()).unwrap();
    let mut wrong = Vec::new();
    for [template, expect] in lines {
        let found = match JsonPath::parse(&template) {
            Err(error) => format!("parse: {error}"),
            Ok(path) => match path.find(&object) {
                Err(error) => format!("find: {error}"),
                Ok(parts) => {
                    let part = |found: &Vec<super::Found<'_, '_>>| {
                        found.iter().map(|one| one.text()).collect::<Vec<_>>().join(",")
                    };
                    parts.iter().map(part).collect::<Vec<_>>().join("|")
                }
            },
        };
        if found != expect {
            wrong.push(format!("{template}: {found:?}, expected {expect:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} cases:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn members_come_in_order() {
    let arena = Bump::new();
    let object = decode_untyped(&arena, br#"{"b":{"t":1},"a":{"t":2},"c":[{"t":3}]}"#).unwrap();
    let path = JsonPath::parse("{..t}").unwrap();
    let found: Vec<_> = path.find(&object).unwrap()[0].iter().map(|one| one.text()).collect();
    assert_eq!(found, ["2", "1", "3"]);
}
