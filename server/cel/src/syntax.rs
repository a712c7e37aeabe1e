//! What is wrong with a text that is no expression, in the words of the grammar's own parser.
//!
//! That parser is one of ANTLR's: it looks ahead as far as it takes to choose between alternatives, and where nothing
//! fits it skips a token, makes one up, or gives a rule up. The errors follow from all of this, so all of this is done
//! here: `network` is the grammar, `predict` the looking ahead, this the parser with its repairs.

mod network;
mod predict;

use crate::{
    lexer::{Tok, Token, Unrecognized},
    source::{Issues, Source},
};
use network::{Element, GRAMMAR, Network, Rule, StateKind, TokenSet};

/// Repairs before the parser gives up.
const REPAIRS_MAX: usize = 30;
/// Tokens that one repair skips at most.
const SKIPPED_MAX: usize = 256;
/// Errors before the parser gives up.
const REPORTS_MAX: usize = 100;

/// The errors of a text whose tokens do not fit the grammar.
pub(crate) fn issues(source: &Source<'_>, tokens: &[Token], unrecognized: &[Unrecognized]) -> Issues {
    let mut recognizer = Recognizer {
        network: &GRAMMAR,
        source,
        tokens,
        at: 0,
        state: 0,
        callers: Vec::new(),
        recovering: false,
        last_error: None,
        repairs: 0,
        reports: 0,
        strays: unrecognized,
        unheard: unrecognized.iter().peekable(),
        issues: Issues::default(),
    };
    recognizer.hear_lexer();
    if recognizer.rule(Rule::Start, 0).is_ok() {
        recognizer.hear_all_of_lexer();
    }
    recognizer.issues
}

/// Why a rule was given up.
enum Failure {
    NoViableAlternative { start: usize, offending: usize },
    Mismatch { expected: TokenSet, offending: usize },
}

/// The parser is at its limits.
struct GivenUp;

enum Stop {
    Failure(Failure),
    GivenUp,
}

impl From<GivenUp> for Stop {
    fn from(_: GivenUp) -> Self {
        Stop::GivenUp
    }
}

struct Recognizer<'r, 't> {
    network: &'static Network,
    source: &'r Source<'t>,
    tokens: &'r [Token],
    at: usize,
    state: usize,
    /// States that the rules it is in lead to, the outermost first.
    callers: Vec<usize>,
    /// Nothing is reported until a token fits.
    recovering: bool,
    /// Where the last rule was given up, and in which states.
    last_error: Option<(usize, Vec<usize>)>,
    repairs: usize,
    reports: usize,
    /// Text that is no token, in all and what of it was not complained about yet.
    strays: &'r [Unrecognized],
    unheard: std::iter::Peekable<std::slice::Iter<'r, Unrecognized>>,
    issues: Issues,
}

/// A text as errors show it.
fn shown(text: &str) -> String {
    format!("'{}'", text.replace('\n', "\\n").replace('\r', "\\r").replace('\t', "\\t"))
}

impl Recognizer<'_, '_> {
    fn token(&self, at: usize) -> Token {
        self.tokens[at.min(self.tokens.len() - 1)]
    }
    fn la(&self, ahead: usize) -> Tok {
        self.token(self.at + ahead - 1).kind
    }
    fn consume(&mut self) {
        if self.at + 1 < self.tokens.len() {
            self.at += 1;
        }
        self.hear_lexer();
    }

    /// The lexer is one token ahead, and complains as it goes.
    fn hear_lexer(&mut self) {
        let until = self.token(self.at).offset;
        while let Some(stray) = self.unheard.next_if(|stray| stray.offset < until) {
            self.complain(*stray);
        }
    }
    fn hear_all_of_lexer(&mut self) {
        while let Some(stray) = self.unheard.next() {
            self.complain(*stray);
        }
    }
    fn complain(&mut self, stray: Unrecognized) {
        let text = &self.source.text()[stray.start..stray.end];
        let message = format!("token recognition error at: {}", shown(text));
        let _ = self.notify(stray.offset, &message);
    }

    fn notify(&mut self, offset: u32, message: &str) -> Result<(), GivenUp> {
        if self.reports >= REPORTS_MAX {
            let message = format!("Syntax error: More than {REPORTS_MAX} syntax errors");
            self.issues.report(Some(offset), message);
            return Err(GivenUp);
        }
        self.reports += 1;
        self.issues.report(Some(offset), format!("Syntax error: {message}"));
        Ok(())
    }

