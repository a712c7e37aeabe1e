//! Trees that outlive the arena they were made in: part of an object, kept so that the next object that has the same part
//! need not be decoded for it.
//!
//! What is kept are the nodes, one after the other as a walk meets them. Texts that came from the source (the part as a
//! client wrote it) are places in it: whoever has the same source again has these texts already.

use bumpalo::{Bump, collections::Vec as ArenaVec};

use crate::{
    schema::{Composite, Schema, Type},
    value::{Map, Value},
};

/// A tree of a type of the Schema.
#[derive(Debug)]
pub struct Frozen {
    nodes: Box<[Node]>,
    /// Texts that the source does not have.
    own: Box<str>,
}

#[derive(Clone, Copy, Debug)]
enum Node {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    String(Place),
    Raw(Place),
    /// The name that was made up for this object.
    MadeUp,
    /// As many nodes follow.
    List(u32),
    /// As many pairs of a key and a value follow.
    Map(u32),
    /// The key of a field.
    Field(&'static str),
    /// Any other key.
    Key(Place),
}

/// A text in the source, or behind it in what the tree has of its own.
#[derive(Clone, Copy, Debug)]
struct Place {
    at: u32,
    len: u32,
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
    /// Keeps `value`, of type `ty`, which was decoded from `source` and may have been changed since. All that is a name
    /// made up must be the same one. `None` where the tree is none of its type, or cannot be kept.
    pub fn new(
        schema: &Schema,
        ty: Type,
        value: &Value<'_>,
        source: &str,
        made_up: Option<MadeUp>,
    ) -> Option<Frozen> {
        let mut freezer =
            Freezer { schema, source, made_up, name: None, nodes: Vec::new(), own: String::new() };
        freezer.value(Some(ty), value)?;
        Some(Frozen { nodes: freezer.nodes.into(), own: freezer.own.into() })
    }

    /// Memory that it takes.
    pub fn size(&self) -> usize {
        size_of_val(&*self.nodes) + self.own.len()
    }

    /// How many times the name made up stands in it.
    pub fn names(&self) -> usize {
        self.nodes.iter().filter(|node| matches!(node, Node::MadeUp)).count()
    }

    /// The tree anew, from the same source. Not of one with names that were made up: `None`.
    pub fn thaw<'a>(&self, arena: &'a Bump, source: &'a str) -> Option<Value<'a>> {
        Thaw { arena, source, own: arena.alloc_str(&self.own), nodes: self.nodes.iter() }.value()
    }

    /// Whether `value`, from the same source, is this tree.
    pub fn matches<'v>(&self, source: &str, made_up: Option<MadeUp>, value: &Value<'v>) -> Match<'v> {
        let mut comparison =
            Comparison { source, own: &self.own, made_up, name: None, nodes: self.nodes.iter() };
        if comparison.is(value) { Match::Same(comparison.name) } else { Match::Other }
    }
}

struct Freezer<'f> {
    schema: &'f Schema,
    source: &'f str,
    made_up: Option<MadeUp>,
    name: Option<String>,
    nodes: Vec<Node>,
    own: String,
}

