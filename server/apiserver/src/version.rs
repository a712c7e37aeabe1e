//! `/version`: which release of Kubernetes the server stands for.

use bytes::Bytes;
use ringbolt_machinery::status::Status;
use ringbolt_protocol::head::Head;

use crate::{
    response::{JSON, Outcome, Response},
    response_writers,
    routes::RouteTableBuilder,
};

/// Major version.
pub const MAJOR: &str = "1";
/// Minor version.
pub const MINOR: &str = "37";
/// The oldest minor version whose API this release still serves.
pub const MIN_COMPATIBILITY_MINOR: &str = "36";
/// Full version. Clients parse it as a semantic version; what follows the `+` is build metadata to them.
pub const GIT_VERSION: &str = concat!("v1.37.2+ringbolt.", env!("CARGO_PKG_VERSION"));
/// `goVersion` says what built the server; clients only show it.
pub const COMPILER: &str = "rustc";
/// Date of the build in RFC 3339; builds are reproducible, so it is the epoch.
pub const BUILD_DATE: &str = "1970-01-01T00:00:00Z";

/// Operating system and processor architecture by their Go names.
pub fn platform() -> String {
    let architecture = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    format!("{}/{architecture}", std::env::consts::OS)
}

/// The Rust release, where `goVersion` stands.
pub fn language_version() -> String {
    format!("rust{}", env!("CARGO_PKG_RUST_VERSION"))
}

/// The document: `version.Info`, indented.
fn document() -> String {
    let fields = [
        ("major", MAJOR.to_owned()),
        ("minor", MINOR.to_owned()),
        ("emulationMajor", MAJOR.to_owned()),
        ("emulationMinor", MINOR.to_owned()),
        ("minCompatibilityMajor", MAJOR.to_owned()),
        ("minCompatibilityMinor", MIN_COMPATIBILITY_MINOR.to_owned()),
        ("gitVersion", GIT_VERSION.to_owned()),
        ("gitCommit", String::new()),
        ("gitTreeState", String::new()),
        ("buildDate", BUILD_DATE.to_owned()),
        ("goVersion", language_version()),
        ("compiler", COMPILER.to_owned()),
        ("platform", platform()),
    ];
    let lines: Vec<String> = fields.iter().map(|(key, value)| format!("  \"{key}\": \"{value}\"")).collect();
    format!("{{\n{}\n}}", lines.join(",\n"))
}

/// Puts `/version` on the route table.
pub fn install(routes: &mut RouteTableBuilder) {
    let document = Bytes::from(document());
    let slashed = document.clone();
    // An API of its own in the real server: `/version` is in no list of paths' way, `/version/x` gets a Status.
    routes.root("/version");
    routes.unlisted_path("/version/", move |request| serve(request.head, &slashed));
    routes.path("/version", move |request| serve(request.head, &document));
}

fn serve(head: &Head<'_>, document: &Bytes) -> Outcome {
    let refused = |status: &Status| Outcome::Ready(response_writers::error(head, status));
    if head.method != "GET" {
        return refused(&Status::method_not_allowed());
    }
    if let Err(status) = response_writers::check_accept(head, JSON) {
        return refused(&status);
    }
    Outcome::Ready(Response::new(200, JSON, document.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn document_has_all_fields() {
        let document = document();
        assert!(
            document
                .starts_with("{\n  \"major\": \"1\",\n  \"minor\": \"37\",\n  \"emulationMajor\": \"1\",")
        );
        assert!(document.contains("\n  \"gitVersion\": \"v1.37.2+ringbolt."));
        assert!(document.ends_with("\"\n}"));
        assert_eq!(document.matches("\": \"").count(), 13);
    }
}
