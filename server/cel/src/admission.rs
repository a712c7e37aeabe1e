//! Expressions of admission: of policies, and the match conditions of webhooks.

mod answer;
#[cfg(test)]
mod tests;
mod types;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::{
    activation::{Activation, OutOfBudget},
    checker::Env,
    decl::{DeclType, Shape},
    expression::Expression,
    program::Program,
    types::{AUTHORIZER, JSON_PATCH, OBJECT, RESOURCE_CHECK, Type, VARIABLES},
};

pub use self::answer::{Answer, Object, Patch};

/// What an expression may refer to besides what all of them may.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Declarations {
    /// `params`
    pub params: bool,
    /// `authorizer` and `authorizer.requestResource`
    pub authorizer: bool,
    /// `Object` and `JSONPatch`, to make some
    pub patch_types: bool,
}

/// What an expression must come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Returns {
    /// Anything.
    Any,
    /// A condition.
    Bool,
    /// A message.
    String,
    /// An annotation, or none.
    StringOrNull,
    /// An object to merge (`Object`).
    Object,
    /// Steps of a JSON patch.
    JsonPatches,
}

impl Returns {
    fn types(self) -> Vec<Type> {
        let named = |name: &str| Type::Struct(name.into());
        match self {
            Returns::Any => Vec::new(),
            Returns::Bool => vec![Type::Bool],
            Returns::String => vec![Type::String],
            Returns::StringOrNull => vec![Type::String, Type::Null],
            Returns::Object => vec![named(OBJECT)],
            Returns::JsonPatches => vec![Type::list(named(JSON_PATCH))],
        }
    }
}

/// Why an expression cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompileError {
    /// What is wrong with it.
    pub detail: String,
    /// Whether that is no fault of who wrote it.
    pub is_internal: bool,
}

/// An expression, or why there is none.
#[derive(Debug)]
pub struct Compiled {
    pub(crate) text: Box<str>,
    pub(crate) outcome: Result<Program, CompileError>,
}

impl Compiled {
    /// What is wrong with it.
    pub fn error(&self) -> Option<&CompileError> {
        self.outcome.as_ref().err()
    }

    /// As it was written.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// A variable of a policy.
#[derive(Debug)]
pub struct Named {
    pub(crate) name: Box<str>,
    pub(crate) compiled: Compiled,
}

impl Named {
    /// Its expression.
    pub fn compiled(&self) -> &Compiled {
        &self.compiled
    }
}

/// Compiles expressions, with the variables that were declared so far.
#[derive(Debug)]
pub struct Compiler {
    /// What is known of `variables`; `None` where there is no such thing.
    variables: Option<DeclType>,
    /// What is known of `object` and `oldObject`, and of `params`; nothing where there is no schema.
    object: Type,
    params: Type,
    /// Types of those.
    schemas: Vec<Arc<DeclType>>,
}

impl Compiler {
    /// One whose expressions have no variables.
    pub fn plain() -> Self {
        Compiler { variables: None, object: Type::Dyn, params: Type::Dyn, schemas: Vec::new() }
    }

    /// One whose expressions have the variables that are declared before them.
    pub fn composing() -> Self {
        Compiler { variables: Some(variables(BTreeMap::new())), ..Compiler::plain() }
    }

    /// Compiles an expression; `stored` where it was accepted before.
    pub fn compile(
        &self,
        text: &str,
        returns: Returns,
        declarations: Declarations,
        stored: bool,
    ) -> Compiled {
        let outcome = self.checked(text, returns, declarations, stored).map(|(program, _)| program);
        Compiled { text: text.into(), outcome }
    }

    /// Compiles a variable and declares it.
    pub fn variable(&mut self, name: &str, text: &str, declarations: Declarations, stored: bool) -> Named {
        let checked = self.checked(text, Returns::Any, declarations, stored);
        let (outcome, t) = match checked {
            Ok((program, t)) => (Ok(program), t),
            Err(error) => (Err(error), Type::Dyn),
        };
        if let Some(DeclType { shape: Shape::Object { fields, .. }, .. }) = &mut self.variables {
            fields.insert(name.to_owned(), types::scalar(types::of_variable(&t)));
        }
        Named { name: name.into(), compiled: Compiled { text: text.into(), outcome } }
    }

    fn checked(
        &self,
        text: &str,
        returns: Returns,
        declarations: Declarations,
        stored: bool,
    ) -> Result<(Program, Type), CompileError> {
        let failed = |detail: String, is_internal| CompileError { detail, is_internal };
        let expression = Expression::compile(text, &self.env(declarations, stored))
            .map_err(|issues| failed(format!("compilation failed: {issues}"), false))?;
        let output = expression.output().clone();
        let wanted = returns.types();
        if !wanted.is_empty() && !wanted.contains(&output) {
            let names: Vec<String> = wanted.iter().map(Type::go_string).collect();
            let detail = match names.as_slice() {
                [one] => format!("must evaluate to {one} but got {}", output.go_string()),
                _ => format!("must evaluate to one of [{}] but got {}", names.join(" "), output.go_string()),
            };
            return Err(failed(detail, false));
        }
        let program = expression
            .program()
            .map_err(|why| failed(format!("program instantiation failed: {why}"), true))?;
        Ok((program, output))
    }

    fn env(&self, declarations: Declarations, stored: bool) -> Env<'_> {
        let mut objects = HashMap::new();
        let mut names = vec![
            ("object", self.object.clone()),
            ("oldObject", self.object.clone()),
            ("namespaceObject", types::NAMESPACE.cel_type()),
            ("request", types::REQUEST.cel_type()),
        ];
        types::NAMESPACE.collect(&mut objects);
        types::REQUEST.collect(&mut objects);
        for schema in &self.schemas {
            schema.collect(&mut objects);
        }
        if declarations.params {
            names.push(("params", self.params.clone()));
        }
        if declarations.authorizer {
            names.push(("authorizer", Type::Struct(AUTHORIZER.into())));
            names.push(("authorizer.requestResource", Type::Struct(RESOURCE_CHECK.into())));
        }
        if let Some(variables) = &self.variables {
            names.push(("variables", variables.cel_type()));
            variables.collect(&mut objects);
        }
        Env { variables: names, objects, stored, patch_types: declarations.patch_types }
    }
}

fn variables(fields: BTreeMap<String, Arc<DeclType>>) -> DeclType {
    DeclType { shape: Shape::Object { name: VARIABLES.into(), fields }, elements_max: 0, bytes_min: 2 }
}

impl<'a> Activation<'a> {
    /// Runs an expression within what is left of a budget, and takes off what it cost. The inner error is that of the
    /// expression; others may be run nonetheless.
    ///
    /// # Errors
    /// The budget is spent.
    pub fn evaluate(
        &'a self,
        compiled: &'a Compiled,
        budget: &mut u64,
    ) -> Result<Result<Answer<'a>, &'a str>, OutOfBudget> {
        Ok(Answer::of(self.run(compiled, budget)?, self.arena()))
    }
}
