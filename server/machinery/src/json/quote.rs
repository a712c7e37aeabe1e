//! Strings and numbers as Go writes them: JSON with HTML escaping, and `strconv.Quote`.

/// Bytes that a JSON string cannot hold as they are, or that Go escapes for HTML, or that may begin such a
/// character (0xE2, U+2028 and U+2029).
const ESCAPE: [bool; 256] = {
    let mut table = [false; 256];
    let mut i = 0;
    while i < 256 {
        table[i] = matches!(i as u8, 0..0x20 | b'"' | b'\\' | b'<' | b'>' | b'&' | 0xE2);
        i += 1;
    }
    table
};

const ONES: u64 = u64::MAX / 255;
const TOPS: u64 = ONES << 7;

/// Not 0 where one of eight bytes is in [`ESCAPE`] or is none of ASCII.
#[inline]
fn may_escape(block: u64) -> u64 {
    // A byte borrows from its top bit where it is below what is taken away. Two that differ in one bit are compared at
    // once: `"` and `&`, `<` and `>`.
    let control = block.wrapping_sub(ONES * 0x20);
    let quote = ((block | (ONES * 4)) ^ (ONES * b'&' as u64)).wrapping_sub(ONES);
    let angle = ((block | (ONES * 2)) ^ (ONES * b'>' as u64)).wrapping_sub(ONES);
    let backslash = (block ^ (ONES * b'\\' as u64)).wrapping_sub(ONES);
    (control | quote | angle | backslash | block) & TOPS
}

/// Whether a string holds bytes as they are. Answers no as well where that takes a closer look.
#[inline]
pub(crate) fn is_plain(bytes: &[u8]) -> bool {
    let Some(last) = bytes.last_chunk::<8>() else {
        let wide = |half: &[u8; 4]| u64::from(u32::from_le_bytes(*half));
        return match (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
            // The two overlap.
            (Some(first), Some(last)) => may_escape(wide(first) | wide(last) << 32) == 0,
            _ => !bytes.iter().any(|byte| ESCAPE[usize::from(*byte)]),
        };
    };
    // The last block overlaps with the one before it.
    let mut marks = may_escape(u64::from_le_bytes(*last));
    for block in bytes.as_chunks::<8>().0 {
        marks |= may_escape(u64::from_le_bytes(*block));
    }
    marks == 0
}

const HEX: &[u8; 16] = b"0123456789abcdef";

/// Whether `bytes[at..]` begins with U+2028 or U+2029.
fn line_separator(bytes: &[u8], at: usize) -> bool {
    matches!(bytes.get(at..at + 3), Some([0xE2, 0x80, 0xA8 | 0xA9]))
}

/// Writes `s` as a JSON string, quotes included.
pub fn write_string(out: &mut Vec<u8>, s: &str) {
    out.push(b'"');
    if is_plain(s.as_bytes()) {
        out.extend_from_slice(s.as_bytes());
    } else {
        write_escaped(out, s, false);
    }
    out.push(b'"');
}

/// Writes JSON text with what HTML would read escaped; inside `text`, quotes and backslashes stay.
fn write_escaped(out: &mut Vec<u8>, s: &str, text: bool) {
    let bytes = s.as_bytes();
    let mut from = 0;
    let mut at = 0;
    while at < bytes.len() {
        while let Some(block) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>())
            && may_escape(u64::from_le_bytes(*block)) == 0
        {
            at += block.len();
        }
        // One of the next few bytes, or none at all.
        let Some(step) = bytes[at..].iter().position(|byte| ESCAPE[*byte as usize]) else { break };
        at += step;
        let byte = bytes[at];
        let mut width = 1;
        if byte == 0xE2 {
            if !line_separator(bytes, at) {
                at += 1;
                continue;
            }
            width = 3;
        } else if text && !matches!(byte, b'<' | b'>' | b'&') {
            at += 1;
            continue;
        }
        out.extend_from_slice(&bytes[from..at]);
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            8 => out.extend_from_slice(b"\\b"),
            12 => out.extend_from_slice(b"\\f"),
            0xE2 => out.extend_from_slice(if bytes[at + 2] == 0xA8 { b"\\u2028" } else { b"\\u2029" }),
            _ => {
                out.extend_from_slice(b"\\u00");
                out.push(HEX[(byte >> 4) as usize]);
                out.push(HEX[(byte & 15) as usize]);
            }
        }
        at += width;
        from = at;
    }
    out.extend_from_slice(&bytes[from..]);
}

