//! `x-kubernetes-validations`: rules of a schema, checked when a definition is admitted, and run over objects.

mod admission;
mod compile;
mod evaluate;
mod ratchet;
#[cfg(test)]
mod tests;

pub use admission::{Expressions, SchemaRules};
pub use compile::RuleSet;
pub use evaluate::Findings;

/// A rule's message, else its text: what errors call it.
fn shown<'r>(rule: &'r str, message: &'r str) -> &'r str {
    if message.is_empty() { rule.trim() } else { message.trim() }
}
