//! What a string or bytes literal stands for.

/// The content of a literal: quotes and prefix taken off, escapes resolved. Of bytes, `\x` and octal escapes are bytes.
pub(crate) fn unescape(token: &str, bytes: bool) -> Result<Vec<u8>, &'static str> {
    let normalized;
    let mut text = token;
    if token.contains('\r') {
        normalized = token.replace("\r\n", "\n").replace('\r', "\n");
        text = &normalized;
    }
    let (raw, text) = match text.strip_prefix(['r', 'R']) {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let triple = text.len() >= 6 && (text.starts_with("'''") || text.starts_with("\"\"\""));
    let quotes = if triple { 3 } else { 1 };
    let text = text.get(quotes..text.len().saturating_sub(quotes)).ok_or("unable to unescape string")?;
    if raw || !text.contains('\\') {
        return Ok(text.as_bytes().to_vec());
    }
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if c != '\\' {
            let len = c.len_utf8();
            out.extend_from_slice(&rest.as_bytes()[..len]);
            rest = &rest[len..];
            continue;
        }
        rest = escape(&rest[1..], bytes, &mut out)?;
    }
    Ok(out)
}

fn escape<'t>(rest: &'t str, bytes: bool, out: &mut Vec<u8>) -> Result<&'t str, &'static str> {
    const UNABLE: &str = "unable to unescape string";
    let c = rest.chars().next().ok_or("unable to unescape string, found '\\' as last character")?;
    let after = &rest[c.len_utf8()..];
    let plain = match c {
        'a' => 0x07,
        'b' => 0x08,
        'f' => 0x0c,
        'n' => b'\n',
        'r' => b'\r',
        't' => b'\t',
        'v' => 0x0b,
        '\\' | '\'' | '"' | '`' | '?' => c as u8,
        'x' | 'X' => return numbered(after, 2, 16, bytes, out),
        'u' if !bytes => return numbered(after, 4, 16, false, out),
        'U' if !bytes => return numbered(after, 8, 16, false, out),
        '0'..='3' => return numbered(rest, 3, 8, bytes, out),
        _ => return Err(UNABLE),
    };
    out.push(plain);
    Ok(after)
}

fn numbered<'t>(
    rest: &'t str,
    digits: usize,
    radix: u32,
    bytes: bool,
    out: &mut Vec<u8>,
) -> Result<&'t str, &'static str> {
    let text = rest.get(..digits).ok_or("unable to unescape string")?;
    let number = u32::from_str_radix(text, radix).map_err(|_| "unable to unescape string")?;
    if bytes {
        out.push(number as u8);
    } else {
        let c = char::from_u32(number).ok_or("invalid unicode code point")?;
        out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
    }
    Ok(&rest[digits..])
}
