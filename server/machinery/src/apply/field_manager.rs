//! Keeps `metadata.managedFields` of one resource in one version through writes of one subresource.

use std::{fmt, ops::Range};

use bumpalo::Bump;

use super::{
    conflict::{Conflict, Conflicts},
    created::{self, KnownFields},
    last_applied,
    managers::{self, Manager, Operation},
    reset_fields::ResetFields,
    set::Path,
    shape::Root,
    updater::{ApplyFailure, Taken, Updater},
    validate::{Duplicates, problems_text, validate},
    versions::Versions,
};
use crate::{
    json::{expand_raw, zero},
    limits::APPLY_ERROR_TEXT,
    schema::{Schema, Type},
    value::{Map, Value},
};

/// Why an apply was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApplyError {
    /// Others own fields that it would change.
    Conflicts(Conflicts),
    /// It is none of its kind, or says what it may not say.
    BadRequest(String),
    /// It cannot be done.
    Failed(String),
}

impl fmt::Display for ApplyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ApplyError::Conflicts(conflicts) => write!(f, "{conflicts}"),
            ApplyError::BadRequest(why) | ApplyError::Failed(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for ApplyError {}

/// What an apply came to.
#[derive(Debug)]
pub struct Applied<'a> {
    /// The new object in the request's version, not typed or defaulted yet, without managed fields; `None` where it
    /// is the old one.
    pub object: Option<Value<'a>>,
    /// The list for its metadata.
    pub managed_fields: Option<Value<'a>>,
    /// What the annotation of client-side apply has to say from now on.
    last_applied: Option<&'a str>,
}

impl<'a> Applied<'a> {
    /// Puts what was found on the finished object (typed, defaulted, of any version).
    pub fn finish(self, object: &mut Value<'a>) {
        if let Some(text) = self.last_applied.filter(|_| !last_applied::annotation(object).is_empty()) {
            last_applied::set(object, text);
        }
        let Some(metadata) = object.as_map_mut().map(|map| map.map_mut("metadata")) else { return };
        match self.managed_fields {
            Some(list) => {
                metadata.insert("managedFields", list);
            }
            None => {
                metadata.remove("managedFields");
            }
        }
    }
}

/// What is said of an object that is none of its kind, before and after its name: of what is stored, where nobody was
/// tracked yet,
const UNTRACKED: (&str, &str) =
    ("failed to create manager for existing fields: failed to convert new object", " to smd typed");
/// of the configuration,
const PATCH: (&str, &str) = ("failed to create typed patch object", "");
/// and of what is stored.
const LIVE: (&str, &str) = ("failed to create typed live object", "");

/// The field manager.
pub struct FieldManager<'s> {
    /// The Schema.
    pub schema: &'s Schema,
    /// What fields of the kind are told by in the request's version.
    pub root: Root<'s>,
    /// The kind.
    pub kind: &'s str,
    /// The request's version: `v1`, `apps/v1`.
    pub api_version: &'s str,
    /// The subresource; empty for the object itself.
    pub subresource: &'s str,
    /// What a write through the subresource cannot change.
    pub reset: ResetFields,
    /// What it cannot change in other versions.
    pub reset_elsewhere: ResetFields,
    /// Other versions of the kind.
    pub versions: &'s dyn Versions,
}

