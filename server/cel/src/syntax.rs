//! What is wrong with a text that is no expression, in the words of the grammar's own parser.

use crate::{
    lexer::{Token, Unrecognized},
    source::{Issues, Source},
};

/// The errors of a text whose tokens do not fit the grammar.
pub(crate) fn issues(source: &Source<'_>, tokens: &[Token], unrecognized: &[Unrecognized]) -> Issues {
    let mut issues = Issues::default();
    for stray in unrecognized {
        let text = &source.text()[stray.start..stray.end];
        issues.report(Some(stray.offset), format!("Syntax error: token recognition error at: '{text}'"));
    }
    if unrecognized.is_empty()
        && let Some(token) = tokens.last()
    {
        issues.report(Some(token.offset), "Syntax error: mismatched input '<EOF>'");
    }
    issues
}
