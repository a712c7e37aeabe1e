//! The Huffman code of RFC 7541 appendix B. It is canonical, so that the lengths say all; the tables are made of
//! them at compile time. Decoding looks at eleven bits a step: two letters of five or six bits each, which paths and
//! tokens are mostly made of, are one look-up.

use super::Error;

/// The length of each byte's code.
#[rustfmt::skip]
const LENGTHS: [u8; 257] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28,
    28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
    6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6,
    5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
    13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
    7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
    15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5,
    6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
    20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
    24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
    22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23,
    21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
    19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
    20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
    26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
    30,
];

/// The end-of-string symbol, which never stands in a string.
const EOS: u16 = 256;
const LONGEST: usize = 30;

/// Bits that one look-up decides about. The table has 8 KiB, a sixth of a first-level cache.
const STEP_BITS: u32 = 11;

/// What the next bits stand for.
#[derive(Clone, Copy)]
struct Step {
    /// One symbol or two.
    symbols: [u8; 2],
    /// How many; 0 where the code is longer than the bits.
    count: u8,
    /// The bits they take.
    bits: u8,
}

struct Tables {
    /// Code of each byte.
    codes: [u32; 257],
    /// By the next bits.
    steps: [Step; 1 << STEP_BITS],
    /// Symbols in the order of their codes.
    symbols: [u16; 257],
    /// For each length: where its symbols start, its first code, and the end of its codes, both aligned left in
    /// 32 bits.
    start: [u16; LONGEST + 1],
    first: [u32; LONGEST + 1],
    end: [u64; LONGEST + 1],
}

static TABLES: Tables = tables();

const fn tables() -> Tables {
    let mut t = Tables {
        codes: [0; 257],
        steps: [Step { symbols: [0; 2], count: 0, bits: 0 }; 1 << STEP_BITS],
        symbols: [0; 257],
        start: [0; LONGEST + 1],
        first: [0; LONGEST + 1],
        end: [0; LONGEST + 1],
    };
    let (mut code, mut count, mut length) = (0u32, 0usize, 1usize);
    while length <= LONGEST {
        t.start[length] = count as u16;
        t.first[length] = code << (32 - length);
        let mut symbol = 0;
        while symbol < 257 {
            if LENGTHS[symbol] as usize == length {
                t.codes[symbol] = code;
                t.symbols[count] = symbol as u16;
                if length <= STEP_BITS as usize {
                    let free = STEP_BITS as usize - length;
                    let from = (code as usize) << free;
                    let mut i = from;
                    while i < from + (1 << free) {
                        t.steps[i] = Step { symbols: [symbol as u8, 0], count: 1, bits: length as u8 };
                        i += 1;
                    }
                }
                count += 1;
                code += 1;
            }
            symbol += 1;
        }
        t.end[length] = (code as u64) << (32 - length);
        code <<= 1;
        length += 1;
    }
    with_pairs(t)
}

/// Adds second symbols where they fit: where the bits behind the first one, filled up with zeros, decide a symbol by
/// those that are there.
const fn with_pairs(mut t: Tables) -> Tables {
    let singles = t.steps;
    let mut i = 0;
    while i < singles.len() {
        let first = singles[i];
        let second = singles[(i << first.bits) & (singles.len() - 1)];
        if first.count == 1 && second.count == 1 && first.bits as u32 + second.bits as u32 <= STEP_BITS {
            t.steps[i] = Step {
                symbols: [first.symbols[0], second.symbols[0]],
                count: 2,
                bits: first.bits + second.bits,
            };
        }
        i += 1;
    }
    t
}

/// Appends the decoded text to `out`.
pub(crate) fn decode(input: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
    let start = out.len();
    // The shortest code has five bits. A step writes two symbols, whether or not the second counts.
    out.resize(start + input.len() * 8 / 5 + 2, 0);
    let (length, result) = decode_into(input, &mut out[start..]);
    out.truncate(start + length);
    result
}

