//! What an update changed that it may not change: a unified diff of the two structures as Go prints them, which follows
//! the message. The matching is that of Python's difflib, which the library of kube-apiserver is a port of: where several
//! shortest diffs are, clients see the same one.

use std::collections::HashMap;

use ringbolt_machinery::value::Value;

use super::go;

/// Lines of context around a change.
const CONTEXT: usize = 3;
/// Above this many pairs of lines the part that differs is given as a whole: matching would take too long.
const PAIRS_MAX: usize = 1 << 20;
/// From this many lines on, lines that stand for more than a hundredth of them are not matched by themselves.
const POPULAR_FROM: usize = 200;

/// One line of the result.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Both,
    Old,
    New,
}

/// The diff of two structures of Go's type `group.name`, beginning with a newline and ending with one; empty where
/// nothing differs.
pub(crate) fn difference(group: &str, name: &str, old: &Value<'_>, new: &Value<'_>) -> String {
    texts(&go::text(group, name, Some(old)), &go::text(group, name, Some(new)))
}

/// The diff of two JSON texts, indented by one space a level.
fn texts(old: &str, new: &str) -> String {
    let (old, new) = (lines(old), lines(new));
    let script = script(&old, &new);
    let mut out = String::new();
    let mut at = 0;
    let (mut old_line, mut new_line) = (1, 1);
    while let Some(change) = script[at..].iter().position(|(side, _)| *side != Side::Both) {
        let first = at + change.saturating_sub(CONTEXT);
        for (side, _) in &script[at..first] {
            advance(*side, &mut old_line, &mut new_line);
        }
        let end = hunk_end(&script, at + change);
        let hunk = &script[first..end];
        let count = |skip: Side| hunk.iter().filter(|(side, _)| *side != skip).count();
        let (removed, added) = (range(old_line, count(Side::New)), range(new_line, count(Side::Old)));
        out.push_str(&format!("\n@@ -{removed} +{added} @@"));
        for (side, line) in hunk {
            out.push_str(match side {
                Side::Both => "\n ",
                Side::Old => "\n-",
                Side::New => "\n+",
            });
            out.push_str(line);
            advance(*side, &mut old_line, &mut new_line);
        }
        at = end;
    }
    if !out.is_empty() {
        out.push('\n');
    }
    out
}

/// Where a hunk begins and how many lines it has. One line needs no count, no line is said to follow the one before.
fn range(begin: usize, count: usize) -> String {
    match count {
        0 => format!("{},0", begin - 1),
        1 => begin.to_string(),
        _ => format!("{begin},{count}"),
    }
}

fn advance(side: Side, old: &mut usize, new: &mut usize) {
    *old += usize::from(side != Side::New);
    *new += usize::from(side != Side::Old);
}

/// Where the hunk around a change ends: after its context, unless another change is near.
fn hunk_end(script: &[(Side, &str)], change: usize) -> usize {
    let mut end = change;
    loop {
        while script.get(end).is_some_and(|(side, _)| *side != Side::Both) {
            end += 1;
        }
        let quiet = script[end..].iter().take_while(|(side, _)| *side == Side::Both).count();
        if end + quiet >= script.len() || quiet > 2 * CONTEXT {
            return (end + CONTEXT).min(script.len());
        }
        end += quiet;
    }
}

/// The way from one list of lines to the other.
fn script<'l>(old: &'l [String], new: &'l [String]) -> Vec<(Side, &'l str)> {
    let mut out = Vec::with_capacity(old.len() + new.len());
    let (mut i, mut j) = (0, 0);
    for (a, b, size) in blocks(old, new).into_iter().chain([(old.len(), new.len(), 0)]) {
        out.extend(old[i..a].iter().map(|l| (Side::Old, l.as_str())));
        out.extend(new[j..b].iter().map(|l| (Side::New, l.as_str())));
        out.extend(old[a..a + size].iter().map(|l| (Side::Both, l.as_str())));
        (i, j) = (a + size, b + size);
    }
    out
}

/// A run of equal lines: where it begins in the old and in the new text, and its length.
type Block = (usize, usize, usize);

