//! Tokens of label selectors.

/// A token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// Symbols that make no operator; the text is the message.
    Error,
    /// End of text.
    End,
    /// `)`
    ClosedParen,
    /// `,`
    Comma,
    /// `!`
    Not,
    /// `==`
    DoubleEquals,
    /// `=`
    Equals,
    /// `>`
    GreaterThan,
    /// A key or value.
    Identifier,
    /// `in`
    In,
    /// `<`
    LessThan,
    /// `!=`
    NotEquals,
    /// `notin`
    NotIn,
    /// `(`
    OpenParen,
}

/// A token and its text.
pub(super) type Item<'t> = (Token, std::borrow::Cow<'t, str>);

/// Cuts a selector into tokens, the last one [`Token::End`].
pub(super) fn scan(text: &str) -> Vec<Item<'_>> {
    // A NUL byte ends the text, as it does in apimachinery.
    let text = text.split('\0').next().unwrap_or("");
    let mut items = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\r', '\n']);
        let Some(first) = rest.bytes().next() else {
            items.push((Token::End, "".into()));
            return items;
        };
        if is_special(first) {
            let (token, len) = scan_symbol(rest);
            let item = match token {
                Token::Error => (token, format!("error expected: keyword found '{}'", &rest[..len]).into()),
                token => (token, rest[..len].into()),
            };
            items.push(item);
            rest = &rest[len..];
        } else {
            let end = rest
                .bytes()
                .position(|b| is_special(b) || matches!(b, b' ' | b'\t' | b'\r' | b'\n'))
                .unwrap_or(rest.len());
            let word = &rest[..end];
            let token = match word {
                "in" => Token::In,
                "notin" => Token::NotIn,
                _ => Token::Identifier,
            };
            items.push((token, word.into()));
            rest = &rest[end..];
        }
    }
}

fn is_special(byte: u8) -> bool {
    matches!(byte, b'=' | b'!' | b'(' | b')' | b',' | b'>' | b'<')
}

fn symbol(text: &str) -> Option<Token> {
    Some(match text {
        ")" => Token::ClosedParen,
        "," => Token::Comma,
        "!" => Token::Not,
        "==" => Token::DoubleEquals,
        "=" => Token::Equals,
        ">" => Token::GreaterThan,
        "<" => Token::LessThan,
        "!=" => Token::NotEquals,
        "(" => Token::OpenParen,
        _ => return None,
    })
}

/// The longest operator at the start, growing one symbol at a time until it makes none any more.
fn scan_symbol(text: &str) -> (Token, usize) {
    let mut last = None;
    let mut len = 0;
    while text.as_bytes().get(len).is_some_and(|b| is_special(*b)) {
        len += 1;
        match symbol(&text[..len]) {
            Some(token) => last = Some((token, len)),
            None if last.is_some() => break,
            None => {}
        }
    }
    last.unwrap_or((Token::Error, len))
}
