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

use crate::{
    error::{Context as _, Result},
    result::Measurement,
};
use clap::Args;
use std::{
    fs, io,
    path::{Path, PathBuf},
    process::ExitCode,
};

/// Flags of `ringbolt-bench report`.
#[derive(Debug, Clone, Args)]
pub struct ReportArgs {
    /// The results that a comparison left behind.
    #[arg(value_name = "RESULTS.jsonl")]
    pub results: PathBuf,
    /// The report; `report.html` beside the results by default.
    #[arg(short, long, value_name = "PATH")]
    pub out: Option<PathBuf>,
}

/// Writes a report of results on disk.
///
/// # Errors
///
/// Where the results cannot be read or the report cannot be written.
pub fn run(args: &ReportArgs) -> Result<ExitCode> {
    let results = Results::read(&args.results)?;
    let out = args.out.clone().unwrap_or_else(|| args.results.with_file_name("report.html"));
    write_html(&results.measurements, &results.meta, &out).context(out.display())?;
    println!("{}", out.display());
    Ok(ExitCode::SUCCESS)
}

/// Writes the report of measurements to a file.
///
/// # Errors
///
/// Where the file cannot be written.
pub fn write_html(measurements: &[Measurement], meta: &ReportMeta, path: &Path) -> io::Result<()> {
    fs::write(path, page::page(&crate::summary::summarize(measurements), meta))
}
