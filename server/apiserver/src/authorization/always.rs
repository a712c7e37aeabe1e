//! Authorizers that look at nothing: everything is allowed, or nothing.

use ringbolt_protocol::request_info::RequestInfo;

use super::{Authorizer, Decision, Rules};
use crate::authentication::UserInfo;

/// Allows everything.
#[derive(Clone, Copy, Debug)]
pub struct AlwaysAllow;

impl Authorizer for AlwaysAllow {
    fn authorize(&self, _: &UserInfo, _: &str, _: &RequestInfo<'_>) -> Decision {
        Decision::Allow
    }

    fn rules_for(&self, _: &UserInfo, _: &str, rules: &mut Rules) {
        rules.allow_everything();
    }
}

/// Allows nothing.
#[derive(Clone, Copy, Debug)]
pub struct AlwaysDeny;

impl Authorizer for AlwaysDeny {
    fn authorize(&self, _: &UserInfo, _: &str, _: &RequestInfo<'_>) -> Decision {
        Decision::NoOpinion("alwaysdeny: Everything is forbidden.".to_owned())
    }

    fn rules_for(&self, _: &UserInfo, _: &str, _: &mut Rules) {}
}
