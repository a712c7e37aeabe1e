//! Specs that come again: the pods of a ReplicaSet or a Job differ in their names, and have one spec, byte for byte. What
//! came of it the last time is kept: its tree, what its writer owns, and what became of it once it was admitted.
//!
//! Only what cannot be otherwise is taken from here. A tree is used for a spec of the very same bytes. Admission looks at
//! each object by itself; that a spec is valid, and how it is written, is taken over only where what came of it is the
//! same, node by node, as it was when it was validated and written, up to the one name that admission makes up.

#[cfg(test)]
mod tests;

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    rc::Rc,
};

use bumpalo::Bump;
use memchr::memmem;
use ringbolt_machinery::{
    frozen::{Frozen, MadeUp, Match},
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

/// A spec that is known.
pub(crate) struct Template {
    ty: Type,
    /// The spec as it came.
    source: Box<str>,
    /// Decoded, with its defaults, normal.
    tree: Frozen,
    /// What is below it in the `FieldsV1` of who wrote it.
    fields: Box<[u8]>,
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
}

impl Template {
    fn size(&self) -> usize {
        // What becomes of it has hardly more nodes and text than what it was.
        size_of::<Template>() + 3 * self.source.len() + 2 * self.tree.size() + self.fields.len()
    }
}

impl Finished {
    fn new(tree: Frozen, json: &[u8], rules: SpecRules, object: &Value<'_>) -> Option<Finished> {
        if !(rules.stands_alone)(object) {
            return None;
        }
        let prefix = rules.made_up.prefix.as_bytes();
        let names: Box<[usize]> = memmem::find_iter(json, prefix).collect();
        // A text or key that has such a name within it is none that could be renamed.
        let note = (rules.note)(object);
        (names.len() == tree.names()).then(|| Finished { tree, note, json: json.into(), names })
    }

    /// What the rest of the object is told of it.
    pub(crate) fn note(&self) -> &'static str {
        self.note
    }

    /// What is written of it with the name of another object in place of its own.
    pub(crate) fn write(&self, name: Option<&str>, out: &mut bumpalo::collections::Vec<'_, u8>) {
        let start = out.len();
        out.extend_from_slice_copy(&self.json);
        let Some(name) = name else { return };
        for at in &self.names {
            // Of the same length, and nothing in it is written another way.
            if let Some(place) = out.get_mut(start + at..start + at + name.len()) {
                place.copy_from_slice(name.as_bytes());
            }
        }
    }
}

impl Templates {
    /// Whether a spec of this hash came lately; from now on it did.
    fn saw(&mut self, hash: u64) -> bool {
        self.sightings.resize(SPEC_SIGHTINGS, 0);
        let slot = &mut self.sightings[hash as usize % SPEC_SIGHTINGS];
        std::mem::replace(slot, hash) == hash
    }

    fn find(&mut self, ty: Type, hash: u64, rest: &str) -> Option<Rc<Template>> {
        let template = self.known.get(&hash)?;
        if template.ty != ty || !rest.starts_with(&*template.source) {
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
    /// Its text; empty where it is none that may be known.
    source: &'a str,
    hash: u64,
    template: Option<Rc<Template>>,
    /// Whether it came before, and is to be known from now on.
    learns: bool,
}

impl<'a> Spec<'a> {
    /// One that is nothing special.
    pub(crate) const UNKNOWN: Spec<'static> = Spec { source: "", hash: 0, template: None, learns: false };

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

    /// Keeps what it is before it is admitted, and what is below it in the `FieldsV1` of its writer.
    pub(crate) fn learn(
        &mut self,
        templates: &RefCell<Templates>,
        schema: &Schema,
        ty: Type,
        value: &Value<'_>,
        fields: &[u8],
    ) {
        let Some(tree) = Frozen::new(schema, ty, value, self.source, None) else { return };
        let template = Rc::new(Template {
            ty,
            source: self.source.into(),
            tree,
            fields: fields.into(),
            finished: RefCell::default(),
            misses: Cell::new(0),
            failures: Cell::new(0),
            used: Cell::new(0),
        });
        templates.borrow_mut().keep(self.hash, &template);
        self.template = Some(template);
    }

    /// What became of this spec before, where `value` is the same, and the name that was made up for it.
    pub(crate) fn finished<'v>(
        &self,
        made_up: MadeUp,
        value: &Value<'v>,
    ) -> Option<(Rc<Finished>, Option<&'v str>)> {
        let template = self.template.as_ref()?;
        let finished = template.finished.borrow().clone()?;
        match finished.tree.matches(self.source, Some(made_up), value) {
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
        Frozen::new(schema, template.ty, value, self.source, Some(made_up))
    }

    /// Keeps what became of a spec that was `admitted`, which is good and nothing to be warned about: `json` is what was
    /// written of it as it stands in `object`.
    pub(crate) fn finish(&self, rules: SpecRules, admitted: Frozen, object: &Value<'_>, json: &[u8]) {
        let (Some(template), Some(value)) = (&self.template, object.path(&["spec"])) else { return };
        let is_left_alone =
            matches!(admitted.matches(self.source, Some(rules.made_up), value), Match::Same(_));
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
    pub(crate) fn fields(&self) -> &[u8] {
        &self.fields
    }
}

/// Looks for the spec of a body.
pub(crate) struct Lookup<'t> {
    templates: &'t RefCell<Templates>,
    ty: Type,
    hash: Option<u64>,
    template: Option<Rc<Template>>,
}

impl<'t> Lookup<'t> {
    /// Looks for specs of a type.
    pub(crate) fn new(templates: &'t RefCell<Templates>, ty: Type) -> Self {
        Lookup { templates, ty, hash: None, template: None }
    }

    /// What was found of the spec whose text is `source`.
    pub(crate) fn spec<'a>(self, source: &'a str) -> Spec<'a> {
        let Some(hash) = self.hash.filter(|_| source.len() <= SPEC_TEMPLATE_SOURCE) else {
            return Spec::UNKNOWN;
        };
        let learns = self.template.is_none() && self.templates.borrow_mut().saw(hash);
        Spec { source, hash, template: self.template, learns }
    }
}

impl<'a> Repeated<'a> for Lookup<'_> {
    fn find(&mut self, arena: &'a Bump, rest: &'a str) -> Option<(usize, Value<'a>)> {
        if !rest.starts_with('{') {
            return None;
        }
        // Where a spec ends is not known before it is read, so what stands behind it counts as well: that is nothing that
        // differs from one object to the next.
        let hash = hash(rest.as_bytes());
        self.hash = Some(hash);
        let template = self.templates.borrow_mut().find(self.ty, hash, rest)?;
        // An object is over where its last brace is: nothing longer begins with the same text.
        let value = template.tree.thaw(arena, rest.get(..template.source.len())?)?;
        let len = template.source.len();
        self.template = Some(template);
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
