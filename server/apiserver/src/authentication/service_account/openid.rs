//! OpenID Connect discovery: how others check tokens of this server without asking it.

use bytes::Bytes;
use ringbolt_machinery::{json::quote::write_string, status::Status};

use super::keys::PublicKey;
use crate::{
    request::Request,
    response::{JSON, Outcome, Response},
    response_writers,
    routes::RouteTableBuilder,
};

/// Where the provider says what it is.
const CONFIGURATION_PATH: &str = "/.well-known/openid-configuration";
/// Where its keys are.
pub const KEYS_PATH: &str = "/openid/v1/jwks";
/// A key is there at least this long before tokens are signed with it.
const CACHE_CONTROL: &str = "public, max-age=3600";

/// Both documents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metadata {
    configuration: String,
    keys: String,
}

impl Metadata {
    /// What the provider `issuer` publishes, its keys found at `keys_uri`.
    ///
    /// # Errors
    /// The issuer is no URL that the specification allows. Tokens are fine with it; nothing is published.
    pub fn new(issuer: &str, keys_uri: &str, keys: &[PublicKey]) -> Result<Metadata, String> {
        if !issuer.starts_with("https://") {
            return Err(format!("issuer URL must use https scheme, got: {issuer}"));
        }
        for (mark, what) in [('?', "query"), ('#', "fragment")] {
            if issuer.contains(mark) {
                return Err(format!("issuer URL may not include a {what}, got: {issuer}"));
            }
        }
        let mut algorithms: Vec<&str> = keys.iter().map(PublicKey::algorithm).collect();
        algorithms.sort_unstable();
        algorithms.dedup();
        let quoted = |text: &str| {
            let mut out = Vec::new();
            write_string(&mut out, text);
            String::from_utf8_lossy(&out).into_owned()
        };
        let algorithms: Vec<_> = algorithms.into_iter().map(quoted).collect();
        let configuration = format!(
            r#"{{"issuer":{},"jwks_uri":{},"response_types_supported":["id_token"],"subject_types_supported":["public"],"id_token_signing_alg_values_supported":[{}]}}"#,
            quoted(issuer),
            quoted(keys_uri),
            algorithms.join(",")
        );
        let keys: Vec<_> = keys.iter().map(PublicKey::json_web_key).collect();
        Ok(Metadata { configuration, keys: format!(r#"{{"keys":[{}]}}"#, keys.join(",")) })
    }

    /// Puts both on the route table.
    pub fn install(self, routes: &mut RouteTableBuilder) {
        let documents = [
            (CONFIGURATION_PATH, JSON, self.configuration),
            (KEYS_PATH, "application/jwk-set+json", self.keys),
        ];
        for (path, content_type, document) in documents {
            let document = Bytes::from(document);
            let slashed = document.clone();
            routes.unlisted_path(format!("{path}/"), move |request| serve(request, content_type, &slashed));
            routes.path(path, move |request| serve(request, content_type, &document));
        }
    }
}

fn serve(request: &Request<'_>, content_type: &'static str, document: &Bytes) -> Outcome {
    let may = match request.head.method {
        "GET" => response_writers::check_accept(request.head, content_type),
        _ => Err(Status::method_not_allowed()),
    };
    if let Err(status) = may {
        return Outcome::Ready(response_writers::error(request.head, &status));
    }
    let mut response = Response::new(200, content_type, document.clone());
    response.headers.push(("cache-control", CACHE_CONTROL.to_owned()));
    Outcome::Ready(response)
}
