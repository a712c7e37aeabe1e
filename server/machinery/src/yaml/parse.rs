//! A YAML document as nodes, before any scalar has a meaning.

use std::collections::HashMap;

use granit_parser::{ErrorKind, Event, Parser, ScalarStyle, ScanError, Span, Tag};

use super::{YamlError, older::Older};
use crate::limits::{JSON_DEPTH_MAX, TREE_DEPTH_MAX};

/// Index of a node in its document.
pub(super) type NodeId = usize;

/// What a node is.
#[derive(Debug)]
pub(super) enum Kind {
    /// Its text, and whether it stands without quotes.
    Scalar(String, bool),
    List(Vec<NodeId>),
    /// Keys and values by turns.
    Map(Vec<NodeId>),
    /// The anchor's name and node.
    Alias(String, NodeId),
}

/// A node.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) kind: Kind,
    /// Tag: a suffix of the core schema (`str`), or the whole; none where not given.
    pub(super) tag: Option<String>,
    /// From 1.
    pub(super) line: usize,
}

/// A document; without a root where the stream is empty.
#[derive(Debug, Default)]
pub(super) struct Document {
    pub(super) nodes: Vec<Node>,
    pub(super) root: Option<NodeId>,
}

/// Tags that YAML's core schema does not have are marked so.
pub(super) const FOREIGN: &str = "!";

fn tag_text(tag: Option<&Tag>) -> Option<String> {
    let suffix = tag?.suffix_in_namespace("tag:yaml.org,2002:");
    Some(suffix.map_or_else(|| FOREIGN.to_owned(), |suffix| suffix.into_owned()))
}

pub(super) fn parse(bytes: &[u8]) -> Result<Document, YamlError> {
    let decoded = utf16(bytes);
    let bytes = decoded.as_deref().map_or(bytes, str::as_bytes);
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let problem = if error.error_len().is_none() {
            "incomplete UTF-8 octet sequence"
        } else if bytes[error.valid_up_to()] & 0xC0 == 0x80 || bytes[error.valid_up_to()] >= 0xF8 {
            "invalid leading UTF-8 octet"
        } else {
            "invalid trailing UTF-8 octet"
        };
        YamlError(format!("yaml: {problem}"))
    })?;
    if text.chars().any(not_allowed) {
        return Err(YamlError("yaml: control characters are not allowed".into()));
    }
    let options = granit_parser::options! {
        emit_comments: false,
        bom_inside_document_as_content: true,
        block_scalar_eof_without_line_feed: true,
        flow_nesting_limit: TREE_DEPTH_MAX,
        block_nesting_limit: TREE_DEPTH_MAX,
    };
    let mut builder =
        Builder { text, document: Document::default(), open: Vec::new(), anchors: HashMap::new() };
    let mut older = Older::new(text);
    older.prefix()?;
    let mut end = text.len();
    for event in Parser::new_from_str_with_options(text, options) {
        let (event, span) = event.map_err(|error| error_text(text, &error))?;
        older.event(&event, &span)?;
        match event {
            Event::StreamEnd => break,
            Event::DocumentEnd => {
                end = span.start.byte_offset().unwrap_or(end);
                break;
            }
            event => builder.event(event, span)?,
        }
    }
    older.finish(end)?;
    Ok(builder.document)
}

/// The text of a stream that begins with the byte order mark of UTF-16; what is no character is replaced.
fn utf16(bytes: &[u8]) -> Option<String> {
    let little = match bytes {
        [0xFF, 0xFE, ..] => true,
        [0xFE, 0xFF, ..] => false,
        _ => return None,
    };
    let (pairs, _) = bytes[2..].as_chunks::<2>();
    let units =
        pairs.iter().map(|pair| if little { u16::from_le_bytes(*pair) } else { u16::from_be_bytes(*pair) });
    Some(char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect())
}

/// Characters that YAML streams may not hold.
fn not_allowed(c: char) -> bool {
    !matches!(c, '\t' | '\n' | '\r' | ' '..='\x7e' | '\u{85}' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..='\u{10ffff}')
}

struct Builder<'t> {
    text: &'t str,
    document: Document,
    open: Vec<NodeId>,
    anchors: HashMap<usize, NodeId>,
}

