//! The chunked transfer coding (RFC 9112 section 7.1), read byte by byte as strictly as Go does: lines end in CR LF
//! and hold no other CR, a size has at most 16 digits, extensions are skipped but their bytes are counted.

use crate::limits::{H1_CHUNK_EXCESS_MAX, H1_LINE_MAX};

/// What a step of the decoder found at the start of its input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// This many bytes were framing; ask again with the rest.
    Framing(usize),
    /// This many bytes are data.
    Data(usize),
    /// The last chunk was read with this many bytes; a trailer follows.
    Last(usize),
    /// The input is used up.
    More,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum At {
    #[default]
    Size,
    /// White space after the size, allowed up to the end of the line only.
    Space,
    Extension,
    SizeLf,
    Data,
    DataCr,
    DataLf,
}

/// The state between two steps.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    at: At,
    left: u64,
    digits: usize,
    line: usize,
    excess: u64,
    /// The line is wrong; said only at its end, as Go reads whole lines.
    wrong: bool,
}

/// The chunked framing is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

impl Decoder {
    /// Looks at `input`, which begins where the step before ended.
    pub(crate) fn step(&mut self, input: &[u8]) -> Result<Step, Malformed> {
        if input.is_empty() {
            return Ok(Step::More);
        }
        if self.at == At::Data {
            let n = self.left.min(input.len() as u64);
            self.left -= n;
            if self.left == 0 {
                self.at = At::DataCr;
            }
            return Ok(Step::Data(n as usize));
        }
        for (i, &byte) in input.iter().enumerate() {
            match self.at {
                At::DataCr => {
                    self.wrong = byte != b'\r';
                    self.at = At::DataLf;
                    continue;
                }
                At::DataLf => {
                    if byte != b'\n' || self.wrong {
                        return Err(Malformed);
                    }
                    *self = Decoder { excess: self.excess, ..Decoder::default() };
                    continue;
                }
                _ => {}
            }
            self.line += 1;
            if self.line > H1_LINE_MAX {
                return Err(Malformed);
            }
            if byte == b'\n' {
                if self.at != At::SizeLf || self.wrong || self.digits == 0 {
                    return Err(Malformed);
                }
                self.end_of_line()?;
                if self.left == 0 {
                    *self = Decoder::default();
                    return Ok(Step::Last(i + 1));
                }
                self.at = At::Data;
                return Ok(Step::Framing(i + 1));
            }
            self.size_byte(byte);
        }
        Ok(Step::Framing(input.len()))
    }

    fn size_byte(&mut self, byte: u8) {
        match self.at {
            At::SizeLf => self.wrong = true,
            _ if byte == b'\r' => self.at = At::SizeLf,
            At::Size => match byte {
                b';' => self.at = At::Extension,
                b' ' | b'\t' => self.at = At::Space,
                _ => match char::from(byte).to_digit(16) {
                    Some(digit) if self.digits < 16 => {
                        self.left = self.left << 4 | u64::from(digit);
                        self.digits += 1;
                    }
                    _ => self.wrong = true,
                },
            },
            At::Space => self.wrong |= !matches!(byte, b' ' | b'\t'),
            At::Extension | At::Data | At::DataCr | At::DataLf => {}
        }
    }

    fn end_of_line(&mut self) -> Result<(), Malformed> {
        // The line without its CR LF, and the CR LF after the data.
        self.excess += self.line as u64;
        self.excess = self.excess.saturating_sub(self.left.saturating_mul(2).saturating_add(16));
        if self.excess > H1_CHUNK_EXCESS_MAX { Err(Malformed) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Decodes `input` in pieces of `size`; the data, or nothing where it is malformed.
    fn decode(input: &[u8], size: usize) -> Option<(Vec<u8>, bool)> {
        let (mut decoder, mut data) = (Decoder::default(), Vec::new());
        for mut piece in input.chunks(size) {
            loop {
                match decoder.step(piece).ok()? {
                    Step::Framing(n) => piece = &piece[n..],
                    Step::Data(n) => {
                        data.extend_from_slice(&piece[..n]);
                        piece = &piece[n..];
                    }
                    Step::Last(_) => return Some((data, true)),
                    Step::More => break,
                }
            }
        }
        Some((data, false))
    }

    fn check(input: &str, expect: Option<(&str, bool)>) {
        for size in 1..=input.len() {
            let got = decode(input.as_bytes(), size);
            assert_eq!(got, expect.map(|(d, e)| (d.as_bytes().to_vec(), e)), "{input:?} by {size}");
        }
    }

    #[test]
    fn accepted() {
        check("5\r\nhello\r\n0\r\n", Some(("hello", true)));
        check("5;a=b\r\nhello\r\n6 \t\r\n world\r\n000\r\n", Some(("hello world", true)));
        check("A\r\n0123456789\r\n0;x\r\n", Some(("0123456789", true)));
        check("5\r\nhel", Some(("hel", false)));
    }

    #[test]
    fn refused() {
        for input in
            ["5\nhello", "5\r\nhelloX\r\n", "x\r\n", "\r\n", "5 x\r\n", "5 ;x\r\n", "5\r\r\n", ";x\r\n"]
        {
            check(input, None);
        }
        check("11112222333344445\r\n", None);
    }

    #[test]
    fn line_too_long() {
        let line = format!("1;{}\r\n", "x".repeat(H1_LINE_MAX));
        assert_eq!(decode(line.as_bytes(), 100), None);
    }

    #[test]
    fn too_much_framing() {
        let chunk = format!("1;{}\r\nx\r\n", "e".repeat(1000));
        assert!(decode(chunk.repeat(10).as_bytes(), 4096).is_some());
        assert_eq!(decode(chunk.repeat(20).as_bytes(), 4096), None);
    }
}
