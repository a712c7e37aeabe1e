//! `resource.Quantity`: exact decimal amounts with SI suffixes, in the canonical form that Kubernetes prints.

mod decimal;

use std::{borrow::Cow, cmp::Ordering, fmt};

use bumpalo::Bump;
use decimal::Decimal;
use smallvec::SmallVec;

/// Why a text is no quantity; `Display` is Kubernetes' text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuantityError {
    /// Not of the form number and suffix.
    Format,
    /// The number is none.
    Numeric,
    /// No such suffix.
    Suffix,
}

impl fmt::Display for QuantityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            QuantityError::Format => {
                "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
            }
            QuantityError::Numeric => "unable to parse numeric part of quantity",
            QuantityError::Suffix => "unable to parse quantity's suffix",
        })
    }
}

impl std::error::Error for QuantityError {}

/// How a quantity is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `12e6`
    DecimalExponent,
    /// `12Mi`
    BinarySi,
    /// `12M`
    DecimalSi,
}

/// An exact amount and how it is written.
#[derive(Clone, Debug)]
pub struct Quantity {
    amount: Decimal,
    format: Format,
    /// Whether Kubernetes holds it as an `int64` and a power of ten, and not as a number of any size. The two are cut
    /// down to an `int64` differently.
    small: bool,
    /// The text it was read from, where Kubernetes keeps that rather than write it anew.
    text: Option<SmallVec<[u8; 16]>>,
}

/// Decimal digits that always fit an `i64`; texts with more take the exact way.
const FAST_DIGITS: i32 = 18;
/// Places after the decimal point that are kept.
const NANO: i32 = -9;

struct Parts<'t> {
    positive: bool,
    /// Numerator without leading zeros, "0" where there is none.
    whole: &'t str,
    fraction: &'t str,
    suffix: &'t str,
}

fn split(text: &str) -> Result<Parts<'_>, QuantityError> {
    let (positive, rest) = match text.as_bytes().first() {
        Some(b'-') => (false, &text[1..]),
        Some(b'+') => (true, &text[1..]),
        _ => (true, text),
    };
    let rest = rest.trim_start_matches('0');
    let digits = |s: &str| s.bytes().take_while(u8::is_ascii_digit).count();
    let (whole, rest) = rest.split_at(digits(rest));
    let (fraction, suffix) = match rest.strip_prefix('.') {
        Some(rest) => rest.split_at(digits(rest)),
        None => ("", rest),
    };
    let letters = suffix.bytes().take_while(|b| b"eEinumkKMGTP".contains(b)).count();
    let tail = &suffix[letters..];
    let tail = tail.strip_prefix(['+', '-']).unwrap_or(tail);
    if digits(tail) != tail.len() {
        return Err(QuantityError::Format);
    }
    Ok(Parts { positive, whole: if whole.is_empty() { "0" } else { whole }, fraction, suffix })
}

/// Base, exponent and format of a suffix.
fn interpret(suffix: &str) -> Option<(u32, i32, Format)> {
    use Format::{BinarySi, DecimalExponent, DecimalSi};
    Some(match suffix {
        "" => (10, 0, DecimalSi),
        "n" => (10, -9, DecimalSi),
        "u" => (10, -6, DecimalSi),
        "m" => (10, -3, DecimalSi),
        "k" => (10, 3, DecimalSi),
        "M" => (10, 6, DecimalSi),
        "G" => (10, 9, DecimalSi),
        "T" => (10, 12, DecimalSi),
        "P" => (10, 15, DecimalSi),
        "E" => (10, 18, DecimalSi),
        "Ki" => (2, 10, BinarySi),
        "Mi" => (2, 20, BinarySi),
        "Gi" => (2, 30, BinarySi),
        "Ti" => (2, 40, BinarySi),
        "Pi" => (2, 50, BinarySi),
        "Ei" => (2, 60, BinarySi),
        _ => {
            let exponent: i64 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
            // Kubernetes cuts to 32 bits.
            (10, exponent as i32, DecimalExponent)
        }
    })
}