/// Decodes to the start of `text`, which is long enough for any text of this length; tells how much was written.
fn decode_into(mut input: &[u8], text: &mut [u8]) -> (usize, Result<(), Error>) {
    let (mut bits, mut count, mut at) = (0u64, 0u32, 0);
    loop {
        if let Some((chunk, rest)) = input.split_first_chunk::<4>()
            && count <= 32
        {
            bits |= u64::from(u32::from_be_bytes(*chunk)) << (32 - count);
            count += 32;
            input = rest;
        }
        while count <= 56
            && input.len() < 4
            && let Some((&byte, rest)) = input.split_first()
        {
            bits |= u64::from(byte) << (56 - count);
            count += 8;
            input = rest;
        }
        while count >= STEP_BITS {
            let step = TABLES.steps[(bits >> (64 - STEP_BITS)) as usize];
            let (true, Some(room)) = (step.count > 0, text.get_mut(at..at + 2)) else { break };
            room.copy_from_slice(&step.symbols);
            at += usize::from(step.count);
            bits <<= step.bits;
            count -= u32::from(step.bits);
        }
        if count < LONGEST as u32 && !input.is_empty() {
            continue;
        }
        if count == 0 {
            return (at, Ok(()));
        }
        // Beyond the end stand ones, as in the padding.
        let window = if count < 64 { bits | u64::MAX >> count } else { bits };
        let (symbol, length) = one(window);
        if length > count {
            let padded = count < 8 && bits >> (64 - count) == (1 << count) - 1;
            return (at, if padded { Ok(()) } else { Err(Error::Huffman) });
        }
        match text.get_mut(at) {
            Some(room) if symbol != EOS => *room = symbol as u8,
            _ => return (at, Err(Error::Huffman)),
        }
        at += 1;
        bits <<= length;
        count -= length;
    }
}

/// The symbol that the next bits begin with, and its length.
fn one(window: u64) -> (u16, u32) {
    let step = TABLES.steps[(window >> (64 - STEP_BITS)) as usize];
    match step.count {
        0 => long(window),
        1 => (u16::from(step.symbols[0]), u32::from(step.bits)),
        _ => (u16::from(step.symbols[0]), u32::from(LENGTHS[usize::from(step.symbols[0])])),
    }
}

#[cold]
fn long(window: u64) -> (u16, u32) {
    let code = (window >> 32) as u32;
    for length in STEP_BITS as usize + 1..=LONGEST {
        if u64::from(code) < TABLES.end[length] {
            let at = (code - TABLES.first[length]) >> (32 - length);
            let symbol = TABLES.symbols[usize::from(TABLES.start[length]) + at as usize];
            return (symbol, length as u32);
        }
    }
    // The two longest codes left over are not defined by the table; they begin as EOS does.
    (EOS, LONGEST as u32)
}

/// The bytes `text` takes once encoded.
pub(crate) fn encoded_len(text: &[u8]) -> usize {
    let bits: usize = text.iter().map(|b| usize::from(LENGTHS[usize::from(*b)])).sum();
    bits.div_ceil(8)
}

/// Appends the encoded text to `out`.
pub(crate) fn encode(text: &[u8], out: &mut Vec<u8>) {
    let (mut bits, mut count) = (0u64, 0u32);
    for &byte in text {
        let length = u32::from(LENGTHS[usize::from(byte)]);
        bits = bits << length | u64::from(TABLES.codes[usize::from(byte)]);
        count += length;
        while count >= 8 {
            count -= 8;
            out.push((bits >> count) as u8);
        }
    }
    if count > 0 {
        out.push((bits << (8 - count)) as u8 | 0xff >> count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_bytes_come_back() {
        let all: Vec<u8> = (0..=255).chain((0..=255).rev()).collect();
        for from in 0..all.len() {
            let (mut coded, mut text) = (Vec::new(), Vec::new());
            encode(&all[from..], &mut coded);
            assert_eq!(coded.len(), encoded_len(&all[from..]));
            decode(&coded, &mut text).unwrap();
            assert_eq!(text, &all[from..]);
        }
    }

    #[test]
    fn steps_are_what_single_codes_say() {
        for (i, step) in TABLES.steps.iter().enumerate() {
            let mut window = (i as u64) << (64 - STEP_BITS);
            let mut bits = 0;
            for symbol in &step.symbols[..usize::from(step.count)] {
                let length = u32::from(LENGTHS[usize::from(*symbol)]);
                assert_eq!(
                    window >> (64 - length),
                    u64::from(TABLES.codes[usize::from(*symbol)]),
                    "{i:011b}"
                );
                window <<= length;
                bits += length;
            }
            assert_eq!(bits, u32::from(step.bits), "{i:011b}");
            assert!(bits <= STEP_BITS);
        }
        // `0` and `1` are 00000 and 00001.
        let step = TABLES.steps[0b000_0000_0010];
        assert_eq!((step.symbols, step.count), (*b"01", 2));
    }

    #[test]
    fn padding() {
        let ok = |input: &[u8]| decode(input, &mut Vec::new()).is_ok();
        // `0` is 00000, padded with ones.
        assert!(ok(&[0x07]));
        assert!(!ok(&[0x06]), "padding with a zero");
        assert!(!ok(&[0x07, 0xff]), "padding of more than seven bits");
        assert!(!ok(&[0xff]), "padding alone of eight bits");
        assert!(!ok(&[0xff, 0xff, 0xff, 0xff]), "end of string");
        assert!(ok(&[]));
    }
}
