//! The grammar as a network of states.

use std::{fmt, sync::LazyLock};

use crate::lexer::Tok;

/// Rules of the grammar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Rule {
    Start,
    Expr,
    ConditionalOr,
    ConditionalAnd,
    Relation,
    Calc,
    Unary,
    Member,
    Primary,
    ExprList,
    ListInit,
    FieldInitializerList,
    OptField,
    MapInitializerList,
    EscapeIdent,
    OptExpr,
    Literal,
}

const RULES: usize = Rule::Literal as usize + 1;

/// Tokens, and perhaps the end of the rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TokenSet(u64);

const END: u64 = 1 << 63;

impl TokenSet {
    pub(super) fn of(tokens: &[Tok]) -> TokenSet {
        TokenSet(tokens.iter().fold(0, |bits, token| bits | 1 << *token as u64))
    }
    pub(super) fn contains(self, token: Tok) -> bool {
        self.0 & (1 << token as u64) != 0
    }
    pub(super) fn has_end(self) -> bool {
        self.0 & END != 0
    }
    pub(super) fn without_end(self) -> TokenSet {
        TokenSet(self.0 & !END)
    }
    pub(super) fn union(self, other: TokenSet) -> TokenSet {
        TokenSet(self.0 | other.0)
    }
}

/// Tokens in the order of the grammar, as errors name them.
const NAMES: [(Tok, &str); 36] = [
    (Tok::Eof, "<EOF>"),
    (Tok::Equals, "'=='"),
    (Tok::NotEquals, "'!='"),
    (Tok::In, "'in'"),
    (Tok::Less, "'<'"),
    (Tok::LessEquals, "'<='"),
    (Tok::GreaterEquals, "'>='"),
    (Tok::Greater, "'>'"),
    (Tok::LogicalAnd, "'&&'"),
    (Tok::LogicalOr, "'||'"),
    (Tok::LBracket, "'['"),
    (Tok::RBracket, "']'"),
    (Tok::LBrace, "'{'"),
    (Tok::RBrace, "'}'"),
    (Tok::LParen, "'('"),
    (Tok::RParen, "')'"),
    (Tok::Dot, "'.'"),
    (Tok::Comma, "','"),
    (Tok::Minus, "'-'"),
    (Tok::Exclam, "'!'"),
    (Tok::Question, "'?'"),
    (Tok::Colon, "':'"),
    (Tok::Plus, "'+'"),
    (Tok::Star, "'*'"),
    (Tok::Slash, "'/'"),
    (Tok::Percent, "'%'"),
    (Tok::True, "'true'"),
    (Tok::False, "'false'"),
    (Tok::Null, "'null'"),
    (Tok::Float, "NUM_FLOAT"),
    (Tok::Int, "NUM_INT"),
    (Tok::Uint, "NUM_UINT"),
    (Tok::String, "STRING"),
    (Tok::Bytes, "BYTES"),
    (Tok::Ident, "IDENTIFIER"),
    (Tok::EscIdent, "ESC_IDENTIFIER"),
];

impl fmt::Display for TokenSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> =
            NAMES.iter().filter(|(token, _)| self.contains(*token)).map(|(_, name)| *name).collect();
        match names.as_slice() {
            [one] => f.write_str(one),
            many => write!(f, "{{{}}}", many.join(", ")),
        }
    }
}

/// What the parser does where nothing fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StateKind {
    /// Before alternatives, or the first round of a loop.
    Block,
    /// Before another round.
    LoopBack,
}

/// Part of a rule's body.
#[derive(Debug)]
pub(super) enum Element {
    Token {
        state: usize,
        set: TokenSet,
        next: usize,
    },
    Rule {
        state: usize,
        rule: Rule,
        precedence: u8,
        follow: usize,
    },
    Optional {
        state: usize,
        first: TokenSet,
        body: Vec<Element>,
    },
    Choice {
        state: usize,
        alternatives: Vec<Body>,
        looks_ahead: bool,
    },
    Loop {
        entry: usize,
        back: usize,
        first: TokenSet,
        body: Vec<Element>,
        looks_ahead: bool,
        at_least_once: bool,
    },
}

/// A sequence.
#[derive(Debug, Default)]
pub(super) struct Body {
    pub(super) elements: Vec<Element>,
    pub(super) first: TokenSet,
}

/// A way from a state to another.
#[derive(Clone, Copy, Debug)]
pub(super) enum Edge {
    Epsilon(usize),
    /// A way that is there from a precedence on.
    Precedence(u8, usize),
    Token(TokenSet, usize),
    Rule(Rule, usize),
}

