//! Specs that come again: the pods of a ReplicaSet or a Job differ in their names, and have one spec, byte for byte. What
//! came of it the last time is kept: its tree, what its writer owns, and what became of it once it was admitted.
//!
//! Only what cannot be otherwise is taken from here. A tree is used for a spec of the very same bytes. Admission looks at
//! each object by itself; that a spec is valid, and how it is written, is taken over only where what came of it is the
//! same, node by node, as it was when it was validated and written, up to the one name that admission makes up.
//!
//! A spec in JSON and the same one in protobuf are two.

#[cfg(test)]
mod tests;

use std::{
    cell::{Cell, OnceCell, RefCell},
    collections::HashMap,
    rc::Rc,
};

use bumpalo::Bump;
use memchr::memmem;
use ringbolt_machinery::{
    frozen::{Base, Frozen, MadeUp, Match},
    json::Repeated,
    schema::{Schema, Type},
    value::Value,
};

use crate::limits::{SPEC_SIGHTINGS, SPEC_TEMPLATE_MISSES, SPEC_TEMPLATE_SOURCE, SPEC_TEMPLATES_BYTES};

/// What a kind says of its specs, where they may be known.
#[derive(Clone, Copy, Debug)]
pub struct SpecRules {
    /// The names that admission makes up within a spec, at most one an object. A spec is as good with one as with another.
    pub made_up: MadeUp,
    /// Whether nothing in the metadata of an object is about its spec.
    pub is_plain: fn(&Value<'_>) -> bool,
    /// Whether it depends on nothing but the spec of such an object how the spec is prepared, whether it is good, and what
    /// is warned about of it.
    pub stands_alone: fn(&Value<'_>) -> bool,
    /// What the rest of the object is told of its spec, after it has been prepared.
    pub note: fn(&Value<'_>) -> &'static str,
}

/// The specs that a core knows.
#[derive(Default)]
pub(crate) struct Templates {
    known: HashMap<u64, Rc<Template>>,
    /// What they take together.
    bytes: usize,
    /// Hashes of specs that came lately and are not known: what comes but once is not worth keeping.
    sightings: Vec<u64>,
    /// Counts uses.
    clock: u64,
}

/// How a spec came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source<'a> {
    /// As text: what it says lies in it.
    Json(&'a str),
    /// As a message.
    Protobuf(&'a [u8]),
}

impl<'a> Source<'a> {
    fn bytes(self) -> &'a [u8] {
        match self {
            Source::Json(text) => text.as_bytes(),
            Source::Protobuf(bytes) => bytes,
        }
    }

    /// The text that trees are frozen from.
    fn text(self) -> &'a str {
        match self {
            Source::Json(text) => text,
            Source::Protobuf(_) => "",
        }
    }

    /// Whether it begins with a template's, so that this is all of it.
    fn begins_with(self, known: &Template) -> bool {
        match self {
            Source::Json(text) => !known.is_message && text.as_bytes().starts_with(&known.source),
            Source::Protobuf(bytes) => known.is_message && *bytes == *known.source,
        }
    }
}

/// A spec that is known.
pub(crate) struct Template {
    ty: Type,
    /// The spec as it came.
    source: Box<[u8]>,
    /// Whether that is protobuf.
    is_message: bool,
    /// Decoded, with its defaults, normal.
    tree: Frozen,
    /// What is below it in the `FieldsV1` of who wrote it.
    fields: Box<str>,
    /// What became of it in the end.
    finished: RefCell<Option<Rc<Finished>>>,
    /// How many times in a row something else became of it.
    misses: Cell<u32>,
    /// How many times what became of it was not to be kept.
    failures: Cell<u32>,
    used: Cell<u64>,
}

/// A spec as it was admitted, left alone when it was prepared, found good and written.
pub(crate) struct Finished {
    tree: Frozen,
    note: &'static str,
    /// What is written of it.
    json: Box<[u8]>,
    /// Where the name made up stands in it.
    names: Box<[usize]>,
    /// The same as a field in protobuf, once somebody asked for it; nothing where a name could not be put into it.
    message: OnceCell<Option<Message>>,
}

struct Message {
    bytes: Box<[u8]>,
    names: Box<[usize]>,
}

impl Template {
    fn size(&self) -> usize {
        // What becomes of it has hardly more nodes and text than what it was, and is kept in both forms.
        size_of::<Template>() + 4 * self.source.len() + 2 * self.tree.size() + self.fields.len()
    }
}

/// Puts a name in place of another one of its length.
fn rename(text: &mut [u8], places: &[usize], name: &[u8]) {
    for at in places {
        if let Some(place) = text.get_mut(*at..*at + name.len()) {
            place.copy_from_slice(name);
        }
    }
}

impl Finished {
    fn new(tree: Frozen, json: &[u8], rules: SpecRules, object: &Value<'_>) -> Option<Finished> {
        if !(rules.stands_alone)(object) {
            return None;
        }
        let names = places(rules.made_up, json);
        // A text or key that has such a name within it is none that could be renamed.
        let note = (rules.note)(object);
        (names.len() == tree.names()).then(|| Finished {
            tree,
            note,
            json: json.into(),
            names,
            message: OnceCell::new(),
        })
    }

    /// What the rest of the object is told of it.
    pub(crate) fn note(&self) -> &'static str {
        self.note
    }

    /// Length of what is written of it.
    pub(crate) fn len(&self) -> usize {
        self.json.len()
    }

    /// What is written of it with the name of another object in place of its own.
    pub(crate) fn write(&self, name: Option<&str>, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&self.json);
        // Nothing in a name is written another way.
        if let (Some(name), Some(text)) = (name, out.get_mut(start..)) {
            rename(text, &self.names, name.as_bytes());
        }
    }
}

