//! What resources add up to, and the precision they are kept in.

use std::cmp::Ordering;

use bumpalo::Bump;
use ringbolt_machinery::{
    quantity::{Format, Quantity},
    value::{Map, Value},
};

/// A quantity; `None` where the text is none.
pub(crate) fn parse(text: &str) -> Option<Quantity> {
    Quantity::parse(text).ok()
}

/// An amount as it is written, to hold against others. What takes no more than digits and a suffix, which is most of
/// them, is not read in full.
#[derive(Clone, Copy)]
pub(crate) struct Amount<'t> {
    text: &'t str,
    nano: Option<i128>,
}

impl<'t> Amount<'t> {
    /// `None` where the text is no quantity.
    pub(crate) fn of(text: &'t str) -> Option<Self> {
        let nano = nano(text);
        (nano.is_some() || parse(text).is_some()).then_some(Amount { text, nano })
    }

    /// Negative, nothing or positive.
    pub(crate) fn sign(self) -> i32 {
        self.nano.map_or_else(|| self.quantity().sign(), |nano| nano.signum() as i32)
    }

    pub(crate) fn quantity(self) -> Quantity {
        parse(self.text).unwrap_or_else(|| Quantity::new(0, Format::DecimalSi))
    }

    /// As quantities compare: by what they are, however they are written.
    pub(crate) fn compare(self, other: Amount<'_>) -> Ordering {
        match (self.nano, other.nano) {
            (Some(own), Some(other)) => own.cmp(&other),
            _ => self.quantity().cmp(&other.quantity()),
        }
    }
}

/// Digits of an amount, and what one of it is in billionths: of a text of digits and a suffix alone.
fn plain(text: &str) -> Option<(u64, u64)> {
    const ONE: u64 = 1_000_000_000;
    // So many fit in any case.
    const DIGITS_MAX: usize = 18;
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    if !(1..=DIGITS_MAX).contains(&digits) {
        return None;
    }
    let (number, suffix) = text.split_at(digits);
    let unit = match suffix.as_bytes() {
        b"" => ONE,
        b"n" => 1,
        b"u" => 1_000,
        b"m" => 1_000_000,
        b"k" => ONE * 1_000,
        b"M" => ONE * 1_000_000,
        b"G" => ONE * 1_000_000_000,
        b"Ki" => ONE << 10,
        b"Mi" => ONE << 20,
        b"Gi" => ONE << 30,
        _ => return None,
    };
    Some((number.bytes().fold(0, |n, digit| n * 10 + u64::from(digit - b'0')), unit))
}

/// An amount in billionths. `None` where that takes more than a look, or it is so large that it may be cut.
fn nano(text: &str) -> Option<i128> {
    const MOST: i128 = i64::MAX as i128 * 1_000_000_000;
    let (number, unit) = plain(text)?;
    Some(i128::from(number) * i128::from(unit)).filter(|nano| *nano <= MOST)
}

/// Whether a text is a whole number for certain; of other texts that is not said.
pub(crate) fn is_plainly_whole(text: &str) -> bool {
    const ONE: u64 = 1_000_000_000;
    plain(text).is_some_and(|(_, unit)| unit >= ONE)
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
    fn amounts_compare_as_quantities() {
        let texts = [
            "0",
            "00",
            "1",
            "1000m",
            "1001m",
            "999m",
            "1n",
            "1u",
            "1k",
            "1000",
            "1024",
            "1Ki",
            "128Mi",
            "134217728",
            "1Gi",
            "1.5",
            "1500m",
            "-1",
            "1e3",
            "1E",
            "1Ei",
            "9223372036854775807",
            "9223372037G",
            "999999999999999999Gi",
            "0.5Ki",
            "512",
            "+1",
            "999999999999999999n",
            "1Ti",
        ];
        for one in texts {
            for other in texts {
                let (a, b) = (parse(one).unwrap(), parse(other).unwrap());
                let amounts = (Amount::of(one).unwrap(), Amount::of(other).unwrap());
                assert_eq!(amounts.0.compare(amounts.1), a.cmp(&b), "{one} {other}");
            }
            assert_eq!(Amount::of(one).unwrap().sign(), parse(one).unwrap().sign(), "{one}");
            assert!(!is_plainly_whole(one) || parse(one).unwrap().is_integer(), "{one}");
        }
        for text in ["", "x", "1x", "1Mi2"] {
            assert!(Amount::of(text).is_none() && !is_plainly_whole(text), "{text}");
        }
        assert!(is_plainly_whole("128Mi") && !is_plainly_whole("250m"));
    }

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