impl Freezer<'_> {
    fn value(&mut self, ty: Option<Type>, value: &Value<'_>) -> Option<()> {
        let node = match value {
            Value::Null => Node::Null,
            Value::Bool(b) => Node::Bool(*b),
            Value::Int(n) => Node::Int(*n),
            Value::Float(f) => Node::Float(*f),
            Value::Raw(text) => Node::Raw(self.place(text)?),
            Value::String(text) if self.made_up.is_some_and(|names| names.is(text)) => {
                // One at most, or renaming would mix them up.
                if self.name.get_or_insert_with(|| (*text).to_owned()) != text {
                    return None;
                }
                Node::MadeUp
            }
            Value::String(text) => Node::String(self.place(text)?),
            Value::List(list) => {
                self.nodes.push(Node::List(u32::try_from(list.len()).ok()?));
                let element = match self.composite(ty) {
                    Some(Composite::List(element)) => Some(element.ty),
                    _ => None,
                };
                return list.iter().try_for_each(|item| self.value(element, item));
            }
            Value::Map(map) => return self.map(ty, map),
        };
        self.nodes.push(node);
        Some(())
    }

    fn map(&mut self, ty: Option<Type>, map: &Map<'_>) -> Option<()> {
        self.nodes.push(Node::Map(u32::try_from(map.len()).ok()?));
        if let Some(Type::Struct(id)) = ty {
            return map.iter().try_for_each(|(key, value)| {
                let (_, field) = self.schema.get(id).field(key)?;
                self.nodes.push(Node::Field(field.name));
                self.value(Some(field.ty), value)
            });
        }
        let element = match self.composite(ty) {
            Some(Composite::Map(element)) => Some(element.ty),
            _ => None,
        };
        map.iter().try_for_each(|(key, value)| {
            let key = Node::Key(self.place(key)?);
            self.nodes.push(key);
            self.value(element, value)
        })
    }

    fn composite(&self, ty: Option<Type>) -> Option<Composite> {
        match ty {
            Some(Type::Composite(id)) => Some(self.schema.composite(id)),
            _ => None,
        }
    }

    fn place(&mut self, text: &str) -> Option<Place> {
        let len = u32::try_from(text.len()).ok()?;
        let at = (text.as_ptr() as usize).wrapping_sub(self.source.as_ptr() as usize);
        // The address says where to look, not what is there.
        let at = match self.source.get(at..at.saturating_add(text.len())) {
            Some(there) if there == text => at,
            _ => {
                let at = self.source.len() + self.own.len();
                self.own.push_str(text);
                at
            }
        };
        Some(Place { at: u32::try_from(at).ok()?, len })
    }
}

/// The text at a place.
#[inline]
fn text<'t>(source: &'t str, own: &'t str, place: Place) -> &'t str {
    let (at, len) = (place.at as usize, place.len as usize);
    let (text, at) = if at < source.len() { (source, at) } else { (own, at - source.len()) };
    text.get(at..at + len).unwrap_or("")
}

struct Thaw<'a, 'f> {
    arena: &'a Bump,
    source: &'a str,
    own: &'a str,
    nodes: std::slice::Iter<'f, Node>,
}

/// Members that a map has room for beyond its own: what is admitted gets a few.
const ROOM: usize = 1;

impl<'a> Thaw<'a, '_> {
    fn value(&mut self) -> Option<Value<'a>> {
        Some(match *self.nodes.next()? {
            Node::Null => Value::Null,
            Node::Bool(b) => Value::Bool(b),
            Node::Int(n) => Value::Int(n),
            Node::Float(f) => Value::Float(f),
            Node::String(place) => Value::String(text(self.source, self.own, place)),
            Node::Raw(place) => Value::Raw(text(self.source, self.own, place)),
            Node::List(len) => {
                let mut items = ArenaVec::with_capacity_in(len as usize + ROOM, self.arena);
                for _ in 0..len {
                    items.push(self.value()?);
                }
                Value::List(items)
            }
            Node::Map(len) => {
                let mut entries = ArenaVec::with_capacity_in(len as usize + ROOM, self.arena);
                for _ in 0..len {
                    let key = match *self.nodes.next()? {
                        Node::Field(name) => name,
                        Node::Key(place) => text(self.source, self.own, place),
                        _ => return None,
                    };
                    entries.push((key, self.value()?));
                }
                Value::Map(Map::from_entries(entries))
            }
            Node::MadeUp | Node::Field(_) | Node::Key(_) => return None,
        })
    }
}

struct Comparison<'c, 'v> {
    source: &'c str,
    own: &'c str,
    made_up: Option<MadeUp>,
    /// The name that was met, which all others must be.
    name: Option<&'v str>,
    nodes: std::slice::Iter<'c, Node>,
}