/// Writes valid JSON text without the space between tokens, escaped for HTML: what Go's encoder makes of the
/// answer of a `MarshalJSON`.
pub fn write_compact(out: &mut Vec<u8>, json: &str) {
    let bytes = json.as_bytes();
    // Mostly there is nothing to do, since it was written by this or by Go: many bytes at a time without a branch, which
    // compiles to few vector instructions.
    let changes = |any: u8, byte: &u8| {
        any | u8::from(*byte <= b' ')
            | u8::from(*byte | 2 == b'>')
            | u8::from(*byte == b'&')
            | u8::from(*byte == 0xE2)
    };
    let (blocks, rest) = bytes.as_chunks::<64>();
    if blocks.iter().all(|block| block.iter().fold(0, changes) == 0) && rest.iter().fold(0, changes) == 0 {
        out.extend_from_slice(bytes);
        return;
    }
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b' ' | b'\t' | b'\r' | b'\n' => at += 1,
            b'"' => {
                let end = string_end(bytes, at + 1);
                write_escaped(out, &json[at..end], true);
                at = end;
            }
            byte => {
                out.push(byte);
                at += 1;
            }
        }
    }
}

/// Index after the closing quote of the string whose content begins at `at`.
fn string_end(bytes: &[u8], mut at: usize) -> usize {
    while let Some(step) = memchr::memchr2(b'"', b'\\', &bytes[at.min(bytes.len())..]) {
        at += step;
        if bytes[at] == b'"' {
            return at + 1;
        }
        at += 2;
    }
    bytes.len()
}

/// Writes an integer.
pub fn write_int(out: &mut Vec<u8>, n: i64) {
    out.extend_from_slice(itoa::Buffer::new().format(n).as_bytes());
}

/// Writes a finite float as `encoding/json` does: the shortest digits that read back the same, with an exponent
/// below 1e-6 and from 1e21.
pub fn write_float(out: &mut Vec<u8>, f: f64) {
    if f == 0.0 {
        out.extend_from_slice(if f.is_sign_negative() { b"-0" } else { b"0" });
        return;
    }
    let mut buffer = ryu::Buffer::new();
    let text = buffer.format_finite(f);
    let text = text.strip_prefix('-').map_or(text, |rest| {
        out.push(b'-');
        rest
    });
    let (mantissa, exponent) = match text.split_once('e') {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().unwrap_or(0)),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let mut digits: Vec<u8> = whole.bytes().chain(fraction.bytes()).collect();
    let mut point = whole.len() as i32 + exponent;
    let lead = digits.iter().take_while(|&&d| d == b'0').count();
    digits.drain(..lead);
    point -= lead as i32;
    while digits.last() == Some(&b'0') {
        digits.pop();
    }
    let size = f.abs();
    if !(1e-6..1e21).contains(&size) {
        out.push(digits[0]);
        if digits.len() > 1 {
            out.push(b'.');
            out.extend_from_slice(&digits[1..]);
        }
        let exponent = point - 1;
        out.push(b'e');
        out.push(if exponent < 0 { b'-' } else { b'+' });
        let exponent = exponent.unsigned_abs();
        // Go pads to two digits and then takes the zero of `e-0N` away, of `e+0N` it cannot come (from e+21 on).
        out.extend_from_slice(itoa::Buffer::new().format(exponent).as_bytes());
    } else if point <= 0 {
        out.extend_from_slice(b"0.");
        out.resize(out.len() + point.unsigned_abs() as usize, b'0');
        out.extend_from_slice(&digits);
    } else if point as usize >= digits.len() {
        let zeros = point as usize - digits.len();
        out.extend_from_slice(&digits);
        out.resize(out.len() + zeros, b'0');
    } else {
        out.extend_from_slice(&digits[..point as usize]);
        out.push(b'.');
        out.extend_from_slice(&digits[point as usize..]);
    }
}

