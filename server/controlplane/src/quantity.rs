//! What resources add up to, and the precision they are kept in.

use bumpalo::Bump;
use ringbolt_machinery::{
    quantity::{Format, Quantity},
    value::{Map, Value},
};

/// A quantity; `None` where the text is none.
pub(crate) fn parse(text: &str) -> Option<Quantity> {
    Quantity::parse(text).ok()
}

/// The amount of a resource, nothing where it is not listed.
pub(crate) fn amount(list: Option<&Map<'_>>, resource: &str) -> Quantity {
    let text = list.and_then(|l| l.get(resource)).and_then(Value::as_str);
    text.and_then(parse).unwrap_or_else(|| Quantity::new(0, Format::DecimalSi))
}

/// Rounds a list of resources up to thousandths, the finest that a server keeps.
pub(crate) fn round_up(list: Option<&mut Map<'_>>) {
    let Some(list) = list else { return };
    let arena = list.arena();
    for (_, value) in list.iter_mut() {
        let Some(rounded) = value.as_str().and_then(|text| rounded(arena, text)) else { continue };
        *value = Value::String(rounded);
    }
}

/// The text of a quantity finer than a thousandth, rounded up; `None` where it is not.
fn rounded<'a>(arena: &'a Bump, text: &str) -> Option<&'a str> {
    // Only what has digits behind the point, or one of these suffixes, can be that fine.
    if !text.contains(['.', 'n', 'u', 'e', 'E']) {
        return None;
    }
    let mut quantity = parse(text)?;
    quantity.round_up_to_milli().then(|| &*arena.alloc_str(&quantity.to_string()))
}

#[cfg(test)]
mod tests {
    use ringbolt_machinery::value::Map;

    use super::*;

    #[test]
    fn rounding_goes_up_to_thousandths() {
        let arena = Bump::new();
        let mut list = Map::new_in(&arena);
        for (key, text) in [("a", "100u"), ("b", "1500m"), ("c", "1Gi"), ("d", "1n"), ("e", "1e-9")] {
            list.insert(key, Value::String(text));
        }
        round_up(Some(&mut list));
        let texts: Vec<_> = list.iter().map(|(_, v)| v.as_str().unwrap()).collect();
        assert_eq!(texts, ["1m", "1500m", "1Gi", "1m", "1e-3"]);
    }
}
