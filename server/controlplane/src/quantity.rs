//! Amounts of quantities, for comparing them.

/// A quantity in nano-units, rounded up; `None` where the text is no quantity or too large to tell.
pub(crate) fn nano(text: &str) -> Option<i128> {
    const NANO: i128 = 1_000_000_000;
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let digits = unsigned.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(unsigned.len());
    let (number, suffix) = unsigned.split_at(digits);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    // The multiplier as a fraction of two integers.
    let (up, down): (i128, i128) = match suffix {
        "n" => (1, NANO),
        "u" => (1, 1_000_000),
        "m" => (1, 1_000),
        "" => (1, 1),
        "k" => (1_000, 1),
        "M" => (1_000_000, 1),
        "G" => (NANO, 1),
        "T" => (NANO * 1_000, 1),
        "P" => (NANO * 1_000_000, 1),
        "E" => (NANO * NANO, 1),
        "Ki" => (1 << 10, 1),
        "Mi" => (1 << 20, 1),
        "Gi" => (1 << 30, 1),
        "Ti" => (1 << 40, 1),
        "Pi" => (1 << 50, 1),
        "Ei" => (1 << 60, 1),
        exponent => {
            let power: i32 = exponent.strip_prefix(['e', 'E'])?.parse().ok()?;
            let size = 10i128.checked_pow(power.unsigned_abs())?;
            if power < 0 { (1, size) } else { (size, 1) }
        }
    };
    let fraction = fraction.trim_end_matches('0');
    let scale = 10i128.checked_pow(fraction.len() as u32)?;
    let digits: i128 = format!("{whole}{fraction}").parse().ok()?;
    let numerator = digits.checked_mul(up)?.checked_mul(NANO)?;
    let denominator = down.checked_mul(scale)?;
    let value = (numerator + denominator - 1) / denominator;
    Some(if text.starts_with('-') { -value } else { value })
}

#[cfg(test)]
mod tests {
    use super::nano;

    #[test]
    fn amounts() {
        assert_eq!(nano("1"), nano("1000m"));
        assert_eq!(nano("1Gi"), nano("1073741824"));
        assert_eq!(nano("1.5Gi"), nano("1536Mi"));
        assert_eq!(nano("1e3"), nano("1k"));
        assert_eq!(nano("-1"), Some(-1_000_000_000));
        assert_eq!(nano("0"), Some(0));
        assert_eq!(nano("x"), None);
        assert_eq!(nano(""), None);
    }
}