/// Where names that were made up stand.
fn places(made_up: MadeUp, text: &[u8]) -> Box<[usize]> {
    memmem::find_iter(text, made_up.prefix.as_bytes()).collect()
}

/// The spec of an object that was written with what was known of it.
pub(crate) struct Written {
    pub(crate) finished: Rc<Finished>,
    /// How many bytes there are in the stored form from its beginning on.
    pub(crate) behind: usize,
    pub(crate) made_up: MadeUp,
}

impl Written {
    /// Where it stands in a stored form.
    pub(crate) fn at(&self, stored: &[u8]) -> usize {
        stored.len().saturating_sub(self.behind)
    }

    /// Length of its text.
    pub(crate) fn len(&self) -> usize {
        self.finished.len()
    }

    /// It as a field in protobuf, of this very object, where it is known.
    pub(crate) fn message<'a>(&self, arena: &'a Bump, stored: &[u8]) -> Option<&'a [u8]> {
        let message = self.finished.message.get()?.as_ref()?;
        let bytes = arena.alloc_slice_copy(&message.bytes);
        if let Some(first) = self.finished.names.first() {
            let at = self.at(stored) + first;
            let name = stored.get(at..at + self.made_up.prefix.len() + self.made_up.letters)?;
            rename(bytes, &message.names, name);
        }
        Some(bytes)
    }

    /// Keeps the field.
    pub(crate) fn keep_message(&self, bytes: &[u8]) {
        self.finished.message.get_or_init(|| {
            let names = places(self.made_up, bytes);
            // Else a name may be in something that is no name, or hidden by how lengths are written.
            let is_good = names.len() == self.finished.names.len();
            is_good.then(|| Message { bytes: bytes.into(), names })
        });
    }
}

impl Templates {
    /// Whether a spec of this hash came lately; from now on it did.
    fn saw(&mut self, hash: u64) -> bool {
        self.sightings.resize(SPEC_SIGHTINGS, 0);
        let slot = &mut self.sightings[hash as usize % SPEC_SIGHTINGS];
        std::mem::replace(slot, hash) == hash
    }

    fn find(&mut self, ty: Type, hash: u64, rest: Source<'_>) -> Option<Rc<Template>> {
        let template = self.known.get(&hash)?;
        if template.ty != ty || !rest.begins_with(template) {
            return None;
        }
        self.clock += 1;
        template.used.set(self.clock);
        Some(template.clone())
    }

    fn keep(&mut self, hash: u64, template: &Rc<Template>) {
        self.clock += 1;
        template.used.set(self.clock);
        self.bytes += template.size();
        if let Some(old) = self.known.insert(hash, template.clone()) {
            self.bytes -= old.size();
        }
        while self.bytes > SPEC_TEMPLATES_BYTES {
            let oldest = self.known.iter().min_by_key(|(_, known)| known.used.get()).map(|(hash, _)| *hash);
            let Some(old) = oldest.and_then(|hash| self.known.remove(&hash)) else { break };
            self.bytes -= old.size();
        }
    }
}

