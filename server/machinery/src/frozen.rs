//! Trees that outlive the arena they were made in: part of an object, kept so that the next object that has the same part
//! need not be decoded for it.
//!
//! Texts that came from the source (the part as a client wrote it) are kept as places in it: whoever has the same source
//! again has these texts already.
//!
//! What becomes of a tree that was thawed is mostly what it was. A map that nobody can have changed since says so
//! ([`Origin`]), and then it is not looked into: neither when such a tree is frozen again, nor when it is compared.

#[cfg(test)]
mod tests;

use std::ops::Range;

use bumpalo::{Bump, collections::Vec as ArenaVec};

use crate::{
    schema::{Composite, Schema, StructId, Type},
    value::{Map, Origin, Value},
};

/// A tree of a type of the Schema. Members, entries and items of one struct, map or list stand together.
#[derive(Debug)]
pub struct Frozen {
    root: Node,
    members: Box<[(&'static str, Node)]>,
    entries: Box<[(Text, Node)]>,
    items: Box<[Node]>,
    /// Texts that the source does not have.
    own: Box<str>,
    /// How many times the name made up stands in it.
    names: usize,
    /// Whether it has parts of the tree that it came from.
    is_based: bool,
}

#[derive(Clone, Copy, Debug)]
enum Node {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    String(Text),
    Raw(Text),
    /// The name that was made up for this object.
    MadeUp,
    List(Place),
    Map(Place),
    Struct(Place),
    /// The map, or struct, of the tree that this one came from.
    BaseMap(Place),
    BaseStruct(Place),
}

/// Where something begins, and how long it is.
#[derive(Clone, Copy, Debug)]
struct Place {
    at: u32,
    len: u32,
}

#[derive(Clone, Copy, Debug)]
enum Text {
    /// In the source.
    Source(Place),
    /// In what the tree has of its own.
    Own(Place),
}

impl Place {
    fn new(at: usize, len: usize) -> Option<Place> {
        Some(Place { at: u32::try_from(at).ok()?, len: u32::try_from(len).ok()? })
    }

    #[inline]
    fn range(self) -> Range<usize> {
        self.at as usize..self.at as usize + self.len as usize
    }

    /// That a map comes from here; of one far behind it is not told.
    fn origin(self, of: fn(u16) -> Origin) -> Origin {
        u16::try_from(self.at).map_or(Origin::Any, of)
    }
}

/// What a tree came from that is frozen or compared.
#[derive(Clone, Copy, Debug)]
pub struct Base<'b> {
    /// The tree that was thawed, if it was.
    pub tree: Option<&'b Frozen>,
    /// The text that the tree lies in, where it was not changed.
    pub source: &'b str,
}

/// Names that are made up for each object anew: a prefix, and as many small letters and digits behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MadeUp {
    /// What all of them begin with.
    pub prefix: &'static str,
    /// Letters and digits that follow.
    pub letters: usize,
}

impl MadeUp {
    /// Whether a text is such a name.
    pub fn is(&self, text: &str) -> bool {
        text.len() == self.prefix.len() + self.letters
            && text.strip_prefix(self.prefix).is_some_and(|rest| {
                rest.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
            })
    }
}

/// What a tree has to be, next to a frozen one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Match<'v> {
    /// The same, but for the name that was made up for it, if one was.
    Same(Option<&'v str>),
    /// Another.
    Other,
}

impl Frozen {
    /// Keeps `value`, of type `ty`, which came from `base` and may have been changed since. All that is a name made up must
    /// be the same one. `None` where the tree is none of its type, or cannot be kept.
    pub fn new(
        schema: &Schema,
        ty: Type,
        value: &Value<'_>,
        base: Base<'_>,
        made_up: Option<MadeUp>,
    ) -> Option<Frozen> {
        let mut freezer = Freezer {
            schema,
            is_based: base.tree.is_some(),
            source: base.source,
            made_up,
            name: None,
            names: 0,
            members: Vec::new(),
            entries: Vec::new(),
            items: Vec::new(),
            own: String::new(),
        };
        let root = freezer.value(Some(ty), value)?;
        Some(Frozen {
            root,
            members: freezer.members.into(),
            entries: freezer.entries.into(),
            items: freezer.items.into(),
            own: freezer.own.into(),
            names: freezer.names,
            is_based: freezer.is_based,
        })
    }

