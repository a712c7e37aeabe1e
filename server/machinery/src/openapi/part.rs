//! Parts of a v2 document that are not written from the Schema: custom resources, and what other servers have.

use std::{borrow::Cow, collections::BTreeSet};

use super::node::Node;

/// What somebody adds to the document of v2. Values are compact JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// Paths, and what can be done there.
    pub paths: Vec<(String, Vec<u8>)>,
    /// Definitions by name. Where one is there already, that one stays.
    pub definitions: Vec<(String, Vec<u8>)>,
    /// Shared parameters by name.
    pub parameters: Vec<(String, Vec<u8>)>,
}

/// What is done with the JSON of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keep {
    /// It is written as it is.
    AsText,
    /// It is walked.
    AsTree,
}

/// Puts entries of parts in their places among those of a map that is sorted by name. The first of a name stays.
pub(super) fn merge<'p>(
    map: &mut Vec<(Cow<'static, str>, Node)>,
    parts: impl Iterator<Item = &'p (String, Vec<u8>)>,
    keep: Keep,
) {
    let mut names: BTreeSet<Cow<'static, str>> = map.iter().map(|(name, _)| name.clone()).collect();
    let before = map.len();
    for (name, json) in parts {
        let node = match keep {
            Keep::AsText => Some(Node::Json(String::from_utf8_lossy(json).into_owned().into())),
            Keep::AsTree => Node::parse(json),
        };
        if let Some(node) = node.filter(|_| names.insert(Cow::Owned(name.clone()))) {
            map.push((Cow::Owned(name.clone()), node));
        }
    }
    if map.len() > before {
        map.sort_by(|a, b| a.0.cmp(&b.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_stand_in_their_places() {
        let entry = |name: &'static str, json: &'static str| (Cow::Borrowed(name), Node::Json(json.into()));
        let part = |name: &str, json: &str| (name.to_owned(), json.as_bytes().to_vec());
        let parts =
            [part("b", "{\"x\":[1,2.5,true,null,\"t\"]}"), part("a", "9"), part("b", "2"), part("e", "{}")];
        for keep in [Keep::AsText, Keep::AsTree] {
            let mut map = vec![entry("a", "1"), entry("d", "4")];
            merge(&mut map, parts.iter(), keep);
            let json = String::from_utf8(Node::Map(map).to_json()).unwrap();
            assert_eq!(json, "{\"a\":1,\"b\":{\"x\":[1,2.5,true,null,\"t\"]},\"d\":4,\"e\":{}}", "{keep:?}");
        }
    }
}
