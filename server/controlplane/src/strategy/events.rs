//! Events, which both `v1` and `events.k8s.io/v1` serve from one store.

use ringbolt_machinery::validation::names;

use super::{
    Rules,
    selectable::{EVENT, NEW_EVENT},
};
use crate::{limits::EVENT_TTL_SECONDS, validation};

pub(super) fn core() -> Rules {
    Rules {
        // Nothing but the event itself is looked at.
        name: names::path_segment_errors,
        standard_finalizers: false,
        create_on_update: true,
        ttl_seconds: EVENT_TTL_SECONDS,
        selectable: &EVENT,
        validate: Some(validation::event::validate_core),
        validate_update: Some(|_, object, _, errors| validation::event::validate_core(object, errors)),
        ..Rules::BASE
    }
}

pub(super) fn rules(resource: &str) -> Option<Rules> {
    (resource == "events").then(|| Rules {
        kind_group: Some(""),
        // This group's events are objects like others.
        name: names::name_is_dns_subdomain,
        standard_finalizers: true,
        selectable: &NEW_EVENT,
        validate: Some(validation::event::validate_new),
        validate_update: Some(validation::event::validate_new_update),
        ..core()
    })
}
