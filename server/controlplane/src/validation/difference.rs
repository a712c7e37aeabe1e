//! What an update changed that it may not change: a unified diff of the two objects as indented JSON, which follows
//! the message as kube-apiserver's diff of Go structures does.

use ringbolt_machinery::{field::write_json_string, value::Value};

/// Lines of context around a change.
const CONTEXT: usize = 3;
/// Above this many pairs of lines the part that differs is given as a whole: the table would be too large.
const PAIRS_MAX: usize = 1 << 20;

/// One line of the result.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Both,
    Old,
    New,
}

/// The diff, beginning with a newline and ending with one; empty where nothing differs.
pub(crate) fn difference(old: &Value<'_>, new: &Value<'_>) -> String {
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
        let (removed, added) = (count(Side::New), count(Side::Old));
        out.push_str(&format!("\n@@ -{old_line},{removed} +{new_line},{added} @@"));
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

/// The shortest way from one list of lines to the other.
fn script<'l>(old: &'l [String], new: &'l [String]) -> Vec<(Side, &'l str)> {
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let tail = old[head..].iter().rev().zip(new[head..].iter().rev()).take_while(|(a, b)| a == b).count();
    let (a, b) = (&old[head..old.len() - tail], &new[head..new.len() - tail]);
    let mut out: Vec<(Side, &str)> = old[..head].iter().map(|l| (Side::Both, l.as_str())).collect();
    if a.len().saturating_mul(b.len()) > PAIRS_MAX {
        out.extend(a.iter().map(|l| (Side::Old, l.as_str())));
        out.extend(b.iter().map(|l| (Side::New, l.as_str())));
    } else {
        // common[i][j]: length of the longest common subsequence of a[i..] and b[j..].
        let width = b.len() + 1;
        let mut common = vec![0u32; (a.len() + 1) * width];
        for i in (0..a.len()).rev() {
            for j in (0..b.len()).rev() {
                common[i * width + j] = match a[i] == b[j] {
                    true => common[(i + 1) * width + j + 1] + 1,
                    false => common[(i + 1) * width + j].max(common[i * width + j + 1]),
                };
            }
        }
        let (mut i, mut j) = (0, 0);
        while i < a.len() || j < b.len() {
            if i < a.len() && j < b.len() && a[i] == b[j] {
                out.push((Side::Both, &a[i]));
                (i, j) = (i + 1, j + 1);
            } else if j == b.len()
                || (i < a.len() && common[(i + 1) * width + j] >= common[i * width + j + 1])
            {
                out.push((Side::Old, &a[i]));
                i += 1;
            } else {
                out.push((Side::New, &b[j]));
                j += 1;
            }
        }
    }
    out.extend(old[old.len() - tail..].iter().map(|l| (Side::Both, l.as_str())));
    out
}

/// Indented JSON, members sorted, one space a level.
fn lines(value: &Value<'_>) -> Vec<String> {
    let mut text = String::new();
    pretty(value, 0, &mut text);
    text.lines().map(str::to_owned).collect()
}

fn pretty(value: &Value<'_>, depth: usize, out: &mut String) {
    let open = |out: &mut String, first: bool| {
        out.push_str(if first { "\n" } else { ",\n" });
        out.extend(std::iter::repeat_n(' ', depth + 1));
    };
    match value {
        Value::List(items) if !items.is_empty() => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                open(out, at == 0);
                pretty(item, depth + 1, out);
            }
            close(depth, ']', out);
        }
        Value::Map(map) if !map.is_empty() => {
            let mut members: Vec<_> = map.iter().collect();
            members.sort_by(|a, b| a.0.cmp(b.0));
            out.push('{');
            for (at, (key, item)) in members.into_iter().enumerate() {
                open(out, at == 0);
                write_json_string(key, out);
                out.push_str(": ");
                pretty(item, depth + 1, out);
            }
            close(depth, '}', out);
        }
        other => ringbolt_machinery::field::write_json(other, out),
    }
}

fn close(depth: usize, bracket: char, out: &mut String) {
    out.push('\n');
    out.extend(std::iter::repeat_n(' ', depth));
    out.push(bracket);
}

#[cfg(test)]
mod tests {
    use bumpalo::Bump;
    use ringbolt_machinery::json::decode_untyped;

    use super::difference;

    fn check(old: &str, new: &str, expect: &str) {
        let arena = Bump::new();
        let tree = |text: &str| decode_untyped(&arena, arena.alloc_slice_copy(text.as_bytes())).unwrap();
        assert_eq!(difference(&tree(old), &tree(new)), expect);
    }

    #[test]
    fn changes_have_context() {
        check(r#"{"a":1}"#, r#"{"a":1}"#, "");
        check(
            r#"{"a":1,"b":2}"#,
            r#"{"a":1,"b":3}"#,
            "\n@@ -1,4 +1,4 @@\n {\n  \"a\": 1,\n- \"b\": 2\n+ \"b\": 3\n }\n",
        );
        check(
            r#"[1,2,3,4,5,6,7,8,9]"#,
            r#"[0,2,3,4,5,6,7,8,9]"#,
            "\n@@ -1,5 +1,5 @@\n [\n- 1,\n+ 0,\n  2,\n  3,\n  4,\n",
        );
        check("[]", "[1]", "\n@@ -1,1 +1,3 @@\n-[]\n+[\n+ 1\n+]\n");
    }
}
