//! Strategies of the built-in resources: one implementation that reads a table of rules, and hooks for what a kind
//! does beyond them.

mod admissionregistration;
mod apps;
mod autoscaling;
mod batch;
mod certificates;
mod common;
mod coordination;
mod core;
mod disabled;
mod discovery;
mod events;
mod flowcontrol;
mod namespace;
mod networking;
mod node;
mod pod;
mod policy;
mod rbac;
mod resource;
mod rules;
mod scheduling;
mod selectable;
pub(crate) mod service;
mod storage;
mod storagemigration;

use bumpalo::Bump;
use ringbolt_apiserver::{
    authentication::UserInfo,
    registry::{Grace, HandedOut, Part, Strategy},
    selectable::Selectable,
    templates::SpecRules,
};
use ringbolt_machinery::{
    field::FieldError,
    schema::{Schema, StructId},
    status::Status,
    value::Value,
};

use self::{
    disabled::Disabled,
    rules::{Generation, StatusMetadata},
};
pub(crate) use self::{
    namespace::NAME_LABEL as NAMESPACE_NAME_LABEL, rules::Rules, service::externally_accessible,
};
use crate::{
    semantic::Equality,
    services::ServiceAllocator,
    tree::{Members, root},
};

/// The rules of a resource; `None` where it is not a stored built-in one.
pub(crate) fn rules(group: &str, resource: &str) -> Option<Rules> {
    let rules = rules_of_group(group, resource)?;
    Some(Rules { names_again: NAMED_AGAIN.contains(&(group, resource)), ..rules })
}

/// Resources whose changed objects are validated as new ones are, metadata and all. Names cannot change, so what
/// shows is the prefix in `metadata.generateName`; the others hold it only against what a URL path can carry.
const NAMED_AGAIN: [(&str, &str); 33] = [
    ("admissionregistration.k8s.io", "mutatingadmissionpolicies"),
    ("admissionregistration.k8s.io", "mutatingadmissionpolicybindings"),
    ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"),
    ("admissionregistration.k8s.io", "validatingadmissionpolicies"),
    ("admissionregistration.k8s.io", "validatingadmissionpolicybindings"),
    ("admissionregistration.k8s.io", "validatingwebhookconfigurations"),
    ("certificates.k8s.io", "clustertrustbundles"),
    ("node.k8s.io", "runtimeclasses"),
    ("storage.k8s.io", "csinodes"),
    ("storage.k8s.io", "csistoragecapacities"),
    ("storage.k8s.io", "volumeattachments"),
    ("storagemigration.k8s.io", "storageversionmigrations"),
    ("", "configmaps"),
    ("", "endpoints"),
    ("", "limitranges"),
    ("", "namespaces"),
    ("", "nodes"),
    ("", "persistentvolumeclaims"),
    ("", "persistentvolumes"),
    ("", "pods"),
    ("", "secrets"),
    ("", "serviceaccounts"),
    ("apps", "controllerrevisions"),
    ("discovery.k8s.io", "endpointslices"),
    ("flowcontrol.apiserver.k8s.io", "flowschemas"),
    ("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations"),
    ("networking.k8s.io", "ingressclasses"),
    ("networking.k8s.io", "ingresses"),
    ("networking.k8s.io", "ipaddresses"),
    ("resource.k8s.io", "resourceclaims"),
    ("resource.k8s.io", "resourceclaimtemplates"),
    ("storage.k8s.io", "storageclasses"),
    ("storage.k8s.io", "volumeattributesclasses"),
];

fn rules_of_group(group: &str, resource: &str) -> Option<Rules> {
    match group {
        "" => core::rules(resource),
        "admissionregistration.k8s.io" => admissionregistration::rules(resource),
        "apps" => apps::rules(resource),
        "autoscaling" => autoscaling::rules(resource),
        "batch" => batch::rules(resource),
        "certificates.k8s.io" => certificates::rules(resource),
        "coordination.k8s.io" => coordination::rules(resource),
        "discovery.k8s.io" => discovery::rules(resource),
        "events.k8s.io" => events::rules(resource),
        "flowcontrol.apiserver.k8s.io" => flowcontrol::rules(resource),
        "networking.k8s.io" => networking::rules(resource),
        "node.k8s.io" => node::rules(resource),
        "policy" => policy::rules(resource),
        "rbac.authorization.k8s.io" => rbac::rules(resource),
        "resource.k8s.io" => resource::rules(resource),
        "scheduling.k8s.io" => scheduling::rules(resource),
        "storage.k8s.io" => storage::rules(resource),
        "storagemigration.k8s.io" => storagemigration::rules(resource),
        _ => None,
    }
}

/// The strategy of one resource.
pub(crate) struct ResourceStrategy {
    rules: Rules,
    selectable: Selectable,
    disabled: Disabled,
    schema: &'static Schema,
    /// Struct of the storage version.
    ty: StructId,
    /// Who hands out what services need.
    allocator: Option<&'static ServiceAllocator>,
}