/// What follows the digits for a power of ten; Kubernetes writes none for powers without a name.
fn decimal_suffix(exponent: i32, format: Format) -> String {
    if format == Format::DecimalExponent {
        return if exponent == 0 { String::new() } else { format!("e{exponent}") };
    }
    match exponent {
        -9 => "n",
        -6 => "u",
        -3 => "m",
        3 => "k",
        6 => "M",
        9 => "G",
        12 => "T",
        15 => "P",
        18 => "E",
        _ => "",
    }
    .into()
}

impl Quantity {
    /// Reads a quantity.
    pub fn parse(text: &str) -> Result<Quantity, QuantityError> {
        if text.is_empty() {
            return Err(QuantityError::Format);
        }
        if text == "0" {
            return Ok(Quantity::new(0, Format::DecimalSi));
        }
        let Parts { positive, whole, fraction, suffix } = split(text)?;
        let (base, exponent, format) = interpret(suffix).ok_or(QuantityError::Suffix)?;
        let places = fraction.len() as i32;
        let digits = whole.len() as i32 + places;
        let fast = match format {
            Format::BinarySi => {
                places == 0 && 15 - whole.len() as i32 - (exponent as f32 * 3.0 / 10.0) as i32 > 0
            }
            _ => FAST_DIGITS - digits >= 0 && exponent.wrapping_sub(places) >= NANO,
        };
        let mut amount = Decimal::from_digits(!positive, whole, fraction);
        if base == 2 {
            amount.multiply_by_power_of_two(exponent as u32);
        } else {
            amount.shift(exponent);
        }
        if fast {
            let text = kept(text, whole, fraction, exponent, format);
            return Ok(Quantity { amount, format, small: true, text });
        }
        amount.round_up(NANO);
        let mut format = format;
        if format == Format::BinarySi {
            amount.cap(i64::MAX);
            if !amount.is_zero() && amount.compare_size(&Decimal::from_i64(1)) == Ordering::Less {
                format = Format::DecimalSi;
            }
        }
        Ok(Quantity { amount, format, small: false, text: None })
    }

    /// A whole amount.
    pub fn new(value: i64, format: Format) -> Quantity {
        Quantity { amount: Decimal::from_i64(value), format, small: true, text: None }
    }

    /// Whether it is 0.
    pub fn is_zero(&self) -> bool {
        self.amount.is_zero()
    }

    /// -1, 0 or 1.
    pub fn sign(&self) -> i32 {
        self.amount.sign()
    }

    /// How it is written.
    pub fn format(&self) -> Format {
        self.format
    }

    /// The amount rounded up to a whole number. Where that does not fit, it is what Kubernetes gets, which goes on with
    /// it: nothing, or what is left of the bits.
    pub fn value(&self) -> i64 {
        self.scaled(0)
    }

    /// Thousandths, rounded up; where they do not fit, as [`Quantity::value`] has it.
    pub fn milli_value(&self) -> i64 {
        self.scaled(-3)
    }

    fn scaled(&self, scale: i32) -> i64 {
        if self.small { self.amount.scaled(scale).unwrap_or(0) } else { self.amount.wrapped(scale) }
    }

    /// Whether there is no suffix for its power of ten.
    fn loses_its_size(&self) -> bool {
        self.format == Format::DecimalSi && !self.is_zero() && self.amount.base_1000().1 > 18
    }

    /// Rounds up to thousandths; answers whether that changed it.
    pub fn round_up_to_milli(&mut self) -> bool {
        let changed = self.amount.round_up(-3);
        if changed {
            self.text = None;
        }
        changed
    }

    /// Whether it is a whole number.
    pub fn is_integer(&self) -> bool {
        self.amount.is_integer()
    }

    /// Adds `other`; a zero takes the other's format.
    pub fn add(&mut self, other: &Quantity) {
        if self.is_zero() {
            self.format = other.format;
        }
        self.text = None;
        self.amount = self.amount.plus(&other.amount, false);
        self.small &= other.small && self.amount.digits() <= FAST_DIGITS as usize;
    }

