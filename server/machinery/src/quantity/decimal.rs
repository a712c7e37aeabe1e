//! Exact decimal numbers of any size.

use std::cmp::Ordering;

use smallvec::SmallVec;

/// Digits, each a byte; as many as an `i64` has take no memory of their own.
type Digits = SmallVec<[u8; 24]>;

/// `digits` times ten to the `exponent`. Digits are most significant first, without leading zeros; zero has none.
#[derive(Clone, Debug)]
pub(super) struct Decimal {
    negative: bool,
    digits: Digits,
    exponent: i32,
}

impl Decimal {
    pub(super) fn zero() -> Decimal {
        Decimal { negative: false, digits: Digits::new(), exponent: 0 }
    }

    pub(super) fn from_i64(n: i64) -> Decimal {
        let text = n.unsigned_abs().to_string();
        Decimal::from_digits(n < 0, &text, "")
    }

    /// Of ASCII digits before and after the point.
    pub(super) fn from_digits(negative: bool, whole: &str, fraction: &str) -> Decimal {
        let digits = whole.bytes().chain(fraction.bytes()).map(|b| b - b'0').collect();
        Decimal { negative, digits, exponent: -(fraction.len() as i32) }.normal()
    }

    fn normal(mut self) -> Decimal {
        let lead = self.digits.iter().take_while(|&&d| d == 0).count();
        self.digits.drain(..lead);
        if self.digits.is_empty() {
            return Decimal::zero();
        }
        self
    }

    pub(super) fn is_zero(&self) -> bool {
        self.digits.is_empty()
    }

    pub(super) fn sign(&self) -> i32 {
        match (self.is_zero(), self.negative) {
            (true, _) => 0,
            (_, true) => -1,
            _ => 1,
        }
    }

    /// Times ten to the `by`.
    pub(super) fn shift(&mut self, by: i32) {
        if !self.is_zero() {
            self.exponent = self.exponent.saturating_add(by);
        }
    }

    pub(super) fn multiply_by_power_of_two(&mut self, power: u32) {
        // Most amounts fit a machine's number: below 10⁹ · 2³⁰.
        if self.digits.len() <= 9 && power <= 30 {
            let number = self.digits.iter().fold(0u64, |n, digit| n * 10 + u64::from(*digit)) << power;
            self.digits.clear();
            if number != 0 {
                self.digits.extend(itoa::Buffer::new().format(number).bytes().map(|byte| byte - b'0'));
            }
            return;
        }
        for _ in 0..power / 10 {
            self.multiply(1024);
        }
        self.multiply(1 << (power % 10));
    }

    fn multiply(&mut self, by: u32) {
        let mut carry = 0u32;
        for digit in self.digits.iter_mut().rev() {
            let n = u32::from(*digit) * by + carry;
            *digit = (n % 10) as u8;
            carry = n / 10;
        }
        while carry > 0 {
            self.digits.insert(0, (carry % 10) as u8);
            carry /= 10;
        }
    }

    /// Divides by a small number; answers the quotient where there is no remainder.
    fn divide(digits: &[u8], by: u32) -> Option<Digits> {
        let mut rest = 0u32;
        let mut out = Digits::with_capacity(digits.len());
        for &digit in digits {
            rest = rest * 10 + u32::from(digit);
            if rest >= by || !out.is_empty() {
                out.push((rest / by) as u8);
            }
            rest %= by;
        }
        (rest == 0).then_some(out)
    }

    /// Rounds away from zero to multiples of ten to the `scale`; answers whether that changed it.
    pub(super) fn round_up(&mut self, scale: i32) -> bool {
        if self.is_zero() || self.exponent >= scale {
            return false;
        }
        let drop = scale.saturating_sub(self.exponent) as usize;
        let keep = self.digits.len().saturating_sub(drop);
        let inexact = self.digits[keep..].iter().any(|&d| d != 0);
        self.digits.truncate(keep);
        self.exponent = scale;
        if inexact {
            self.increment();
        }
        inexact
    }

    fn increment(&mut self) {
        for digit in self.digits.iter_mut().rev() {
            if *digit < 9 {
                *digit += 1;
                return;
            }
            *digit = 0;
        }
        self.digits.insert(0, 1);
    }

    /// Cuts the size down to `max`.
    pub(super) fn cap(&mut self, max: i64) {
        let max = Decimal::from_i64(max);
        if self.compare_size(&max) == Ordering::Greater {
            *self = Decimal { negative: self.negative, ..max };
        }
    }

    pub(super) fn is_integer(&self) -> bool {
        if self.exponent >= 0 {
            return true;
        }
        let places = self.exponent.unsigned_abs() as usize;
        places <= self.digits.len() && self.digits[self.digits.len() - places..].iter().all(|&d| d == 0)
            || self.is_zero()
    }

    /// Compares sizes, whatever the signs, without writing zeros out.
    pub(super) fn compare_size(&self, other: &Decimal) -> Ordering {
        if self.is_zero() || other.is_zero() {
            return self.digits.len().min(1).cmp(&other.digits.len().min(1));
        }
        let top = |d: &Decimal| i64::from(d.exponent) + d.digits.len() as i64;
        top(self).cmp(&top(other)).then_with(|| {
            let longest = self.digits.len().max(other.digits.len());
            let at = |d: &Decimal, i: usize| d.digits.get(i).copied().unwrap_or(0);
            (0..longest)
                .map(|i| at(self, i).cmp(&at(other, i)))
                .find(|o| o.is_ne())
                .unwrap_or(Ordering::Equal)
        })
    }