impl ResourceStrategy {
    pub(crate) fn new(rules: Rules, schema: &'static Schema, ty: StructId) -> Self {
        let (selectable, disabled) = (rules.selectable.build(), Disabled::new(rules.disabled));
        ResourceStrategy { rules, selectable, disabled, schema, ty, allocator: None }
    }

    /// With an allocator that completes what is written.
    pub(crate) fn with_allocator(self, allocator: &'static ServiceAllocator) -> Self {
        ResourceStrategy { allocator: Some(allocator), ..self }
    }

    /// What is wrong with the prefix of a generated name.
    fn prefix_errors(&self, object: &Value<'_>, errors: &mut Vec<FieldError>) {
        let prefix = object.str_at(&["metadata", "generateName"]).unwrap_or("");
        if !prefix.is_empty() {
            let wrong = (self.rules.name)(prefix, true).into_iter();
            errors.extend(wrong.map(|why| FieldError::invalid("metadata.generateName", prefix, why)));
        }
    }

    /// Whether any member but those `skip` names differs.
    fn differs(&self, object: &Value<'_>, old: &Value<'_>, equality: Equality) -> bool {
        let skip = |name: &str| matches!(name, "metadata" | "status" | "kind" | "apiVersion");
        match (object.as_map(), old.as_map()) {
            (Some(new), Some(old)) => !equality.structs(self.schema, self.ty, new, old, skip),
            _ => false,
        }
    }

    /// Whether labels or annotations differ.
    fn metadata_differs(object: &Value<'_>, old: &Value<'_>, member: &str) -> bool {
        let of = |v: &Value<'_>| -> Vec<(String, String)> {
            let map = v.path(&["metadata", member]).and_then(Value::as_map);
            let mut entries: Vec<_> = map
                .map(|m| m.iter().map(|(k, v)| (k.to_owned(), v.as_str().unwrap_or("").to_owned())).collect())
                .unwrap_or_default();
            entries.sort();
            entries
        };
        of(object) != of(old)
    }
}

