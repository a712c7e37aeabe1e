//! What an expression compiles to, and the machine that runs it: all threads side by side, so that no text takes more
//! than its length times the program.

use super::{
    class::Class,
    parse::{Assert, Ast, Node},
};

#[derive(Clone, Copy, Debug)]
enum Inst {
    Char(u32),
    Class(u32),
    Any,
    AnyNotNewline,
    Assert(Assert),
    /// Both ways, the first one preferred.
    Split(u32, u32),
    Jump(u32),
    Match,
}

#[derive(Debug)]
pub(super) struct Program {
    insts: Box<[Inst]>,
    classes: Box<[Class]>,
    /// Whether a match begins where the text does.
    anchored: bool,
}

/// A list of threads, each once, in order of preference.
struct Threads {
    dense: Vec<(u32, usize)>,
    sparse: Vec<u32>,
}

impl Threads {
    fn new(size: usize) -> Self {
        Threads { dense: Vec::with_capacity(size.min(64)), sparse: vec![0; size] }
    }

    fn has(&self, pc: u32) -> bool {
        let at = self.sparse[pc as usize] as usize;
        self.dense.get(at).is_some_and(|(known, _)| *known == pc)
    }

    fn add(&mut self, pc: u32, start: usize) {
        self.sparse[pc as usize] = u32::try_from(self.dense.len()).unwrap_or(u32::MAX);
        self.dense.push((pc, start));
    }
}

/// Where the machine stands in the text.
#[derive(Clone, Copy)]
struct Place {
    at: usize,
    before: Option<char>,
    after: Option<char>,
}

fn is_word(c: Option<char>) -> bool {
    c.is_some_and(|c| c == '_' || c.is_ascii_alphanumeric())
}

impl Place {
    fn holds(&self, assert: Assert) -> bool {
        let boundary = is_word(self.before) != is_word(self.after);
        match assert {
            Assert::BeginText => self.before.is_none(),
            Assert::EndText => self.after.is_none(),
            Assert::BeginLine => self.before.is_none_or(|c| c == '\n'),
            Assert::EndLine => self.after.is_none_or(|c| c == '\n'),
            Assert::WordBoundary => boundary,
            Assert::NoWordBoundary => !boundary,
        }
    }
}

impl Program {
    pub(super) fn compile(root: &Node, classes: Vec<Class>) -> Program {
        let mut insts = Vec::new();
        emit(root, &mut insts);
        insts.push(Inst::Match);
        let anchored = matches!(insts.first(), Some(Inst::Assert(Assert::BeginText)));
        Program { insts: insts.into_boxed_slice(), classes: classes.into_boxed_slice(), anchored }
    }

    pub(super) fn heap(&self) -> usize {
        self.insts.len() * size_of::<Inst>() + self.classes.iter().map(Class::heap).sum::<usize>()
    }

    /// The leftmost match from `from` on, of those the preferred one; where only `any` match is asked for, some.
    pub(super) fn run(&self, text: &str, from: usize, any: bool) -> Option<(usize, usize)> {
        let mut current = Threads::new(self.insts.len());
        let mut following = Threads::new(self.insts.len());
        let mut stack = Vec::new();
        let mut found = None;
        let rest = text.get(from..)?;
        let mut place = Place { at: from, before: text[..from].chars().next_back(), after: None };
        let mut chars = rest.chars();
        loop {
            place.after = chars.next();
            if found.is_none() && (!self.anchored || place.at == 0) {
                self.follow(0, place.at, place, &mut current, &mut stack);
            }
            following.dense.clear();
            let next = Place {
                at: place.at + place.after.map_or(0, char::len_utf8),
                before: place.after,
                after: chars.clone().next(),
            };
            for at in 0..current.dense.len() {
                let (pc, start) = current.dense[at];
                let takes = match self.insts[pc as usize] {
                    Inst::Match => {
                        found = Some((start, place.at));
                        if any {
                            return found;
                        }
                        // Those behind are less preferred.
                        break;
                    }
                    Inst::Char(c) => place.after.is_some_and(|after| u32::from(after) == c),
                    Inst::Class(class) => {
                        let class = &self.classes[class as usize];
                        place.after.is_some_and(|after| class.has(u32::from(after)))
                    }
                    Inst::Any => place.after.is_some(),
                    Inst::AnyNotNewline => place.after.is_some_and(|after| after != '\n'),
                    Inst::Assert(_) | Inst::Split(..) | Inst::Jump(_) => false,
                };
                if takes {
                    self.follow(pc + 1, start, next, &mut following, &mut stack);
                }
            }
            std::mem::swap(&mut current, &mut following);
            if place.after.is_none() || current.dense.is_empty() && (found.is_some() || self.anchored) {
                return found;
            }
            place = Place { after: None, ..next };
        }
    }