impl Builder<'_> {
    fn event(&mut self, event: Event<'_>, span: Span) -> Result<(), YamlError> {
        match event {
            Event::Scalar(value, style, anchor, tag) => {
                let plain = style == ScalarStyle::Plain;
                self.add(Kind::Scalar(value.into_owned(), plain), tag.as_deref(), anchor, span);
            }
            Event::SequenceStart(_, anchor, tag) => {
                let id = self.add(Kind::List(Vec::new()), tag.as_deref(), anchor, span);
                self.open.push(id);
            }
            Event::MappingStart(_, anchor, tag) => {
                let id = self.add(Kind::Map(Vec::new()), tag.as_deref(), anchor, span);
                self.open.push(id);
            }
            Event::SequenceEnd | Event::MappingEnd => {
                self.open.pop();
            }
            Event::Alias(target) => {
                let name = span.slice(self.text).unwrap_or("*").trim_start_matches('*').to_owned();
                let Some(&target) = self.anchors.get(&target) else {
                    return Err(YamlError(format!("yaml: unknown anchor '{name}' referenced")));
                };
                self.add(Kind::Alias(name, target), None, 0, span);
            }
            _ => {}
        }
        Ok(())
    }

    fn add(&mut self, kind: Kind, tag: Option<&Tag>, anchor: usize, span: Span) -> NodeId {
        let id = self.document.nodes.len();
        self.document.nodes.push(Node { kind, tag: tag_text(tag), line: span.start.line() });
        if anchor != 0 {
            self.anchors.insert(anchor, id);
        }
        match self.open.last() {
            Some(&parent) => {
                if let Kind::List(children) | Kind::Map(children) = &mut self.document.nodes[parent].kind {
                    children.push(id);
                }
            }
            None => self.document.root = Some(id),
        }
        id
    }
}

/// Longest key that may stand without a question mark: one that is longer is told at once.
const KEY_MAX: usize = 1024;

/// The words that libyaml has for an error, with its way to count lines.
fn error_text(text: &str, error: &ScanError) -> YamlError {
    let (problem, scanner) = problem(text, error);
    let marked = error.marker().line().saturating_sub(1);
    let line = match error.kind() {
        // At the end of the stream, which is a line of its own to libyaml's parser.
        ErrorKind::UnclosedFlowCollection { .. } => text.lines().count(),
        ErrorKind::TabAtBlockScalarStart => marked + 1,
        ErrorKind::UnclosedQuotedScalar => text.matches('\n').count(),
        // Where the next token begins.
        ErrorKind::SimpleKeyExpected | ErrorKind::InvalidSimpleKey
            if text.lines().nth(marked).is_none_or(|line| line.len() <= KEY_MAX) =>
        {
            let content = |line: &str| !line.trim_start().is_empty() && !line.trim_start().starts_with('#');
            let after = text.lines().skip(marked + 1).position(content);
            after.map_or(text.lines().count(), |n| marked + 1 + n)
        }
        _ => marked,
    };
    // What has no mark of its own names no line.
    let line = if matches!(error.kind(), ErrorKind::UnknownAnchor) { 0 } else { line };
    // libyaml counts from 0; Go's port adds one for errors of its scanner only, and names no line 0.
    let line = if line > 0 && scanner { line + 1 } else { line };
    let position = if line == 0 { String::new() } else { format!("line {line}: ") };
    YamlError(format!("yaml: {position}{problem}"))
}

