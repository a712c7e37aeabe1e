//! Flags of the filters that run before anybody is known, checked as kube-apiserver checks them.

use regex::Regex;
use ringbolt_apiserver::filters::chain::FrontConfig;

use crate::flags::Flags;

/// What is said of every origin that cannot be used.
const ORIGINS: &str = "--cors-allowed-origins has an invalid regular expression";

/// Reads the flags. Errors are for people.
pub fn config(flags: &Flags, errors: &mut Vec<String>) -> FrontConfig {
    for name in ["shutdown-delay-duration", "shutdown-watch-termination-grace-period"] {
        if flags.is_negative(name) {
            errors.push(format!("--{name} can not be negative value"));
        }
    }
    let directives = flags.list("strict-transport-security-directives");
    errors.extend(directives.iter().filter_map(|directive| check_directive(directive).err()));
    let mut origins = Vec::new();
    for pattern in flags.list("cors-allowed-origins") {
        match origin(&pattern) {
            Ok(origin) => origins.push(origin),
            Err(why) => errors.push(why),
        }
    }
    FrontConfig {
        shutdown_send_retry_after: flags.bool("shutdown-send-retry-after"),
        shutdown_watch_termination_grace_period: flags.duration("shutdown-watch-termination-grace-period"),
        hsts_directives: directives.into(),
        cors_allowed_origins: origins.into(),
    }
}

/// A directive of RFC 6797 section 6.1.
fn check_directive(directive: &str) -> Result<(), String> {
    if directive.trim().is_empty() {
        return Err("empty value in strict-transport-security-directives".to_owned());
    }
    let is_age = matches!(directive.split('=').collect::<Vec<_>>()[..], ["max-age", _]);
    if is_age || matches!(directive, "includeSubDomains" | "preload") {
        return Ok(());
    }
    Err("--strict-transport-security-directives invalid, allowed values: max-age=expireTime, includeSubDomains, \
         preload. see https://tools.ietf.org/html/rfc6797#section-6.1 for more information"
        .to_owned())
}

/// An expression that matches the host of an origin from its beginning to its end, or every host that ends like the
/// allowed one would be allowed too (CVE-2022-1996).
fn origin(pattern: &str) -> Result<Regex, String> {
    if pattern.is_empty() {
        return Err("empty value in --cors-allowed-origins".to_owned());
    }
    let expression = Regex::new(pattern).map_err(|error| {
        let error = error.to_string();
        let why = error.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
        format!("{ORIGINS}: {pattern:?}: {why}")
    })?;
    let starts = ["^", "//"].iter().any(|pin| pattern.contains(pin));
    let ends = ["$", ":"].iter().any(|pin| pattern.contains(pin));
    if starts && ends {
        return Ok(expression);
    }
    Err(format!("{ORIGINS}: regular expression does not pin to start/end of host in the origin header"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins() {
        let check = |pattern: &str, expect: Result<(&str, bool), &str>| match (origin(pattern), expect) {
            (Ok(expression), Ok((origin, matches))) => {
                assert_eq!(expression.is_match(origin), matches, "{pattern} and {origin}");
            }
            (Err(why), Err(part)) => assert!(why.contains(part), "{pattern}: {why}"),
            (found, _) => panic!("{pattern}: {found:?}"),
        };
        check(r"^https://example\.com$", Ok(("https://example.com", true)));
        check(r"^https://example\.com$", Ok(("https://example.com.evil.org", false)));
        check(r"//example\.com(:|$)", Ok(("http://example.com:8080", true)));
        check(r"//example\.com(:|$)", Ok(("http://an.example.com", false)));
        check(r"example\.com$", Err("does not pin"));
        check(r"^https://example", Ok(("https://example.com", true)));
        check(r"^example", Err("does not pin"));
        check("", Err("empty value"));
        check("^(https:$", Err("invalid regular expression"));
    }

    #[test]
    fn directives() {
        let check = |directive: &str, expect: bool| {
            assert_eq!(check_directive(directive).is_ok(), expect, "{directive}");
        };
        check("max-age=31536000", true);
        check("includeSubDomains", true);
        check("preload", true);
        check("max-age", false);
        check("max-age=1=2", false);
        check("includesubdomains", false);
        check(" ", false);
    }
}
