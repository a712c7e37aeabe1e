//! Comparisons of filters, as `text/template` has them: of scalars of one kind.

use super::{Found, JsonPathError, fail};
use crate::value::Value;

enum Basic<'v> {
    Bool(bool),
    Int(i64),
    Byte(u8),
    Float(f64),
    String(&'v str),
}

fn basic<'v>(found: &Found<'v, '_>) -> Result<Basic<'v>, JsonPathError> {
    Ok(match found {
        Found::Tree(Value::Bool(b)) | Found::Bool(b) => Basic::Bool(*b),
        Found::Tree(Value::Int(n)) | Found::Int(n) => Basic::Int(*n),
        Found::Tree(Value::Float(f)) | Found::Float(f) => Basic::Float(*f),
        Found::Tree(Value::String(s)) => Basic::String(s),
        Found::Text(s) => Basic::String(s),
        Found::Byte(b) => Basic::Byte(*b),
        Found::Tree(_) => return fail("invalid type for comparison"),
    })
}

fn mismatch<T>() -> Result<T, JsonPathError> {
    fail("incompatible types for comparison")
}

fn equal(left: &Found<'_, '_>, right: &Found<'_, '_>) -> Result<bool, JsonPathError> {
    Ok(match (basic(left)?, basic(right)?) {
        (Basic::Bool(a), Basic::Bool(b)) => a == b,
        (Basic::Int(a), Basic::Int(b)) => a == b,
        (Basic::Float(a), Basic::Float(b)) => a == b,
        (Basic::String(a), Basic::String(b)) => a == b,
        (Basic::Byte(a), Basic::Byte(b)) => a == b,
        (Basic::Int(a), Basic::Byte(b)) | (Basic::Byte(b), Basic::Int(a)) => a == i64::from(b),
        _ => return mismatch(),
    })
}

fn less(left: &Found<'_, '_>, right: &Found<'_, '_>) -> Result<bool, JsonPathError> {
    Ok(match (basic(left)?, basic(right)?) {
        (Basic::Bool(_), Basic::Bool(_)) => return fail("invalid type for comparison"),
        (Basic::Int(a), Basic::Int(b)) => a < b,
        (Basic::Float(a), Basic::Float(b)) => a < b,
        (Basic::String(a), Basic::String(b)) => a < b,
        (Basic::Byte(a), Basic::Byte(b)) => a < b,
        (Basic::Int(a), Basic::Byte(b)) => a < i64::from(b),
        (Basic::Byte(a), Basic::Int(b)) => i64::from(a) < b,
        _ => return mismatch(),
    })
}

/// Whether an operator holds between two values.
pub(super) fn holds(
    operator: &str,
    left: &Found<'_, '_>,
    right: &Found<'_, '_>,
) -> Result<bool, JsonPathError> {
    match operator {
        "==" => equal(left, right),
        "!=" => equal(left, right).map(|equal| !equal),
        "<" => less(left, right),
        ">=" => less(left, right).map(|less| !less),
        "<=" => Ok(less(left, right)? || equal(left, right)?),
        ">" => Ok(!(less(left, right)? || equal(left, right)?)),
        _ => fail(format!("unrecognized filter operator {operator}")),
    }
}
