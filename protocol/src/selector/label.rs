//! Label selectors: `app=web,tier in (a,b),!canary`.

use std::fmt;

use super::{
    lexer::{Item, Token, scan},
    quote,
    validation::{label_key_errors, label_value_errors},
};

/// An operator of a label selector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `!key`
    DoesNotExist,
    /// `key=value`
    Equals,
    /// `key==value`
    DoubleEquals,
    /// `key in (a,b)`
    In,
    /// `key!=value`
    NotEquals,
    /// `key notin (a,b)`
    NotIn,
    /// `key`
    Exists,
    /// `key>1`
    GreaterThan,
    /// `key<1`
    LessThan,
}

/// One requirement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    /// Label key.
    pub key: String,
    /// Operator.
    pub operator: Operator,
    /// Values, sorted, each once.
    pub values: Vec<String>,
}

/// Requirements that must all hold, sorted by key. The default selects everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelSelector {
    /// The requirements.
    pub requirements: Vec<Requirement>,
}

/// Why a label selector does not parse, in the words of apimachinery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelSelectorError(String);

impl fmt::Display for LabelSelectorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for LabelSelectorError {}

impl Requirement {
    /// Makes a requirement; the error lists what is wrong with it.
    pub fn new(
        key: &str,
        operator: Operator,
        mut values: Vec<String>,
    ) -> Result<Requirement, LabelSelectorError> {
        values.sort_unstable();
        values.dedup();
        let mut errors = Vec::new();
        let bad_key = label_key_errors(key);
        if !bad_key.is_empty() {
            errors.push(format!("key: Invalid value: {}: {}", quote(key), bad_key.join("; ")));
        }
        let shown = || {
            let quoted: Vec<String> = values.iter().map(|v| quote(v)).collect();
            format!("[{}]", quoted.join(","))
        };
        match operator {
            Operator::In | Operator::NotIn if values.is_empty() => errors.push(format!(
                "values: Invalid value: {}: for 'in', 'notin' operators, values set can't be empty",
                shown()
            )),
            Operator::Equals | Operator::DoubleEquals | Operator::NotEquals if values.len() != 1 => errors
                .push(format!(
                    "values: Invalid value: {}: exact-match compatibility requires one single value",
                    shown()
                )),
            Operator::Exists | Operator::DoesNotExist if !values.is_empty() => errors.push(format!(
                "values: Invalid value: {}: values set must be empty for exists and does not exist",
                shown()
            )),
            Operator::GreaterThan | Operator::LessThan => {
                if values.len() != 1 {
                    errors.push(format!(
                        "values: Invalid value: {}: for 'Gt', 'Lt' operators, exactly one value is required",
                        shown()
                    ));
                }
                for (at, value) in values.iter().enumerate() {
                    if value.parse::<i64>().is_err() {
                        errors.push(format!(
                            "values[{at}]: Invalid value: {}: for 'Gt', 'Lt' operators, the value must be an integer",
                            quote(value)
                        ));
                    }
                }
            }
            _ => {}
        }
        for (at, value) in values.iter().enumerate() {
            let bad_value = label_value_errors(value);
            if !bad_value.is_empty() {
                errors.push(format!(
                    "values[{at}][{key}]: Invalid value: {}: {}",
                    quote(value),
                    bad_value.join("; ")
                ));
            }
        }
        match errors.len() {
            0 => Ok(Requirement { key: key.to_owned(), operator, values }),
            1 => Err(LabelSelectorError(errors.remove(0))),
            _ => Err(LabelSelectorError(format!("[{}]", errors.join(", ")))),
        }
    }

    /// Whether an object with this value of the key (`None`: it has none) is selected.
    pub fn matches(&self, value: Option<&str>) -> bool {
        let has = |v: &str| self.values.iter().any(|own| own == v);
        match self.operator {
            Operator::In | Operator::Equals | Operator::DoubleEquals => value.is_some_and(has),
            Operator::NotIn | Operator::NotEquals => !value.is_some_and(has),
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
            Operator::GreaterThan | Operator::LessThan => {
                let number = |v: &str| v.parse::<i64>().ok();
                let (Some(theirs), Some(own)) =
                    (value.and_then(number), self.values.first().and_then(|v| number(v)))
                else {
                    return false;
                };
                if self.operator == Operator::GreaterThan { theirs > own } else { theirs < own }
            }
        }
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.operator == Operator::DoesNotExist {
            f.write_str("!")?;
        }
        f.write_str(&self.key)?;
        let (before, after) = match self.operator {
            Operator::Equals => ("=", ""),
            Operator::DoubleEquals => ("==", ""),
            Operator::NotEquals => ("!=", ""),
            Operator::In => (" in (", ")"),
            Operator::NotIn => (" notin (", ")"),
            Operator::GreaterThan => (">", ""),
            Operator::LessThan => ("<", ""),
            Operator::Exists | Operator::DoesNotExist => return Ok(()),
        };
        write!(f, "{before}{}{after}", self.values.join(","))
    }
}

impl LabelSelector {
    /// Parses a selector; the empty text selects everything.
    pub fn parse(text: &str) -> Result<LabelSelector, LabelSelectorError> {
        let mut parser = Parser { items: scan(text), at: 0 };
        let mut requirements = parser.parse().map_err(LabelSelectorError)?;
        requirements.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(LabelSelector { requirements })
    }

    /// Whether it selects everything.
    pub fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// Whether an object with these labels is selected.
    pub fn matches<'o>(&self, mut get: impl FnMut(&str) -> Option<&'o str>) -> bool {
        self.requirements.iter().all(|r| r.matches(get(&r.key)))
    }

    /// The value a label must have, where its first requirement says so.
    pub fn requires_exact(&self, key: &str) -> Option<&str> {
        let first = self.requirements.iter().find(|r| r.key == key)?;
        match (first.operator, first.values.as_slice()) {
            (Operator::Equals | Operator::DoubleEquals | Operator::In, [only]) => Some(only),
            _ => None,
        }
    }
}