impl FieldManager<'_> {
    /// The managed fields after an update of `live` to `new`, both in the request's version and normalized: what is
    /// to stand at `metadata.managedFields`. A new object's `live` is the zero object ([`FieldManager::zero`]).
    /// `manager` names the writer, `now` is the time in RFC 3339.
    pub fn update<'a>(
        &self,
        arena: &'a Bump,
        live: &Value<'a>,
        new: &Value<'a>,
        manager: &str,
        now: &str,
    ) -> Option<Value<'a>> {
        let (ours, theirs) = (managers::listed(live), managers::listed(new));
        let empty_asked = self.subresource.is_empty() && managers::is_reset(theirs);
        // A client that knows nothing of managed fields must not delete them by leaving them out.
        let takes_theirs = self.subresource.is_empty() && theirs.is_some() && theirs != ours;
        let mut entries = match theirs {
            _ if empty_asked => Vec::new(),
            theirs if takes_theirs => managers::decode(arena, theirs).unwrap_or_default(),
            _ => Vec::new(),
        };
        let theirs_count = !entries.is_empty();
        let updater = Updater { arena, manager: self };
        // What cannot be compared leaves everything as it was.
        let is_built_in = matches!(self.root, Root::BuiltIn(_));
        let fits = |object| validate(arena, self.schema, self.root, object, Duplicates::Allowed).is_empty();
        let can_be_compared = is_built_in || fits(new) && fits(live);
        if !can_be_compared {
            return ours.cloned();
        }
        let Some(comparison) = updater.compare(live, new) else { return ours.cloned() };
        if !theirs_count && !empty_asked {
            // The schema of a custom resource may have changed since.
            if is_built_in && comparison.is_same() && ours.is_some() {
                return ours.cloned();
            }
            entries = managers::decode(arena, ours).unwrap_or_default();
        }
        let is_new = live.str_at(&["metadata", "uid"]).unwrap_or("").is_empty();
        if entries.is_empty() && !is_new {
            // Whoever wrote before is not known, so nobody is until the first apply.
            return None;
        }
        let own = Manager::new(self, manager, Operation::Update);
        let updated = updater
            .reconcile(&mut entries, live)
            .and_then(|()| updater.update(&mut entries, own, (live, new), comparison, now));
        if updated.is_err() {
            return ours.cloned();
        }
        managers::cap_updates(arena, &mut entries);
        managers::encode(arena, &mut entries)
    }

    /// The managed fields of a new object, as [`FieldManager::update`] of the zero object has them.
    pub fn create<'a>(
        &self,
        arena: &'a Bump,
        new: &Value<'a>,
        manager: &str,
        now: &str,
    ) -> Option<Value<'a>> {
        let known = KnownFields { member: "", text: None };
        self.create_knowing(arena, new, manager, now, known, |_| {})
    }

    /// The same with what is below a member of the object, where that is known. Else `learn` is told, where it comes to be
    /// known.
    pub fn create_knowing<'a>(
        &self,
        arena: &'a Bump,
        new: &Value<'a>,
        manager: &str,
        now: &str,
        known: KnownFields<'_>,
        learn: impl FnOnce(&str),
    ) -> Option<Value<'a>> {
        if let ResetFields::Except(unowned) = self.reset
            && let Root::BuiltIn(ty) = self.root
            && managers::listed(new).is_none()
            && let Some((fields, place)) = created::fields_of_new(arena, self.schema, ty, unowned, new, known)
        {
            let own = Manager { time: Some(now), ..Manager::new(self, manager, Operation::Update) };
            let text = |part: Range<usize>| {
                std::str::from_utf8(&fields[part]).expect("printed from texts, and cut where one ends")
            };
            let (head, below, tail) =
                (text(0..place.start), text(place.clone()), text(place.end..fields.len()));
            if known.text.is_none() && !below.is_empty() {
                learn(below);
            }
            // Nothing is left out where the object has no such member.
            let known = known.text.filter(|_| place.start > 0).unwrap_or(below);
            return Some(managers::only(arena, &own, [head, known, tail]));
        }
        self.update(arena, &self.zero(arena), new, manager, now)
    }

    /// The object of the kind with nothing set.
    pub fn zero<'a>(&self, arena: &'a Bump) -> Value<'a> {
        match self.root {
            Root::BuiltIn(ty) => zero::zero(arena, self.schema, Type::Struct(ty)),
            Root::Structural(_) | Root::Deduced => Value::Map(Map::new_in(arena)),
        }
    }

    /// Applies a configuration, as it was sent, to `live` (as for [`FieldManager::update`]).
    pub fn apply<'a>(
        &self,
        arena: &'a Bump,
        live: &Value<'a>,
        config: &Value<'a>,
        manager: &str,
        force: bool,
        now: &str,
    ) -> Result<Applied<'a>, ApplyError> {
        let entries = managers::decode(arena, managers::listed(live))
            .map_err(|why| ApplyError::Failed(format!("failed to decode managed fields: {why}")))?;
        self.check(config)?;
        let mut bare = live.clone();
        if let Some(Value::Map(metadata)) = bare.path_mut(&["metadata"]) {
            metadata.remove("managedFields");
        }
        let bare = expand_raw(arena, &bare).map_err(|e| ApplyError::Failed(e.to_string()))?;
        if entries.is_empty() && !matches!(self.root, Root::BuiltIn(_)) {
            self.fits(arena, UNTRACKED, &bare, Duplicates::Allowed)?;
        }
        self.fits(arena, PATCH, config, Duplicates::Refused)?;
        self.fits(arena, LIVE, &bare, Duplicates::Allowed)?;
        let run = Run { manager: self, live: &bare, config, name: manager, now };
        run.run(arena, entries, force)
    }

    /// Whether an object is one of the kind. Two texts stand around its name in the error.
    fn fits<'a>(
        &self,
        arena: &'a Bump,
        (before, after): (&str, &str),
        object: &Value<'a>,
        duplicates: Duplicates,
    ) -> Result<(), ApplyError> {
        let problems = validate(arena, self.schema, self.root, object, duplicates);
        if problems.is_empty() {
            return Ok(());
        }
        let text = |name: &str| object.str_at(&["metadata", name]).unwrap_or("");
        Err(ApplyError::Failed(format!(
            "{before} ({}/{}; {}){after}: {}",
            text("namespace"),
            text("name"),
            shown(self.api_version, self.kind),
            problems_text(&problems)
        )))
    }

    /// Whether a configuration says that it is one of the kind.
    fn check(&self, config: &Value<'_>) -> Result<(), ApplyError> {
        let text = |name: &str| config.str_at(&[name]).unwrap_or("");
        let (version, kind) = (text("apiVersion"), text("kind"));
        if version != self.api_version || kind != self.kind {
            return Err(ApplyError::BadRequest(format!("invalid object type: {}", shown(version, kind))));
        }
        if managers::listed(config).is_some() {
            return Err(ApplyError::BadRequest("metadata.managedFields must be nil".into()));
        }
        Ok(())
    }
}

