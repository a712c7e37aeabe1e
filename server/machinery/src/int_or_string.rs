//! `intstr.IntOrString`: a tree holds it as the integer or the string that it is.

use crate::value::Value;

/// The integer of a JSON literal, where it fits.
pub(crate) fn parse_int(literal: &str) -> Option<i32> {
    literal.parse().ok()
}

/// An `IntOrString`, out of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntOrString<'a> {
    /// A number.
    Int(i32),
    /// A name, or a percentage.
    String(&'a str),
}

impl<'a> IntOrString<'a> {
    /// Reads it from a tree; `None` where the value is neither, or no `int32`.
    pub fn from_value(value: &Value<'a>) -> Option<Self> {
        match value {
            Value::Int(n) => i32::try_from(*n).ok().map(IntOrString::Int),
            Value::String(s) => Some(IntOrString::String(s)),
            _ => None,
        }
    }

    /// The number of a percentage (`"25%"`): digits and a percent sign; `None` for anything else.
    pub fn percent(&self) -> Option<i32> {
        match self {
            IntOrString::Int(_) => None,
            IntOrString::String(s) => s.strip_suffix('%')?.parse().ok(),
        }
    }

    /// The value, percentages scaled by `total` (rounded up or down), as
    /// `intstr.GetScaledValueFromIntOrPercent`.
    pub fn scaled(&self, total: i32, round_up: bool) -> Option<i32> {
        match self {
            IntOrString::Int(n) => Some(*n),
            IntOrString::String(_) => {
                let product = i64::from(self.percent()?) * i64::from(total);
                let value = if round_up { -((-product).div_euclid(100)) } else { product.div_euclid(100) };
                i32::try_from(value).ok()
            }
        }
    }
}

impl std::fmt::Display for IntOrString<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            IntOrString::Int(n) => write!(f, "{n}"),
            IntOrString::String(s) => f.write_str(s),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales() {
        assert_eq!(IntOrString::Int(3).scaled(10, true), Some(3));
        assert_eq!(IntOrString::String("25%").scaled(10, true), Some(3));
        assert_eq!(IntOrString::String("25%").scaled(10, false), Some(2));
        assert_eq!(IntOrString::String("http").scaled(10, false), None);
        assert_eq!(IntOrString::from_value(&Value::Int(1 << 40)), None);
        assert_eq!(IntOrString::String("7%").percent(), Some(7));
    }
}
