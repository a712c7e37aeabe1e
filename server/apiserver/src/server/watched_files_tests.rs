//! Files that are written, replaced, broken and taken away.

use std::sync::{Mutex, mpsc};

use super::*;

const PATIENCE: Duration = Duration::from_secs(20);

/// A folder of a test's own, gone with it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("ringbolt-watched-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, text).unwrap();
        path
    }

    /// As a careful writer does it: a new file in the place of the old one.
    fn replace(&self, name: &str, text: &str) {
        fs::rename(self.write(&format!("{name}.new"), text), self.0.join(name)).unwrap();
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// What was handed on, the texts of each time together; texts with `bad` are refused.
fn recorded(paths: Vec<PathBuf>, contents: &[&str]) -> (WatchedFiles, Arc<Mutex<Vec<String>>>) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (mut files, to) = (WatchedFiles::default(), seen.clone());
    files.add("test", paths, contents, move |contents| {
        let texts: Vec<_> = contents.iter().map(|c| String::from_utf8_lossy(c).into_owned()).collect();
        to.lock().unwrap().push(texts.join("+"));
        if texts.iter().any(|text| text.contains("bad")) { Err("bad".to_owned()) } else { Ok(()) }
    });
    (files, seen)
}

#[test]
fn changes_are_handed_on_once() {
    let folder = Folder::new("check");
    let paths = vec![folder.write("a", "1"), folder.write("b", "2")];
    let (mut files, seen) = recorded(paths, &["1", "2"]);
    let mut check = |expect: &[&str]| {
        files.check();
        assert_eq!(std::mem::take(&mut *seen.lock().unwrap()), expect);
    };
    check(&[]);
    folder.write("a", "3");
    check(&["3+2"]);
    check(&[]);
    folder.replace("b", "bad");
    check(&["3+bad"]);
    check(&[]);
    // Back to what is in use: nothing to do, and nothing is held against the next.
    folder.write("b", "2");
    check(&[]);
    folder.write("b", "bad too");
    check(&["3+bad too"]);
    fs::remove_file(folder.0.join("b")).unwrap();
    check(&[]);
    folder.write("b", "4");
    check(&["3+4"]);
}

#[test]
fn the_thread_hears_of_changes() {
    let folder = Folder::new("thread");
    let path = folder.write("a", "0");
    let (to, seen) = mpsc::channel();
    let mut files = WatchedFiles::default();
    files.add("test", vec![path], &["0"], move |contents| {
        to.send(String::from_utf8_lossy(&contents[0]).into_owned()).map_err(|e| e.to_string())
    });
    let watching = files.start().unwrap();
    for round in 1..=5 {
        folder.replace("a", &format!("r{round}"));
        assert_eq!(seen.recv_timeout(PATIENCE), Ok(format!("r{round}")));
        folder.write("a", &format!("w{round}"));
        // Between its truncation and its end the file may be seen empty.
        let mut last = seen.recv_timeout(PATIENCE).unwrap();
        if last.is_empty() {
            last = seen.recv_timeout(PATIENCE).unwrap();
        }
        assert_eq!(last, format!("w{round}"));
    }
    drop(watching);
    assert_eq!(
        seen.recv_timeout(PATIENCE),
        Err(mpsc::RecvTimeoutError::Disconnected),
        "the thread has ended"
    );
}

#[test]
fn links_are_followed() {
    // As Kubernetes mounts secrets: a link to a file behind a link to a folder, which is replaced as a whole.
    let folder = Folder::new("links");
    for (name, text) in [("v1", "one"), ("v2", "two")] {
        fs::create_dir(folder.0.join(name)).unwrap();
        fs::write(folder.0.join(name).join("ca"), text).unwrap();
    }
    let link = |target: &str, name: &str| std::os::unix::fs::symlink(target, folder.0.join(name)).unwrap();
    link("v1", "..data");
    link("..data/ca", "ca");
    let (to, seen) = mpsc::channel();
    let mut files = WatchedFiles::default();
    files.add("test", vec![folder.0.join("ca")], &["one"], move |contents| {
        to.send(contents[0].clone()).map_err(|e| e.to_string())
    });
    let watching = files.start().unwrap();
    link("v2", "..new");
    fs::rename(folder.0.join("..new"), folder.0.join("..data")).unwrap();
    assert_eq!(seen.recv_timeout(PATIENCE).unwrap(), b"two");
    // The folder it came to is watched as well by now.
    fs::write(folder.0.join("v2/.ca"), "three").unwrap();
    fs::rename(folder.0.join("v2/.ca"), folder.0.join("v2/ca")).unwrap();
    assert_eq!(seen.recv_timeout(PATIENCE).unwrap(), b"three");
    drop(watching);
}
