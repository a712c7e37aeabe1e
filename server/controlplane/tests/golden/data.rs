//! The handed data: rows of recorded answers and the objects they start from.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::Value as Json;

/// The data's folder, or `None` with a line printed.
pub(crate) fn folder() -> Option<PathBuf> {
    let shared = std::env::var_os("RINGBOLT_SHARED")
        .map(PathBuf::from)
        .unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"));
    let data = shared.join("data");
    if !data.join("golden-mutations.jsonl.gz").is_file() {
        println!("skipped: no data at {}", data.display());
        return None;
    }
    Some(data)
}

/// All recorded rows.
pub(crate) fn rows(data: &Path) -> Vec<Json> {
    let output = Command::new("gzip")
        .arg("-dc")
        .arg(data.join("golden-mutations.jsonl.gz"))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Base objects by file and document.
pub(crate) struct Bases {
    folder: PathBuf,
    files: BTreeMap<String, Vec<Json>>,
}

impl Bases {
    pub(crate) fn new(data: &Path) -> Self {
        Bases { folder: data.join("objects"), files: BTreeMap::new() }
    }

    pub(crate) fn get(&mut self, row: &Json) -> Json {
        let file = row["base"][0].as_str().unwrap();
        let at = row["base"][1].as_u64().unwrap() as usize;
        if !self.files.contains_key(file) {
            let text = std::fs::read_to_string(self.folder.join(file)).unwrap();
            // The recording read `y` and `n` as text.
            let options = serde_saphyr::options! { strict_booleans: true };
            let documents = serde_saphyr::from_multiple_with_options(&text, options).unwrap();
            self.files.insert(file.to_owned(), documents);
        }
        self.files[file][at].clone()
    }
}

/// Applies a row's operations; `None` where they cannot be expressed as a JSON value (members written twice).
pub(crate) fn changed(mut object: Json, ops: &[Json]) -> Option<Json> {
    for op in ops {
        let path = op["path"].as_str()?;
        let steps: Vec<String> =
            path.split('/').skip(1).map(|s| s.replace("~1", "/").replace("~0", "~")).collect();
        let value = match op.get("repeat") {
            Some(repeat) => Json::String(repeat[0].as_str()?.repeat(repeat[1].as_u64()? as usize)),
            None => op.get("value").cloned().unwrap_or(Json::Null),
        };
        let (last, parents) = steps.split_last()?;
        let mut at = &mut object;
        for step in parents {
            at = match at {
                Json::Array(list) => list.get_mut(step.parse::<usize>().ok()?)?,
                other => other.get_mut(step)?,
            };
        }
        match (op["op"].as_str()?, at) {
            ("duplicate", _) => return None,
            ("remove", Json::Array(list)) => {
                list.remove(last.parse().ok()?);
            }
            ("remove", Json::Object(map)) => {
                map.remove(last)?;
            }
            ("add", Json::Array(list)) => {
                let index = if last == "-" { list.len() } else { last.parse().ok()? };
                list.insert(index, value);
            }
            (_, Json::Array(list)) => *list.get_mut(last.parse::<usize>().ok()?)? = value,
            (_, Json::Object(map)) => {
                map.insert(last.clone(), value);
            }
            _ => return None,
        }
    }
    Some(object)
}

/// Takes out of an answer what a server chooses itself, as the recording did.
pub(crate) fn masked(mut object: Json) -> Json {
    if let Some(meta) = object.get_mut("metadata").and_then(Json::as_object_mut) {
        meta.remove("managedFields");
        for key in ["resourceVersion", "creationTimestamp", "deletionTimestamp", "uid"] {
            if meta.contains_key(key) {
                meta.insert(key.to_owned(), Json::String("<masked>".to_owned()));
            }
        }
    }
    object
}

/// One difference: where, what was, what is.
pub(crate) type Difference = (String, Option<Json>, Option<Json>);

/// Differences in the order and form of the recording.
pub(crate) fn differences(path: &str, was: &Json, now: &Json, out: &mut Vec<Difference>) {
    match (was, now) {
        (was, now) if was == now => {}
        (Json::Object(a), Json::Object(b)) => {
            let mut keys: Vec<&String> = a.keys().chain(b.keys()).collect();
            keys.sort();
            keys.dedup();
            for key in keys {
                let path = format!("{path}/{}", key.replace('~', "~0").replace('/', "~1"));
                match (a.get(key), b.get(key)) {
                    (Some(a), Some(b)) => differences(&path, a, b, out),
                    (a, b) => out.push((path, a.cloned(), b.cloned())),
                }
            }
        }
        (Json::Array(a), Json::Array(b)) if a.len() == b.len() => {
            for (at, (a, b)) in a.iter().zip(b).enumerate() {
                differences(&format!("{path}/{at}"), a, b, out);
            }
        }
        (a, b) => out.push((path.to_owned(), Some(a.clone()), Some(b.clone()))),
    }
}

/// The differences a row records.
pub(crate) fn recorded(row: &Json) -> Vec<Difference> {
    let list = row["diff"].as_array().unwrap();
    list.iter()
        .map(|d| (d["path"].as_str().unwrap().to_owned(), d.get("was").cloned(), d.get("now").cloned()))
        .collect()
}
