//! Lists of indexes of a job's pods: `1,3-5,7`.

use ringbolt_machinery::field::quote;

/// One entry: its first and last index.
fn interval(text: &str, completions: i64) -> Result<(i64, i64), String> {
    let parts: Vec<&str> = text.split('-').collect();
    if parts.len() > 2 {
        return Err(format!(
            "the fragment {} violates the requirement that an index interval can have at most two parts separated by '-'",
            quote(text)
        ));
    }
    let read = |part: &str| -> Result<i64, String> {
        let digits = part.strip_prefix(['+', '-']).unwrap_or(part);
        let number = match !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) {
            true => part.parse::<i64>().ok(),
            false => None,
        };
        let number =
            number.ok_or_else(|| format!("cannot convert string to integer for index: {}", quote(part)))?;
        match number >= completions {
            true => Err(format!("too large index: {}", quote(part))),
            false => Ok(number),
        }
    };
    let first = read(parts[0])?;
    let Some(last) = parts.get(1) else { return Ok((first, first)) };
    let last = read(last)?;
    match first >= last {
        true => Err(format!("non-increasing order, previous: {first}, current: {last}")),
        false => Ok((first, last)),
    }
}

/// How many indexes a list has, all below the number of completions.
pub(super) fn count(text: &str, completions: i64) -> Result<i64, String> {
    let (mut total, mut before) = (0, None);
    for part in text.split(',').filter(|_| !text.is_empty()) {
        let (first, last) = interval(part, completions)?;
        if let Some(before) = before.filter(|before| *before >= first) {
            return Err(format!("non-increasing order, previous: {before}, current: {first}"));
        }
        total += last - first + 1;
        before = Some(last);
    }
    Ok(total)
}

/// The first index that two lists share; what is malformed is passed over.
pub(super) fn overlap(a: &str, b: &str, completions: i64) -> Option<i64> {
    let read = |text: &str| -> Vec<(i64, i64)> {
        text.split(',').filter_map(|part| interval(part, completions).ok()).collect()
    };
    let (a, b) = (read(a), read(b));
    let (mut i, mut j) = (0, 0);
    while let (Some((a1, a2)), Some((b1, b2))) = (a.get(i), b.get(j)) {
        if a1 <= b2 && b1 <= a2 {
            return Some(*a1.max(b1));
        }
        if a1 <= b1 { i += 1 } else { j += 1 }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{count, overlap};

    #[test]
    fn lists() {
        assert_eq!(count("", 5), Ok(0));
        assert_eq!(count("0,2-4", 5), Ok(4));
        assert_eq!(count("a", 5).unwrap_err(), "cannot convert string to integer for index: \"a\"");
        assert_eq!(count("5", 5).unwrap_err(), "too large index: \"5\"");
        assert_eq!(count("3,1", 5).unwrap_err(), "non-increasing order, previous: 3, current: 1");
        assert_eq!(overlap("0-2,4", "3-4", 5), Some(4));
        assert_eq!(overlap("0,2", "1,3", 5), None);
    }
}