    /// Adds a thread with all that it comes to without taking a character.
    fn follow(&self, pc: u32, start: usize, place: Place, threads: &mut Threads, stack: &mut Vec<u32>) {
        stack.push(pc);
        while let Some(pc) = stack.pop() {
            if threads.has(pc) {
                continue;
            }
            threads.add(pc, start);
            match self.insts[pc as usize] {
                Inst::Jump(to) => stack.push(to),
                Inst::Split(first, second) => {
                    stack.push(second);
                    stack.push(first);
                }
                Inst::Assert(assert) if place.holds(assert) => stack.push(pc + 1),
                _ => {}
            }
        }
    }
}

fn position(insts: &[Inst]) -> u32 {
    u32::try_from(insts.len()).unwrap_or(u32::MAX)
}

/// Puts the second way of a split where it is now known.
fn split(insts: &mut [Inst], at: u32, enter: u32, leave: u32, greedy: bool) {
    insts[at as usize] = if greedy { Inst::Split(enter, leave) } else { Inst::Split(leave, enter) };
}

fn emit(node: &Node, insts: &mut Vec<Inst>) {
    match &node.ast {
        Ast::Empty => {}
        Ast::Literal(c) => insts.push(Inst::Char(*c)),
        Ast::Class(class) => insts.push(Inst::Class(*class)),
        Ast::Any => insts.push(Inst::Any),
        Ast::AnyNotNewline => insts.push(Inst::AnyNotNewline),
        Ast::Assert(assert) => insts.push(Inst::Assert(*assert)),
        Ast::Group(sub) => emit(sub, insts),
        Ast::Concat(subs) => subs.iter().for_each(|sub| emit(sub, insts)),
        Ast::Alternate(subs) => {
            let mut ends = Vec::new();
            for (at, sub) in subs.iter().enumerate() {
                if at + 1 == subs.len() {
                    emit(sub, insts);
                    break;
                }
                let fork = position(insts);
                insts.push(Inst::Match);
                emit(sub, insts);
                ends.push(insts.len());
                insts.push(Inst::Match);
                let next = position(insts);
                insts[fork as usize] = Inst::Split(fork + 1, next);
            }
            let end = position(insts);
            ends.into_iter().for_each(|at| insts[at] = Inst::Jump(end));
        }
        Ast::Repeat { sub, min, max, greedy } => repeat(sub, *min, *max, *greedy, insts),
    }
}

fn repeat(sub: &Node, min: u32, max: Option<u32>, greedy: bool, insts: &mut Vec<Inst>) {
    // The last of those that must be there is what loops, where there is one.
    let fixed = if max.is_none() { min.saturating_sub(1) } else { min };
    (0..fixed).for_each(|_| emit(sub, insts));
    match max {
        None if min == 0 => {
            let fork = position(insts);
            insts.push(Inst::Match);
            emit(sub, insts);
            if takes_nothing(sub) {
                // As Go has it: once or more often, or not at all. A way that takes nothing then ends the loop where it
                // is preferred.
                let again = position(insts);
                insts.push(Inst::Match);
                split(insts, again, fork + 1, again + 1, greedy);
            } else {
                insts.push(Inst::Jump(fork));
            }
            let leave = position(insts);
            split(insts, fork, fork + 1, leave, greedy);
        }
        None => {
            let enter = position(insts);
            emit(sub, insts);
            let fork = position(insts);
            insts.push(Inst::Match);
            split(insts, fork, enter, fork + 1, greedy);
        }
        Some(max) => {
            let mut forks = Vec::new();
            for _ in min..max {
                forks.push(position(insts));
                insts.push(Inst::Match);
                emit(sub, insts);
            }
            let leave = position(insts);
            forks.into_iter().for_each(|fork| split(insts, fork, fork + 1, leave, greedy));
        }
    }
}

/// Whether an expression matches the empty text.
fn takes_nothing(node: &Node) -> bool {
    match &node.ast {
        Ast::Empty | Ast::Assert(_) => true,
        Ast::Literal(_) | Ast::Class(_) | Ast::Any | Ast::AnyNotNewline => false,
        Ast::Group(sub) => takes_nothing(sub),
        Ast::Concat(subs) => subs.iter().all(takes_nothing),
        Ast::Alternate(subs) => subs.iter().any(takes_nothing),
        Ast::Repeat { sub, min, .. } => *min == 0 || takes_nothing(sub),
    }
}