/// Whether an error is at a comma that has nothing before it which could end there.
fn no_node_before_comma(text: &str, error: &ScanError) -> bool {
    let at = error.marker().byte_offset().filter(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let (before, after) = text.split_at(at);
    // The mark may be before or behind it.
    let before = match after.starts_with(',') {
        true => Some(before),
        false => before.trim_end().strip_suffix(','),
    };
    before
        .map(str::trim_end)
        .is_some_and(|before| before.is_empty() || before.ends_with(['-', ':', ',', '[', '{']))
}

/// The problem, and whether libyaml's scanner finds it.
fn problem(text: &str, error: &ScanError) -> (String, bool) {
    let scanner = |text: &str| (text.to_owned(), true);
    let parser = |text: &str| (text.to_owned(), false);
    match error.kind() {
        // A comma stands there.
        _ if no_node_before_comma(text, error) => parser("did not find expected node content"),
        // The stream ends where a value should stand.
        ErrorKind::UnclosedFlowCollection { .. } if text.trim_end().ends_with(['[', '{', ',', ':']) => {
            parser("did not find expected node content")
        }
        ErrorKind::UnclosedFlowCollection { open: '[' }
        | ErrorKind::MismatchedFlowCollectionEnd { open: '[', .. }
        | ErrorKind::UnexpectedEofFlowSequence
        | ErrorKind::ExpectedFlowSequenceSeparator => parser("did not find expected ',' or ']'"),
        ErrorKind::UnclosedFlowCollection { .. }
        | ErrorKind::MismatchedFlowCollectionEnd { .. }
        | ErrorKind::UnexpectedEofFlowMapping
        | ErrorKind::UnexpectedEofImplicitFlowMapping
        | ErrorKind::ExpectedFlowMappingSeparator => parser("did not find expected ',' or '}'"),
        ErrorKind::ExpectedBlockMappingKey
        | ErrorKind::UnexpectedEofBlockMapping
        | ErrorKind::InvalidTrailingSingleQuotedScalar
        | ErrorKind::InvalidTrailingDoubleQuotedScalar => parser("did not find expected key"),
        ErrorKind::MisplacedFlowCollectionEnd => parser("did not find expected node content"),
        ErrorKind::RecursionLimitExceeded => (format!("exceeded max depth of {JSON_DEPTH_MAX}"), true),
        ErrorKind::UnsupportedYamlMajorVersion => parser("found incompatible YAML document"),
        ErrorKind::ExpectedBlockSequenceEntry | ErrorKind::UnexpectedEofBlockSequence => {
            parser("did not find expected '-' indicator")
        }
        ErrorKind::ExpectedNodeContent => parser("did not find expected node content"),
        ErrorKind::ExpectedDocumentStart => parser("did not find expected <document start>"),
        ErrorKind::UndeclaredTagHandle => parser("found undefined tag handle"),
        ErrorKind::UnknownAnchor => {
            let at = error.marker().byte_offset().and_then(|at| text.get(at..)).unwrap_or("");
            let name: String = at
                .trim_start_matches('*')
                .chars()
                .take_while(|c| !c.is_whitespace() && !",[]{}".contains(*c))
                .collect();
            (format!("unknown anchor '{name}' referenced"), false)
        }
        ErrorKind::MappingValueNotAllowed | ErrorKind::InvalidColonPlacement => {
            scanner("mapping values are not allowed in this context")
        }
        ErrorKind::MappingKeyNotAllowed => scanner("mapping keys are not allowed in this context"),
        ErrorKind::BlockSequenceEntryNotAllowed | ErrorKind::BlockEntryInFlowCollection => {
            scanner("block sequence entries are not allowed in this context")
        }
        ErrorKind::SimpleKeyExpected | ErrorKind::InvalidSimpleKey => scanner("could not find expected ':'"),
        ErrorKind::UnexpectedCharacter { .. }
        | ErrorKind::TabNotAllowed
        | ErrorKind::TabInBlockIndentation
        | ErrorKind::TabInIndentation => scanner("found character that cannot start any token"),
        ErrorKind::UnclosedQuotedScalar => scanner("found unexpected end of stream"),
        ErrorKind::DocumentIndicatorInQuotedScalar => scanner("found unexpected document indicator"),
        ErrorKind::UnknownQuotedScalarEscape => scanner("found unknown escape character"),
        ErrorKind::InvalidQuotedScalarHexEscape => scanner("did not find expected hexdecimal number"),
        ErrorKind::MissingAnchorOrAliasName => {
            scanner("did not find expected alphabetic or numeric character")
        }
        ErrorKind::ZeroBlockScalarIndent => scanner("found an indentation indicator equal to 0"),
        ErrorKind::InvalidBlockScalarHeader => scanner("did not find expected comment or line break"),
        ErrorKind::InvalidLowSurrogateHexEscape
        | ErrorKind::InvalidLowSurrogate
        | ErrorKind::MissingLowSurrogate
        | ErrorKind::UnpairedLowSurrogate
        | ErrorKind::InvalidUnicodeEscape => scanner("found invalid Unicode character escape code"),
        ErrorKind::TabAtBlockScalarStart => {
            scanner("found a tab character where an indentation space is expected")
        }
        kind => {
            let text = kind.to_string();
            let text = text.split_once(", ").map_or(text.as_str(), |(_, problem)| problem);
            (text.to_owned(), true)
        }
    }
}