/// The grammar.
#[derive(Debug)]
pub(super) struct Network {
    pub(super) edges: Vec<Vec<Edge>>,
    starts: Vec<usize>,
    /// Ends of rules; others have none.
    pub(super) ends: Vec<Option<Rule>>,
    bodies: Vec<Body>,
    /// States that any call of a rule leads to.
    pub(super) follows: Vec<Vec<usize>>,
    next: Vec<TokenSet>,
}

impl Network {
    pub(super) fn body(&self, rule: Rule) -> &Body {
        &self.bodies[rule as usize]
    }
    pub(super) fn start(&self, rule: Rule) -> usize {
        self.starts[rule as usize]
    }
    /// What may come in a state, to the end of its rule.
    pub(super) fn next(&self, state: usize) -> TokenSet {
        self.next[state]
    }
    /// What may come in a state, and behind the rules that it is in.
    pub(super) fn expected(&self, state: usize, callers: &[usize]) -> TokenSet {
        let mut following = self.next(state);
        let mut expected = following.without_end();
        for caller in callers.iter().rev() {
            if !following.has_end() {
                return expected;
            }
            following = self.next(*caller);
            expected = expected.union(following.without_end());
        }
        if following.has_end() { expected.union(TokenSet::of(&[Tok::Eof])) } else { expected }
    }
    /// As [`Network::expected`].
    pub(super) fn next_within(&self, state: usize, callers: &[usize]) -> TokenSet {
        self.expected(state, callers)
    }
}