impl<'v> Comparison<'_, 'v> {
    fn is(&mut self, value: &Value<'v>) -> bool {
        let Some(node) = self.nodes.next() else { return false };
        match (*node, value) {
            (Node::Null, Value::Null) => true,
            (Node::Bool(a), Value::Bool(b)) => a == *b,
            (Node::Int(a), Value::Int(b)) => a == *b,
            (Node::Float(a), Value::Float(b)) => a.to_bits() == b.to_bits(),
            (Node::String(place), Value::String(text)) | (Node::Raw(place), Value::Raw(text)) => {
                self.is_at(place, text)
            }
            (Node::MadeUp, Value::String(text)) => match self.name {
                Some(name) => name == *text,
                None => {
                    self.name = Some(text);
                    self.made_up.is_some_and(|names| names.is(text))
                }
            },
            (Node::List(len), Value::List(list)) => {
                list.len() == len as usize && list.iter().all(|item| self.is(item))
            }
            (Node::Map(len), Value::Map(map)) => {
                map.len() == len as usize && map.iter().all(|(key, value)| self.is_key(key) && self.is(value))
            }
            _ => false,
        }
    }

    fn is_key(&mut self, key: &str) -> bool {
        match self.nodes.next() {
            Some(Node::Field(name)) => std::ptr::eq(*name, key) || *name == key,
            Some(Node::Key(place)) => self.is_at(*place, key),
            _ => false,
        }
    }

    #[inline]
    fn is_at(&self, place: Place, is: &str) -> bool {
        // Most were never touched since they were taken from the source.
        is.len() == place.len as usize
            && (is.as_ptr() as usize == (self.source.as_ptr() as usize).wrapping_add(place.at as usize)
                || text(self.source, self.own, place) == is)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{self, Mode};

    const NAMES: MadeUp = MadeUp { prefix: "kube-api-access-", letters: 5 };
    const SPEC: &str = r#"{"containers":[{"name":"a","image":"i\u0041:1","env":[{"name":"N","value":"é"}],
        "resources":{"limits":{"cpu":"1000m","example.com/x":"1"}},"livenessProbe":{"httpGet":{"port":80}}}],
        "nodeSelector":{"a":"b","c":"d"},"overhead":{},"hostNetwork":true,"tolerations":[]}"#;

    fn ty() -> Type {
        let pod = Schema::builtin().kind("", "v1", "Pod").expect("it is built in");
        Schema::builtin().get(pod.ty).field("spec").expect("pods have one").1.ty
    }

    fn decode<'a>(arena: &'a Bump, source: &'a str) -> Value<'a> {
        let Type::Struct(id) = ty() else { panic!("a spec is a struct") };
        json::decode_typed(arena, Schema::builtin(), id, source.as_bytes(), Mode::Strict).expect("good").value
    }

    fn freeze(value: &Value<'_>, source: &str) -> Frozen {
        Frozen::new(Schema::builtin(), ty(), value, source, Some(NAMES)).expect("a spec")
    }

    fn volume<'a>(arena: &'a Bump, name: &'a str) -> Value<'a> {
        let mut volume = Map::new_in(arena);
        volume.insert("name", Value::String(name));
        let mut list = ArenaVec::new_in(arena);
        list.push(Value::Map(volume));
        Value::List(list)
    }

    #[test]
    fn thaws_to_what_was_frozen_from_another_copy_of_the_source() {
        fn defaulted<'a>(arena: &'a Bump, source: &'a str) -> Value<'a> {
            let mut value = decode(arena, source);
            let spec = value.as_map_mut().expect("a map");
            spec.insert("priority", Value::Int(7));
            spec.insert("preemptionPolicy", Value::String(arena.alloc_str("Never")));
            value
        }
        let frozen = {
            let arena = Bump::new();
            freeze(&defaulted(&arena, SPEC), SPEC)
        };
        let (arena, copy) = (Bump::new(), SPEC.to_owned());
        let expect = defaulted(&arena, &copy);
        let thawed = frozen.thaw(&arena, &copy).expect("nothing was made up");
        assert_eq!(thawed, expect);
        assert_eq!(frozen.matches(&copy, Some(NAMES), &expect), Match::Same(None));
        assert!(frozen.size() > SPEC.len());
    }

    #[test]
    fn any_difference_is_seen() {
        let arena = Bump::new();
        let frozen = freeze(&decode(&arena, SPEC), SPEC);
        let changes = [
            (r#""name":"a""#, r#""name":"b""#),
            (r#""port":80"#, r#""port":81"#),
            (r#""hostNetwork":true,"#, ""),
            (r#""a":"b","#, r#""b":"b","#),
            (r#""value":"é""#, r#""value":"è""#),
            (r#""hostNetwork":true"#, r#""hostNetwork":false"#),
            (r#""tolerations":[]"#, r#""tolerations":[{}]"#),
            (r#""1000m""#, r#""1100m""#),
        ];
        for (from, to) in changes {
            let changed = SPEC.replacen(from, to, 1);
            assert_ne!(changed, SPEC);
            assert_eq!(frozen.matches(SPEC, None, &decode(&arena, &changed)), Match::Other, "{to}");
        }
        // Another order of entries is written another way.
        let turned = SPEC.replacen(r#""a":"b","c":"d""#, r#""c":"d","a":"b""#, 1);
        let mut turned = decode(&arena, &turned);
        let selector = turned.path_mut(&["nodeSelector"]).and_then(Value::as_map_mut).expect("a map");
        selector.sort_keys();
        assert_eq!(frozen.matches(SPEC, None, &turned), Match::Same(None));
        let mut entries = ArenaVec::new_in(&arena);
        entries.extend([("c", Value::String("d")), ("a", Value::String("b"))]);
        *selector_of(&mut turned) = Map::from_entries(entries);
        assert_eq!(frozen.matches(SPEC, None, &turned), Match::Other);
    }

    fn selector_of<'v, 'a>(spec: &'v mut Value<'a>) -> &'v mut Map<'a> {
        spec.path_mut(&["nodeSelector"]).and_then(Value::as_map_mut).expect("a map")
    }

    #[test]
    fn the_name_made_up_may_be_another_one_everywhere_alike() {
        let arena = Bump::new();
        let with = |names: &[&'static str]| {
            let mut value = decode(&arena, SPEC);
            let spec = value.as_map_mut().expect("a map");
            spec.insert("volumes", volume(&arena, names[0]));
            for container in spec.get_mut("containers").and_then(Value::as_list_mut).expect("a list") {
                container.as_map_mut().expect("a map").insert("volumeMounts", volume(&arena, names[1]));
            }
            value
        };
        let frozen = freeze(&with(&["kube-api-access-abcde"; 2]), SPEC);
        assert_eq!(frozen.names(), 2);
        assert!(frozen.thaw(&arena, SPEC).is_none());
        let is = |names: &[&'static str]| frozen.matches(SPEC, Some(NAMES), &with(names));
        assert_eq!(is(&["kube-api-access-xyz78"; 2]), Match::Same(Some("kube-api-access-xyz78")));
        assert_eq!(is(&["kube-api-access-xyz78", "kube-api-access-xyz79"]), Match::Other);
        assert_eq!(is(&["kube-api-access-xyz7"; 2]), Match::Other);
        assert_eq!(is(&["kube-api-access-xyz7_"; 2]), Match::Other);
        assert_eq!(is(&["config"; 2]), Match::Other);
        // Two names in one tree could be mixed up.
        let two = with(&["kube-api-access-abcde", "kube-api-access-fghij"]);
        assert!(Frozen::new(Schema::builtin(), ty(), &two, SPEC, Some(NAMES)).is_none());
    }

    #[test]
    fn what_is_not_of_the_type_is_not_kept() {
        let arena = Bump::new();
        let mut value = decode(&arena, SPEC);
        value.as_map_mut().expect("a map").insert("unheardOf", Value::Null);
        assert!(Frozen::new(Schema::builtin(), ty(), &value, SPEC, None).is_none());
    }
}
