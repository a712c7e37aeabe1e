//! What `/statusz` says: since when the server runs, and which release it is.

use std::time::Instant;

use jiff::Timestamp;

use super::{quoted, title, type_and_name};
use crate::version;

/// Paths that help to find out more, those of the server's state.
const PATHS: [&str; 7] = ["/flagz", "/healthz", "/livez", "/metrics", "/readyz", "/statusz", "/version"];

/// When the server started.
pub(super) struct Started {
    at: Timestamp,
    clock: Instant,
}

impl Started {
    pub(super) fn now() -> Self {
        Started { at: Timestamp::now(), clock: Instant::now() }
    }

    pub(super) fn text(&self) -> String {
        let up = self.clock.elapsed().as_secs();
        let (hours, minutes, seconds) = (up / 3600, up / 60 % 60, up % 60);
        let mut page = title("statusz");
        let facts = [
            ("Started", self.at.strftime("%a %b %e %H:%M:%S UTC %Y").to_string()),
            ("Up", format!("{hours} hr {minutes:02} min {seconds:02} sec")),
            ("Go version", version::language_version()),
            ("Binary version", binary_version().to_owned()),
            ("Emulation version", emulation_version()),
            ("Paths", PATHS.join(" ")),
        ];
        for (name, value) in facts {
            page.push_str(&format!("\n{name}: {value}"));
        }
        page.push('\n');
        page
    }

    pub(super) fn json(&self, version: &str) -> String {
        let paths: Vec<_> = PATHS.iter().map(|path| quoted(path)).collect();
        format!(
            r#"{}"startTime":"{}","uptimeSeconds":{},"goVersion":{},"binaryVersion":{},"emulationVersion":{},"paths":[{}]}}"#,
            type_and_name("Statusz", version),
            self.at.strftime("%Y-%m-%dT%H:%M:%SZ"),
            self.clock.elapsed().as_secs(),
            quoted(&version::language_version()),
            quoted(binary_version()),
            quoted(&emulation_version()),
            paths.join(",")
        )
    }
}

/// The release without what only this build says of itself.
fn binary_version() -> &'static str {
    let full = version::GIT_VERSION.trim_start_matches('v');
    full.split('+').next().unwrap_or(full)
}

fn emulation_version() -> String {
    format!("{}.{}", version::MAJOR, version::MINOR)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages() {
        let at = "2026-11-03T01:02:03Z".parse().unwrap();
        let started = Started { at, clock: Instant::now() };
        let text = started.text();
        assert!(text.starts_with("\napiserver statusz\nWarning: "), "{text}");
        assert!(text.contains("\n\nStarted: Tue Nov  3 01:02:03 UTC 2026\nUp: 0 hr 00 min 0"), "{text}");
        assert!(
            text.contains("\nBinary version: 1.37.2\nEmulation version: 1.37\nPaths: /flagz /healthz "),
            "{text}"
        );
        let json = started.json("v1beta1");
        let begin = r#"{"kind":"Statusz","apiVersion":"config.k8s.io/v1beta1","metadata":{"name":"apiserver"},"startTime":"2026-11-03T01:02:03Z","uptimeSeconds":0,"#;
        assert!(json.starts_with(begin), "{json}");
    }
}