/// What a rule is made of, before it has states.
enum G {
    T(&'static [Tok]),
    R(Rule, u8),
    Opt(Vec<G>),
    Alt(Vec<(u8, Vec<G>)>, bool),
    Star(Vec<G>, bool),
    Plus(Vec<G>, bool),
}

use G::{Alt, Opt, Plus, R, Star, T};

fn grammar(rule: Rule) -> Vec<G> {
    const RELATIONS: &[Tok] =
        &[Tok::Less, Tok::LessEquals, Tok::GreaterEquals, Tok::Greater, Tok::Equals, Tok::NotEquals, Tok::In];
    const FACTORS: &[Tok] = &[Tok::Star, Tok::Slash, Tok::Percent];
    const TERMS: &[Tok] = &[Tok::Plus, Tok::Minus];
    let r = |rule| R(rule, 0);
    let dot = || Opt(vec![T(&[Tok::Dot])]);
    let question = || Opt(vec![T(&[Tok::Question])]);
    let comma = || Opt(vec![T(&[Tok::Comma])]);
    let minus = || Opt(vec![T(&[Tok::Minus])]);
    let ident = || T(&[Tok::Ident]);
    match rule {
        Rule::Start => vec![r(Rule::Expr), T(&[Tok::Eof])],
        Rule::Expr => vec![
            r(Rule::ConditionalOr),
            Opt(vec![T(&[Tok::Question]), r(Rule::ConditionalOr), T(&[Tok::Colon]), r(Rule::Expr)]),
        ],
        Rule::ConditionalOr => {
            vec![r(Rule::ConditionalAnd), Star(vec![T(&[Tok::LogicalOr]), r(Rule::ConditionalAnd)], false)]
        }
        Rule::ConditionalAnd => {
            vec![r(Rule::Relation), Star(vec![T(&[Tok::LogicalAnd]), r(Rule::Relation)], false)]
        }
        Rule::Relation => vec![
            r(Rule::Calc),
            Star(vec![Alt(vec![(1, vec![T(RELATIONS), R(Rule::Relation, 2)])], true)], true),
        ],
        Rule::Calc => vec![
            r(Rule::Unary),
            Star(
                vec![Alt(
                    vec![(2, vec![T(FACTORS), R(Rule::Calc, 3)]), (1, vec![T(TERMS), R(Rule::Calc, 2)])],
                    true,
                )],
                true,
            ),
        ],
        Rule::Unary => vec![Alt(
            vec![
                (0, vec![r(Rule::Member)]),
                (0, vec![Plus(vec![T(&[Tok::Exclam])], false), r(Rule::Member)]),
                (0, vec![Plus(vec![T(&[Tok::Minus])], true), r(Rule::Member)]),
            ],
            true,
        )],
        Rule::Member => vec![
            r(Rule::Primary),
            Star(
                vec![Alt(
                    vec![
                        (0, vec![T(&[Tok::Dot]), question(), r(Rule::EscapeIdent)]),
                        (
                            0,
                            vec![
                                T(&[Tok::Dot]),
                                ident(),
                                T(&[Tok::LParen]),
                                Opt(vec![r(Rule::ExprList)]),
                                T(&[Tok::RParen]),
                            ],
                        ),
                        (0, vec![T(&[Tok::LBracket]), question(), r(Rule::Expr), T(&[Tok::RBracket])]),
                    ],
                    true,
                )],
                true,
            ),
        ],
        Rule::Primary => vec![Alt(
            vec![
                (0, vec![dot(), ident()]),
                (0, vec![dot(), ident(), T(&[Tok::LParen]), Opt(vec![r(Rule::ExprList)]), T(&[Tok::RParen])]),
                (0, vec![T(&[Tok::LParen]), r(Rule::Expr), T(&[Tok::RParen])]),
                (0, vec![T(&[Tok::LBracket]), Opt(vec![r(Rule::ListInit)]), comma(), T(&[Tok::RBracket])]),
                (
                    0,
                    vec![
                        T(&[Tok::LBrace]),
                        Opt(vec![r(Rule::MapInitializerList)]),
                        comma(),
                        T(&[Tok::RBrace]),
                    ],
                ),
                (
                    0,
                    vec![
                        dot(),
                        ident(),
                        Star(vec![T(&[Tok::Dot]), ident()], false),
                        T(&[Tok::LBrace]),
                        Opt(vec![r(Rule::FieldInitializerList)]),
                        comma(),
                        T(&[Tok::RBrace]),
                    ],
                ),
                (0, vec![r(Rule::Literal)]),
            ],
            true,
        )],
        Rule::ExprList => vec![r(Rule::Expr), Star(vec![T(&[Tok::Comma]), r(Rule::Expr)], false)],
        Rule::ListInit => vec![r(Rule::OptExpr), Star(vec![T(&[Tok::Comma]), r(Rule::OptExpr)], true)],
        Rule::FieldInitializerList => vec![
            r(Rule::OptField),
            T(&[Tok::Colon]),
            r(Rule::Expr),
            Star(vec![T(&[Tok::Comma]), r(Rule::OptField), T(&[Tok::Colon]), r(Rule::Expr)], true),
        ],
        Rule::OptField => vec![question(), r(Rule::EscapeIdent)],
        Rule::MapInitializerList => vec![
            r(Rule::OptExpr),
            T(&[Tok::Colon]),
            r(Rule::Expr),
            Star(vec![T(&[Tok::Comma]), r(Rule::OptExpr), T(&[Tok::Colon]), r(Rule::Expr)], true),
        ],
        Rule::EscapeIdent => {
            vec![Alt(vec![(0, vec![ident()]), (0, vec![T(&[Tok::EscIdent])])], false)]
        }
        Rule::OptExpr => vec![question(), r(Rule::Expr)],
        Rule::Literal => vec![Alt(
            vec![
                (0, vec![minus(), T(&[Tok::Int])]),
                (0, vec![T(&[Tok::Uint])]),
                (0, vec![minus(), T(&[Tok::Float])]),
                (0, vec![T(&[Tok::String])]),
                (0, vec![T(&[Tok::Bytes])]),
                (0, vec![T(&[Tok::True])]),
                (0, vec![T(&[Tok::False])]),
                (0, vec![T(&[Tok::Null])]),
            ],
            true,
        )],
    }
}

const ALL: [Rule; RULES] = [
    Rule::Start,
    Rule::Expr,
    Rule::ConditionalOr,
    Rule::ConditionalAnd,
    Rule::Relation,
    Rule::Calc,
    Rule::Unary,
    Rule::Member,
    Rule::Primary,
    Rule::ExprList,
    Rule::ListInit,
    Rule::FieldInitializerList,
    Rule::OptField,
    Rule::MapInitializerList,
    Rule::EscapeIdent,
    Rule::OptExpr,
    Rule::Literal,
];

/// The grammar of expressions.
pub(super) static GRAMMAR: LazyLock<Network> = LazyLock::new(|| {
    let mut network = Network {
        edges: Vec::new(),
        starts: Vec::new(),
        ends: Vec::new(),
        bodies: Vec::new(),
        follows: vec![Vec::new(); RULES],
        next: Vec::new(),
    };
    for _ in ALL {
        let start = network.state();
        network.starts.push(start);
    }
    for rule in ALL {
        let end = network.state();
        network.ends[end] = Some(rule);
        let start = network.start(rule);
        let elements = network.sequence(grammar(rule), start, end);
        network.bodies.push(Body { elements, first: TokenSet::default() });
    }
    network.next = (0..network.edges.len()).map(|state| network.reach(state)).collect();
    for at in 0..network.bodies.len() {
        let mut body = std::mem::take(&mut network.bodies[at]);
        body.elements.iter_mut().for_each(|element| network.set_first(element));
        network.bodies[at] = body;
    }
    network
});

impl Network {
    fn state(&mut self) -> usize {
        self.edges.push(Vec::new());
        self.ends.push(None);
        self.edges.len() - 1
    }