/// `apps/v1, Kind=Deployment`, `/v1, Kind=Pod`.
fn shown(version: &str, kind: &str) -> String {
    let slash = if version.contains('/') { "" } else { "/" };
    format!("{slash}{version}, Kind={kind}")
}

/// One apply under way.
struct Run<'r, 'v, 's> {
    manager: &'r FieldManager<'s>,
    live: &'r Value<'v>,
    config: &'r Value<'v>,
    name: &'r str,
    now: &'r str,
}

impl<'a> Run<'_, 'a, '_> {
    fn run<'v>(
        &'v self,
        arena: &'a Bump,
        mut entries: Vec<Manager<'v>>,
        force: bool,
    ) -> Result<Applied<'a>, ApplyError>
    where
        'a: 'v,
    {
        let updater = Updater { arena, manager: self.manager };
        if entries.is_empty() {
            self.note_existing(arena, &updater, &mut entries)?;
        }
        updater.reconcile(&mut entries, self.live).map_err(ApplyError::Failed)?;
        let own = Manager::new(self.manager, self.name, Operation::Apply);
        let before = entries.clone();
        let mut result = updater.apply(&mut entries, own, (self.live, self.config), force);
        if let Err(ApplyFailure::Conflict(taken)) = &mut result
            && self.name == last_applied::KUBECTL
            && let Some(set) =
                last_applied::unchanged_since(arena, self.manager, self.manager.schema, self.live)
        {
            for conflict in taken.iter_mut() {
                conflict.set = conflict.set.difference(arena, set);
            }
            taken.retain(|conflict| !conflict.set.is_empty());
            if taken.is_empty() {
                entries = before;
                result = updater.apply(&mut entries, own, (self.live, self.config), true);
            }
        }
        let object = match result {
            Ok(object) => object.map(|object| object.copy_into(arena)),
            Err(ApplyFailure::Conflict(taken)) => return Err(ApplyError::Conflicts(conflicts(taken))),
            Err(ApplyFailure::Other(error)) => return Err(error),
        };
        if object.is_some()
            && let Some(entry) = entries.iter_mut().find(|entry| entry.is_same(&own))
        {
            entry.time = Some(self.now);
        }
        let kept_by_kubectl = self.name == last_applied::KUBECTL;
        Ok(Applied {
            object,
            managed_fields: managers::encode(arena, &mut entries),
            last_applied: kept_by_kubectl.then(|| last_applied::text_of(arena, self.config)),
        })
    }

    /// Gives what an object had before anyone was tracked to a manager of its own.
    fn note_existing<'v>(
        &'v self,
        arena: &'v Bump,
        updater: &Updater<'v, '_>,
        entries: &mut Vec<Manager<'v>>,
    ) -> Result<(), ApplyError> {
        let zero: &'v Value<'v> = arena.alloc(self.manager.zero(arena));
        let Some(comparison) = updater.compare(zero, self.live) else {
            return Err(ApplyError::Failed("failed to create manager for existing fields".into()));
        };
        let own = Manager::new(self.manager, "before-first-apply", Operation::Update);
        updater
            .update(entries, own, (zero, self.live), comparison, self.now)
            .map_err(|why| ApplyError::Failed(format!("failed to create manager for existing fields: {why}")))
    }
}

/// The conflicts that messages list, in the order of managers.
fn conflicts(mut taken: Vec<Taken<'_>>) -> Conflicts {
    taken.sort_by_cached_key(|taken| taken.manager.identifier());
    let mut conflicts = Conflicts::default();
    let mut room = APPLY_ERROR_TEXT;
    for Taken { manager, set } in taken {
        let manager = manager.shown();
        set.for_each(&mut |path| {
            conflicts.count += 1;
            if room > 0 {
                let conflict = Conflict { manager: manager.clone(), path: Path(path).to_string() };
                room = room.saturating_sub(conflict.path.len() + conflict.manager.len());
                conflicts.told.push(conflict);
            }
        });
    }
    conflicts
}
