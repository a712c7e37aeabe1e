//! Bounds of numbers. Go keeps bounds as floats and looks at them as integers where the value is one.

use super::{Fault, Faults, Outcome, Place, Types, scalar::is_json_integer};
use crate::{
    json::quote,
    structural::{Node, Type},
    value::Value,
};

/// A float as an integer, as Go's conversion makes it on amd64.
pub(in crate::structural) fn go_int(f: f64) -> i64 {
    const TOP: f64 = 9_223_372_036_854_775_808.0;
    if (-TOP..TOP).contains(&f) { f as i64 } else { i64::MIN }
}

fn float(value: &Value<'_>) -> f64 {
    match value {
        Value::Int(n) => *n as f64,
        Value::Float(f) => *f,
        _ => 0.0,
    }
}

/// Whether a number can be held by the type and format.
fn in_range(value: &Value<'_>, ty: Type, format: &str) -> bool {
    match (ty, value) {
        (Type::Integer, Value::Int(n)) => format != "int32" || i32::try_from(*n).is_ok(),
        (Type::Integer, Value::Float(f)) => {
            let whole = f.fract() == 0.0 && f.abs() <= 9_223_372_036_854_775_807.0;
            // 2^63 is what the bound above is as a float.
            let fits = whole && (*f < 9_223_372_036_854_775_808.0);
            fits && (format != "int32" || i32::try_from(*f as i64).is_ok())
        }
        (_, value) if format == "float" => (float(value) as f32).is_finite(),
        _ => true,
    }
}

fn text(f: f64) -> String {
    crate::patch::go_text::plain(&Value::Float(f))
}

fn integer(n: i64) -> String {
    let mut out = Vec::new();
    quote::write_int(&mut out, n);
    String::from_utf8_lossy(&out).into_owned()
}

struct Numbers<'a, 'v, 'p> {
    value: &'a Value<'v>,
    place: &'a Place<'p>,
    ty: Type,
    format: &'a str,
}

/// All bounds of a number.
pub(super) fn validate(
    node: Node<'_>,
    types: Types,
    format: &str,
    value: &Value<'_>,
    place: &Place<'_>,
    faults: &mut Faults,
) -> Outcome {
    let mut outcome = Outcome { matches: 1, valid: true };
    let ty = match types.0 {
        [ty @ (Type::Integer | Type::Number)] => *ty,
        _ => Type::Any,
    };
    let format = match ty {
        Type::Integer if matches!(format, "int32" | "int64") => format,
        Type::Number if matches!(format, "float" | "double") => format,
        _ => "",
    };
    let numbers = Numbers { value, place, ty, format };
    numbers.in_range(value, "Checked", &mut outcome, faults);
    let Some(validation) = node.validation() else { return outcome };
    if let Some(factor) = validation.multiple_of() {
        numbers.multiple_of(factor, &mut outcome, faults);
    }
    if let Some(min) = validation.minimum() {
        numbers.minimum(min, validation.exclusive_minimum(), &mut outcome, faults);
    }
    if let Some(max) = validation.maximum() {
        numbers.maximum(max, validation.exclusive_maximum(), &mut outcome, faults);
    }
    outcome
}

impl Numbers<'_, '_, '_> {
    fn in_range(&self, value: &Value<'_>, what: &str, outcome: &mut Outcome, faults: &mut Faults) -> bool {
        if in_range(value, self.ty, self.format) {
            return true;
        }
        let format = match self.format {
            "" => " (default format)".to_owned(),
            format => format!(" with format {format}"),
        };
        let text = format!("{what} value must be of type {}{format}", self.ty.name());
        outcome.fail(faults, Fault::unplaced(self.place, &text));
        false
    }

    /// The value as an integer, where it is one and the bound is one of the type.
    fn native(&self, bound_fits: bool) -> Option<i64> {
        self.value.as_i64().filter(|_| bound_fits)
    }

    fn multiple_of(&self, factor: f64, outcome: &mut Outcome, faults: &mut Faults) {
        let fits = self.in_range(&Value::Float(factor), "MultipleOf", outcome, faults);
        let (holds, shown, positive) = match self.native(fits) {
            Some(n) => {
                let factor = go_int(factor);
                (factor > 0 && n % factor == 0, Value::Int(factor), factor > 0)
            }
            None => {
                let data = float(self.value);
                let times = if factor < 1.0 { 1.0 / factor * data } else { data / factor };
                (factor > 0.0 && is_json_integer(times), Value::Float(factor), factor > 0.0)
            }
        };
        if !positive {
            outcome.fail(faults, Fault::factor(self.place, &shown));
        } else if !holds {
            let shown = crate::patch::go_text::plain(&shown);
            outcome.fail(faults, self.bounded(fits, format!("should be a multiple of {shown}")));
        }
    }

    fn maximum(&self, max: f64, exclusive: bool, outcome: &mut Outcome, faults: &mut Faults) {
        let fits = self.in_range(&Value::Float(max), "Maximum boundary", outcome, faults);
        let (exceeded, shown) = match self.native(fits) {
            Some(n) => {
                let max = go_int(max);
                (if exclusive { n >= max } else { n > max }, integer(max))
            }
            None => {
                let n = float(self.value);
                (if exclusive { n >= max } else { n > max }, text(max))
            }
        };
        if exceeded {
            let or_equal = if exclusive { "" } else { "or equal to " };
            outcome.fail(faults, self.bounded(fits, format!("should be less than {or_equal}{shown}")));
        }
    }

    fn minimum(&self, min: f64, exclusive: bool, outcome: &mut Outcome, faults: &mut Faults) {
        let fits = self.in_range(&Value::Float(min), "Minimum boundary", outcome, faults);
        let (below, shown) = match self.native(fits) {
            Some(n) => {
                let min = go_int(min);
                (if exclusive { n <= min } else { n < min }, integer(min))
            }
            None => {
                let n = float(self.value);
                (if exclusive { n <= min } else { n < min }, text(min))
            }
        };
        if below {
            let or_equal = if exclusive { "" } else { "or equal to " };
            outcome.fail(faults, self.bounded(fits, format!("should be greater than {or_equal}{shown}")));
        }
    }

    /// A bound that the type cannot hold is compared in floats, and the value shown as one.
    fn bounded(&self, fits: bool, text: String) -> Fault {
        match self.value {
            value if fits => Fault::bounded(self.place, value, text),
            value => Fault::bounded(self.place, &Value::Float(float(value)), text),
        }
    }
}