/// The spec of an object under way.
pub(crate) struct Spec<'a> {
    /// As it came; empty where it is none that may be known.
    source: Source<'a>,
    /// The text that most of its texts lie in, wherever that is.
    text: &'a str,
    hash: u64,
    template: Option<Rc<Template>>,
    /// Whether it came before, and is to be known from now on.
    learns: bool,
}

impl<'a> Spec<'a> {
    /// One that is nothing special.
    pub(crate) const UNKNOWN: Spec<'static> =
        Spec { source: Source::Json(""), text: "", hash: 0, template: None, learns: false };

    /// What is known of it.
    pub(crate) fn template(&self) -> Option<&Rc<Template>> {
        self.template.as_ref()
    }

    /// Whether it is one that is known or comes to be known.
    pub(crate) fn is_watched(&self) -> bool {
        self.learns || self.template.is_some()
    }

    /// Whether its tree is to be shown to [`Spec::learn`].
    pub(crate) fn learns(&self) -> bool {
        self.learns
    }

    /// Keeps what it is before it is admitted, and what is below it in the `FieldsV1` of its writer. The tree that is
    /// answered takes its place, so that what becomes of it is told by what it came from.
    pub(crate) fn learn(
        &mut self,
        templates: &RefCell<Templates>,
        arena: &'a Bump,
        schema: &Schema,
        (ty, value): (Type, &Value<'_>),
        fields: &str,
    ) -> Option<Value<'a>> {
        let tree = Frozen::new(schema, ty, value, Base { tree: None, source: self.source.text() }, None)?;
        let template = Rc::new(Template {
            ty,
            source: self.source.bytes().into(),
            is_message: matches!(self.source, Source::Protobuf(_)),
            tree,
            fields: fields.into(),
            finished: RefCell::default(),
            misses: Cell::new(0),
            failures: Cell::new(0),
            used: Cell::new(0),
        });
        templates.borrow_mut().keep(self.hash, &template);
        let template = self.template.insert(template);
        let (value, own) = template.tree.thaw(arena, self.source.text())?;
        if matches!(self.source, Source::Protobuf(_)) {
            self.text = own;
        }
        Some(value)
    }

    /// What trees of this spec came from.
    fn base<'s>(&'s self, template: &'s Template) -> Base<'s> {
        Base { tree: Some(&template.tree), source: self.text }
    }

    /// What became of this spec before, where `value` is the same, and the name that was made up for it.
    pub(crate) fn finished<'v>(
        &self,
        made_up: MadeUp,
        value: &Value<'v>,
    ) -> Option<(Rc<Finished>, Option<&'v str>)> {
        let template = self.template.as_ref()?;
        let finished = template.finished.borrow().clone()?;
        match finished.tree.matches(self.base(template), Some(made_up), value) {
            Match::Same(name) => {
                template.misses.set(0);
                Some((finished, name))
            }
            Match::Other => {
                template.misses.set(template.misses.get() + 1);
                None
            }
        }
    }

    /// The tree of a spec that was admitted, where what becomes of it is to be kept.
    pub(crate) fn admitted(&self, made_up: MadeUp, schema: &Schema, value: &Value<'_>) -> Option<Frozen> {
        let template = self.template.as_ref()?;
        // What differs from object to object would be kept for nothing.
        let is_due = template.finished.borrow().is_none() || template.misses.get() >= SPEC_TEMPLATE_MISSES;
        if !is_due || template.failures.get() >= SPEC_TEMPLATE_MISSES {
            return None;
        }
        Frozen::new(schema, template.ty, value, self.base(template), Some(made_up))
    }

    /// Keeps what became of a spec that was `admitted`, which is good and nothing to be warned about: `json` is what was
    /// written of it as it stands in `object`.
    pub(crate) fn finish(&self, rules: SpecRules, admitted: Frozen, object: &Value<'_>, json: &[u8]) {
        let (Some(template), Some(value)) = (&self.template, object.path(&["spec"])) else { return };
        let is_left_alone =
            matches!(admitted.matches(self.base(template), Some(rules.made_up), value), Match::Same(_));
        let finished = is_left_alone.then(|| Finished::new(admitted, json, rules, object)).flatten();
        template.misses.set(0);
        if finished.is_none() {
            template.failures.set(template.failures.get() + 1);
        }
        *template.finished.borrow_mut() = finished.map(Rc::new);
    }
}

