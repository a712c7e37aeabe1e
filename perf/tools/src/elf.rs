//! What is read from a program's file: where its functions are, and how places in the file become addresses.

use std::{fs, path::Path};

use object::{Object as _, ObjectSegment as _, ObjectSymbol as _};

/// The segments and functions of a program.
#[derive(Debug)]
pub struct Program {
    /// (offset in the file, length, address)
    segments: Vec<(u64, u64, u64)>,
    /// (name, address)
    functions: Vec<(String, u64)>,
}

impl Program {
    /// Reads the file.
    pub fn read(path: &Path) -> Result<Program, String> {
        let fail = |why: String| format!("{}: {why}", path.display());
        let data = fs::read(path).map_err(|e| fail(e.to_string()))?;
        let file = object::File::parse(&*data).map_err(|e| fail(e.to_string()))?;
        let segments = file
            .segments()
            .map(|segment| {
                let (offset, length) = segment.file_range();
                (offset, length, segment.address())
            })
            .collect();
        let functions = file
            .symbols()
            .filter(|symbol| symbol.kind() == object::SymbolKind::Text && symbol.is_definition())
            .filter_map(|symbol| Some((symbol.name().ok()?.to_owned(), symbol.address())))
            .collect();
        Ok(Program { segments, functions })
    }

    /// The address of what stands at this offset of the file.
    pub fn address(&self, offset: u64) -> Option<u64> {
        self.segments
            .iter()
            .find(|(start, length, _)| (*start..start + length).contains(&offset))
            .map(|(start, _, address)| offset - start + address)
    }

    /// Where in the file this function begins.
    pub fn offset_of(&self, function: &str) -> Option<u64> {
        self.offset_of_address(self.functions.iter().find(|(name, _)| name == function)?.1)
    }

    /// Where in the file this address is.
    pub fn offset_of_address(&self, address: u64) -> Option<u64> {
        self.segments
            .iter()
            .find(|(_, length, start)| (*start..start + length).contains(&address))
            .map(|(offset, _, start)| address - start + offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_and_addresses_are_inverse() {
        let program = Program {
            segments: vec![(0, 0x100, 0), (0x100, 0x200, 0x1100)],
            functions: vec![("main".to_owned(), 0x1180)],
        };
        assert_eq!(program.offset_of("main"), Some(0x180));
        assert_eq!(program.address(0x180), Some(0x1180));
        assert_eq!(program.address(0x300), None);
        assert_eq!(program.offset_of("none"), None);
    }

    #[test]
    fn this_program_has_functions() {
        let program = Program::read(&std::env::current_exe().unwrap()).unwrap();
        let offset = program.offset_of("main").expect("every program has a main");
        assert!(program.address(offset).is_some());
    }
}
