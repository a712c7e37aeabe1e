//! `--help`: every flag on a line of its own.

use std::fmt::Write as _;

use super::{FLAGS, Kind, Section};

/// The text. Programs look for lines that begin with blanks and `--name`.
pub fn help() -> String {
    let mut text = String::from(
        "Ringbolt serves the Kubernetes API 1.37 from an embedded store.\n\nUsage:\n  ringbolt [flags]\n  ringbolt storage verify|compact|backup|restore [flags]\n",
    );
    let mut section = None;
    for flag in FLAGS.iter().filter(|flag| flag.section != Section::Deprecated) {
        if section != Some(flag.section) {
            section = Some(flag.section);
            let _ = write!(text, "\n{} flags:\n\n", flag.section.title());
        }
        let short = match flag.name {
            "v" => "  -v, ",
            "help" => "  -h, ",
            _ => "      ",
        };
        let name = format!("--{} {}", flag.name, flag.kind.name());
        let _ = write!(text, "{short}{name:<52}");
        text.push_str(flag.help.unwrap_or("Taken; has no effect yet."));
        let is_zero = matches!(flag.default, "" | "0" | "0s" | "false");
        if !is_zero {
            let quote = if flag.kind == Kind::Text { "\"" } else { "" };
            let _ = write!(text, " (default {quote}{}{quote})", flag.default);
        }
        text.push('\n');
    }
    text
}
