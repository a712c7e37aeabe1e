//! Floats as `strconv.FormatFloat(f, 'g', -1, bits)` writes them: an exponent below 1e-4 and from 1e6.

/// A finite or other float of 64 bits.
pub(crate) fn double(f: f64) -> String {
    special(f).unwrap_or_else(|| format(&format!("{f:e}")))
}

/// With the digits that tell it from its neighbours of 32 bits.
pub(super) fn single(f: f64) -> String {
    special(f)
        .unwrap_or_else(|| special((f as f32).into()).unwrap_or_else(|| format(&format!("{:e}", f as f32))))
}

fn special(f: f64) -> Option<String> {
    match f {
        f if f.is_nan() => Some(".nan".into()),
        f64::INFINITY => Some(".inf".into()),
        f64::NEG_INFINITY => Some("-.inf".into()),
        _ => None,
    }
}

/// Of Rust's shortest scientific form.
fn format(scientific: &str) -> String {
    let (sign, scientific) = match scientific.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", scientific),
    };
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let digits: String = mantissa.chars().filter(|c| *c != '.').collect();
    if !(-4..6).contains(&exponent) {
        let (first, rest) = digits.split_at(1);
        let point = if rest.is_empty() { "" } else { "." };
        let e = if exponent < 0 { '-' } else { '+' };
        return format!("{sign}{first}{point}{rest}e{e}{:02}", exponent.unsigned_abs());
    }
    if exponent < 0 {
        return format!("{sign}0.{}{digits}", "0".repeat(exponent.unsigned_abs() as usize - 1));
    }
    let whole = exponent as usize + 1;
    if digits.len() <= whole {
        return format!("{sign}{digits}{}", "0".repeat(whole - digits.len()));
    }
    format!("{sign}{}.{}", &digits[..whole], &digits[whole..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn go_texts() {
        for (f, expect) in [
            (0.0, "0"),
            (1.5, "1.5"),
            (100_000.0, "100000"),
            (1_234_567.5, "1.2345675e+06"),
            (1e21, "1e+21"),
            (1.5e-5, "1.5e-05"),
            (0.000_12, "0.00012"),
            (-2.5e10, "-2.5e+10"),
        ] {
            assert_eq!(double(f), expect);
        }
        assert_eq!(single(12_345_678.25), "1.2345678e+07");
        assert_eq!(single(f64::INFINITY), ".inf");
    }
}
