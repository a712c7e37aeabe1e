//! Specs that come again: the pods of a ReplicaSet or a Job differ in their names, and have one spec, byte for byte. What
//! came of it the last time is kept: its tree, what its writer owns, and what became of it once it was admitted.
//!
//! Only what cannot be otherwise is taken from here. A tree is used for a spec of the very same bytes. Admission looks at
//! each object by itself; that a spec is valid, and how it is written, is taken over only where what came of it is the
//! same, node by node, as it was when it was validated and written, up to the one name that admission makes up.

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

#[cfg(test)]
mod tests {
    use ringbolt_machinery::json;

    use super::*;

    const RULES: SpecRules = SpecRules {
        made_up: MadeUp { prefix: "made-up-", letters: 3 },
        is_plain: |_| true,
        stands_alone: |_| true,
        note: |object| object.str_at(&["spec", "restartPolicy"]).map_or("", |_| "noted"),
    };

    /// Takes the body of a pod through all that is done with its spec; `change` is admission, `prepare` comes after it.
    struct Trial {
        templates: RefCell<Templates>,
        arena: Bump,
    }

    impl Trial {
        fn new() -> Trial {
            Trial { templates: RefCell::default(), arena: Bump::new() }
        }

        /// What is known of the spec of a body: nothing, its tree, all.
        fn come<'a>(
            &'a self,
            name: &str,
            spec: &str,
            change: impl Fn(&mut Value<'a>),
            prepare: impl Fn(&mut Value<'a>),
        ) -> (&'static str, String) {
            let (schema, arena) = (Schema::builtin(), &self.arena);
            let ty = schema.kind("", "v1", "Pod").expect("it is built in").ty;
            let spec_type = schema.get(ty).field("spec").expect("pods have one").1.ty;
            let body = arena.alloc_str(&format!(r#"{{"metadata":{{"name":"{name}"}},"spec":{spec}}}"#));
            let mut lookup = Lookup::new(&self.templates, spec_type);
            let bytes = body.as_bytes();
            let (mut object, source) =
                json::decode_repeated(arena, schema, ty, bytes, "spec", &mut lookup).expect("a good pod");
            assert_eq!(source, spec);
            let mut spec = lookup.spec(source);
            let mut known = if spec.template().is_some() { "tree" } else { "nothing" };
            if spec.learns() {
                let tree = object.path(&["spec"]).expect("it has one");
                spec.learn(&self.templates, schema, spec_type, tree, b"fields");
            }
            change(&mut object);
            let own = object.path(&["spec"]).expect("it has one");
            let finished = spec.finished(RULES.made_up, own);
            let admitted = match finished {
                Some(_) => None,
                None => spec.admitted(RULES.made_up, schema, own),
            };
            prepare(&mut object);
            let mut text = bumpalo::collections::Vec::new_in(arena);
            let json = match finished {
                Some((finished, name)) => {
                    known = "all";
                    assert_eq!(finished.note(), "noted");
                    finished.write(name, &mut text);
                    text.to_vec()
                }
                None => {
                    let mut json = Vec::new();
                    json::encode_untyped(object.path(&["spec"]).expect("it has one"), &mut json);
                    if let Some(admitted) = admitted {
                        spec.finish(RULES, admitted, &object, &json);
                    }
                    json
                }
            };
            (known, String::from_utf8(json).expect("JSON is text"))
        }
    }

    fn set<'a>(name: &'static str, value: &'static str) -> impl Fn(&mut Value<'a>) {
        move |object| {
            let spec = object.path_mut(&["spec"]).and_then(Value::as_map_mut).expect("it has one");
            spec.insert(name, Value::String(value));
        }
    }

    const SPEC: &str = r#"{"containers":[{"name":"a"}],"restartPolicy":"Never"}"#;

    #[test]
    fn what_came_twice_is_known_from_then_on() {
        let trial = Trial::new();
        let nothing = |_: &mut Value<'_>| {};
        let texts: Vec<_> = (0..4).map(|_| trial.come("a", SPEC, nothing, nothing)).collect();
        assert_eq!(
            texts.iter().map(|(known, _)| *known).collect::<Vec<_>>(),
            ["nothing", "nothing", "all", "all"]
        );
        assert!(texts.iter().all(|(_, text)| *text == texts[0].1), "{texts:?}");
        // Whosever it is; but only to the byte, and one that begins like it is another one.
        assert_eq!(trial.come("b", SPEC, nothing, nothing).0, "all");
        assert_eq!(trial.come("a", &SPEC.replace("Never", "never"), nothing, nothing).0, "nothing");
        assert_eq!(trial.come("a", &SPEC.replacen('{', "{ ", 1), nothing, nothing).0, "nothing");
    }

    #[test]
    fn what_became_of_it_counts_only_where_the_same_becomes_of_it() {
        let trial = Trial::new();
        let nothing = |_: &mut Value<'_>| {};
        let (one, two) = (set("hostname", "made-up-abc"), set("hostname", "made-up-xyz"));
        for _ in 0..2 {
            trial.come("a", SPEC, &one, nothing);
        }
        let (known, text) = trial.come("a", SPEC, &two, nothing);
        assert!(known == "all" && text.contains(r#""hostname":"made-up-xyz","#), "{text}");
        // No name that could be made up.
        let other = set("hostname", "made-up-four");
        for _ in 0..SPEC_TEMPLATE_MISSES {
            assert_eq!(trial.come("a", SPEC, &other, nothing).0, "tree");
        }
        // Now it is what is expected.
        assert_eq!(trial.come("a", SPEC, &other, nothing).0, "all");
        assert_eq!(trial.come("a", SPEC, &one, nothing).0, "tree");
    }

    #[test]
    fn a_spec_that_preparing_changes_is_prepared_each_time() {
        let trial = Trial::new();
        let nothing = |_: &mut Value<'_>| {};
        for known in ["nothing", "nothing", "tree", "tree"] {
            assert_eq!(trial.come("a", SPEC, nothing, set("subdomain", "x")).0, known);
        }
    }

    #[test]
    fn a_name_within_a_text_could_not_be_renamed() {
        let trial = Trial::new();
        let nothing = |_: &mut Value<'_>| {};
        let spec = r#"{"hostname":"made-up-abc","subdomain":"of made-up-abc"}"#;
        for known in ["nothing", "nothing", "tree", "tree"] {
            assert_eq!(trial.come("a", spec, nothing, nothing).0, known);
        }
    }

    #[test]
    fn what_is_kept_is_bounded_and_the_least_used_goes() {
        let trial = Trial::new();
        let nothing = |_: &mut Value<'_>| {};
        let spec = |n: usize| SPEC.replacen("\"a\"", &format!("\"{n}{}\"", "x".repeat(10_000)), 1);
        let coming = |n: usize| trial.come("a", &spec(n), nothing, nothing).0;
        for n in 0..200 {
            coming(n);
            coming(n);
            assert_eq!(coming(0), "all", "{n}");
        }
        let templates = trial.templates.borrow();
        assert!(templates.bytes <= SPEC_TEMPLATES_BYTES && templates.known.len() > 20);
        let sum: usize = templates.known.values().map(|known| known.size()).sum();
        assert_eq!(sum, templates.bytes);
        assert_eq!(templates.sightings.len(), SPEC_SIGHTINGS);
        drop(templates);
        assert_eq!(coming(1), "nothing", "it was not used since");
        let huge = SPEC.replacen("\"a\"", &format!("\"{}\"", "x".repeat(SPEC_TEMPLATE_SOURCE)), 1);
        for _ in 0..3 {
            assert_eq!(trial.come("a", &huge, nothing, nothing).0, "nothing");
        }
    }

    #[test]
    fn texts_of_one_hash_are_told_apart() {
        let trial = Trial::new();
        let nothing = |_: &mut Value<'_>| {};
        for _ in 0..3 {
            trial.come("a", SPEC, nothing, nothing);
        }
        let other = SPEC.replace("Never", "Aever");
        let mut templates = trial.templates.borrow_mut();
        let (_, known) = templates.known.drain().next().expect("one is known");
        templates.known.insert(hash(format!("{other}}}").as_bytes()), known);
        drop(templates);
        assert_eq!(trial.come("a", &other, nothing, nothing).0, "nothing");
    }

    #[test]
    fn hashes_differ_by_any_byte() {
        let text: Vec<u8> = (0..100).collect();
        let mut seen = std::collections::HashSet::new();
        for end in 0..=text.len() {
            assert!(seen.insert(hash(&text[..end])));
        }
        for at in 0..text.len() {
            let mut changed = text.clone();
            changed[at] ^= 0x80;
            assert!(seen.insert(hash(&changed)), "{at}");
        }
    }
}
