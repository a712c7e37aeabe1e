//! Drawing flamegraphs.

use std::{
    fs::File,
    path::Path,
    process::{Command, Stdio},
};

/// Draws folded stacks.
pub fn draw(program: &Path, folded: &Path, svg: &Path, title: &str, unit: &str) -> Result<(), String> {
    let out = File::create(svg).map_err(|e| format!("{}: {e}", svg.display()))?;
    let output = Command::new(program)
        .args(["--title", title, "--countname", unit, "--colors", "rust", "--hash", "--minwidth", "0.05"])
        .arg(folded)
        .stdout(out)
        .stderr(Stdio::piped())
        .output()
        .map_err(|e| format!("{}: {e}", program.display()))?;
    if output.status.success() {
        Ok(())
    } else {
        Err(format!("{}: {}", program.display(), String::from_utf8_lossy(&output.stderr).trim()))
    }
}
