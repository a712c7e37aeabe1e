//! Reads `builtin.tbl`, the table of facts that `schemagen` writes; its README describes the lines.
//!
//! Every text of the schema is a slice of the table itself. Lists of texts are made once and kept for good.

use std::collections::HashMap;
use std::fmt;
use std::sync::OnceLock;

use super::lookup::wire_order;
use super::{
    Alternative, AlternativeId, Column, Composite, CompositeId, Element, FIELDS_MAX, Field, Group, Kind,
    ListType, NameIndex, Resource, Schema, Spelling, Struct, StructId, Subresource, Type, spelling,
};
use crate::json::zero::left_out_unset;

static TABLE: &str = include_str!("../builtin.tbl");

impl Schema {
    /// The schema of all built-in kinds. The first call reads the table.
    pub fn builtin() -> &'static Schema {
        static SCHEMA: OnceLock<Schema> = OnceLock::new();
        SCHEMA.get_or_init(|| Schema::parse(TABLE).expect("the table is compiled in, and a test reads it"))
    }

    /// Reads a table. Leaks the lists it makes: a schema lives as long as the process.
    pub fn parse(table: &'static str) -> Result<Schema, Malformed> {
        let (lists, rest, skipped) = Lists::read(table);
        let mut reader = Reader::new(lists);
        for (at, text) in rest.lines().enumerate() {
            reader.line(Cells::new(text)).ok_or(Malformed { line: skipped + at + 1 })?;
        }
        Ok(reader.finish())
    }
}

/// A line of the table that makes no sense.
#[derive(Debug, PartialEq, Eq)]
pub struct Malformed {
    /// Its number, from 1.
    pub line: usize,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} of the schema table is malformed", self.line)
    }
}

impl std::error::Error for Malformed {}

/// The cells of a line, one after the other; cells left out at the end are empty.
struct Cells {
    rest: &'static str,
}

impl Cells {
    fn new(line: &'static str) -> Self {
        Cells { rest: line }
    }
    fn next(&mut self) -> &'static str {
        match memchr::memchr(b'\t', self.rest.as_bytes()) {
            Some(at) => {
                let cell = &self.rest[..at];
                self.rest = &self.rest[at + 1..];
                cell
            }
            None => std::mem::take(&mut self.rest),
        }
    }
    fn number<T: std::str::FromStr>(&mut self) -> Option<T> {
        self.next().parse().ok()
    }
}

/// The lists of texts (`L` lines, right after the first line) that the rest refers to by number.
struct Lists(Vec<&'static [&'static str]>);

impl Lists {
    /// Answers the lists, the table after them, and the number of lines that are read.
    fn read(table: &'static str) -> (Lists, &'static str, usize) {
        let (mut texts, mut ends, mut used, mut lines) = (Vec::new(), Vec::new(), 0, 0);
        for line in table.split_inclusive('\n') {
            let text = line.trim_end_matches('\n');
            if let Some(items) = text.strip_prefix("L\t") {
                texts.extend(items.split('|'));
                ends.push(texts.len());
            } else if text == "L" {
                ends.push(texts.len());
            } else if !text.starts_with("schema\t") {
                break;
            }
            used += line.len();
            lines += 1;
        }
        let texts: &'static [&'static str] = texts.leak();
        let mut start = 0;
        let lists = ends.into_iter().map(|end| &texts[std::mem::replace(&mut start, end)..end]).collect();
        (Lists(lists), &table[used..], lines)
    }
    fn get(&self, number: &str) -> Option<&'static [&'static str]> {
        self.0.get(number.parse::<usize>().ok()?).copied()
    }
}

struct Reader {
    lists: Lists,
    schema: Schema,
    /// Type codes of lists and maps that were met.
    composites: HashMap<&'static str, CompositeId>,
    paths: Vec<&'static [u32]>,
    /// Column sets, by number.
    columns: Vec<Vec<Column>>,
    /// Group-version of the `K` lines that follow.
    kinds_of: (&'static str, &'static str),
    /// Group-version of the `R` lines that follow, and whether it is on by default.
    resources_of: (&'static str, &'static str, bool),
}

