//! Match conditions: whether a policy or a webhook is to look at a request at all.

use std::time::Instant;

use bumpalo::Bump;
use ringbolt_cel::{
    Activation, Inputs,
    admission::{Answer, Compiled, Compiler, Declarations, Named, Returns},
    limits::MATCH_CONDITIONS_COST_MAX,
};
use ringbolt_machinery::value::Value;

use super::Counted;

/// The conditions of one policy or webhook.
#[derive(Debug)]
pub struct MatchConditions {
    list: Vec<Compiled>,
    /// Whether a condition that fails is told (`failurePolicy: Fail`); else nothing matches.
    fail: bool,
}

/// What conditions come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Matches {
    /// All hold.
    Yes,
    /// One does not, or failed where that is ignored.
    No,
    /// What went wrong.
    Failed(String),
}

impl MatchConditions {
    /// Compiles the conditions of a list; `None` where there are none. `params` where they may refer to parameters.
    pub fn compile(list: &[Value<'_>], compiler: &Compiler, params: bool, fail: bool) -> Option<Self> {
        let declared = Declarations { params, authorizer: true, patch_types: false };
        let one = |condition: &Value<'_>| {
            let text = condition.str_at(&["expression"]).unwrap_or("");
            compiler.compile(text, Returns::Bool, declared, true)
        };
        (!list.is_empty()).then(|| MatchConditions { list: list.iter().map(one).collect(), fail })
    }

    /// Whether all of them hold for a request. `variables` are those that the conditions were compiled with.
    pub fn evaluate<'a>(
        &'a self,
        arena: &'a Bump,
        inputs: Inputs<'a>,
        variables: &'a [Named],
        counted: Counted<'_>,
    ) -> Matches {
        let begun = Instant::now();
        let activation = Activation::new(arena, inputs, variables);
        let mut budget = MATCH_CONDITIONS_COST_MAX;
        let mut errors: Vec<&str> = Vec::new();
        let mut is_excluded = false;
        for compiled in &self.list {
            match activation.evaluate(compiled, &mut budget) {
                // Whatever came of the others: what was not run may not hold.
                Err(spent) => {
                    counted.not_all_hold(0, begun.elapsed());
                    return self.failed(&[&spent.to_string()]);
                }
                // Those behind one that does not hold are run for what they cost alone.
                Ok(_) if is_excluded => {}
                Ok(Ok(answer)) => is_excluded = matches!(answer, Answer::Bool(false)),
                Ok(Err(why)) => errors.push(why),
            }
        }
        if is_excluded || !errors.is_empty() {
            counted.not_all_hold(errors.len(), begun.elapsed());
        }
        match (is_excluded, errors.is_empty()) {
            (true, _) => Matches::No,
            (false, true) => Matches::Yes,
            (false, false) => self.failed(&errors),
        }
    }

    fn failed(&self, errors: &[&str]) -> Matches {
        if !self.fail {
            return Matches::No;
        }
        let mut told: Vec<&str> = Vec::new();
        errors.iter().for_each(|error| {
            if !told.contains(error) {
                told.push(error);
            }
        });
        Matches::Failed(match told.as_slice() {
            [one] => (*one).to_owned(),
            all => format!("[{}]", all.join(", ")),
        })
    }
}