/// `strconv.Quote`.
pub fn go_quote(s: &str) -> String {
    let mut out = String::with_capacity(s.len() + 2);
    out.push('"');
    for c in s.chars() {
        push_go_char(&mut out, c, '"');
    }
    out.push('"');
    out
}

/// One character as `strconv.Quote` writes it inside `quote`s.
pub(crate) fn push_go_char(out: &mut String, c: char, quote: char) {
    match c {
        '\\' => out.push_str("\\\\"),
        c if c == quote => {
            out.push('\\');
            out.push(c);
        }
        '\x07' => out.push_str("\\a"),
        '\x08' => out.push_str("\\b"),
        '\x0c' => out.push_str("\\f"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\x0b' => out.push_str("\\v"),
        c if (c as u32) < 0x20 || c as u32 == 0x7f => out.push_str(&format!("\\x{:02x}", c as u32)),
        c if is_printable(c) => out.push(c),
        c if (c as u32) < 0x10000 => out.push_str(&format!("\\u{:04x}", c as u32)),
        c => out.push_str(&format!("\\U{:08x}", c as u32)),
    }
}

/// `strconv.IsPrint`, as far as Rust's own tables of printable characters agree with Go's.
pub fn is_printable(c: char) -> bool {
    if c.is_ascii() {
        return (' '..='~').contains(&c);
    }
    if c.is_whitespace() || c.is_control() {
        return false;
    }
    // `escape_debug` leaves printable characters alone, but escapes quotes and combining marks.
    let mut escaped = c.escape_debug();
    escaped.next() != Some('\\') || matches!(c, '\'' | '"') || is_grapheme_extend(c)
}

fn is_grapheme_extend(c: char) -> bool {
    // Within a string `str::escape_debug` escapes combining marks only at the start.
    let mut pair = String::from("a");
    pair.push(c);
    pair.escape_debug().count() == 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats() {
        for (f, expect) in [
            (1.0, "1"),
            (-0.0, "-0"),
            (0.1, "0.1"),
            (1e20, "100000000000000000000"),
            (1e21, "1e+21"),
            (1.5e300, "1.5e+300"),
            (1e-6, "0.000001"),
            (1e-7, "1e-7"),
            (-1.25e-9, "-1.25e-9"),
            (123456.789, "123456.789"),
            (5e-324, "5e-324"),
            (1234567890.0, "1234567890"),
        ] {
            let mut out = Vec::new();
            write_float(&mut out, f);
            assert_eq!(String::from_utf8(out).unwrap(), expect);
        }
    }

    #[test]
    fn strings() {
        for (s, expect) in [
            ("a<b>&c", r#""a\u003cb\u003e\u0026c""#),
            ("\u{2028}\u{2029}\u{2027}€", "\"\\u2028\\u2029\u{2027}€\""),
            ("\0\x08\x0c\n\r\t\x1f\x7f", "\"\\u0000\\b\\f\\n\\r\\t\\u001f\x7f\""),
            ("q\"\\", r#""q\"\\""#),
        ] {
            let mut out = Vec::new();
            write_string(&mut out, s);
            assert_eq!(String::from_utf8(out).unwrap(), expect);
        }
        let mut out = Vec::new();
        write_compact(&mut out, "{ \"a b\" : [ 1.0 , \"<\\\"\" ] }");
        assert_eq!(String::from_utf8(out).unwrap(), "{\"a b\":[1.0,\"\\u003c\\\"\"]}");
    }

    #[test]
    fn quotes() {
        assert_eq!(go_quote("a\"b\\\n\x01é\u{200b}\u{301}"), "\"a\\\"b\\\\\\n\\x01é\\u200b\u{301}\"");
    }
}