impl Reader {
    fn new(lists: Lists) -> Self {
        Reader {
            lists,
            schema: Schema::default(),
            composites: HashMap::new(),
            paths: Vec::new(),
            columns: Vec::new(),
            kinds_of: ("", ""),
            resources_of: ("", "", false),
        }
    }

    fn line(&mut self, mut cells: Cells) -> Option<()> {
        let first = cells.next();
        if let Some(name) = first.strip_prefix('.') {
            let field = self.field(name, cells)?;
            let fields = &mut self.schema.structs.last_mut()?.fields;
            fields.push(field);
            return (fields.len() <= FIELDS_MAX).then_some(());
        }
        match first {
            "S" => {
                let (name, package, openapi_name) = (cells.next(), cells.next(), cells.next());
                let (flags, unions) = (cells.next(), cells.next());
                self.schema.structs.push(Struct {
                    name,
                    package,
                    openapi_name,
                    fields: Vec::new(),
                    atomic: flags == "a",
                    granular: flags == "g",
                    unions,
                    names: Vec::new(),
                    spelled: "",
                    index: NameIndex::default(),
                    always: 0,
                    by_name: Vec::new(),
                    rank: Vec::new(),
                    by_proto: Vec::new(),
                    own_proto: Vec::new(),
                    proto_always: 0,
                    proto_in_order: false,
                });
            }
            "T" => self.columns.push(Vec::new()),
            "C" => {
                let column = column(cells)?;
                self.columns.last_mut()?.push(column);
            }
            "A" => {
                let alternative = self.alternative(cells)?;
                self.schema.alternatives.push(alternative);
            }
            "G" => self.kinds_of = (cells.next(), cells.next()),
            "K" => {
                let (group, version) = self.kinds_of;
                self.schema.kinds.push(Kind {
                    group,
                    version,
                    kind: cells.next(),
                    ty: StructId(cells.number()?),
                });
            }
            "V" => self.version(cells.next(), cells.next(), cells.next() == "d"),
            "R" => self.resource(cells)?,
            "U" => self.subresource(cells)?,
            _ => return None,
        }
        Some(())
    }

    fn field(&mut self, name: &'static str, mut cells: Cells) -> Option<Field> {
        let ty = self.ty(cells.next())?;
        let flags = cells.next();
        let has = |flag| memchr::memchr(flag, flags.as_bytes()).is_some();
        let (proto_path, proto) = self.proto(cells.next())?;
        let mut field = Field {
            name,
            ty,
            pointer: has(b'p'),
            omit_empty: has(b'e'),
            omit_zero: has(b'z'),
            required: has(b'r'),
            proto,
            proto_path,
            default: if has(b'0') { zero(ty)? } else { "" },
            enumeration: &[],
            list_type: ListType::Atomic,
            list_type_given: false,
            list_map_keys: &[],
            atomic: has(b'a'),
            granular: has(b'g'),
            patch_strategy: "",
            patch_merge_key: "",
            format: "",
            go_type: "",
            member: Spelling::NONE,
            step: Spelling::NONE,
        };
        while !cells.rest.is_empty() {
            let (key, value) = cells.next().split_once('=')?;
            match key {
                "d" => field.default = value,
                "e" => field.enumeration = self.lists.get(value)?,
                "l" => {
                    field.list_type_given = true;
                    field.list_type = match value {
                        "atomic" => ListType::Atomic,
                        "set" => ListType::Set,
                        "map" => ListType::Map,
                        _ => return None,
                    }
                }
                "k" => field.list_map_keys = self.lists.get(value)?,
                "s" => field.patch_strategy = value,
                "m" => field.patch_merge_key = value,
                "f" => field.format = value,
                "t" => field.go_type = value,
                _ => return None,
            }
        }
        Some(field)
    }

