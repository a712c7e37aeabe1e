//! Semantic versions, as `github.com/blang/semver` reads and orders them.

use std::cmp::Ordering;

use ringbolt_machinery::field::quote;

/// A version; what is built of it plays no part in its order.
#[derive(Debug)]
pub(crate) struct Semver {
    pub(crate) major: u64,
    pub(crate) minor: u64,
    pub(crate) patch: u64,
    pre: Vec<Pre>,
}

#[derive(Debug)]
enum Pre {
    Number(u64),
    Text(String),
}

impl Semver {
    pub(crate) fn parse(text: &str) -> Result<Semver, String> {
        if text.is_empty() {
            return Err("Version string empty".into());
        }
        let mut parts = text.splitn(3, '.');
        let (Some(major), Some(minor), Some(mut patch)) = (parts.next(), parts.next(), parts.next()) else {
            return Err("No Major.Minor.Patch elements found".into());
        };
        let major = number(major, "Major", "major")?;
        let minor = number(minor, "Minor", "minor")?;
        let mut build = None;
        if let Some((before, after)) = patch.split_once('+') {
            patch = before;
            build = Some(after);
        }
        let mut pre = Vec::new();
        let mut pre_text = None;
        if let Some((before, after)) = patch.split_once('-') {
            patch = before;
            pre_text = Some(after);
        }
        let patch = number(patch, "Patch", "patch")?;
        for part in pre_text.into_iter().flat_map(|text| text.split('.')) {
            pre.push(pre_part(part)?);
        }
        for part in build.into_iter().flat_map(|text| text.split('.')) {
            if part.is_empty() {
                return Err("Build meta data is empty".into());
            }
            if !part.bytes().all(alphanumeric) {
                return Err(format!("Invalid character(s) found in build meta data {}", quote(part)));
            }
        }
        Ok(Semver { major, minor, patch, pre })
    }

    /// As [`Semver::parse`], with a `v` before it, zeros before numbers and missing numbers put right.
    pub(crate) fn parse_normalized(text: &str) -> Result<Semver, String> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let mut parts: Vec<String> = text.splitn(3, '.').map(str::to_owned).collect();
        for part in &mut parts {
            if part.len() > 1 {
                let stripped = part.trim_start_matches('0');
                let digit = stripped.bytes().next().is_some_and(|b| b.is_ascii_digit());
                *part = if digit { stripped.to_owned() } else { format!("0{stripped}") };
            }
        }
        if parts.len() < 3 {
            if parts.last().is_some_and(|last| last.contains(['+', '-'])) {
                return Err("short version cannot contain PreRelease/Build meta data".into());
            }
            parts.resize(3, "0".to_owned());
        }
        Semver::parse(&parts.join("."))
    }

    pub(crate) fn cmp(&self, other: &Semver) -> Ordering {
        let numbers = |v: &Semver| (v.major, v.minor, v.patch);
        numbers(self).cmp(&numbers(other)).then_with(|| {
            // A version comes after what led to it.
            match (self.pre.is_empty(), other.pre.is_empty()) {
                (true, true) => Ordering::Equal,
                (true, false) => Ordering::Greater,
                (false, true) => Ordering::Less,
                (false, false) => {
                    let parts = self.pre.iter().zip(&other.pre).map(|(a, b)| a.cmp(b));
                    parts.fold(Ordering::Equal, Ordering::then).then(self.pre.len().cmp(&other.pre.len()))
                }
            }
        })
    }
}

impl Pre {
    fn cmp(&self, other: &Pre) -> Ordering {
        match (self, other) {
            (Pre::Number(a), Pre::Number(b)) => a.cmp(b),
            (Pre::Number(_), Pre::Text(_)) => Ordering::Less,
            (Pre::Text(_), Pre::Number(_)) => Ordering::Greater,
            (Pre::Text(a), Pre::Text(b)) => a.cmp(b),
        }
    }
}

fn alphanumeric(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'-'
}

fn leading_zeros(text: &str) -> bool {
    text.len() > 1 && text.starts_with('0')
}

fn number(text: &str, upper: &str, lower: &str) -> Result<u64, String> {
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
        // Nothing is only digits, but no number.
        return Err(match text.is_empty() {
            true => format!("strconv.ParseUint: parsing {}: invalid syntax", quote(text)),
            false => format!("Invalid character(s) found in {lower} number {}", quote(text)),
        });
    }
    if leading_zeros(text) {
        return Err(format!("{upper} number must not contain leading zeroes {}", quote(text)));
    }
    text.parse().map_err(|_| format!("strconv.ParseUint: parsing {}: value out of range", quote(text)))
}

fn pre_part(text: &str) -> Result<Pre, String> {
    if text.is_empty() {
        return Err("Prerelease is empty".into());
    }
    if text.bytes().all(|b| b.is_ascii_digit()) {
        if leading_zeros(text) {
            return Err(format!(
                "Numeric PreRelease version must not contain leading zeroes {}",
                quote(text)
            ));
        }
        let number = text.parse();
        return number
            .map(Pre::Number)
            .map_err(|_| format!("strconv.ParseUint: parsing {}: value out of range", quote(text)));
    }
    if !text.bytes().all(alphanumeric) {
        return Err(format!("Invalid character(s) found in prerelease {}", quote(text)));
    }
    Ok(Pre::Text(text.to_owned()))
}