    /// Memory that it takes.
    pub fn size(&self) -> usize {
        size_of::<Frozen>()
            + size_of_val(&*self.members)
            + size_of_val(&*self.entries)
            + size_of_val(&*self.items)
            + self.own.len()
    }

    /// How many times the name made up stands in it.
    pub fn names(&self) -> usize {
        self.names
    }

    /// The tree anew, from the same source, and the text in which all texts lie that the source does not have. Not of one
    /// with names that were made up, or with parts of another one: `None`.
    pub fn thaw<'a>(&self, arena: &'a Bump, source: &'a str) -> Option<(Value<'a>, &'a str)> {
        if self.names > 0 || self.is_based {
            return None;
        }
        let own: &'a str = arena.alloc_str(&self.own);
        Some((Thaw { arena, source, own, tree: self }.value(&self.root), own))
    }

    /// Whether `value` is this tree; both came from the same base.
    pub fn matches<'v>(&self, base: Base<'_>, made_up: Option<MadeUp>, value: &Value<'v>) -> Match<'v> {
        let mut comparison = Comparison { base, tree: self, made_up, name: None };
        if comparison.is(&self.root, value) { Match::Same(comparison.name) } else { Match::Other }
    }
}

struct Freezer<'f> {
    schema: &'f Schema,
    /// Whether maps may be taken for those of another tree.
    is_based: bool,
    source: &'f str,
    made_up: Option<MadeUp>,
    name: Option<String>,
    names: usize,
    members: Vec<(&'static str, Node)>,
    entries: Vec<(Text, Node)>,
    items: Vec<Node>,
    own: String,
}

impl Freezer<'_> {
    fn value(&mut self, ty: Option<Type>, value: &Value<'_>) -> Option<Node> {
        Some(match value {
            Value::Null => Node::Null,
            Value::Bool(b) => Node::Bool(*b),
            Value::Int(n) => Node::Int(*n),
            Value::Float(f) => Node::Float(*f),
            Value::Raw(text) => Node::Raw(self.text(text)?),
            Value::String(text) if self.made_up.is_some_and(|names| names.is(text)) => {
                // One at most, or renaming would mix them up.
                if self.name.get_or_insert_with(|| (*text).to_owned()) != text {
                    return None;
                }
                self.names += 1;
                Node::MadeUp
            }
            Value::String(text) => Node::String(self.text(text)?),
            Value::List(list) => self.list(ty, list)?,
            Value::Map(map) if self.is_based && map.origin() != Origin::Any => match map.origin() {
                Origin::Struct(at) => Node::BaseStruct(Place::new(at.into(), map.len())?),
                Origin::Map(at) => Node::BaseMap(Place::new(at.into(), map.len())?),
                Origin::Any => return None,
            },
            Value::Map(map) => match ty {
                Some(Type::Struct(id)) => self.members(id, map)?,
                ty => self.entries(ty, map)?,
            },
        })
    }

    fn members(&mut self, id: StructId, map: &Map<'_>) -> Option<Node> {
        let start = self.members.len();
        for (key, _) in map.iter() {
            let (_, field) = self.schema.get(id).field(key)?;
            self.members.push((field.name, Node::Null));
        }
        for ((key, value), at) in map.iter().zip(start..) {
            let (_, field) = self.schema.get(id).field(key)?;
            self.members[at].1 = self.value(Some(field.ty), value)?;
        }
        Place::new(start, map.len()).map(Node::Struct)
    }

    fn entries(&mut self, ty: Option<Type>, map: &Map<'_>) -> Option<Node> {
        let element = match self.composite(ty) {
            Some(Composite::Map(element)) => Some(element.ty),
            _ => None,
        };
        let start = self.entries.len();
        for (key, _) in map.iter() {
            let key = self.text(key)?;
            self.entries.push((key, Node::Null));
        }
        for ((_, value), at) in map.iter().zip(start..) {
            self.entries[at].1 = self.value(element, value)?;
        }
        Place::new(start, map.len()).map(Node::Map)
    }

    fn list(&mut self, ty: Option<Type>, list: &[Value<'_>]) -> Option<Node> {
        let element = match self.composite(ty) {
            Some(Composite::List(element)) => Some(element.ty),
            _ => None,
        };
        let start = self.items.len();
        self.items.resize(start + list.len(), Node::Null);
        for (value, at) in list.iter().zip(start..) {
            self.items[at] = self.value(element, value)?;
        }
        Place::new(start, list.len()).map(Node::List)
    }

    fn composite(&self, ty: Option<Type>) -> Option<Composite> {
        match ty {
            Some(Type::Composite(id)) => Some(self.schema.composite(id)),
            _ => None,
        }
    }

    fn text(&mut self, text: &str) -> Option<Text> {
        let at = (text.as_ptr() as usize).wrapping_sub(self.source.as_ptr() as usize);
        // The address says where to look, not what is there.
        if self.source.get(at..at.saturating_add(text.len())) == Some(text) {
            return Place::new(at, text.len()).map(Text::Source);
        }
        let at = self.own.len();
        self.own.push_str(text);
        Place::new(at, text.len()).map(Text::Own)
    }
}

