//! Names of frames: inlined functions, too, which are most of what an optimised program is made of.

use std::{collections::HashMap, path::Path, rc::Rc};

use addr2line::Loader;

use crate::{elf::Program, script::Frame};

/// Finds the functions of a frame.
pub struct Symbols {
    loader: Loader,
    program: Program,
    path: String,
    known: HashMap<(u64, bool), Rc<[Rc<str>]>>,
    others: HashMap<String, Rc<[Rc<str>]>>,
}

impl Symbols {
    /// Reads the debug information of the program that is profiled.
    pub fn read(path: &Path) -> Result<Symbols, String> {
        let loader = Loader::new(path).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(Symbols {
            loader,
            program: Program::read(path)?,
            path: path.display().to_string(),
            known: HashMap::new(),
            others: HashMap::new(),
        })
    }

    /// The functions of a frame, innermost first. `innermost` is true of the first frame of a stack: the others stand
    /// behind the call that they are in.
    pub fn of(&mut self, frame: &Frame, innermost: bool) -> Rc<[Rc<str>]> {
        if frame.file == self.path {
            let key = (frame.offset, innermost);
            if let Some(names) = self.known.get(&key) {
                return names.clone();
            }
            let names = self.look_up(frame, innermost);
            self.known.insert(key, names.clone());
            return names;
        }
        let name = other(frame);
        self.others.entry(name).or_insert_with_key(|name| Rc::from([Rc::from(name.as_str())])).clone()
    }

    fn look_up(&self, frame: &Frame, innermost: bool) -> Rc<[Rc<str>]> {
        let mut names: Vec<Rc<str>> = Vec::new();
        if let Some(address) = self.program.address(frame.offset) {
            let address = if innermost { address } else { address.saturating_sub(1) };
            if let Ok(mut frames) = self.loader.find_frames(address) {
                while let Ok(Some(found)) = frames.next() {
                    let Some(function) = &found.function else { continue };
                    let Ok(name) = function.demangle() else { continue };
                    let file = found.location.as_ref().and_then(|location| location.file).unwrap_or("");
                    names.push(Rc::from(whole_name(&name, file)));
                }
            }
        }
        // The outermost has a symbol of its own, which says more than the debug information's short name.
        let outermost = Rc::from(plain(&frame.function));
        match names.last_mut() {
            Some(last) if !frame.function.starts_with("[unknown") => *last = outermost,
            Some(_) => {}
            None => names.push(outermost),
        }
        names.into()
    }
}

/// A frame of another file than the program.
fn other(frame: &Frame) -> String {
    if frame.function.starts_with("[unknown") {
        // Assembly that uses the frame pointer for its own ends leads nowhere.
        return "[unknown]".to_owned();
    }
    if frame.is_kernel() { format!("{}_[k]", frame.function) } else { plain(&frame.function) }
}

/// A name as folded stacks can carry it.
fn plain(name: &str) -> String {
    name.replace(';', ":")
}

/// The name of an inlined function with the module that its file is.
fn whole_name(name: &str, file: &str) -> String {
    let short = name.split('<').next().unwrap_or(name);
    // Whole already, or a closure or impl whose name starts with a bracket.
    if name.contains("::") && !short.is_empty() && short.contains("::") || short.is_empty() {
        return plain(name);
    }
    match module(file) {
        Some(module) => format!("{module}::{short}"),
        None => short.to_owned(),
    }
}

/// `…/protocol/src/h2/data.rs` is `ringbolt_protocol::h2::data`, `…/rustls-0.23.1/src/conn.rs` is `rustls::conn`,
/// `…/library/core/src/slice/mod.rs` is `core::slice`.
fn module(file: &str) -> Option<String> {
    let (before, inside) =
        file.rsplit_once("/src/").or_else(|| Some(("ringbolt", file.strip_prefix("src/")?)))?;
    let folder = before.rsplit('/').next()?;
    let library = before.contains("/library/");
    let released =
        folder.rsplit_once('-').filter(|(_, version)| version.starts_with(|c: char| c.is_ascii_digit()));
    let krate = match released {
        Some((krate, _)) => krate.replace('-', "_"),
        None if library || folder == "ringbolt" => folder.to_owned(),
        None => format!("ringbolt_{folder}"),
    };
    let inside = inside.strip_suffix(".rs")?;
    let inside = inside.strip_suffix("/mod").unwrap_or(inside);
    if matches!(inside, "lib" | "main" | "mod") {
        return Some(krate);
    }
    Some(format!("{krate}::{}", inside.replace('/', "::")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_of_files() {
        let check = |file: &str, expect: &str| assert_eq!(module(file).as_deref(), Some(expect), "{file}");
        check("/x/main/protocol/src/h2/data.rs", "ringbolt_protocol::h2::data");
        check("/x/main/server/apiserver/src/serving/mod.rs", "ringbolt_apiserver::serving");
        check("/x/server/ringbolt/src/run.rs", "ringbolt::run");
        check("/r/registry/src/index-1/rustls-0.23.1/src/conn.rs", "rustls::conn");
        check("/r/registry/src/index-1/arc-swap-1.9.0/src/lib.rs", "arc_swap");
        check("/rustc/1234/library/core/src/slice/mod.rs", "core::slice");
        assert_eq!(module("malloc.c"), None);
    }

    #[test]
    fn inlined_functions_get_their_module() {
        assert_eq!(
            whole_name("done<a::B>", "/x/protocol/src/h2/data.rs"),
            "ringbolt_protocol::h2::data::done"
        );
        assert_eq!(whole_name("a::b::c", "/x/protocol/src/h2/data.rs"), "a::b::c");
        assert_eq!(whole_name("<a as b>::c", "/x/protocol/src/h2/data.rs"), "<a as b>::c");
        assert_eq!(whole_name("memset", ""), "memset");
    }

    #[test]
    fn a_frame_of_this_program_has_a_name() {
        let path = std::env::current_exe().unwrap();
        let program = Program::read(&path).unwrap();
        let offset = program.offset_of("main").unwrap();
        let mut symbols = Symbols::read(&path).unwrap();
        let frame = Frame { offset, function: "main".to_owned(), file: path.display().to_string() };
        assert_eq!(symbols.of(&frame, true).last().map(|name| name.to_string()).as_deref(), Some("main"));
        let kernel =
            Frame { offset: 1, function: "schedule".to_owned(), file: "[kernel.kallsyms]".to_owned() };
        assert_eq!(&*symbols.of(&kernel, true)[0], "schedule_[k]");
    }
}
