//! Where a webhook listens: URLs as Go's `net/url` reads them, and services.

use ringbolt_machinery::{
    field::{FieldError, child, quote},
    validation::names::{dns1123_subdomain_errors, port_number_errors},
    value::Map,
};

use super::super::Errors;
use crate::tree::Members;

/// The parts of a URL that are looked at.
#[derive(Debug, Default, PartialEq, Eq)]
struct Url<'a> {
    scheme: String,
    user: Option<&'a str>,
    host: &'a str,
    query: &'a str,
    fragment: &'a str,
}

fn parse(text: &str) -> Result<Url<'_>, String> {
    if text.bytes().any(|b| b < 0x20 || b == 0x7f) {
        return Err("net/url: invalid control character in URL".to_owned());
    }
    let (rest, fragment) = text.split_once('#').unwrap_or((text, ""));
    escapes(fragment)?;
    let (scheme, rest) = scheme(rest)?;
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let mut url = Url { scheme: scheme.to_lowercase(), query, fragment, ..Url::default() };
    let mut path = rest;
    if !rest.starts_with('/') {
        if !scheme.is_empty() {
            return Ok(url);
        }
        if rest.split('/').next().is_some_and(|first| first.contains(':')) {
            return Err("first path segment in URL cannot contain colon".to_owned());
        }
    } else if let Some(after) = rest.strip_prefix("//")
        && (!scheme.is_empty() || !rest.starts_with("///"))
    {
        let end = after.find('/').unwrap_or(after.len());
        path = &after[end..];
        let authority = &after[..end];
        let host = match authority.rsplit_once('@') {
            Some((user, host)) => {
                url.user = Some(user);
                host
            }
            None => authority,
        };
        self::host(host)?;
        url.host = host;
    }
    escapes(path)?;
    Ok(url)
}

fn scheme(text: &str) -> Result<(&str, &str), String> {
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if at > 0 => {}
            b':' if at == 0 => return Err("missing protocol scheme".to_owned()),
            b':' => return Ok((&text[..at], &text[at + 1..])),
            _ => break,
        }
    }
    Ok(("", text))
}

fn host(host: &str) -> Result<(), String> {
    let port = if host.starts_with('[') {
        let Some(end) = host.rfind(']') else { return Err("missing ']' in host".to_owned()) };
        &host[end + 1..]
    } else {
        host.find(':').map_or("", |_| &host[host.rfind(':').unwrap_or(0)..])
    };
    let digits = port.strip_prefix(':');
    if !port.is_empty() && digits.is_none_or(|d| !d.bytes().all(|b| b.is_ascii_digit())) {
        return Err(format!("invalid port {} after host", quote(port)));
    }
    let allowed =
        |c: char| !c.is_ascii() || c.is_ascii_alphanumeric() || "-._~$&+=:!'()*,;[]<>\"%@".contains(c);
    match host.chars().find(|c| !allowed(*c)) {
        Some(c) => Err(format!("invalid character {} in host name", quote(c.encode_utf8(&mut [0; 4])))),
        None => escapes(host),
    }
}

/// Every `%` is followed by two hexadecimal digits.
fn escapes(text: &str) -> Result<(), String> {
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        let code: String = rest[at..].chars().take(3).collect();
        if code.len() != 3 || !code[1..].bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(format!("invalid URL escape {}", quote(&code)));
        }
        rest = &rest[at + 3..];
    }
    Ok(())
}

/// The URL of a webhook.
pub(crate) fn validate(text: &str, path: &str, errors: &mut Errors) {
    const FORM: &str = "; desired format: https://host[/path]";
    let url = match parse(text) {
        Ok(url) => url,
        Err(why) => {
            let why = format!("url must be a valid URL: parse {}: {why}{FORM}", quote(text));
            errors.push(FieldError::required(path, why));
            return;
        }
    };
    if url.scheme != "https" {
        let why = format!("'https' is the only allowed URL scheme{FORM}");
        errors.push(FieldError::invalid(path, &url.scheme, why));
    }
    if url.host.is_empty() {
        errors.push(FieldError::invalid(path, "", format!("host must be specified{FORM}")));
    }
    for (found, what) in [
        (url.user, "user information is not permitted in the URL"),
        (Some(url.fragment).filter(|f| !f.is_empty()), "fragments are not permitted in the URL"),
        (Some(url.query).filter(|q| !q.is_empty()), "query parameters are not permitted in the URL"),
    ] {
        if let Some(found) = found {
            errors.push(FieldError::invalid(path, found, what));
        }
    }
}