/// The runs that stay, in order: the longest one, then those before and after it in the same way.
fn blocks(old: &[String], new: &[String]) -> Vec<Block> {
    if old.len().saturating_mul(new.len()) > PAIRS_MAX {
        let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
        let tail = old[head..].iter().rev().zip(new[head..].iter().rev()).take_while(|(a, b)| a == b).count();
        return vec![(0, 0, head), (old.len() - tail, new.len() - tail, tail)];
    }
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, line) in new.iter().enumerate() {
        places.entry(line).or_default().push(at);
    }
    if new.len() >= POPULAR_FROM {
        places.retain(|_, at| at.len() <= new.len() / 100 + 1);
    }
    let matcher = Matcher { old, new, places };
    let mut found = Vec::new();
    let mut open = vec![(0..old.len(), 0..new.len())];
    while let Some((a, b)) = open.pop() {
        let (i, j, size) = matcher.longest(&a, &b);
        if size > 0 {
            found.push((i, j, size));
            open.push((a.start..i, b.start..j));
            open.push((i + size..a.end, j + size..b.end));
        }
    }
    found.sort_unstable();
    found
}

struct Matcher<'l> {
    old: &'l [String],
    new: &'l [String],
    /// Where each line stands in the new text.
    places: HashMap<&'l str, Vec<usize>>,
}

impl Matcher<'_> {
    /// The longest run within two ranges, the first of several.
    fn longest(&self, a: &std::ops::Range<usize>, b: &std::ops::Range<usize>) -> Block {
        let (mut i, mut j, mut size) = (a.start, b.start, 0);
        // Lengths of the runs that end at the line before, by their end in the new text.
        let mut before: HashMap<usize, usize> = HashMap::new();
        for at in a.clone() {
            let mut lengths = HashMap::new();
            let places = self.places.get(self.old[at].as_str()).map(Vec::as_slice).unwrap_or_default();
            for &place in places.iter().filter(|place| b.contains(place)) {
                let length = place.checked_sub(1).and_then(|p| before.get(&p)).copied().unwrap_or(0) + 1;
                lengths.insert(place, length);
                if length > size {
                    (i, j, size) = (at + 1 - length, place + 1 - length, length);
                }
            }
            before = lengths;
        }
        // Lines that are not matched by themselves are where they adjoin.
        while i > a.start && j > b.start && self.old[i - 1] == self.new[j - 1] {
            (i, j, size) = (i - 1, j - 1, size + 1);
        }
        while i + size < a.end && j + size < b.end && self.old[i + size] == self.new[j + size] {
            size += 1;
        }
        (i, j, size)
    }
}

/// JSON text, a line a member or item, one space a level.
fn lines(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    let (mut depth, mut quoted, mut escaped) = (0, false, false);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if quoted {
            line.push(c);
            quoted = escaped || c != '"';
            escaped = !escaped && c == '\\';
            continue;
        }
        let mut end = |line: &mut String, depth: usize| {
            lines.push(std::mem::replace(line, " ".repeat(depth)));
        };
        match c {
            '{' | '[' => {
                line.push(c);
                if let Some(closed) = chars.next_if(|c| matches!(c, '}' | ']')) {
                    line.push(closed);
                } else {
                    depth += 1;
                    end(&mut line, depth);
                }
            }
            '}' | ']' => {
                depth -= 1;
                end(&mut line, depth);
                line.push(c);
            }
            ',' => {
                line.push(c);
                end(&mut line, depth);
            }
            ':' => line.push_str(": "),
            _ => {
                quoted = c == '"';
                line.push(c);
            }
        }
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use super::texts;

    fn check(old: &str, new: &str, expect: &str) {
        assert_eq!(texts(old, new), expect);
    }

    #[test]
    fn changes_have_context() {
        check(r#"{"a":1}"#, r#"{"a":1}"#, "");
        check(
            r#"{"a":1,"b":"x: [{\"y\\"}"#,
            r#"{"a":1,"b":3}"#,
            "\n@@ -1,4 +1,4 @@\n {\n  \"a\": 1,\n- \"b\": \"x: [{\\\"y\\\\\"\n+ \"b\": 3\n }\n",
        );
        check(
            r#"[1,2,3,4,5,6,7,8,9]"#,
            r#"[0,2,3,4,5,6,7,8,9]"#,
            "\n@@ -1,5 +1,5 @@\n [\n- 1,\n+ 0,\n  2,\n  3,\n  4,\n",
        );
        check("[]", "[1]", "\n@@ -1 +1,3 @@\n-[]\n+[\n+ 1\n+]\n");
    }

    #[test]
    fn the_longest_run_stays() {
        // The longest common subsequence would keep three lines of the old text, one by one.
        check(
            r#"["a","x","b","y","c","k","k2"]"#,
            r#"["k","k2","a","b","c"]"#,
            "\n@@ -1,9 +1,7 @@\n [\n+ \"k\",\n+ \"k2\",\n  \"a\",\n- \"x\",\n  \"b\",\n- \"y\",\n- \"c\",\n- \"k\",\n- \"k2\"\n+ \"c\"\n ]\n",
        );
    }
}