struct Thaw<'a, 'f> {
    arena: &'a Bump,
    source: &'a str,
    own: &'a str,
    tree: &'f Frozen,
}

/// Members that a map has room for beyond its own: what is admitted gets a few.
const ROOM: usize = 1;

impl<'a> Thaw<'a, '_> {
    /// What has nothing within it is made where it goes, which is most of a tree.
    #[inline(always)]
    fn value(&self, node: &Node) -> Value<'a> {
        match node {
            Node::String(text) => Value::String(self.text(*text)),
            Node::Int(n) => Value::Int(*n),
            Node::Bool(b) => Value::Bool(*b),
            Node::Float(f) => Value::Float(*f),
            Node::Raw(text) => Value::Raw(self.text(*text)),
            Node::Null | Node::MadeUp | Node::BaseMap(_) | Node::BaseStruct(_) => Value::Null,
            Node::Struct(place) => self.members(*place),
            Node::List(place) => self.list(*place),
            Node::Map(place) => self.entries(*place),
        }
    }

    #[inline(always)]
    fn text(&self, text: Text) -> &'a str {
        let (of, place) = match text {
            Text::Source(place) => (self.source, place),
            Text::Own(place) => (self.own, place),
        };
        of.get(place.range()).unwrap_or_default()
    }

    #[inline(never)]
    fn members(&self, place: Place) -> Value<'a> {
        let members = self.tree.members.get(place.range()).unwrap_or_default();
        let mut entries = ArenaVec::with_capacity_in(members.len() + ROOM, self.arena);
        for (name, node) in members {
            entries.push((*name, self.value(node)));
        }
        Value::Map(Map::thawed(entries, place.origin(Origin::Struct)))
    }

    #[inline(never)]
    fn entries(&self, place: Place) -> Value<'a> {
        let own = self.tree.entries.get(place.range()).unwrap_or_default();
        let mut entries = ArenaVec::with_capacity_in(own.len() + ROOM, self.arena);
        for (key, node) in own {
            entries.push((self.text(*key), self.value(node)));
        }
        Value::Map(Map::thawed(entries, place.origin(Origin::Map)))
    }

    #[inline(never)]
    fn list(&self, place: Place) -> Value<'a> {
        let own = self.tree.items.get(place.range()).unwrap_or_default();
        let mut items = ArenaVec::with_capacity_in(own.len() + ROOM, self.arena);
        for node in own {
            items.push(self.value(node));
        }
        Value::List(items)
    }
}

struct Comparison<'c, 'v> {
    base: Base<'c>,
    tree: &'c Frozen,
    made_up: Option<MadeUp>,
    /// The name that was met, which all others must be.
    name: Option<&'v str>,
}

