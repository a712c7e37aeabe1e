//! A radix tree over byte strings: built once, walked without allocation.

/// Marks a node without a value.
const NONE: u32 = u32::MAX;

/// A node: the bytes that lead to it from its parent, its value, and its children, which stand side by side.
#[derive(Clone, Copy, Debug)]
struct Node {
    label: (u32, u32),
    value: u32,
    children: (u32, u32),
}

/// An immutable tree from keys to numbers.
#[derive(Debug)]
pub(super) struct Radix {
    labels: Vec<u8>,
    nodes: Vec<Node>,
}

/// A place within the tree: a node, and how many bytes of its label were matched.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor {
    node: u32,
    matched: u32,
}

impl Radix {
    /// Builds the tree of `entries`. Where a key stands twice, the first one counts.
    pub(super) fn build<'k>(entries: impl IntoIterator<Item = (&'k str, u32)>) -> Radix {
        let mut sorted: Vec<(&[u8], u32)> = entries.into_iter().map(|(k, v)| (k.as_bytes(), v)).collect();
        sorted.sort_by(|a, b| a.0.cmp(b.0));
        sorted.dedup_by(|a, b| a.0 == b.0);
        let root = Node { label: (0, 0), value: NONE, children: (0, 0) };
        let mut tree = Radix { labels: Vec::new(), nodes: vec![root] };
        tree.fill(0, &sorted, 0);
        tree
    }

    /// Gives `node` its value and children, `sorted` being the keys below it and `depth` the bytes they share.
    fn fill(&mut self, node: usize, mut sorted: &[(&[u8], u32)], depth: usize) {
        if let Some((&(key, value), rest)) = sorted.split_first()
            && key.len() == depth
        {
            self.nodes[node].value = value;
            sorted = rest;
        }
        let mut groups = Vec::new();
        while let Some(&(first, _)) = sorted.first() {
            let len = sorted.partition_point(|(key, _)| key[depth] == first[depth]);
            let (group, rest) = sorted.split_at(len);
            groups.push(group);
            sorted = rest;
        }
        let start = self.nodes.len();
        for group in &groups {
            // Keys are sorted: what the first and the last share, all of them share.
            let (first, last) = (group[0].0, group[group.len() - 1].0);
            let shared = first.iter().zip(last).skip(depth).take_while(|(a, b)| a == b).count();
            let from = self.labels.len();
            self.labels.extend_from_slice(&first[depth..depth + shared]);
            let label = (from as u32, self.labels.len() as u32);
            self.nodes.push(Node { label, value: NONE, children: (0, 0) });
        }
        self.nodes[node].children = (start as u32, self.nodes.len() as u32);
        for (at, group) in groups.iter().enumerate() {
            let (from, to) = self.nodes[start + at].label;
            self.fill(start + at, group, depth + (to - from) as usize);
        }
    }

    /// The root.
    pub(super) fn start(&self) -> Cursor {
        Cursor { node: 0, matched: 0 }
    }

    /// Goes on by `bytes`; `None` where no key does.
    pub(super) fn advance(&self, cursor: Cursor, bytes: &str) -> Option<Cursor> {
        let Cursor { mut node, mut matched } = cursor;
        for &byte in bytes.as_bytes() {
            let (from, to) = self.nodes[node as usize].label;
            if matched == to - from {
                node = self.child(node, byte)?;
                matched = 1;
            } else if self.labels[(from + matched) as usize] == byte {
                matched += 1;
            } else {
                return None;
            }
        }
        Some(Cursor { node, matched })
    }

    fn child(&self, node: u32, byte: u8) -> Option<u32> {
        let (from, to) = self.nodes[node as usize].children;
        (from..to).find(|&child| self.labels[self.nodes[child as usize].label.0 as usize] == byte)
    }

    /// The value of the key that ends at `cursor`.
    pub(super) fn value(&self, cursor: Cursor) -> Option<usize> {
        let node = &self.nodes[cursor.node as usize];
        let ends = cursor.matched == node.label.1 - node.label.0;
        (ends && node.value != NONE).then_some(node.value as usize)
    }

    /// The value of a key.
    pub(super) fn get(&self, key: &str) -> Option<usize> {
        self.value(self.advance(self.start(), key)?)
    }

    /// The longest key that `text` starts with and that `accept` takes, as (length, value).
    pub(super) fn longest_prefix(
        &self,
        text: &str,
        accept: impl Fn(usize) -> bool,
    ) -> Option<(usize, usize)> {
        let bytes = text.as_bytes();
        let (mut node, mut at, mut found) = (0_u32, 0, None);
        loop {
            let value = self.nodes[node as usize].value;
            if value != NONE && accept(at) {
                found = Some((at, value as usize));
            }
            let Some(child) = bytes.get(at).and_then(|b| self.child(node, *b)) else { return found };
            let (from, to) = self.nodes[child as usize].label;
            if !bytes[at..].starts_with(&self.labels[from as usize..to as usize]) {
                return found;
            }
            at += (to - from) as usize;
            node = child;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: &[&str] = &["/api", "/apis", "/apis/apps", "/apis/apps/v1", "/a", "/version", "/api"];

    fn tree() -> Radix {
        Radix::build(KEYS.iter().enumerate().map(|(i, k)| (*k, i as u32)))
    }

    #[test]
    fn finds_keys_and_nothing_else() {
        let tree = tree();
        let check = |key: &str, expect: Option<usize>| assert_eq!(tree.get(key), expect, "{key}");
        for (at, key) in KEYS.iter().enumerate().take(6) {
            check(key, Some(at));
        }
        for key in ["", "/", "/ap", "/apis/", "/apis/ap", "/apis/apps/v11", "/x", "/versions", "version"] {
            check(key, None);
        }
        assert_eq!(Radix::build([]).get(""), None);
        assert_eq!(Radix::build([("", 7)]).get(""), Some(7));
    }

    #[test]
    fn walks_in_pieces() {
        let tree = tree();
        let mut cursor = tree.start();
        for piece in ["/ap", "is", "/", "apps"] {
            cursor = tree.advance(cursor, piece).expect("a key goes on");
        }
        assert_eq!(tree.value(cursor), Some(2));
        assert!(tree.advance(cursor, "x").is_none());
        assert_eq!(tree.advance(cursor, "/v1").and_then(|c| tree.value(c)), Some(3));
    }

    #[test]
    fn longest_prefix() {
        let tree = tree();
        let check = |text: &str, expect: Option<(usize, usize)>| {
            assert_eq!(tree.longest_prefix(text, |_| true), expect, "{text}");
        };
        check("/apis/apps/v2", Some((10, 2)));
        check("/apis/apps/v1/x", Some((13, 3)));
        check("/apix", Some((4, 0)));
        check("/x", None);
        assert_eq!(tree.longest_prefix("/apix", |len| len != 4), Some((2, 4)));
    }
}
