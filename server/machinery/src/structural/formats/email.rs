//! Mail addresses, as Go's `net/mail` reads one (RFC 5322).

/// Whether a text is one address, with or without a name.
pub(super) fn is_email(text: &str) -> bool {
    let mut parser = Parser { rest: text };
    parser.address().is_some() && parser.comments().is_some() && parser.rest.is_empty()
}

#[derive(Clone, Copy)]
struct Parser<'t> {
    rest: &'t str,
}

fn is_visible(c: char) -> bool {
    ('!'..='~').contains(&c) || !c.is_ascii()
}

fn is_atom(c: char) -> bool {
    is_visible(c) && !matches!(c, '(' | ')' | '<' | '>' | '[' | ']' | ':' | ';' | '@' | '\\' | ',' | '"')
}

impl<'t> Parser<'t> {
    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t']);
    }

    fn consume(&mut self, c: char) -> Option<()> {
        self.rest = self.rest.strip_prefix(c)?;
        Some(())
    }

    fn address(&mut self) -> Option<()> {
        self.skip_space();
        let start = *self;
        if self.spec().is_some() {
            self.skip_space();
            if self.rest.starts_with('(') {
                self.comment()?;
            }
            return Some(());
        }
        *self = start;
        if !self.rest.starts_with('<') {
            self.phrase()?;
        }
        self.skip_space();
        if self.consume(':').is_some() {
            return self.group();
        }
        self.consume('<')?;
        self.spec()?;
        self.consume('>')
    }

    /// A group of one address.
    fn group(&mut self) -> Option<()> {
        self.skip_space();
        self.address()?;
        self.comments()?;
        self.consume(';')?;
        self.comments()
    }

    fn spec(&mut self) -> Option<()> {
        self.skip_space();
        if self.rest.starts_with('"') {
            if self.quoted()? == 0 {
                return None;
            }
        } else {
            self.dot_atom()?;
        }
        self.consume('@')?;
        self.skip_space();
        if self.rest.starts_with('[') { self.literal() } else { self.dot_atom() }
    }

    fn dot_atom(&mut self) -> Option<()> {
        let atom = self.atom()?;
        let wrong = atom.starts_with('.') || atom.contains("..") || atom.ends_with('.');
        (!wrong).then_some(())
    }

    fn atom(&mut self) -> Option<&'t str> {
        let end = self.rest.find(|c: char| !is_atom(c)).unwrap_or(self.rest.len());
        let (atom, rest) = self.rest.split_at(end);
        self.rest = rest;
        (!atom.is_empty()).then_some(atom)
    }

    /// How many characters there are in quotes.
    fn quoted(&mut self) -> Option<usize> {
        let mut escaped = false;
        let mut count = 0;
        for (at, c) in self.rest.char_indices().skip(1) {
            let plain = is_visible(c) || matches!(c, ' ' | '\t');
            match c {
                _ if escaped && plain => {
                    escaped = false;
                    count += 1;
                }
                '"' => {
                    self.rest = &self.rest[at + 1..];
                    return Some(count);
                }
                '\\' if !escaped => escaped = true,
                _ if plain && !escaped => count += 1,
                _ => return None,
            }
        }
        None
    }

    fn literal(&mut self) -> Option<()> {
        let (address, rest) = self.rest[1..].split_once(']')?;
        self.rest = rest;
        address.parse::<std::net::IpAddr>().ok().map(|_| ())
    }

    fn phrase(&mut self) -> Option<()> {
        let mut words = 0;
        loop {
            if words > 0 {
                self.comments()?;
            }
            self.skip_space();
            if self.rest.is_empty() {
                break;
            }
            let start = *self;
            let word =
                if self.rest.starts_with('"') { self.quoted().map(|_| ()) } else { self.atom().map(|_| ()) };
            if word.is_none() {
                *self = start;
                break;
            }
            words += 1;
        }
        (words > 0).then_some(())
    }

    /// Space and comments.
    fn comments(&mut self) -> Option<()> {
        self.skip_space();
        while self.rest.starts_with('(') {
            self.comment()?;
            self.skip_space();
        }
        Some(())
    }

    fn comment(&mut self) -> Option<()> {
        let mut depth = 0;
        let mut chars = self.rest.char_indices();
        while let Some((at, c)) = chars.next() {
            match c {
                '\\' => {
                    chars.next();
                }
                '(' => depth += 1,
                ')' => {
                    depth -= 1;
                    if depth == 0 {
                        self.rest = &self.rest[at + 1..];
                        return Some(());
                    }
                }
                _ => {}
            }
        }
        None
    }
}