impl Strategy for ResourceStrategy {
    fn prepare_for_create<'a>(&self, arena: &'a Bump, object: &mut Value<'a>) {
        if self.rules.has_status && !self.rules.keeps_status_on_create {
            root(arena, object).remove("status");
        }
        if !self.disabled.is_empty() {
            self.disabled.remove_from(root(arena, object), None);
        }
        if let Some(prepare) = self.rules.prepare_for_create {
            prepare(arena, object);
        }
    }

    fn complete<'a>(
        &self,
        arena: &'a Bump,
        object: &mut Value<'a>,
        old: Option<&Value<'_>>,
        dry_run: bool,
    ) -> Result<HandedOut, Vec<FieldError>> {
        let Some(allocator) = self.allocator else { return Ok(HandedOut::default()) };
        let claim = allocator.complete(arena, object, old, dry_run)?;
        Ok(claim.map_or_else(HandedOut::default, |claim| HandedOut::new(move || allocator.release(claim))))
    }

    fn validate(&self, object: &Value<'_>) -> Vec<FieldError> {
        let mut errors = Vec::new();
        if self.rules.standard_finalizers {
            common::standard_finalizers(object, &mut errors);
        }
        if let Some(validate) = self.rules.validate {
            validate(object, &mut errors);
        }
        errors
    }

    fn prepare_for_update<'a>(&self, arena: &'a Bump, part: Part, object: &mut Value<'a>, old: &Value<'_>) {
        match part {
            Part::Main if self.rules.has_status => {
                let status = old.path(&["status"]).map(|s| s.copy_into(arena));
                root(arena, object).put("status", status);
            }
            Part::Main => {}
            Part::Status => {
                common::keep_all_but(arena, object, old, &["metadata", "status", "kind", "apiVersion"]);
                match self.rules.status_metadata {
                    StatusMetadata::Free => {}
                    StatusMetadata::Reset => common::reset_metadata_for_status(arena, object, old),
                    StatusMetadata::Kept => common::keep_metadata(arena, object, old),
                }
            }
            Part::Other(_) => {}
        }
        if part == Part::Main
            && self.rules.generation == Generation::CountedAsGiven
            && self.differs(object, old, Equality::Semantic)
        {
            let generation = old.path(&["metadata", "generation"]).and_then(Value::as_i64).unwrap_or(0);
            root(arena, object).map_mut("metadata").insert("generation", Value::Int(generation + 1));
        }
        if !self.disabled.is_empty() {
            self.disabled.remove_from(root(arena, object), old.as_map());
        }
        if let Some(prepare) = self.rules.prepare_for_update {
            prepare(arena, part, object, old);
        }
    }

    fn validate_update(&self, part: Part, object: &Value<'_>, old: &Value<'_>) -> Vec<FieldError> {
        let mut errors = Vec::new();
        if self.rules.names_again && part == Part::Main {
            self.prefix_errors(object, &mut errors);
        }
        if self.rules.standard_finalizers {
            common::standard_finalizers(object, &mut errors);
        }
        if let Some(validate) = self.rules.validate_update {
            validate(part, object, old, &mut errors);
        }
        errors
    }

    fn warnings(&self, part: Part, object: &Value<'_>, old: Option<&Value<'_>>) -> Vec<String> {
        let mut warnings = Vec::new();
        let hook = match part {
            Part::Main => self.rules.warnings,
            Part::Status => self.rules.status_warnings,
            Part::Other(_) => None,
        };
        if let Some(warn) = hook {
            warn(object, old, &mut warnings);
        }
        warnings
    }

    fn spec_rules(&self) -> Option<SpecRules> {
        self.rules.repeated.map(|repeated| repeated.rules)
    }

    fn prepare_beside_spec<'a>(&self, arena: &'a Bump, object: &mut Value<'a>, note: &'static str) {
        match self.rules.repeated.filter(|_| self.disabled.is_empty()) {
            Some(repeated) => (repeated.prepare)(arena, object, note),
            None => self.prepare_for_create(arena, object),
        }
    }

    fn validate_beside_spec(&self, object: &Value<'_>) -> Vec<FieldError> {
        let Some(repeated) = self.rules.repeated else { return self.validate(object) };
        let mut errors = Vec::new();
        if self.rules.standard_finalizers {
            common::standard_finalizers(object, &mut errors);
        }
        (repeated.validate)(object, &mut errors);
        errors
    }

    fn warnings_beside_spec(&self, object: &Value<'_>) -> Vec<String> {
        let Some(repeated) = self.rules.repeated else { return self.warnings(Part::Main, object, None) };
        let mut warnings = Vec::new();
        (repeated.warnings)(object, None, &mut warnings);
        warnings
    }

    fn allow_create_on_update(&self) -> bool {
        self.rules.create_on_update
    }

    fn allow_unconditional_update(&self) -> bool {
        self.rules.unconditional_update
    }

    fn early_warnings(&self, object: &Value<'_>) -> Vec<String> {
        let mut warnings = Vec::new();
        if let Some(warn) = self.rules.early_warnings {
            warn(object, None, &mut warnings);
        }
        warnings
    }

    fn set_requester<'a>(&self, arena: &'a Bump, object: &mut Value<'a>, user: &UserInfo) {
        if let Some(set) = self.rules.set_requester {
            set(arena, object, user);
        }
    }

    fn starts_generation(&self) -> bool {
        !matches!(self.rules.generation, Generation::None | Generation::CountedOnly)
    }

    fn counts_generation(&self) -> bool {
        self.rules.generation != Generation::None
    }

    fn generation_changed(&self, object: &Value<'_>, old: &Value<'_>) -> bool {
        match self.rules.generation {
            Generation::None | Generation::StartsOnly | Generation::CountedAsGiven => false,
            Generation::Counted | Generation::CountedOnly => self.differs(object, old, Equality::Semantic),
            Generation::CountedExactly => self.differs(object, old, Equality::Exact),
            Generation::WithAnnotations => {
                self.differs(object, old, Equality::Semantic)
                    || Self::metadata_differs(object, old, "annotations")
            }
        }
    }

    fn grace(&self, object: &Value<'_>, asked: Option<i64>) -> Option<Grace> {
        self.rules.grace.map(|grace| Grace { seconds: grace(object, asked) })
    }

    fn orphans_by_default(&self) -> bool {
        self.rules.orphans_by_default
    }

    fn name_error(&self, name: &str, prefix: bool) -> Option<String> {
        self.name_errors(name, prefix).into_iter().next()
    }

    fn name_errors(&self, name: &str, prefix: bool) -> Vec<String> {
        (self.rules.name)(name, prefix)
    }

    fn kind_group(&self) -> Option<&'static str> {
        self.rules.kind_group
    }

    fn annotation_of_field(&self) -> Option<&'static str> {
        self.rules.annotation_of_field
    }

    fn deprecation_warning(&self) -> Option<&'static str> {
        self.rules.deprecation_warning
    }

    fn begin_deletion<'a>(&self, arena: &'a Bump, object: &mut Value<'a>) {
        if let Some(begin) = self.rules.begin_deletion {
            begin(arena, object);
        }
    }

    fn holds_deletion(&self, object: &Value<'_>) -> bool {
        self.rules.holds_deletion.is_some_and(|holds| holds(object))
    }

    fn returns_deleted_object(&self) -> bool {
        self.rules.returns_deleted
    }

    fn check_delete(&self, name: &str) -> Option<Status> {
        self.rules.check_delete.and_then(|check| check(name))
    }

    fn selectable(&self) -> &Selectable {
        &self.selectable
    }
}
