//! What a strategy's table says.

use bumpalo::Bump;
use ringbolt_apiserver::{authentication::UserInfo, registry::Part, templates::SpecRules};
use ringbolt_machinery::{field::FieldError, status::Status, validation::names, value::Value};

use super::{
    disabled::Member,
    selectable::{self, Table},
};

/// How `metadata.generation` moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Generation {
    /// Not at all.
    None,
    /// Starts at 1, counts what is neither metadata nor status.
    Counted,
    /// Counts an empty list in place of none as well.
    CountedExactly,
    /// Counts what was given, be it dropped afterwards.
    CountedAsGiven,
    /// Counts the same way but is not there before the first change.
    CountedOnly,
    /// Starts at 1 and stays.
    StartsOnly,
    /// Counts annotations as well.
    WithAnnotations,
}

/// What a write of `/status` may change of the metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StatusMetadata {
    /// Labels, annotations and all.
    Free,
    /// Nothing but managed fields and the like (`ResetObjectMetaForStatus`).
    Reset,
    /// Nothing but managed fields.
    Kept,
}

/// Prepares a new object.
pub(crate) type Prepare = for<'a> fn(&'a Bump, &mut Value<'a>);
/// Prepares a changed object.
pub(crate) type PrepareUpdate = for<'a> fn(&'a Bump, Part, &mut Value<'a>, &Value<'_>);
/// Validates a new object.
pub(crate) type Validate = fn(&Value<'_>, &mut Vec<FieldError>);
/// Validates a change.
pub(crate) type ValidateUpdate = fn(Part, &Value<'_>, &Value<'_>, &mut Vec<FieldError>);
/// Finds warnings.
pub(crate) type Warn = fn(&Value<'_>, Option<&Value<'_>>, &mut Vec<String>);
/// Writes down who made the request.
pub(crate) type SetRequester = for<'a> fn(&'a Bump, &mut Value<'a>, &UserInfo);

/// What is to be done about an object whose spec came before.
pub(crate) struct Repeated {
    /// When that can be.
    pub(crate) rules: SpecRules,
    /// Prepares all but the spec, whose note it is told.
    pub(crate) prepare: for<'a> fn(&'a Bump, &mut Value<'a>, &'static str),
    /// Validates all but the spec.
    pub(crate) validate: Validate,
    /// Finds warnings about all but the spec.
    pub(crate) warnings: Warn,
}

/// The rules of one resource.
#[derive(Clone, Copy)]
pub(crate) struct Rules {
    /// Every message about a bad name (`true`: a `generateName` prefix).
    pub(crate) name: fn(&str, bool) -> Vec<String>,
    /// That a change is held against `name` too.
    pub(crate) names_again: bool,
    /// PUT creates.
    pub(crate) create_on_update: bool,
    /// PUT without resourceVersion is fine.
    pub(crate) unconditional_update: bool,
    /// Generation.
    pub(crate) generation: Generation,
    /// `status` is the server's: dropped on create, kept on update.
    pub(crate) has_status: bool,
    /// A client may give a status on create after all (nodes register with theirs).
    pub(crate) keeps_status_on_create: bool,
    /// Metadata of status writes.
    pub(crate) status_metadata: StatusMetadata,
    /// Members of features that are off.
    pub(crate) disabled: &'static [Member],
    /// Unqualified finalizers must be standard ones.
    pub(crate) standard_finalizers: bool,
    /// Dependents are orphaned when a delete names no policy.
    pub(crate) orphans_by_default: bool,
    /// DELETE answers with the object.
    pub(crate) returns_deleted: bool,
    /// Fields that can be selected on.
    pub(crate) selectable: &'static Table,
    /// Seconds to live: events.
    pub(crate) ttl_seconds: u64,
    /// Group of the kind that statuses about its content name, where it is another one.
    pub(crate) kind_group: Option<&'static str>,
    /// Warning on every use.
    pub(crate) deprecation_warning: Option<&'static str>,
    /// An annotation that stands for a field.
    pub(crate) annotation_of_field: Option<&'static str>,
    /// Hooks.
    pub(crate) prepare_for_create: Option<Prepare>,
    pub(crate) prepare_for_update: Option<PrepareUpdate>,
    pub(crate) validate: Option<Validate>,
    pub(crate) validate_update: Option<ValidateUpdate>,
    pub(crate) warnings: Option<Warn>,
    /// Specs that come again and again.
    pub(crate) repeated: Option<&'static Repeated>,
    /// What is warned about of a new object as it came, which preparing it makes good.
    pub(crate) early_warnings: Option<Warn>,
    /// What is warned about when the status is written; the other hook is for the object itself.
    pub(crate) status_warnings: Option<Warn>,
    pub(crate) set_requester: Option<SetRequester>,
    pub(crate) grace: Option<fn(&Value<'_>, Option<i64>) -> i64>,
    pub(crate) begin_deletion: Option<Prepare>,
    pub(crate) holds_deletion: Option<fn(&Value<'_>) -> bool>,
    pub(crate) check_delete: Option<fn(&str) -> Option<Status>>,
}

impl Rules {
    /// What most kinds without status do: PUT does not create, may be unconditional, no generation.
    pub(crate) const BASE: Rules = Rules {
        name: names::name_is_dns_subdomain,
        names_again: false,
        create_on_update: false,
        unconditional_update: true,
        generation: Generation::None,
        has_status: false,
        keeps_status_on_create: false,
        status_metadata: StatusMetadata::Free,
        disabled: &[],
        standard_finalizers: true,
        orphans_by_default: false,
        returns_deleted: false,
        selectable: &selectable::NO_FIELDS,
        ttl_seconds: 0,
        kind_group: None,
        deprecation_warning: None,
        annotation_of_field: None,
        prepare_for_create: None,
        prepare_for_update: None,
        validate: None,
        validate_update: None,
        warnings: None,
        repeated: None,
        early_warnings: None,
        status_warnings: None,
        set_requester: None,
        grace: None,
        begin_deletion: None,
        holds_deletion: None,
        check_delete: None,
    };
    /// A kind with a status.
    pub(crate) const STATUS: Rules = Rules { has_status: true, ..Rules::BASE };
    /// A kind with spec, status and generation.
    pub(crate) const SPEC_AND_STATUS: Rules = Rules { generation: Generation::Counted, ..Rules::STATUS };
    /// A kind with spec and generation.
    pub(crate) const SPEC: Rules = Rules { generation: Generation::Counted, ..Rules::BASE };
}