    fn ty(&mut self, code: &'static str) -> Option<Type> {
        Some(match code.as_bytes().first()? {
            b's' => Type::String,
            b'b' => Type::Bool,
            b'i' => Type::Int32,
            b'l' => Type::Int64,
            b'd' => Type::Float64,
            b'y' => Type::Bytes,
            b'q' => Type::Quantity,
            b't' => Type::Time,
            b'u' => Type::MicroTime,
            b'D' => Type::Duration,
            b'o' => Type::IntOrString,
            b'r' => Type::RawExtension,
            b'f' => Type::FieldsV1,
            b'j' => Type::Json,
            b'/' => Type::Alternative(AlternativeId(code[1..].parse().ok()?)),
            b'0'..=b'9' => Type::Struct(StructId(code.parse().ok()?)),
            b'[' | b'(' | b'{' => {
                if let Some(&id) = self.composites.get(code) {
                    return Some(Type::Composite(id));
                }
                let element = code[1..].strip_prefix('*');
                let element = Element {
                    ty: self.ty(element.unwrap_or(&code[1..]))?,
                    pointer: element.is_some(),
                    wrapped: code.starts_with('('),
                };
                let composite =
                    if code.starts_with('{') { Composite::Map(element) } else { Composite::List(element) };
                let id = CompositeId(u16::try_from(self.schema.composites.len()).ok()?);
                self.schema.composites.push(composite);
                self.composites.insert(code, id);
                Type::Composite(id)
            }
            _ => return None,
        })
    }

    fn alternative(&mut self, mut cells: Cells) -> Option<Alternative> {
        let (name, package, openapi_name) = (cells.next(), cells.next(), cells.next());
        let (object, object_number) = (self.ty(cells.next())?, cells.number()?);
        let (other, other_number) = (self.ty(cells.next())?, cells.number()?);
        let Type::Struct(object) = object else { return None };
        Some(Alternative { name, package, openapi_name, object, object_number, other, other_number })
    }

    /// `2.1` is number 1 in the message of number 2.
    fn proto(&mut self, text: &str) -> Option<(&'static [u32], u32)> {
        let Some((path, number)) = text.rsplit_once('.') else { return Some((&[], text.parse().ok()?)) };
        let number = number.parse().ok()?;
        let path = path.split('.').map(str::parse).collect::<Result<Vec<u32>, _>>().ok()?;
        if let Some(known) = self.paths.iter().find(|known| **known == path) {
            return Some((known, number));
        }
        let path: &'static [u32] = path.leak();
        self.paths.push(path);
        Some((path, number))
    }

    fn version(&mut self, group: &'static str, version: &'static str, on: bool) {
        self.resources_of = (group, version, on);
        let add = |groups: &mut Vec<Group>| match groups.last_mut() {
            Some(last) if last.name == group => last.versions.push(version),
            _ => groups.push(Group { name: group, versions: vec![version] }),
        };
        add(&mut self.schema.all_groups);
        if on {
            add(&mut self.schema.groups);
        }
    }

    fn resource(&mut self, mut cells: Cells) -> Option<()> {
        let (group, version, on_by_default) = self.resources_of;
        let (resource, singular, kind) = (cells.next(), cells.next(), cells.next());
        let flags = cells.next();
        let resource = Resource {
            group,
            version,
            resource,
            singular,
            kind,
            ty: self.schema.kind(group, version, kind)?.ty,
            namespaced: flags.contains('n'),
            delete_returns_object: flags.contains('o'),
            short_names: self.lists.get(cells.next())?,
            categories: self.lists.get(cells.next())?,
            verbs: self.lists.get(cells.next())?,
            columns: self.columns.get(cells.number::<usize>()?)?.clone(),
            storage_version_hash: cells.next(),
            subresources: Vec::new(),
            on_by_default,
        };
        self.schema.resources.push(resource);
        Some(())
    }

