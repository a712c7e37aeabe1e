//! CEL as Kubernetes speaks it: parsed, checked against the types of a schema, weighed, and run.
#![forbid(unsafe_code)]

mod activation;
mod address;
pub mod admission;
mod ast;
mod authorizer;
mod checker;
mod constant;
mod cost;
mod data;
mod decl;
pub mod devices;
mod encoding;
mod escaping;
mod eval;
mod expression;
mod format;
mod functions;
mod lexer;
mod library;
mod library_cost;
pub mod limits;
mod macros;
mod named_format;
mod parser;
mod program;
mod regex_syntax;
mod rules;
mod runtime_cost;
mod schema;
mod semver;
mod source;
mod syntax;
#[cfg(test)]
mod tests;
mod time;
mod types;
mod unescape;
mod url;
mod validators;
mod value;

pub use activation::{Activation, Inputs, OutOfBudget};
pub use authorizer::{Authorizer, Decision, ResourceCheck, Subject, Target};
pub use escaping::is_reserved;
pub use rules::{Expressions, Findings, RuleSet, SchemaRules};
