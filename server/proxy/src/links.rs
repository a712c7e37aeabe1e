//! Finds the links of a page as it passes, and has them rewritten. All else goes on byte for byte.

use std::borrow::Cow;

use crate::limits;

/// Says what a link becomes.
pub(crate) trait Rewriter {
    /// The link in its place, unless it stays.
    fn rewrite(&self, link: &str) -> Option<String>;
}

/// Attributes that are links, by elements that have them (HTML 4.01, index of attributes, and what HTML 5 adds).
const LINKS: [(&str, &[&str]); 12] = [
    ("action", &["form"]),
    ("background", &["body"]),
    ("cite", &["blockquote", "del", "ins", "q"]),
    ("classid", &["object"]),
    ("codebase", &["applet", "object"]),
    ("data", &["object"]),
    ("formaction", &["button", "input"]),
    ("href", &["a", "area", "base", "link"]),
    ("icon", &["command"]),
    ("longdesc", &["frame", "iframe", "img"]),
    ("manifest", &["html"]),
    ("poster", &["video"]),
];
/// See [`LINKS`].
const MORE_LINKS: [(&str, &[&str]); 3] = [
    ("profile", &["head"]),
    ("src", &["audio", "embed", "frame", "iframe", "img", "input", "script", "source", "video"]),
    ("usemap", &["img", "input", "object"]),
];
/// Elements whose content has no tags but their own end.
const RAW: [&str; 10] =
    ["iframe", "noembed", "noframes", "noscript", "plaintext", "script", "style", "textarea", "title", "xmp"];

fn is_link(element: &str, attribute: &str) -> bool {
    LINKS.iter().chain(&MORE_LINKS).any(|(name, elements)| *name == attribute && elements.contains(&element))
}

/// What is awaited.
#[derive(Default)]
enum State {
    #[default]
    Text,
    /// The end of an element without tags.
    Raw(&'static str),
    /// The end of a comment.
    Comment,
}

/// A page on its way. Keeps a tag that is not whole, up to [`limits::TAG_BYTES`] of it.
#[derive(Default)]
pub(crate) struct Links {
    state: State,
    kept: Vec<u8>,
}

impl Links {
    /// Takes a part of the page, split anywhere, and hands out what is ready.
    pub(crate) fn feed(&mut self, part: &[u8], rewriter: &dyn Rewriter, out: &mut Vec<u8>) {
        let mut input = std::mem::take(&mut self.kept);
        input.extend_from_slice(part);
        let mut rest = &input[..];
        while !rest.is_empty() {
            let taken = match self.state {
                State::Text => self.text(rest, rewriter, out),
                State::Raw(element) => self.raw(rest, element, out),
                State::Comment => self.comment(rest, out),
            };
            let Some(taken) = taken else { break };
            rest = &rest[taken..];
        }
        if rest.len() > limits::TAG_BYTES {
            // Nothing that anybody wrote by hand: the rest of it is text.
            out.extend_from_slice(rest);
            rest = &[];
        }
        self.kept = rest.to_vec();
    }

    /// Hands out what was kept.
    pub(crate) fn finish(&mut self, out: &mut Vec<u8>) {
        out.append(&mut self.kept);
    }

    /// Text up to a tag, or a tag; answers how much was taken, nothing where more must come.
    fn text(&mut self, input: &[u8], rewriter: &dyn Rewriter, out: &mut Vec<u8>) -> Option<usize> {
        let at = input.iter().position(|byte| *byte == b'<').unwrap_or(input.len());
        if at > 0 {
            out.extend_from_slice(&input[..at]);
            return Some(at);
        }
        match *input.get(1)? {
            b'!' if b"<!--".starts_with(&input[..input.len().min(4)]) => {
                if input.len() < 4 {
                    return None;
                }
                self.state = State::Comment;
                out.extend_from_slice(b"<!--");
                Some(4)
            }
            b'!' | b'?' | b'/' => {
                let end = input.iter().position(|byte| *byte == b'>')? + 1;
                out.extend_from_slice(&input[..end]);
                Some(end)
            }
            letter if letter.is_ascii_alphabetic() => {
                let tag = Tag::read(input)?;
                tag.write(input, rewriter, out);
                if let Some(raw) = RAW.iter().find(|raw| **raw == tag.element) {
                    self.state = State::Raw(raw);
                }
                Some(tag.end)
            }
            _ => {
                out.push(b'<');
                Some(1)
            }
        }
    }

