//! Regular expressions as Go's `regexp` has them: RE2 syntax with Go's error texts, leftmost-first matches in time linear
//! in the text. Programs are small and need no cache, so that a schema may own hundreds of them.

mod class;
mod parse;
mod program;
#[cfg(test)]
mod tests;
mod token;

use std::fmt;

use program::Program;

/// Why a text is no regular expression; `Display` is Go's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegexpError {
    code: &'static str,
    expr: String,
}

impl fmt::Display for RegexpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error parsing regexp: {}: `{}`", self.code, self.expr)
    }
}

impl std::error::Error for RegexpError {}

/// A compiled regular expression.
#[derive(Debug)]
pub struct Regexp {
    program: Program,
}

impl Regexp {
    /// Compiles an expression, as `regexp.Compile` does.
    pub fn compile(expr: &str) -> Result<Regexp, RegexpError> {
        let (ast, classes) = parse::parse(expr)?;
        Ok(Regexp { program: Program::compile(&ast, classes) })
    }

    /// Whether the text has a match anywhere: `MatchString`.
    pub fn is_match(&self, text: &str) -> bool {
        self.program.run(text, 0, true).is_some()
    }

    /// Start and end of the leftmost match that begins at `from` or later: `FindStringIndex`.
    pub fn find(&self, text: &str, from: usize) -> Option<(usize, usize)> {
        self.program.run(text, from, false)
    }

    /// Bytes it takes.
    pub fn memory(&self) -> usize {
        size_of::<Regexp>() + self.program.heap()
    }
}
