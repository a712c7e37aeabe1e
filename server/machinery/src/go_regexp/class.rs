//! Classes of characters: ranges of code points, folded, negated and merged as Go does.

use regex_syntax::hir::{Class as HirClass, ClassUnicode, ClassUnicodeRange, HirKind};

const MAX_RUNE: u32 = 0x10_FFFF;

/// A set of code points in the making.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Ranges(pub(super) Vec<(u32, u32)>);

impl Ranges {
    pub(super) fn push(&mut self, low: u32, high: u32) {
        self.0.push((low, high));
    }

    /// Adds a range, with what differs from it in case only.
    pub(super) fn push_folded(&mut self, low: u32, high: u32) {
        let mut folded = unicode_of(&[(low, high)]);
        folded.case_fold_simple();
        self.push(low, high);
        self.0.extend(folded.iter().map(|r| (u32::from(r.start()), u32::from(r.end()))));
    }

    pub(super) fn extend(&mut self, others: &Ranges) {
        self.0.extend_from_slice(&others.0);
    }

    /// Sorted, without overlaps.
    pub(super) fn clean(mut self) -> Ranges {
        self.0.sort_unstable();
        let mut out: Vec<(u32, u32)> = Vec::with_capacity(self.0.len());
        for (low, high) in self.0 {
            match out.last_mut() {
                Some(last) if low <= last.1.saturating_add(1) => last.1 = last.1.max(high),
                _ => out.push((low, high)),
            }
        }
        Ranges(out)
    }

    /// All that is not in it.
    pub(super) fn negated(self) -> Ranges {
        let mut out = Vec::new();
        let mut next = 0;
        for (low, high) in self.clean().0 {
            if low > next {
                out.push((next, low - 1));
            }
            next = high + 1;
        }
        if next <= MAX_RUNE {
            out.push((next, MAX_RUNE));
        }
        Ranges(out)
    }
}

/// Without surrogates, which no text has.
fn unicode_of(ranges: &[(u32, u32)]) -> ClassUnicode {
    let chars = ranges.iter().flat_map(|(low, high)| {
        [(*low, (*high).min(0xD7FF)), ((*low).max(0xE000), *high)].into_iter().filter_map(|(low, high)| {
            let (low, high) = (char::from_u32(low)?, char::from_u32(high)?);
            (low <= high).then(|| ClassUnicodeRange::new(low, high))
        })
    });
    ClassUnicode::new(chars)
}

/// A class ready to match.
#[derive(Debug)]
pub(super) struct Class {
    ascii: u128,
    /// Beyond ASCII, sorted.
    wide: Box<[(u32, u32)]>,
}

impl Class {
    pub(super) fn of(ranges: &Ranges) -> Class {
        let mut ascii = 0;
        for (low, high) in &ranges.0 {
            for c in *low..=(*high).min(127) {
                ascii |= 1u128 << c;
            }
        }
        let wide =
            ranges.0.iter().filter(|(_, high)| *high > 127).map(|(low, high)| ((*low).max(128), *high));
        Class { ascii, wide: wide.collect() }
    }

    pub(super) fn has(&self, c: u32) -> bool {
        if c < 128 {
            return self.ascii >> c & 1 == 1;
        }
        let at = self.wide.partition_point(|(_, high)| *high < c);
        self.wide.get(at).is_some_and(|(low, _)| *low <= c)
    }

    pub(super) fn heap(&self) -> usize {
        size_of::<Class>() + self.wide.len() * size_of::<(u32, u32)>()
    }
}

/// A class of Perl's: `\d`, `\s`, `\w` and their negations.
pub(super) fn perl(letter: u8) -> Option<(bool, &'static [(u32, u32)])> {
    Some(match letter {
        b'd' => (false, posix_ranges("digit")?),
        b'D' => (true, posix_ranges("digit")?),
        b's' => (false, &[(9, 10), (12, 13), (32, 32)]),
        b'S' => (true, &[(9, 10), (12, 13), (32, 32)]),
        b'w' => (false, posix_ranges("word")?),
        b'W' => (true, posix_ranges("word")?),
        _ => return None,
    })
}

/// A class by its POSIX name, with a `^` before it where it is negated.
pub(super) fn posix(name: &str) -> Option<(bool, &'static [(u32, u32)])> {
    match name.strip_prefix('^') {
        Some(name) => posix_ranges(name).map(|ranges| (true, ranges)),
        None => posix_ranges(name).map(|ranges| (false, ranges)),
    }
}

fn posix_ranges(name: &str) -> Option<&'static [(u32, u32)]> {
    Some(match name {
        "alnum" => &[(0x30, 0x39), (0x41, 0x5A), (0x61, 0x7A)],
        "alpha" => &[(0x41, 0x5A), (0x61, 0x7A)],
        "ascii" => &[(0, 0x7F)],
        "blank" => &[(9, 9), (0x20, 0x20)],
        "cntrl" => &[(0, 0x1F), (0x7F, 0x7F)],
        "digit" => &[(0x30, 0x39)],
        "graph" => &[(0x21, 0x7E)],
        "lower" => &[(0x61, 0x7A)],
        "print" => &[(0x20, 0x7E)],
        "punct" => &[(0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E)],
        "space" => &[(9, 13), (0x20, 0x20)],
        "upper" => &[(0x41, 0x5A)],
        "word" => &[(0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)],
        "xdigit" => &[(0x30, 0x39), (0x41, 0x46), (0x61, 0x66)],
        _ => return None,
    })
}

/// The code points of a general category or a script.
pub(super) fn unicode(name: &str) -> Option<Ranges> {
    if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b' '))
    {
        return None;
    }
    let canonical: String =
        name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    match canonical.as_str() {
        "any" => return Some(Ranges(vec![(0, MAX_RUNE)])),
        "ascii" => return Some(Ranges(vec![(0, 0x7F)])),
        "assigned" => return table("gc=Cn").map(Ranges::negated),
        _ => {}
    }
    table(&format!("gc={name}")).or_else(|| table(&format!("sc={name}")))
}

fn table(property: &str) -> Option<Ranges> {
    let hir = regex_syntax::parse(&format!("\\p{{{property}}}")).ok()?;
    match hir.kind() {
        HirKind::Class(HirClass::Unicode(class)) => {
            Some(Ranges(class.iter().map(|r| (u32::from(r.start()), u32::from(r.end()))).collect()))
        }
        _ => None,
    }
}
