//! Expressions from their text to what can be run: all that may be wrong with one is found here.

use crate::{
    ast::Ast,
    checker::{Checked, Env, check},
    parser::parse,
    program::{Program, plan},
    source::Source,
    types::Type,
    validators::validate,
};

/// A checked expression.
#[derive(Debug)]
pub(crate) struct Expression {
    pub(crate) ast: Ast,
    pub(crate) checked: Checked,
}

impl Expression {
    /// Parses and checks a text; the error is all that is wrong with it, each with its line.
    pub(crate) fn compile(text: &str, env: &Env<'_>) -> Result<Expression, String> {
        let source = Source::new(text);
        let mut ast = parse(&source).map_err(|issues| issues.display(&source))?;
        let checked = check(&mut ast, env).map_err(|issues| issues.display(&source))?;
        validate(&ast, &checked).map_err(|issues| issues.display(&source))?;
        Ok(Expression { ast, checked })
    }

    /// The type of its result.
    pub(crate) fn output(&self) -> &Type {
        self.checked.type_of(self.ast.root.id)
    }

    /// Whether it refers to a variable of its surroundings.
    pub(crate) fn uses(&self, variable: &str) -> bool {
        self.checked.used.iter().any(|used| used == variable)
    }

    pub(crate) fn program(&self) -> Result<Program, String> {
        plan(&self.ast, &self.checked)
    }
}