impl Template {
    /// What is below it in the `FieldsV1` of its writer.
    pub(crate) fn fields(&self) -> &str {
        &self.fields
    }
}

/// Looks for the spec of a body.
pub(crate) struct Lookup<'t, 'a> {
    templates: &'t RefCell<Templates>,
    ty: Type,
    hash: Option<u64>,
    template: Option<Rc<Template>>,
    /// The text in which those lie that a tree has of its own.
    own: &'a str,
}

impl<'t, 'a> Lookup<'t, 'a> {
    /// Looks for specs of a type.
    pub(crate) fn new(templates: &'t RefCell<Templates>, ty: Type) -> Self {
        Lookup { templates, ty, hash: None, template: None, own: "" }
    }

    /// What was found of the spec that came as `source`.
    pub(crate) fn spec(self, source: Source<'a>) -> Spec<'a> {
        let Some(hash) = self.hash.filter(|_| source.bytes().len() <= SPEC_TEMPLATE_SOURCE) else {
            return Spec::UNKNOWN;
        };
        let learns = self.template.is_none() && self.templates.borrow_mut().saw(hash);
        let text = match source {
            Source::Json(text) => text,
            Source::Protobuf(_) => self.own,
        };
        Spec { source, text, hash, template: self.template, learns }
    }

    /// The tree of a spec in protobuf, where it is known.
    pub(crate) fn message(&mut self, arena: &'a Bump, bytes: &'a [u8]) -> Option<Value<'a>> {
        let (value, _) = self.known(arena, Source::Protobuf(bytes))?;
        Some(value)
    }

    /// The tree and the length of the spec that `rest` begins with.
    fn known(&mut self, arena: &'a Bump, rest: Source<'a>) -> Option<(Value<'a>, usize)> {
        let hash = hash(rest.bytes());
        self.hash = Some(hash);
        let template = self.templates.borrow_mut().find(self.ty, hash, rest)?;
        let len = template.source.len();
        let (value, own) = template.tree.thaw(arena, rest.text().get(..len).unwrap_or_default())?;
        self.own = own;
        self.template = Some(template);
        Some((value, len))
    }
}

impl<'a> Repeated<'a> for Lookup<'_, 'a> {
    fn find(&mut self, arena: &'a Bump, rest: &'a str) -> Option<(usize, Value<'a>)> {
        if !rest.starts_with('{') {
            return None;
        }
        // Where a spec ends is not known before it is read, so what stands behind it counts as well: that is nothing that
        // differs from one object to the next. An object is over where its last brace is: nothing longer begins with the
        // same text.
        let (value, len) = self.known(arena, Source::Json(rest))?;
        Some((len, value))
    }
}

/// A number that tells texts apart, in four lanes of eight bytes: the text itself is compared in the end.
fn hash(bytes: &[u8]) -> u64 {
    const FACTORS: [u64; 4] =
        [0x9e37_79b9_7f4a_7c15, 0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb, 0xd6e8_feb8_6659_fd93];
    let mix = |lane: u64, word: u64, factor: u64| (lane ^ word).wrapping_mul(factor).rotate_left(29);
    let mut lanes = FACTORS;
    let (blocks, rest) = bytes.as_chunks::<32>();
    for block in blocks {
        let (words, _) = block.as_chunks::<8>();
        for ((lane, word), factor) in lanes.iter_mut().zip(words).zip(FACTORS) {
            *lane = mix(*lane, u64::from_le_bytes(*word), factor);
        }
    }
    let mut last = [0; 32];
    last[..rest.len()].copy_from_slice(rest);
    let (words, _) = last.as_chunks::<8>();
    let words = words.iter().map(|word| u64::from_le_bytes(*word));
    let folded =
        lanes.into_iter().chain(words).fold(bytes.len() as u64, |all, word| mix(all, word, FACTORS[0]));
    folded ^ folded >> 32
}