    fn subresource(&mut self, mut cells: Cells) -> Option<()> {
        let (name, kind) = (cells.next(), cells.next());
        let verbs = self.lists.get(cells.next())?;
        let foreign = cells.next() == "f";
        let kind = (cells.next(), cells.next(), kind);
        let resource = self.schema.resources.last_mut()?;
        resource.subresources.push(Subresource { name, verbs, kind, foreign });
        Some(())
    }

    fn finish(mut self) -> Schema {
        self.schema.fit();
        spelling::spell(&mut self.schema.structs);
        let composites = &self.schema.composites;
        for s in &mut self.schema.structs {
            let fields = &s.fields;
            let always = fields.iter().map(|field| !left_out_unset(field));
            s.always = always.zip(0..).fold(0, |set, (is_always, index)| set | u64::from(is_always) << index);
            s.by_name = (0..fields.len() as u16).collect();
            s.by_name.sort_unstable_by_key(|&i| fields[i as usize].name);
            s.rank = vec![0; fields.len()];
            for (place, field) in s.by_name.iter().enumerate() {
                s.rank[usize::from(*field)] = place as u16;
            }
            s.by_proto = (0..fields.len() as u16).filter(|&i| fields[i as usize].proto != 0).collect();
            s.by_proto.sort_unstable_by(|&a, &b| {
                let (a, b) = (&fields[a as usize], &fields[b as usize]);
                wire_order(a.proto_path, a.proto).cmp(wire_order(b.proto_path, b.proto))
            });
            let says = fields
                .iter()
                .map(|field| field.proto != 0 && !field.pointer && says_unset(composites, field.ty));
            s.proto_always = says.zip(0..).fold(0, |set, (says, index)| set | u64::from(says) << index);
            s.proto_in_order =
                s.by_proto.is_sorted() && fields.iter().all(|field| field.proto_path.is_empty());
            for (field, index) in fields.iter().zip(1..) {
                let number = field.proto as usize;
                if field.proto_path.is_empty() && (1..=OWN_PROTO_MAX).contains(&number) {
                    let len = s.own_proto.len().max(number + 1);
                    s.own_proto.resize(len, 0);
                    s.own_proto[number] = index;
                }
            }
        }
        self.schema
    }
}

impl Schema {
    /// Gives back what its lists had for growing: they are as long as they will be.
    fn fit(&mut self) {
        let Schema { structs, composites, alternatives, kinds, resources, groups, all_groups } = self;
        structs.iter_mut().for_each(|s| s.fields.shrink_to_fit());
        resources.iter_mut().for_each(|resource| resource.subresources.shrink_to_fit());
        structs.shrink_to_fit();
        composites.shrink_to_fit();
        alternatives.shrink_to_fit();
        kinds.shrink_to_fit();
        resources.shrink_to_fit();
        groups.shrink_to_fit();
        all_groups.shrink_to_fit();
    }
}

/// Whether protobuf has something for a value of a type that was not set.
fn says_unset(composites: &[Composite], ty: Type) -> bool {
    match ty {
        Type::Bytes => false,
        Type::Composite(id) => match composites.get(usize::from(id.0)) {
            Some(Composite::List(element)) => element.wrapped,
            _ => false,
        },
        _ => true,
    }
}

/// Protobuf numbers up to here are found at once: all but a handful.
const OWN_PROTO_MAX: usize = 127;

/// The default that OpenAPI shows for the zero value of a type.
fn zero(ty: Type) -> Option<&'static str> {
    match ty {
        Type::String => Some("\"\""),
        Type::Bool => Some("false"),
        Type::Int32 | Type::Int64 | Type::Float64 => Some("0"),
        Type::Bytes | Type::Composite(_) => None,
        _ => Some("{}"),
    }
}

fn column(mut cells: Cells) -> Option<Column> {
    let (name, ty, format) = (cells.next(), cells.next(), cells.next());
    let (priority, description) = (cells.number()?, cells.next());
    let description = if description.contains('\\') {
        description.replace("\\n", "\n").replace("\\t", "\t").leak()
    } else {
        description
    };
    Some(Column { name, ty, format, description, priority })
}
