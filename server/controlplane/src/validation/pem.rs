//! Blocks of PEM.

use crate::base64;

/// One block.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Block<'a> {
    pub(crate) kind: &'a str,
    pub(crate) has_headers: bool,
    pub(crate) bytes: Vec<u8>,
}

/// The blocks of a text; what is none is passed over.
pub(crate) fn blocks(text: &str) -> impl Iterator<Item = Block<'_>> {
    const BEGIN: &str = "-----BEGIN ";
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            let start = if rest.starts_with(BEGIN) { 0 } else { rest.find("\n-----BEGIN ")? + 1 };
            rest = &rest[start + BEGIN.len()..];
            if let Some((block, after)) = block(rest) {
                rest = after;
                return Some(block);
            }
        }
    })
}

/// The block whose type a text begins with, and what comes after it.
fn block(text: &str) -> Option<(Block<'_>, &str)> {
    let (line, body) = text.split_once('\n')?;
    let kind = line.trim_end().strip_suffix("-----")?;
    let end = format!("-----END {kind}-----");
    let (body, after) = if let Some(after) = body.strip_prefix(&end) {
        ("", after)
    } else {
        let at = body.find(&format!("\n{end}"))?;
        (&body[..at], &body[at + 1 + end.len()..])
    };
    let headers = body.lines().take_while(|line| line.contains(':')).count();
    let data: String = body.lines().skip(headers).flat_map(|line| line.split_whitespace()).collect();
    let bytes = base64::decode(&data);
    let decodes = data.is_empty() || !bytes.is_empty();
    decodes.then_some((Block { kind, has_headers: headers > 0, bytes }, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_after_the_other() {
        let text = "x\n-----BEGIN A B-----\nYQ==\n-----END A B-----\n-----BEGIN C-----\nk: v\n\nYQ\n==\n-----END C-----\n";
        let found: Vec<_> = blocks(text).map(|b| (b.kind, b.has_headers)).collect();
        assert_eq!(found, [("A B", false), ("C", true)]);
        assert_eq!(blocks("nothing").next(), None);
        assert_eq!(blocks("-----BEGIN A-----\n!\n-----END A-----").next(), None);
        assert_eq!(blocks("-----BEGIN A-----\nYQ==\n-----END B-----").next(), None);
    }
}