    /// Takes `other` off; a zero takes the other's format.
    pub fn sub(&mut self, other: &Quantity) {
        if self.is_zero() {
            self.format = other.format;
        }
        self.text = None;
        self.amount = self.amount.plus(&other.amount, true);
        self.small &= other.small && self.amount.digits() <= FAST_DIGITS as usize;
    }
}

/// Kubernetes keeps a text that looks canonical, though it may have a sign or leading zeros.
fn kept(
    text: &str,
    whole: &str,
    fraction: &str,
    exponent: i32,
    format: Format,
) -> Option<SmallVec<[u8; 16]>> {
    let keep = match format {
        Format::BinarySi => whole.parse::<i64>().is_ok_and(|n| n & 7 != 0),
        _ => {
            let shifted = match fraction {
                "" => Cow::Borrowed(whole),
                fraction => Cow::Owned([whole, fraction].concat()),
            };
            (exponent - fraction.len() as i32) % 3 == 0
                && !shifted.ends_with("000")
                && !shifted.starts_with('0')
        }
    };
    keep.then(|| SmallVec::from_slice(text.as_bytes()))
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        self.amount.compare(&other.amount)
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(text) = &self.text {
            // It was a text when it was kept.
            return f.write_str(std::str::from_utf8(text).unwrap_or_default());
        }
        if self.is_zero() {
            return f.write_str("0");
        }
        let mut format = self.format;
        if format == Format::BinarySi {
            let small = self.amount.compare_size(&Decimal::from_i64(1024)) == Ordering::Less;
            // Fractions would be lost.
            if small || !self.amount.is_integer() {
                format = Format::DecimalSi;
            }
        }
        if format == Format::BinarySi {
            let (digits, thousands) = self.amount.base_1024();
            let suffix = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"].get(thousands).unwrap_or(&"");
            return write!(f, "{digits}{suffix}");
        }
        let (digits, exponent) = self.amount.base_1000();
        write!(f, "{digits}{}", decimal_suffix(exponent, format))
    }
}

/// Whether a text is one of those that nearly all objects have, and in its canonical form: few digits without sign or
/// point, and a suffix that no larger one could take the place of.
fn is_plainly_canonical(text: &str) -> bool {
    /// So few that the amount fits an `i64` with any of the suffixes.
    const DIGITS_MAX: usize = 6;
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, suffix) = text.split_at(digits);
    if !(1..=DIGITS_MAX).contains(&digits) || number.starts_with('0') {
        return false;
    }
    match suffix {
        "" | "m" | "k" | "M" | "G" => !number.ends_with("000"),
        "Ki" | "Mi" | "Gi" | "Ti" => number.parse::<u32>().is_ok_and(|n| n % 1024 != 0),
        _ => false,
    }
}

/// The text that a quantity of a tree is written as. Kubernetes has no suffix above `E` and writes the digits alone:
/// what was a `1` and 26 zeros reads `100` from then on.
pub fn written(text: &str) -> Cow<'_, str> {
    // Nothing shorter is that much.
    let may = text.len() >= 14 || text.len() > 4 && text.ends_with(['E', 'P']);
    match may.then(|| Quantity::parse(text)) {
        Some(Ok(quantity)) if quantity.text.is_none() && quantity.loses_its_size() => {
            Cow::Owned(quantity.to_string())
        }
        _ => Cow::Borrowed(text),
    }
}

/// The canonical text of a quantity, or the text as it is where that would be of another amount (see [`written`]).
pub fn canonical<'a>(arena: &'a Bump, text: &'a str) -> Result<&'a str, QuantityError> {
    if is_plainly_canonical(text) {
        return Ok(text);
    }
    let quantity = Quantity::parse(text)?;
    match &quantity.text {
        Some(_) => Ok(text),
        // It is what it is until it is written.
        None if quantity.loses_its_size() => Ok(text),
        None => {
            let mut out = bumpalo::collections::String::new_in(arena);
            // Writing to a string does not fail.
            let _ = fmt::Write::write_fmt(&mut out, format_args!("{quantity}"));
            Ok(out.into_bump_str())
        }
    }
}

#[cfg(test)]
mod tests;