impl<'v> Comparison<'_, 'v> {
    /// What has nothing within it is compared where it stands, which is most of a tree.
    #[inline(always)]
    fn is(&mut self, node: &Node, value: &Value<'v>) -> bool {
        match node {
            Node::String(text) => matches!(value, Value::String(is) if self.is_text(*text, is)),
            Node::Int(a) => matches!(value, Value::Int(b) if a == b),
            Node::Bool(a) => matches!(value, Value::Bool(b) if a == b),
            Node::Struct(place) => matches!(value, Value::Map(map) if self.is_members(*place, map)),
            Node::List(place) => matches!(value, Value::List(list) if self.is_list(*place, list)),
            Node::Map(place) => matches!(value, Value::Map(map) if self.is_entries(*place, map)),
            Node::Null => value.is_null(),
            Node::Raw(text) => matches!(value, Value::Raw(is) if self.is_text(*text, is)),
            Node::Float(a) => matches!(value, Value::Float(b) if a.to_bits() == b.to_bits()),
            Node::MadeUp => matches!(value, Value::String(text) if self.is_name(text)),
            Node::BaseStruct(place) => matches!(value, Value::Map(map) if self.is_base(true, *place, map)),
            Node::BaseMap(place) => matches!(value, Value::Map(map) if self.is_base(false, *place, map)),
        }
    }

    /// Whether a map is what it was in the tree that both came from.
    #[inline(always)]
    fn is_base(&mut self, is_struct: bool, place: Place, map: &Map<'v>) -> bool {
        let is_from = match map.origin() {
            Origin::Struct(at) => is_struct && u32::from(at) == place.at,
            Origin::Map(at) => !is_struct && u32::from(at) == place.at,
            Origin::Any => false,
        };
        map.len() == place.len as usize && (is_from || self.is_as_base(is_struct, place, map))
    }

    /// The same of one that may have been changed.
    #[cold]
    fn is_as_base(&mut self, is_struct: bool, place: Place, map: &Map<'v>) -> bool {
        let Some(tree) = self.base.tree else { return false };
        let mut below = Comparison { base: self.base, tree, made_up: None, name: None };
        if is_struct { below.is_members(place, map) } else { below.is_entries(place, map) }
    }

    fn is_name(&mut self, text: &'v str) -> bool {
        match self.name {
            Some(name) => name == text,
            None => {
                self.name = Some(text);
                self.made_up.is_some_and(|names| names.is(text))
            }
        }
    }

    #[inline(always)]
    fn is_text(&self, text: Text, is: &str) -> bool {
        match text {
            // Most were never touched since they were taken from the source.
            Text::Source(place) => {
                let there = (self.base.source.as_ptr() as usize).wrapping_add(place.at as usize);
                is.len() == place.len as usize
                    && (is.as_ptr() as usize == there || self.base.source.get(place.range()) == Some(is))
            }
            Text::Own(place) => is.len() == place.len as usize && self.is_own_text(place, is),
        }
    }

    #[inline(never)]
    fn is_own_text(&self, place: Place, is: &str) -> bool {
        self.tree.own.get(place.range()) == Some(is)
    }

    #[inline(never)]
    fn is_members(&mut self, place: Place, map: &Map<'v>) -> bool {
        let tree = self.tree;
        let members = tree.members.get(place.range()).unwrap_or_default();
        if map.len() != members.len() {
            return false;
        }
        let mut theirs = map.iter();
        for (name, node) in members {
            let Some((key, value)) = theirs.next() else { return false };
            if !(std::ptr::eq(*name, key) || *name == key) || !self.is(node, value) {
                return false;
            }
        }
        true
    }

    #[inline(never)]
    fn is_entries(&mut self, place: Place, map: &Map<'v>) -> bool {
        let tree = self.tree;
        let entries = tree.entries.get(place.range()).unwrap_or_default();
        if map.len() != entries.len() {
            return false;
        }
        let mut theirs = map.iter();
        for (text, node) in entries {
            let Some((key, value)) = theirs.next() else { return false };
            if !self.is_text(*text, key) || !self.is(node, value) {
                return false;
            }
        }
        true
    }

    #[inline(never)]
    fn is_list(&mut self, place: Place, list: &[Value<'v>]) -> bool {
        let tree = self.tree;
        let items = tree.items.get(place.range()).unwrap_or_default();
        if list.len() != items.len() {
            return false;
        }
        for (node, value) in items.iter().zip(list) {
            if !self.is(node, value) {
                return false;
            }
        }
        true
    }
}
