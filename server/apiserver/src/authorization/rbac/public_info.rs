//! What everyone may see, for a server without stored roles.

use ringbolt_protocol::request_info::RequestInfo;

use crate::{
    authentication::{UserInfo, user::SYSTEM_PRIVILEGED},
    authorization::{Authorizer, Decision, Rules},
};

/// The paths of the bootstrap role `system:public-info-viewer`.
const PUBLIC_PATHS: [&str; 5] = ["/healthz", "/livez", "/readyz", "/version", "/version/"];

/// Roles and bindings of a server that has none stored: what the bootstrap policy gives to everyone, and to its
/// administrators.
#[derive(Clone, Copy, Debug)]
pub struct PublicInfo;

impl Authorizer for PublicInfo {
    fn authorize(&self, _: &UserInfo, verb: &str, info: &RequestInfo<'_>) -> Decision {
        if !info.is_resource_request && verb == "get" && PUBLIC_PATHS.contains(&info.path) {
            Decision::Allow
        } else {
            Decision::NoOpinion(String::new())
        }
    }

    fn rules_for(&self, user: &UserInfo, _: &str, rules: &mut Rules) {
        if user.is_in_group(SYSTEM_PRIVILEGED) {
            rules.allow_everything();
        }
        let paths = PUBLIC_PATHS.map(str::to_owned).to_vec();
        rules.non_resource.push((vec!["get".to_owned()], paths));
    }
}