    fn display(&self, at: usize) -> String {
        let token = self.token(at);
        match token.kind {
            Tok::Eof => "'<EOF>'".to_owned(),
            _ => shown(&self.source.text()[token.start..token.end]),
        }
    }

    fn expected(&self) -> TokenSet {
        self.network.expected(self.state, &self.callers)
    }

    // Repairs.

    fn repair(&mut self) -> Result<(), GivenUp> {
        if self.repairs == REPAIRS_MAX {
            self.repairs += 1;
            let offset = self.token(self.at).offset;
            self.notify(offset, &format!("error recovery attempt limit exceeded: {REPAIRS_MAX}"))?;
            return Err(GivenUp);
        }
        self.repairs += 1;
        if self.repairs > REPAIRS_MAX + 1 { Err(GivenUp) } else { Ok(()) }
    }

    fn matched(&mut self) {
        self.recovering = false;
        self.last_error = None;
    }

    fn unwanted(&mut self) -> Result<(), GivenUp> {
        if self.recovering {
            return Ok(());
        }
        self.recovering = true;
        let message = format!("extraneous input {} expecting {}", self.display(self.at), self.expected());
        self.notify(self.token(self.at).offset, &message)
    }

    /// Skips a token where the one behind it fits.
    fn delete_one(&mut self) -> Result<bool, GivenUp> {
        if !self.expected().contains(self.la(2)) {
            return Ok(false);
        }
        self.unwanted()?;
        self.consume();
        self.matched();
        Ok(true)
    }

    fn mismatch(&self) -> Stop {
        Stop::Failure(Failure::Mismatch { expected: self.expected(), offending: self.at })
    }

    /// Looks whether anything that may come now is there.
    fn sync(&mut self, kind: StateKind) -> Result<(), Stop> {
        if self.recovering {
            return Ok(());
        }
        let next = self.network.next(self.state);
        if next.contains(self.la(1)) || next.has_end() {
            return Ok(());
        }
        match kind {
            StateKind::Block => match self.delete_one()? {
                true => Ok(()),
                false => Err(self.mismatch()),
            },
            StateKind::LoopBack => {
                self.unwanted()?;
                let until = self.expected().union(self.recovery_set());
                self.skip_until(until)?;
                Ok(())
            }
        }
    }

    fn recovery_set(&self) -> TokenSet {
        let sets = self.callers.iter().map(|state| self.network.next(*state).without_end());
        sets.fold(TokenSet::default(), TokenSet::union)
    }

    fn skip_until(&mut self, set: TokenSet) -> Result<(), GivenUp> {
        let mut skipped = 0;
        while self.la(1) != Tok::Eof && !set.contains(self.la(1)) {
            if skipped == SKIPPED_MAX {
                let message = format!("error recovery token lookahead limit exceeded: {SKIPPED_MAX}");
                self.issues.report(None, message);
                return Err(GivenUp);
            }
            self.consume();
            skipped += 1;
        }
        Ok(())
    }

    fn give_up_rule(&mut self, failure: &Failure) -> Result<(), GivenUp> {
        if !self.recovering {
            self.recovering = true;
            let (offending, message) = match failure {
                Failure::NoViableAlternative { start, offending } => {
                    (*offending, self.no_viable(*start, *offending))
                }
                Failure::Mismatch { expected, offending } => {
                    let input = self.display(*offending);
                    (*offending, format!("mismatched input {input} expecting {expected}"))
                }
            };
            self.notify(self.token(offending).offset, &message)?;
        }
        self.repair()?;
        let again = self
            .last_error
            .as_ref()
            .is_some_and(|(at, states)| *at == self.at && states.contains(&self.state));
        if again {
            self.consume();
        }
        let mut states = self.last_error.take().map(|(_, states)| states).unwrap_or_default();
        states.push(self.state);
        self.last_error = Some((self.at, states));
        let until = self.recovery_set();
        self.skip_until(until)
    }

