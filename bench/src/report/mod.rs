//! The report of a comparison: one HTML file without scripts, fonts or anything else it would have to fetch.

mod axis;
mod bars;
mod html;
mod meta;
mod page;
mod panels;
mod results;
mod tables;

pub use meta::{Machine, ReportMeta};
pub use results::{MetaLine, Results};

use crate::result::Measurement;
use std::{fs, io, path::Path};

/// Writes the report of measurements to a file.
///
/// # Errors
///
/// Where the file cannot be written.
pub fn write_html(measurements: &[Measurement], meta: &ReportMeta, path: &Path) -> io::Result<()> {
    fs::write(path, page::page(&crate::summary::summarize(measurements), meta))
}