    fn raw(&mut self, input: &[u8], element: &str, out: &mut Vec<u8>) -> Option<usize> {
        let at = input.iter().position(|byte| *byte == b'<').unwrap_or(input.len());
        if at > 0 {
            out.extend_from_slice(&input[..at]);
            return Some(at);
        }
        let mark = element.len() + 2;
        let seen = &input[..input.len().min(mark)];
        let expect = [b"</", element.as_bytes()].concat();
        if !expect[..seen.len()].eq_ignore_ascii_case(seen) {
            out.push(b'<');
            return Some(1);
        }
        // What follows the name says whether it is that name.
        let after = *input.get(mark)?;
        if after.is_ascii_whitespace() || matches!(after, b'/' | b'>') {
            self.state = State::Text;
        }
        out.extend_from_slice(seen);
        Some(mark)
    }

    fn comment(&mut self, input: &[u8], out: &mut Vec<u8>) -> Option<usize> {
        let end = input.windows(3).position(|window| window == b"-->");
        match end {
            Some(at) => {
                self.state = State::Text;
                out.extend_from_slice(&input[..at + 3]);
                Some(at + 3)
            }
            None if input.len() > 2 => {
                let taken = input.len() - 2;
                out.extend_from_slice(&input[..taken]);
                Some(taken)
            }
            None => None,
        }
    }
}

/// A start tag.
struct Tag {
    element: String,
    /// Names, and where values are: quotes included.
    attributes: Vec<(String, std::ops::Range<usize>)>,
    /// Behind its `>`.
    end: usize,
}

impl Tag {
    /// Reads one from its `<`; nothing where it is not whole.
    fn read(input: &[u8]) -> Option<Tag> {
        let name_end = |from: usize| {
            let stops = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'/' | b'>' | b'=');
            Some(from + input.get(from..)?.iter().position(stops)?)
        };
        let blanks = |from: usize| {
            Some(from + input.get(from..)?.iter().position(|byte| !byte.is_ascii_whitespace())?)
        };
        let lower = |from: usize, to: usize| String::from_utf8_lossy(&input[from..to]).to_ascii_lowercase();
        let mut at = name_end(1)?;
        let element = lower(1, at);
        let mut attributes = Vec::new();
        loop {
            at = blanks(at)?;
            match input[at] {
                b'>' => return Some(Tag { element, attributes, end: at + 1 }),
                b'/' | b'=' => {
                    at += 1;
                    continue;
                }
                _ => {}
            }
            let begin = at;
            at = name_end(at)?;
            let name = lower(begin, at);
            let sign = blanks(at)?;
            if input[sign] != b'=' {
                continue;
            }
            let value = blanks(sign + 1)?;
            let end = match input[value] {
                quote @ (b'"' | b'\'') => {
                    value + 2 + input.get(value + 1..)?.iter().position(|byte| *byte == quote)?
                }
                b'>' => value,
                _ => {
                    let stops = |byte: &u8| byte.is_ascii_whitespace() || *byte == b'>';
                    value + input.get(value..)?.iter().position(stops)?
                }
            };
            attributes.push((name, value..end));
            at = end;
        }
    }

