//! Text that is safe inside HTML and SVG, and the numbers of a report as text.

use crate::{budget::significant, comparison::Unit, result::Side, summary::thousands};

/// Text between tags or inside a quoted attribute.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// Appends formatted text.
macro_rules! put {
    ($out:expr, $($arg:tt)*) => {{
        $out.push_str(&format!($($arg)*));
    }};
}
pub(super) use put;

/// A list of sentences.
pub(super) fn list(out: &mut String, items: &[String]) {
    out.push_str("<ul>");
    for item in items {
        put!(out, "<li>{}</li>", escape(item));
    }
    out.push_str("</ul>\n");
}

/// Microseconds as milliseconds.
pub(super) fn ms(us: f64) -> String {
    significant(us / 1e3)
}

/// KiB as MiB.
pub(super) fn mib(kib: f64) -> String {
    significant(kib / 1024.0)
}

/// A time with the unit that keeps it short.
pub(super) fn time(us: f64) -> String {
    match us {
        us if us >= 1e6 => format!("{} s", significant(us / 1e6)),
        us if us >= 1e3 => format!("{} ms", significant(us / 1e3)),
        0.0 => "0".to_owned(),
        us => format!("{} µs", significant(us)),
    }
}

/// A value with its unit.
pub(super) fn with_unit(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Us => time(value),
        Unit::Kib => format!("{} MiB", mib(value)),
        Unit::PerSecond => format!("{}/s", significant(value)),
        Unit::Count => count(value),
    }
}

/// A number that is whole more often than not.
pub(super) fn count(value: f64) -> String {
    if value >= 0.0 && value.fract() == 0.0 { thousands(value as u64) } else { significant(value) }
}

/// A server as a reader knows it.
pub(super) fn server(side: Side) -> &'static str {
    match side {
        Side::Ringbolt => "Ringbolt",
        Side::Peer => "kube-apiserver + etcd",
        Side::Nginx => "nginx, static reply",
    }
}

/// The class that gives a server its colour and line.
pub(super) fn class(side: Side) -> &'static str {
    match side {
        Side::Ringbolt => "ours",
        Side::Peer => "peer",
        Side::Nginx => "nginx",
    }
}
