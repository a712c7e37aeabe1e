//! Custom resources whose definition is being deleted: nothing new may come.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use bumpalo::Bump;
use ringbolt_apiserver::admission::{Admission, Attributes, Operation, Survey, dynamic::DynamicPlugins};
use ringbolt_machinery::{status::Status, value::Value};
use ringbolt_storage::api::Write;

/// Refuses creates once `ends` says so, and asks `delegate` about all else.
pub(crate) struct ForbidCreate {
    pub(crate) delegate: Arc<dyn Admission>,
    pub(crate) ends: Arc<AtomicBool>,
}

impl ForbidCreate {
    fn check(&self, attributes: &Attributes<'_>) -> Result<(), Status> {
        if attributes.operation == Operation::Create && self.ends.load(Ordering::Acquire) {
            return Err(
                attributes.forbidden("create not allowed while custom resource definition is terminating")
            );
        }
        Ok(())
    }
}

impl Admission for ForbidCreate {
    fn admit<'a>(
        &self,
        attributes: &Attributes<'_>,
        arena: &'a Bump,
        object: &mut Value<'a>,
        old: Option<&Value<'_>>,
    ) -> Result<(), Status> {
        self.check(attributes)?;
        self.delegate.admit(attributes, arena, object, old)
    }

    fn confirm_no_escalation(
        &self,
        attributes: &Attributes<'_>,
        requested: &str,
        arena: &Bump,
        object: &Value<'_>,
        old: Option<(&Value<'_>, u64)>,
    ) -> Result<(), Status> {
        self.delegate.confirm_no_escalation(attributes, requested, arena, object, old)
    }

    fn confirm_create(&self, attributes: &Attributes<'_>, requested: &str) -> Result<(), Status> {
        self.delegate.confirm_create(attributes, requested)
    }

    fn validate(
        &self,
        attributes: &Attributes<'_>,
        arena: &Bump,
        object: Option<&Value<'_>>,
        old: Option<&Value<'_>>,
    ) -> Result<(), Status> {
        self.check(attributes)?;
        self.delegate.validate(attributes, arena, object, old)
    }

    fn survey(
        &self,
        attributes: &Attributes<'_>,
        object: &Value<'_>,
        old: &Value<'_>,
    ) -> Option<Box<dyn Survey>> {
        self.delegate.survey(attributes, object, old)
    }

    fn dynamic(&self) -> Option<Arc<DynamicPlugins>> {
        self.delegate.dynamic()
    }

    fn may_pass_soon(&self, refusal: &Status) -> bool {
        self.delegate.may_pass_soon(refusal)
    }

    fn charge(
        &self,
        attributes: &Attributes<'_>,
        arena: &Bump,
        object: &Value<'_>,
        old: Option<&Value<'_>>,
    ) -> Result<Vec<Write>, Status> {
        self.delegate.charge(attributes, arena, object, old)
    }
}