    fn no_viable(&self, start: usize, offending: usize) -> String {
        let (first, last) = (self.token(start), self.token(offending));
        let end = if last.kind == Tok::Eof { self.source.text().len() } else { last.end };
        let mut text = String::new();
        let mut from = first.start;
        for stray in self.strays.iter().filter(|stray| (first.start..end).contains(&stray.start)) {
            text.push_str(&self.source.text()[from..stray.start]);
            from = stray.end;
        }
        text.push_str(self.source.text().get(from..end).unwrap_or_default());
        if let Some(word @ ("true" | "false" | "null")) = text.get(1..)
            && text.starts_with('.')
        {
            return format!("mismatched input '{word}' expecting IDENTIFIER");
        }
        format!("no viable alternative at input {}", shown(&text))
    }

    // The parser.

    fn rule(&mut self, rule: Rule, precedence: u8) -> Result<(), GivenUp> {
        let network = self.network;
        match self.elements(&network.body(rule).elements, precedence) {
            Ok(()) => Ok(()),
            Err(Stop::GivenUp) => Err(GivenUp),
            Err(Stop::Failure(failure)) => self.give_up_rule(&failure),
        }
    }

    fn elements(&mut self, elements: &'static [Element], precedence: u8) -> Result<(), Stop> {
        elements.iter().try_for_each(|element| self.element(element, precedence))
    }

    fn element(&mut self, element: &'static Element, precedence: u8) -> Result<(), Stop> {
        match element {
            Element::Token { state, set, next } => {
                self.state = *state;
                self.match_one(*set, *next)
            }
            Element::Rule { state, rule, precedence, follow } => {
                self.state = *state;
                self.callers.push(*follow);
                let done = self.rule(*rule, *precedence);
                self.callers.pop();
                done?;
                Ok(())
            }
            Element::Optional { state, first, body } => {
                self.state = *state;
                self.sync(StateKind::Block)?;
                if first.contains(self.la(1)) { self.elements(body, precedence) } else { Ok(()) }
            }
            Element::Choice { state, alternatives, looks_ahead } => {
                self.state = *state;
                self.sync(StateKind::Block)?;
                let chosen = if *looks_ahead {
                    self.predict(*state, precedence)?
                } else {
                    let la = self.la(1);
                    let fits = alternatives.iter().position(|alternative| alternative.first.contains(la));
                    fits.ok_or(Stop::Failure(Failure::NoViableAlternative {
                        start: self.at,
                        offending: self.at,
                    }))?
                };
                self.elements(&alternatives[chosen].elements, precedence)
            }
            Element::Loop { entry, back, first, body, looks_ahead, at_least_once } => {
                self.state = *entry;
                self.sync(StateKind::Block)?;
                let mut again = *at_least_once || self.goes_on(*entry, *first, *looks_ahead, precedence)?;
                while again {
                    self.elements(body, precedence)?;
                    self.state = *back;
                    self.sync(StateKind::LoopBack)?;
                    let decision = if *at_least_once { *back } else { *entry };
                    again = self.goes_on(decision, *first, *looks_ahead, precedence)?;
                }
                Ok(())
            }
        }
    }

    fn goes_on(
        &mut self,
        decision: usize,
        first: TokenSet,
        looks_ahead: bool,
        precedence: u8,
    ) -> Result<bool, Stop> {
        match looks_ahead {
            true => Ok(self.predict(decision, precedence)? == 0),
            false => Ok(first.contains(self.la(1))),
        }
    }

    fn predict(&mut self, decision: usize, precedence: u8) -> Result<usize, Stop> {
        let token = |ahead: usize| self.token(self.at + ahead).kind;
        predict::predict(self.network, decision, precedence, &token).map_err(|ahead| {
            Stop::Failure(Failure::NoViableAlternative { start: self.at, offending: self.at + ahead })
        })
    }

    fn match_one(&mut self, set: TokenSet, next: usize) -> Result<(), Stop> {
        if set.contains(self.la(1)) {
            self.matched();
            self.consume();
            return Ok(());
        }
        self.repair()?;
        if self.delete_one()? {
            self.consume();
            return Ok(());
        }
        // Goes on as if it were there, where what is there would fit behind it.
        if self.network.next_within(next, &self.callers).contains(self.la(1)) {
            if !self.recovering {
                self.recovering = true;
                let message = format!("missing {} at {}", self.expected(), self.display(self.at));
                self.notify(self.token(self.at).offset, &message)?;
            }
            return Ok(());
        }
        Err(self.mismatch())
    }
}
