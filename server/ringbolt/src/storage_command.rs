//! `ringbolt storage verify|compact|backup|restore`.

use std::{
    fs::File,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use ringbolt_engine::{DirLock, RingDisk};
use ringbolt_storage::embedded::tools::{self, Report};

use crate::{disk::JournalDisk, layout};

const USAGE: &str = "usage: ringbolt storage verify|compact [--data-dir DIR]
       ringbolt storage backup [--data-dir DIR] --to FILE     (- for standard output)
       ringbolt storage restore [--data-dir DIR] --from FILE  (- for standard input)";

/// What the command line says.
#[derive(Debug, PartialEq, Eq)]
struct Arguments {
    data_dir: PathBuf,
    file: Option<PathBuf>,
}

fn parse(action: &str, arguments: &[String]) -> Result<Arguments, String> {
    let wanted = match action {
        "verify" | "compact" => None,
        "backup" => Some("--to"),
        "restore" => Some("--from"),
        _ => return Err(USAGE.to_owned()),
    };
    let mut parsed = Arguments { data_dir: layout::DEFAULT_DATA_DIR.into(), file: None };
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let (name, value) = match argument.split_once('=') {
            Some((name, value)) => (name, value.to_owned()),
            None => {
                let value = rest.next().ok_or_else(|| format!("flag needs an argument: {argument}"))?;
                (argument.as_str(), value.clone())
            }
        };
        match name {
            "--data-dir" => parsed.data_dir = value.into(),
            name if Some(name) == wanted => parsed.file = Some(value.into()),
            _ => return Err(format!("unknown flag: {name}\n{USAGE}")),
        }
    }
    match wanted {
        Some(flag) if parsed.file.is_none() => Err(format!("{flag} is missing\n{USAGE}")),
        _ => Ok(parsed),
    }
}

/// Runs one of the actions and shows what it found.
pub fn run(action: &str, arguments: &[String]) -> Result<(), String> {
    let Arguments { data_dir, file } = parse(action, arguments)?;
    let folder = layout::store(&data_dir);
    if action != "restore" && !folder.is_dir() {
        return Err(format!("{} holds no store", data_dir.display()));
    }
    let _lock = DirLock::acquire(&data_dir).map_err(|error| format!("--data-dir: {error}"))?;
    let disk = RingDisk::open_folder(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut disk = JournalDisk::new(disk);
    let done = match (action, file.as_deref()) {
        ("verify", _) => tools::verify(&mut disk),
        ("compact", _) => tools::compact(&mut disk),
        ("backup", Some(to)) => {
            let mut out = writer(to)?;
            let report = tools::backup(&mut disk, &mut out).map_err(|e| e.to_string())?;
            out.flush().map_err(|e| format!("{}: {e}", to.display()))?;
            // Standard output may carry the backup itself.
            eprint!("{}", show(&report));
            return Ok(());
        }
        (_, Some(from)) => tools::restore(&mut *reader(from)?, &mut disk),
        (_, None) => return Err(USAGE.to_owned()),
    };
    print!("{}", show(&done.map_err(|e| e.to_string())?));
    Ok(())
}

/// A backup goes to the disk before the command says that it is done.
enum Target {
    Standard(io::Stdout),
    File(File),
}

impl io::Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Target::Standard(out) => out.write(bytes),
            Target::File(file) => file.write(bytes),
        }
    }
    fn flush(&mut self) -> io::Result<()> {
        match self {
            Target::Standard(out) => out.flush(),
            Target::File(file) => file.sync_all(),
        }
    }
}

fn writer(path: &Path) -> Result<impl io::Write + use<>, String> {
    if path == Path::new("-") {
        return Ok(io::BufWriter::new(Target::Standard(io::stdout())));
    }
    let file = File::create_new(path).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(io::BufWriter::new(Target::File(file)))
}

fn reader(path: &Path) -> Result<Box<dyn io::Read>, String> {
    if path == Path::new("-") {
        return Ok(Box::new(io::stdin()));
    }
    let file = File::open(path).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(Box::new(io::BufReader::new(file)))
}

fn show(report: &Report) -> String {
    let mut text = format!(
        "revision {}, {} batches, {} segments, {} bytes in objects\n",
        report.revision, report.batches, report.segments, report.bytes
    );
    if report.torn_blocks > 0 {
        text += &format!("{} blocks of a write that was never acknowledged at the end\n", report.torn_blocks);
    }
    for (resource, count) in &report.objects {
        text += &format!("{count:>10} {resource}\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn arguments() {
        let check = |line: &str, data_dir: &str, file: Option<&str>| {
            let words = words(line);
            let expect = Arguments { data_dir: data_dir.into(), file: file.map(Into::into) };
            assert_eq!(parse(&words[0], &words[1..]), Ok(expect), "{line}");
        };
        check("verify", "ringbolt-data", None);
        check("compact --data-dir=x", "x", None);
        check("backup --data-dir x --to b", "x", Some("b"));
        check("restore --from=-", "ringbolt-data", Some("-"));
        for bad in ["", "frobnicate", "backup", "verify --to x", "verify --data-dir", "restore --to x"] {
            let mut words = words(bad);
            let action = if words.is_empty() { String::new() } else { words.remove(0) };
            assert!(parse(&action, &words).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_empty_store_is_backed_up_and_restored() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        assert!(run("verify", &[format!("--data-dir={}", path("none"))]).is_err());
        std::fs::create_dir_all(layout::store(&folder.path().join("a"))).unwrap();
        let from = format!("--data-dir={}", path("a"));
        run("verify", std::slice::from_ref(&from)).unwrap();
        run("backup", &[from, format!("--to={}", path("backup"))]).unwrap();
        let to = format!("--data-dir={}", path("b"));
        run("restore", &[to.clone(), format!("--from={}", path("backup"))]).unwrap();
        run("verify", &[to]).unwrap();
    }
}