    pub(super) fn compare(&self, other: &Decimal) -> Ordering {
        self.sign().cmp(&other.sign()).then_with(|| {
            let size = self.compare_size(other);
            if self.negative { size.reverse() } else { size }
        })
    }

    /// The sum, or the difference.
    pub(super) fn plus(&self, other: &Decimal, subtract: bool) -> Decimal {
        let other_negative = other.negative != subtract;
        if other.is_zero() {
            return self.clone();
        }
        if self.is_zero() {
            return Decimal { negative: other_negative, ..other.clone() };
        }
        let exponent = self.exponent.min(other.exponent);
        let aligned = |d: &Decimal| {
            let mut digits: Vec<u8> = d.digits.iter().rev().copied().collect();
            // Quantities are far closer together than a number that could exhaust memory here; cut what is not.
            let zeros = (i64::from(d.exponent) - i64::from(exponent)).clamp(0, 4096) as usize;
            digits.splice(0..0, std::iter::repeat_n(0, zeros));
            digits
        };
        let (a, b) = (aligned(self), aligned(other));
        let length = a.len().max(b.len());
        let at = |d: &[u8], i: usize| i32::from(d.get(i).copied().unwrap_or(0));
        let mut out = Digits::with_capacity(length + 1);
        let negative;
        if self.negative == other_negative {
            negative = self.negative;
            let mut carry = 0;
            for i in 0..length {
                let n = at(&a, i) + at(&b, i) + carry;
                out.push((n % 10) as u8);
                carry = n / 10;
            }
            out.push(carry as u8);
        } else {
            let swap = self.compare_size(other) == Ordering::Less;
            negative = if swap { other_negative } else { self.negative };
            let (big, small) = if swap { (&b, &a) } else { (&a, &b) };
            let mut borrow = 0;
            for i in 0..length {
                let n = at(big, i) - at(small, i) - borrow;
                out.push(n.rem_euclid(10) as u8);
                borrow = i32::from(n < 0);
            }
        }
        out.reverse();
        Decimal { negative, digits: out, exponent }.normal()
    }

    /// In units of ten to the `scale`, rounded away from zero; `None` where that is no `i64`.
    pub(super) fn scaled(&self, scale: i32) -> Option<i64> {
        let mut rounded = self.clone();
        rounded.round_up(scale);
        if rounded.is_zero() {
            return Some(0);
        }
        let zeros = i64::from(rounded.exponent) - i64::from(scale);
        if zeros + rounded.digits.len() as i64 > 19 {
            return None;
        }
        let mut n: i64 = 0;
        for digit in rounded.digits.iter().copied().chain(std::iter::repeat_n(0, zeros as usize)) {
            let signed = if self.negative { -i64::from(digit) } else { i64::from(digit) };
            n = n.checked_mul(10).and_then(|n| n.checked_add(signed))?;
        }
        Some(n)
    }

    /// The same as a computation with 64 bits has it that overflows: of digits and power of ten, each cut by itself.
    pub(super) fn wrapped(&self, scale: i32) -> i64 {
        let low = |digits: &[u8]| {
            let number =
                digits.iter().fold(0u64, |n, digit| n.wrapping_mul(10).wrapping_add((*digit).into()));
            (if self.negative { number.wrapping_neg() } else { number }) as i64
        };
        let down = i64::from(scale) - i64::from(self.exponent);
        if down <= 0 {
            // Beyond this many zeros the power itself is more than 64 bits hold.
            let power = u32::try_from(-down).ok().and_then(|zeros| 10i64.checked_pow(zeros));
            return low(&self.digits).wrapping_mul(power.unwrap_or(i64::MIN));
        }
        let keep = self.digits.len().saturating_sub(usize::try_from(down).unwrap_or(usize::MAX));
        let inexact = self.digits[keep..].iter().any(|digit| *digit != 0);
        low(&self.digits[..keep]).wrapping_add((inexact && !self.negative).into())
    }

    /// How many digits there are.
    pub(super) fn digits(&self) -> usize {
        self.digits.len()
    }

    fn text(negative: bool, digits: &[u8]) -> String {
        let sign = if negative { "-" } else { "" };
        let digits: String = digits.iter().map(|d| char::from(b'0' + d)).collect();
        format!("{sign}{digits}")
    }

    /// Digits and a power of ten that is a multiple of three, as large as can be.
    pub(super) fn base_1000(&self) -> (String, i32) {
        let mut digits = self.digits.clone();
        let mut exponent = self.exponent;
        while digits.last() == Some(&0) {
            digits.pop();
            exponent = exponent.saturating_add(1);
        }
        while exponent % 3 != 0 {
            digits.push(0);
            exponent -= 1;
        }
        (Decimal::text(self.negative, &digits), exponent)
    }

    /// Digits of a whole number and a power of 1024 as large as can be.
    pub(super) fn base_1024(&self) -> (String, usize) {
        let mut digits = self.digits.clone();
        if self.exponent >= 0 {
            digits.extend(std::iter::repeat_n(0, self.exponent as usize));
        } else {
            digits.truncate(digits.len().saturating_sub(self.exponent.unsigned_abs() as usize));
        }
        let mut power = 0;
        while let Some(quotient) = Decimal::divide(&digits, 1024) {
            digits = quotient;
            power += 1;
        }
        (Decimal::text(self.negative, &digits), power)
    }
}