    /// States for a sequence that begins in one state and ends in another.
    fn sequence(&mut self, parts: Vec<G>, start: usize, end: usize) -> Vec<Element> {
        let count = parts.len();
        let mut from = start;
        let mut elements = Vec::with_capacity(count);
        for (at, part) in parts.into_iter().enumerate() {
            let to = if at + 1 == count { end } else { self.state() };
            elements.push(self.part(part, from, to));
            from = to;
        }
        if count == 0 {
            self.edges[from].push(Edge::Epsilon(end));
        }
        elements
    }

    fn part(&mut self, part: G, from: usize, to: usize) -> Element {
        let first = TokenSet::default();
        match part {
            T(tokens) => {
                let set = TokenSet::of(tokens);
                self.edges[from].push(Edge::Token(set, to));
                Element::Token { state: from, set, next: to }
            }
            R(rule, precedence) => {
                self.edges[from].push(Edge::Rule(rule, to));
                self.follows[rule as usize].push(to);
                Element::Rule { state: from, rule, precedence, follow: to }
            }
            Opt(parts) => {
                let inner = self.state();
                self.edges[from].push(Edge::Epsilon(inner));
                self.edges[from].push(Edge::Epsilon(to));
                let body = self.sequence(parts, inner, to);
                Element::Optional { state: from, first, body }
            }
            Alt(parts, looks_ahead) => {
                let mut alternatives = Vec::with_capacity(parts.len());
                for (precedence, parts) in parts {
                    let inner = self.state();
                    self.edges[from].push(Edge::Precedence(precedence, inner));
                    let elements = self.sequence(parts, inner, to);
                    alternatives.push(Body { elements, first });
                }
                Element::Choice { state: from, alternatives, looks_ahead }
            }
            Star(parts, looks_ahead) => {
                let (inner, back) = (self.state(), self.state());
                self.edges[from].push(Edge::Epsilon(inner));
                self.edges[from].push(Edge::Epsilon(to));
                self.edges[back].push(Edge::Epsilon(from));
                let body = self.sequence(parts, inner, back);
                Element::Loop { entry: from, back, first, body, looks_ahead, at_least_once: false }
            }
            Plus(parts, looks_ahead) => {
                let (inner, back) = (self.state(), self.state());
                self.edges[from].push(Edge::Epsilon(inner));
                self.edges[back].push(Edge::Epsilon(inner));
                self.edges[back].push(Edge::Epsilon(to));
                let body = self.sequence(parts, inner, back);
                Element::Loop { entry: from, back, first, body, looks_ahead, at_least_once: true }
            }
        }
    }

    fn reach(&self, state: usize) -> TokenSet {
        let mut set = TokenSet::default();
        self.collect(state, &mut vec![false; self.edges.len()], &mut set);
        set
    }

    /// Tokens that lead on from a state; whether the end of its rule is reached without any is in the set as well.
    fn collect(&self, state: usize, seen: &mut Vec<bool>, set: &mut TokenSet) {
        if std::mem::replace(&mut seen[state], true) {
            return;
        }
        if self.ends[state].is_some() {
            set.0 |= END;
        }
        for edge in &self.edges[state] {
            match *edge {
                Edge::Epsilon(to) | Edge::Precedence(_, to) => self.collect(to, seen, set),
                Edge::Token(tokens, _) => set.0 |= tokens.0,
                Edge::Rule(rule, to) => {
                    let inner = self.reach(self.start(rule));
                    set.0 |= inner.without_end().0;
                    if inner.has_end() {
                        self.collect(to, seen, set);
                    }
                }
            }
        }
    }

    fn set_first(&self, element: &mut Element) {
        let first_of = |state: usize| self.next[state];
        let inner = |state: usize, at: usize| match self.edges[state][at] {
            Edge::Epsilon(to) | Edge::Precedence(_, to) => first_of(to),
            _ => TokenSet::default(),
        };
        match element {
            Element::Token { .. } | Element::Rule { .. } => {}
            Element::Optional { state, first, body } => {
                *first = inner(*state, 0);
                body.iter_mut().for_each(|element| self.set_first(element));
            }
            Element::Choice { state, alternatives, .. } => {
                for (at, alternative) in alternatives.iter_mut().enumerate() {
                    alternative.first = inner(*state, at);
                    alternative.elements.iter_mut().for_each(|element| self.set_first(element));
                }
            }
            Element::Loop { entry, first, body, .. } => {
                *first = inner(*entry, 0);
                body.iter_mut().for_each(|element| self.set_first(element));
            }
        }
    }
}