    fn write(&self, input: &[u8], rewriter: &dyn Rewriter, out: &mut Vec<u8>) {
        let mut done = 0;
        for (_, range) in self.attributes.iter().filter(|(name, _)| is_link(&self.element, name)) {
            let link = unescape(&unquoted(&input[range.clone()]));
            let Some(rewritten) = rewriter.rewrite(link.trim()) else { continue };
            out.extend_from_slice(&input[done..range.start]);
            out.push(b'"');
            out.extend_from_slice(escape(&rewritten).as_bytes());
            out.push(b'"');
            done = range.end;
        }
        out.extend_from_slice(&input[done..self.end]);
    }
}

/// A value without its quotes.
fn unquoted(value: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(match value {
        [b'"', inner @ .., b'"'] | [b'\'', inner @ .., b'\''] => inner,
        bare => bare,
    })
}

/// What stands for characters that links are made of.
const NAMED: [(&str, &str); 5] =
    [("&amp;", "&"), ("&quot;", "\""), ("&apos;", "'"), ("&lt;", "<"), ("&gt;", ">")];

/// A value as it is meant, as far as links need it.
fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let named = NAMED.iter().find(|(name, _)| rest.starts_with(name));
        if let Some((name, meant)) = named {
            out.push_str(meant);
            rest = &rest[name.len()..];
            continue;
        }
        let numbered = rest.strip_prefix("&#").and_then(|number| {
            let (digits, after) = number.split_once(';')?;
            let code = match digits.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16),
                None => digits.parse(),
            };
            Some((char::from_u32(code.ok()?)?, after))
        });
        match numbered {
            Some((character, after)) => {
                out.push(character);
                rest = after;
            }
            None => {
                out.push('&');
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
    out
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('"', "&#34;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Below;

    impl Rewriter for Below {
        fn rewrite(&self, link: &str) -> Option<String> {
            link.starts_with('/').then(|| format!("/P{link}"))
        }
    }

    fn check(page: &str, expect: &str) {
        for step in [1, 2, 5, page.len().max(1)] {
            let (mut links, mut out) = (Links::default(), Vec::new());
            page.as_bytes().chunks(step).for_each(|part| links.feed(part, &Below, &mut out));
            links.finish(&mut out);
            assert_eq!(String::from_utf8_lossy(&out), expect, "{page} by {step}");
        }
    }

    #[test]
    fn links_are_found() {
        check("<p>1 < 2 & <a href=/x>x</a>", "<p>1 < 2 & <a href=\"/P/x\">x</a>");
        check("<A  HREF = '/x?a=1&amp;b=&#50;' id=y>", "<A  HREF = \"/P/x?a=1&amp;b=2\" id=y>");
        check("<img src=\"/i\"/><br/><IMG SRC=/j>", "<img src=\"/P/i\"/><br/><IMG SRC=\"/P/j\">");
        check("<a title=\"/x>\" href=\"y\">", "<a title=\"/x>\" href=\"y\">");
        check("<p href=/x><a src=/x>", "<p href=/x><a src=/x>");
        check(
            "<form action=/f><input disabled formaction=/g>",
            "<form action=\"/P/f\"><input disabled formaction=\"/P/g\">",
        );
    }

    #[test]
    fn what_has_no_tags() {
        check("<!-- <a href=/x> --><a href=/y>", "<!-- <a href=/x> --><a href=\"/P/y\">");
        check(
            "<script src=/s>if (a<b) '<a href=/x>' </scripty></SCRIPT ><a href=/y>",
            "<script src=\"/P/s\">if (a<b) '<a href=/x>' </scripty></SCRIPT ><a href=\"/P/y\">",
        );
        check("<!DOCTYPE html><title><a href=/x></title>", "<!DOCTYPE html><title><a href=/x></title>");
        check("<a href=\"/never", "<a href=\"/never");
        check("<", "<");
    }

    #[test]
    fn long_tags_are_text() {
        let page = format!("<a href=\"/{}", "x".repeat(limits::TAG_BYTES + 10));
        let (mut links, mut out) = (Links::default(), Vec::new());
        links.feed(page.as_bytes(), &Below, &mut out);
        assert!(links.kept.is_empty() && out == page.as_bytes());
    }
}