/// The service of a webhook.
pub(crate) fn service(service: &Map<'_>, path: &str, errors: &mut Errors) {
    // The real server mixes the two up: both are asked for under the other's name.
    for (member, shown) in [("namespace", "name"), ("name", "namespace")] {
        if service.lacks(member) {
            errors.push(FieldError::required(child(path, shown), ""));
        }
    }
    let port = service.int("port").unwrap_or(0);
    let wrong = port_number_errors(port);
    if !wrong.is_empty() {
        let why = format!("port is not valid: {}", wrong.join(", "));
        errors.push(FieldError::invalid(child(path, "port"), port, why));
    }
    let (given, path) = (service.text("path"), child(path, "path"));
    if matches!(given, "" | "/") {
        return;
    }
    if given == "//" {
        errors.push(FieldError::invalid(path, given, "segment[0] may not be empty"));
        return;
    }
    if !given.starts_with('/') {
        errors.push(FieldError::invalid(path.clone(), given, "must start with a '/'"));
    }
    // The first byte is left out, be it a slash or not.
    let mut checked = given.char_indices().nth(1).map_or("", |(at, _)| &given[at..]);
    checked = checked.strip_suffix('/').unwrap_or(checked);
    for (at, segment) in checked.split('/').enumerate() {
        if segment.is_empty() {
            errors.push(FieldError::invalid(path.clone(), given, format!("segment[{at}] may not be empty")));
            continue;
        }
        for why in dns1123_subdomain_errors(segment) {
            errors.push(FieldError::invalid(path.clone(), given, format!("segment[{at}]: {why}")));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_read_as_go_reads_them() {
        let check = |text: &str, expect: &[&str]| {
            let mut errors = Errors::new();
            validate(text, "u", &mut errors);
            let found: Vec<_> = errors
                .iter()
                .map(|e| e.to_string().replace("; desired format: https://host[/path]", ""))
                .collect();
            assert_eq!(found, expect, "{text}");
        };
        check("https://a.b:8443/x", &[]);
        check("https://[::1]:8443/x", &[]);
        check("http://a", &["u: Invalid value: \"http\": 'https' is the only allowed URL scheme"]);
        check(
            "x",
            &[
                "u: Invalid value: \"\": 'https' is the only allowed URL scheme",
                "u: Invalid value: \"\": host must be specified",
            ],
        );
        check(
            "https://u@a?q#f",
            &[
                "u: Invalid value: \"u\": user information is not permitted in the URL",
                "u: Invalid value: \"f\": fragments are not permitted in the URL",
                "u: Invalid value: \"q\": query parameters are not permitted in the URL",
            ],
        );
        check(":x", &["u: Required value: url must be a valid URL: parse \":x\": missing protocol scheme"]);
        check(
            "https://a b",
            &[
                "u: Required value: url must be a valid URL: parse \"https://a b\": invalid character \" \" in host name",
            ],
        );
        check(
            "https://a/%zz",
            &[
                "u: Required value: url must be a valid URL: parse \"https://a/%zz\": invalid URL escape \"%zz\"",
            ],
        );
        check(
            "https://a:b",
            &[
                "u: Required value: url must be a valid URL: parse \"https://a:b\": invalid port \":b\" after host",
            ],
        );
        check(
            "a:b/c",
            &[
                "u: Invalid value: \"a\": 'https' is the only allowed URL scheme",
                "u: Invalid value: \"\": host must be specified",
            ],
        );
    }
}
