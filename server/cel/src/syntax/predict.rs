//! Looking ahead: which alternative the tokens to come fit.

use std::collections::HashSet;

use super::network::{Edge, Network};
use crate::lexer::Tok;

/// Ways looked at before the first that is left is taken: errors must not cost more than what they are about.
const WAYS_MAX: usize = 200_000;

/// A way through the network on behalf of an alternative.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Way {
    alternative: usize,
    state: usize,
    /// States that the rules it is in lead to.
    callers: Vec<u16>,
    /// It left the rule that is being decided about.
    outside: bool,
}

/// The alternative of a decision, counted from 0; `Err` says at which token none is left.
pub(super) fn predict(
    network: &Network,
    decision: usize,
    precedence: u8,
    token: &dyn Fn(usize) -> Tok,
) -> Result<usize, usize> {
    let mut walked = 0;
    let mut ways = HashSet::new();
    for (alternative, edge) in network.edges[decision].iter().enumerate() {
        let to = match *edge {
            Edge::Epsilon(to) => to,
            Edge::Precedence(needed, to) if needed >= precedence || needed == 0 => to,
            _ => continue,
        };
        let way = Way { alternative, state: to, callers: Vec::new(), outside: false };
        close(network, way, precedence, &mut ways, &mut walked);
    }
    let mut ahead = 0;
    loop {
        let kind = token(ahead);
        let mut next = HashSet::new();
        for way in &ways {
            for edge in &network.edges[way.state] {
                if let Edge::Token(set, to) = *edge
                    && set.contains(kind)
                {
                    let way = Way { state: to, ..way.clone() };
                    close(network, way, 0, &mut next, &mut walked);
                }
            }
        }
        if next.is_empty() {
            // What left the rule may be right still: the rules around are to tell.
            let left = ways.iter().filter(|way| way.outside || network.ends[way.state].is_some());
            return left.map(|way| way.alternative).min().ok_or(ahead);
        }
        let first = next.iter().map(|way| way.alternative).min().unwrap_or(0);
        let is_settled = next.iter().all(|way| way.alternative == first);
        if is_settled || kind == Tok::Eof || walked > WAYS_MAX || is_ambiguous(&next) {
            return Ok(first);
        }
        ways = next;
        ahead += 1;
    }
}

/// Whether every way is one of more than one alternative, and of the same ones: no token will tell them apart.
fn is_ambiguous(ways: &HashSet<Way>) -> bool {
    let mut places: std::collections::HashMap<(usize, &[u16]), u64> = std::collections::HashMap::new();
    for way in ways {
        *places.entry((way.state, &way.callers)).or_default() |= 1 << way.alternative;
    }
    let mut sets = places.values();
    match sets.next() {
        Some(first) => first.count_ones() > 1 && sets.all(|set| set == first),
        None => false,
    }
}

/// Adds all states that a way reaches without a token.
fn close(network: &Network, way: Way, precedence: u8, ways: &mut HashSet<Way>, walked: &mut usize) {
    *walked += 1;
    if *walked > WAYS_MAX || !ways.insert(way.clone()) {
        return;
    }
    if let Some(rule) = network.ends[way.state] {
        let mut callers = way.callers.clone();
        match callers.pop() {
            Some(to) => close(network, Way { state: usize::from(to), callers, ..way }, 0, ways, walked),
            None => {
                for to in &network.follows[rule as usize] {
                    let way = Way { state: *to, callers: Vec::new(), outside: true, ..way };
                    close(network, way, 0, ways, walked);
                }
            }
        }
        return;
    }
    for edge in &network.edges[way.state] {
        match *edge {
            Edge::Epsilon(to) => close(network, Way { state: to, ..way.clone() }, precedence, ways, walked),
            Edge::Precedence(needed, to) => {
                if needed == 0 || needed >= precedence || !way.callers.is_empty() || way.outside {
                    close(network, Way { state: to, ..way.clone() }, precedence, ways, walked);
                }
            }
            Edge::Rule(rule, to) => {
                let mut callers = way.callers.clone();
                callers.push(to as u16);
                let way = Way { state: network.start(rule), callers, ..way.clone() };
                close(network, way, 0, ways, walked);
            }
            Edge::Token(..) => {}
        }
    }
}
