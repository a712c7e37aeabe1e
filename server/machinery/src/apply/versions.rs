//! The versions of a kind, as the field manager asks for them.

use bumpalo::Bump;

use super::shape::Root;
use crate::value::Value;

/// Turns an object of one version into another version of its kind.
pub trait Versions {
    /// The object in the version `to`.
    fn convert<'a>(
        &self,
        arena: &'a Bump,
        object: &Value<'a>,
        from: &str,
        to: &str,
    ) -> Result<Value<'a>, Unconverted>;

    /// What fields are told by in a version of a custom resource (the Schema knows those of built-in kinds).
    fn root(&self, _api_version: &str) -> Result<Root<'_>, Unconverted> {
        Err(Unconverted::Missing)
    }
}

/// Why there is no object of a version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unconverted {
    /// The kind has no such version any more: who owned fields in it is forgotten.
    Missing,
    /// It could not be made.
    Failed(String),
}

impl Unconverted {
    /// With what was being done.
    pub(crate) fn doing(self, what: &str) -> Self {
        match self {
            Unconverted::Missing => Unconverted::Missing,
            Unconverted::Failed(why) => Unconverted::Failed(format!("{what}: {why}")),
        }
    }
}

/// A kind that has one version only.
#[derive(Clone, Copy, Debug)]
pub struct NoOtherVersion;

impl Versions for NoOtherVersion {
    fn convert<'a>(&self, _: &'a Bump, _: &Value<'a>, _: &str, _: &str) -> Result<Value<'a>, Unconverted> {
        Err(Unconverted::Missing)
    }
}
