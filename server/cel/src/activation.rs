//! What expressions of admission see of a request, and what is left of what they may cost.

use std::cell::Cell;

use bumpalo::Bump;
use ringbolt_machinery::value::Value;

use crate::{
    admission::{Compiled, Named},
    authorizer::{Asked, Authorizer, Question, ResourceCheck, Subject},
    data,
    eval::Variables,
    limits::{self, PER_CALL_COST_MAX},
    program::Variable,
    value::Val,
};

/// A request as expressions see it. What is `None` is null to them.
#[derive(Clone, Copy, Default)]
pub struct Inputs<'a> {
    /// The object, in the version that the expressions are for.
    pub object: Option<&'a Value<'a>>,
    /// What it was before.
    pub old_object: Option<&'a Value<'a>>,
    /// Whether both are told from Go's own types, as those of built-in kinds are where nothing is changed: errors about
    /// their keys say so.
    pub typed: bool,
    /// The parameters.
    pub params: Option<&'a Value<'a>>,
    /// The request (`AdmissionRequest`).
    pub request: Option<&'a Value<'a>>,
    /// The namespace of the request.
    pub namespace: Option<&'a Value<'a>>,
    /// Whom to ask what is allowed; without one there is no `authorizer`.
    pub authorizer: Option<&'a dyn Authorizer>,
    /// The resource of the request.
    pub request_resource: ResourceCheck<'a>,
}

/// One look of a list of expressions at a request: variables are found out once, when somebody asks for them.
pub struct Activation<'a> {
    arena: &'a Bump,
    inputs: Inputs<'a>,
    variables: &'a [Named],
    found: &'a [Cell<Option<Val<'a>>>],
    /// What variables cost since somebody asked.
    cost: Cell<u64>,
    /// Where the stack stood when the look began.
    stack: usize,
}

impl std::fmt::Debug for Activation<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Activation").finish_non_exhaustive()
    }
}

/// Where the stack stands, about.
#[inline(never)]
fn stack() -> usize {
    let here = 0u8;
    std::ptr::from_ref(std::hint::black_box(&here)).addr()
}

/// There is nothing left to spend: no other expression is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfBudget;

impl std::fmt::Display for OutOfBudget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(
            "validation failed due to running out of cost budget, no further validation rules will be run",
        )
    }
}

impl<'a> Activation<'a> {
    /// A look at a request; values live in `arena`.
    pub fn new(arena: &'a Bump, inputs: Inputs<'a>, variables: &'a [Named]) -> &'a Self {
        let found = arena.alloc_slice_fill_with(variables.len(), |_| Cell::new(None));
        arena.alloc(Activation { arena, inputs, variables, found, cost: Cell::new(0), stack: stack() })
    }

    pub(crate) fn arena(&self) -> &'a Bump {
        self.arena
    }

    /// What a name stands for; `None` where there is no such thing here.
    pub(crate) fn get(&'a self, variable: Variable) -> Option<Val<'a>> {
        let plain = |value: Option<&'a Value<'a>>, typed| {
            Some(value.map_or(Val::Null, |value| data::plain(value, typed, self.arena)))
        };
        let typed = self.inputs.typed;
        let question = |question| Some(Val::Question(self.arena.alloc(question)));
        let asked = |authorizer| Asked { authorizer, who: Subject::Requester };
        match variable {
            Variable::Object => plain(self.inputs.object, typed),
            Variable::OldObject => plain(self.inputs.old_object, typed),
            Variable::Params => plain(self.inputs.params, true),
            Variable::Request => plain(self.inputs.request, true),
            Variable::NamespaceObject => plain(self.inputs.namespace, true),
            Variable::Authorizer => question(Question::Authorizer(asked(self.inputs.authorizer?))),
            Variable::RequestResource => {
                let asked = asked(self.inputs.authorizer?);
                question(Question::Resource(asked, self.inputs.request_resource))
            }
            Variable::Variables => Some(Val::Variables(self)),
            Variable::SelfValue | Variable::OldSelf => None,
        }
    }

    /// The value of a variable; `None` where there is none of that name.
    pub(crate) fn variable(&'a self, name: &str) -> Option<Val<'a>> {
        // Of two with one name the latter is meant.
        let at = self.variables.iter().rposition(|variable| &*variable.name == name)?;
        if let Some(found) = self.found[at].get() {
            return Some(found);
        }
        // One that asks for another of its own name asks for itself.
        self.found[at].set(Some(Val::Error("variable refers to itself")));
        let Named { name, compiled } = &self.variables[at];
        let val = match &compiled.outcome {
            // Each expression is bounded in depth, but not a chain of variables that ask for each other.
            _ if self.stack.abs_diff(stack()) > limits::VARIABLES_STACK_BYTES_MAX => {
                Val::Error("variables refer to each other too deeply")
            }
            Err(error) => Val::error(
                self.arena,
                format!(
                    "composited variable {} fails to compile: {}",
                    ringbolt_machinery::field::quote(name),
                    error.detail
                ),
            ),
            Ok(program) => {
                let variables = Variables { admission: Some(self), ..Variables::default() };
                let outcome = program.run(self.arena, variables, PER_CALL_COST_MAX);
                self.cost.set(self.cost.get().saturating_add(outcome.cost));
                match outcome.val {
                    Val::Error(why) => Val::error(
                        self.arena,
                        format!(
                            "composited variable {} fails to evaluate: {why}",
                            ringbolt_machinery::field::quote(name)
                        ),
                    ),
                    val => val,
                }
            }
        };
        self.found[at].set(Some(val));
        Some(val)
    }

    /// Runs an expression within what is left of a budget, and takes off what it cost.
    pub(crate) fn run(&'a self, compiled: &'a Compiled, budget: &mut u64) -> Result<Val<'a>, OutOfBudget> {
        let program = match &compiled.outcome {
            Ok(program) => program,
            Err(error) => {
                return Ok(Val::error(self.arena, format!("compilation error: {}", error.detail)));
            }
        };
        let variables = Variables { admission: Some(self), ..Variables::default() };
        let outcome = program.run(self.arena, variables, PER_CALL_COST_MAX);
        let mut spend = |cost| {
            *budget = budget.checked_sub(cost).ok_or(OutOfBudget)?;
            Ok(())
        };
        spend(self.cost.replace(0))?;
        spend(outcome.cost)?;
        Ok(match outcome.val {
            Val::Error(why) => {
                Val::error(self.arena, format!("expression '{}' resulted in error: {why}", compiled.text))
            }
            val => val,
        })
    }
}
