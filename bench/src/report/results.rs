//! A results file: a JSON line a run, and a line that says where and when.

use super::ReportMeta;
use crate::result::Measurement;
use serde::{Deserialize, Serialize};
use std::{fs, io, path::Path};

/// A line of a results file that is no measurement.
#[derive(Debug, Serialize, Deserialize)]
pub struct MetaLine {
    /// What all measurements of the file share.
    pub meta: ReportMeta,
}

/// What a results file holds.
#[derive(Debug, Default)]
pub struct Results {
    /// The last meta line; empty where there is none.
    pub meta: ReportMeta,
    /// The measurements in the order they were taken.
    pub measurements: Vec<Measurement>,
}

impl Results {
    /// Reads a results file.
    ///
    /// # Errors
    ///
    /// Where the file cannot be read, or a line is neither a measurement nor a meta line; the error names the line.
    pub fn read(path: &Path) -> io::Result<Results> {
        let mut results = Results::default();
        let text = fs::read_to_string(path)
            .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))?;
        for (index, line) in text.lines().enumerate() {
            if line.trim().is_empty() {
                continue;
            }
            // Told apart by the key, so that the error is the one of what the line was meant to be.
            let of_line = |error| {
                io::Error::new(
                    io::ErrorKind::InvalidData,
                    format!("{}:{}: {error}", path.display(), index + 1),
                )
            };
            let value: serde_json::Value = serde_json::from_str(line).map_err(of_line)?;
            if value.get("meta").is_some() {
                results.meta = serde_json::from_value::<MetaLine>(value).map_err(of_line)?.meta;
            } else {
                results.measurements.push(serde_json::from_value(value).map_err(of_line)?);
            }
        }
        Ok(results)
    }
}