/// The canonical form.
impl fmt::Display for LabelSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, requirement) in self.requirements.iter().enumerate() {
            let comma = if at > 0 { "," } else { "" };
            write!(f, "{comma}{requirement}")?;
        }
        Ok(())
    }
}

struct Parser<'t> {
    items: Vec<Item<'t>>,
    at: usize,
}

impl Parser<'_> {
    /// The token under the cursor; `in` and `notin` are words where a key or value may stand.
    fn look(&self, keywords: bool) -> (Token, &str) {
        // The end token stays under the cursor, so that nothing reads past it.
        let (token, text) = &self.items[self.at.min(self.items.len() - 1)];
        match token {
            Token::In | Token::NotIn if !keywords => (Token::Identifier, text),
            token => (*token, text),
        }
    }

    fn take(&mut self, keywords: bool) -> (Token, String) {
        let (token, text) = self.look(keywords);
        let taken = (token, text.to_owned());
        self.at += 1;
        taken
    }

    fn parse(&mut self) -> Result<Vec<Requirement>, String> {
        let mut requirements = Vec::new();
        loop {
            match self.look(false) {
                (Token::Identifier | Token::Not, _) => {
                    let requirement =
                        self.requirement().map_err(|e| format!("unable to parse requirement: {e}"))?;
                    requirements.push(requirement);
                    match self.take(false) {
                        (Token::End, _) => return Ok(requirements),
                        (Token::Comma, _) => match self.look(false) {
                            (Token::Identifier | Token::Not, _) => {}
                            (_, text) => {
                                return Err(format!("found '{text}', expected: identifier after ','"));
                            }
                        },
                        (_, text) => return Err(format!("found '{text}', expected: ',' or 'end of string'")),
                    }
                }
                (Token::End, _) => return Ok(requirements),
                (_, text) => {
                    return Err(format!("found '{text}', expected: !, identifier, or 'end of string'"));
                }
            }
        }
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        let (mut token, mut key) = self.take(false);
        let negated = token == Token::Not;
        if negated {
            (token, key) = self.take(false);
        }
        if token != Token::Identifier {
            return Err(format!("found '{key}', expected: identifier"));
        }
        let bad_key = label_key_errors(&key);
        if !bad_key.is_empty() {
            // The real server has no path at this point, and says so.
            return Err(format!("<nil>: Invalid value: {}: {}", quote(&key), bad_key.join("; ")));
        }
        let ends = matches!(self.look(false).0, Token::End | Token::Comma);
        let (operator, values) = if negated {
            (Operator::DoesNotExist, Vec::new())
        } else if ends {
            (Operator::Exists, Vec::new())
        } else {
            let operator = match self.take(true) {
                (Token::In, _) => Operator::In,
                (Token::NotIn, _) => Operator::NotIn,
                (Token::Equals, _) => Operator::Equals,
                (Token::DoubleEquals, _) => Operator::DoubleEquals,
                (Token::NotEquals, _) => Operator::NotEquals,
                (Token::GreaterThan, _) => Operator::GreaterThan,
                (Token::LessThan, _) => Operator::LessThan,
                (_, text) => {
                    return Err(format!("found '{text}', expected: in, notin, =, ==, !=, gt, lt"));
                }
            };
            let values = match operator {
                Operator::In | Operator::NotIn => self.values()?,
                _ => vec![self.exact_value()?],
            };
            (operator, values)
        };
        Requirement::new(&key, operator, values).map_err(|e| e.0)
    }

    /// `(a,b)`
    fn values(&mut self) -> Result<Vec<String>, String> {
        let (token, text) = self.take(false);
        if token != Token::OpenParen {
            return Err(format!("found '{text}' expected: '('"));
        }
        match self.look(false) {
            (Token::Identifier | Token::Comma, text) => {
                let first = text.to_owned();
                let values = self.identifiers()?;
                if self.take(false).0 != Token::ClosedParen {
                    return Err(format!("found '{first}', expected: ')'"));
                }
                Ok(values)
            }
            (Token::ClosedParen, _) => {
                self.at += 1;
                Ok(vec![String::new()])
            }
            (_, text) => Err(format!("found '{text}', expected: ',', ')' or identifier")),
        }
    }

    /// `a,b` with empty values where commas stand alone.
    fn identifiers(&mut self) -> Result<Vec<String>, String> {
        let mut values = Vec::new();
        loop {
            match self.take(false) {
                (Token::Identifier, text) => {
                    values.push(text);
                    match self.look(false) {
                        (Token::Comma, _) => {}
                        (Token::ClosedParen, _) => return Ok(values),
                        (_, text) => return Err(format!("found '{text}', expected: ',' or ')'")),
                    }
                }
                (Token::Comma, _) => {
                    if values.is_empty() {
                        values.push(String::new());
                    }
                    match self.look(false).0 {
                        Token::ClosedParen => {
                            values.push(String::new());
                            return Ok(values);
                        }
                        Token::Comma => values.push(String::new()),
                        _ => {}
                    }
                }
                (_, text) => return Err(format!("found '{text}', expected: ',', or identifier")),
            }
        }
    }

    fn exact_value(&mut self) -> Result<String, String> {
        if matches!(self.look(false).0, Token::End | Token::Comma) {
            return Ok(String::new());
        }
        match self.take(false) {
            (Token::Identifier, text) => Ok(text),
            (_, text) => Err(format!("found '{text}', expected: identifier")),
        }
    }
}
