//! Who may speak for a signer of certificates, and what no certificate may say.

use std::sync::Arc;

use ringbolt_apiserver::{
    authentication::UserInfo,
    authorization::{Authorizer, Authorizers, Decision, Rules},
};
use ringbolt_protocol::request_info::RequestInfo;

use super::admission::{Rig, rig_with};

/// Allows one verb on one name of signers.
struct May(&'static str, &'static str);

impl Authorizer for May {
    fn authorize(&self, _: &UserInfo, verb: &str, info: &RequestInfo<'_>) -> Decision {
        assert_eq!(
            (info.is_resource_request, info.api_group, info.api_version, info.resource, info.namespace),
            (true, "certificates.k8s.io", "*", "signers", "")
        );
        if (verb, info.name) == (self.0, self.1) {
            Decision::Allow
        } else {
            Decision::NoOpinion("no".to_owned())
        }
    }

    fn rules_for(&self, _: &UserInfo, _: &str, _: &mut Rules) {}
}

const REQUESTS: &str = "certificates.k8s.io/v1/certificatesigningrequests";
const BUNDLES: &str = "certificates.k8s.io/v1/clustertrustbundles";
const ALL: [&str; 4] = ["example.com/*", "example.com/s", "example.org/*", "kubernetes.io/s"];

fn rig(verb: &'static str, name: &'static str) -> Rig {
    rig_with(&["ServiceAccount"], Authorizers::new(vec![Arc::new(May(verb, name))]))
}

/// The message of the refusal; empty where it passes.
fn refusal(rig: &Rig, resource: &str, part: &'static str, text: &str, old: Option<&str>) -> String {
    match rig.write_part(resource, part, text, old) {
        Ok(_) => String::new(),
        Err(status) => {
            assert_eq!(status.code, 403, "{}", status.message);
            status.message
        }
    }
}

fn request(signer: &str, status: &str) -> String {
    format!(r#"{{"metadata":{{"name":"a"}},"spec":{{"signerName":"{signer}"}},"status":{{{status}}}}}"#)
}

const APPROVED: &str = r#""conditions":[{"type":"Approved","status":"True"}]"#;

#[test]
fn approval() {
    let check = |verb, name, part, was: &str, expect: bool| {
        // Who asks for another signer is held to the one that is stored.
        let (old, new) = (request(was, ""), request("example.org/other", APPROVED));
        let found = refusal(&rig(verb, name), REQUESTS, part, &new, Some(&old));
        let why = format!(
            r#"certificatesigningrequests.certificates.k8s.io "a" is forbidden: user not permitted to approve requests with signerName "{was}""#
        );
        assert_eq!(found, if expect { "" } else { &why }, "{verb} {name} {part}");
    };
    for name in ALL {
        check("approve", name, "approval", "example.com/s", name.starts_with("example.com"));
    }
    check("sign", "example.com/s", "approval", "example.com/s", false);
    check("sign", "example.com/s", "", "example.com/s", true);
}

#[test]
fn signing() {
    let check = |verb, name, was: &str, is: &str, expect: bool| {
        let (old, new) = (request("example.com/s", was), request("example.com/s", is));
        let found = refusal(&rig(verb, name), REQUESTS, "status", &new, Some(&old));
        let why = r#"certificatesigningrequests.certificates.k8s.io "a" is forbidden: user not permitted to sign requests with signerName "example.com/s""#;
        assert_eq!(found, if expect { "" } else { why }, "{verb} {name} {is}");
    };
    let certificate = r#""certificate":"YQ==""#;
    for name in ALL {
        let may = name.starts_with("example.com");
        check("sign", name, "", certificate, may);
        check("sign", name, "", APPROVED, may);
    }
    check("approve", "example.com/s", "", certificate, false);
    check("none", "", "", "", true);
    check("none", "", APPROVED, APPROVED, true);
    check("none", "", certificate, certificate, true);
}

#[test]
fn attesting() {
    let bundle = |meta: &str, signer: &str, bundle: &str| {
        format!(
            r#"{{"metadata":{{"name":"a"{meta}}},"spec":{{"signerName":"{signer}","trustBundle":"{bundle}"}}}}"#
        )
    };
    let check = |verb, name, new: &str, old: Option<&str>, expect: bool| {
        let found = refusal(&rig(verb, name), BUNDLES, "", new, old);
        let why = r#"clustertrustbundles.certificates.k8s.io "a" is forbidden: user not permitted to attest for signerName "example.com/s""#;
        assert_eq!(found, if expect { "" } else { why }, "{verb} {name} {new}");
    };
    let first = bundle("", "example.com/s", "x");
    for name in ALL {
        let may = name.starts_with("example.com");
        check("attest", name, &first, None, may);
        check("attest", name, &bundle("", "example.com/s", "y"), Some(&first), may);
    }
    check("none", "", &bundle("", "", "x"), None, true);
    check(
        "none",
        "",
        &bundle(r#","finalizers":["example.com/f"]"#, "example.com/s", "x"),
        Some(&first),
        true,
    );
    check("none", "", &bundle(r#","labels":{"a":"b"}"#, "example.com/s", "x"), Some(&first), false);
    check("none", "", &bundle(r#","annotations":{}"#, "example.com/s", "x"), Some(&first), true);
}

/// Certificate requests: of `x` in the groups `dev` and `system:masters`, of `x` in `system:masters` as texts of two
/// bytes a character, of `x` in `dev`.
const MASTERS: &str = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIdU1JR1ZBZ0VBTURNeEREQUtCZ05WQkFvTUEyUmxkakVYTUJVR0ExVUVDZ3dPYzNsemRHVnRPbTFoYzNSbApjbk14Q2pBSUJnTlZCQU1NQVhnd1dUQVRCZ2NxaGtqT1BRSUJCZ2dxaGtqT1BRTUJCd05DQUFTaVdpUjRhbUNjCjkrZzB0S24zL2s2WkpVbmgybXZHaG82cnNvRzJIREpaZHZmbUVNMU1BekgzbU94UnFvcG1zbGt2azN6RkFTb3AKNDRvYUJvS1FkQktXb0FBd0NnWUlLb1pJemowRUF3SURTQUF3UlFJZ2ZjNytnZThiS0RScE40YkF1UXViSFhYNQppVDNjUDhmUXAzUjAycE9GcmRvQ0lRRFRNb1JJbjZ6aGs0elQwQUtHbEp6MGh5M1F6SnNBRlRwb21FWkx3R3FFCkVRPT0KLS0tLS1FTkQgQ0VSVElGSUNBVEUgUkVRVUVTVC0tLS0tCg==";
const MASTERS_WIDE: &str = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlId01JR1dBZ0VBTURReEpUQWpCZ05WQkFvZUhBQnpBSGtBY3dCMEFHVUFiUUE2QUcwQVlRQnpBSFFBWlFCeQpBSE14Q3pBSkJnTlZCQU1lQWdCNE1Ga3dFd1lIS29aSXpqMENBUVlJS29aSXpqMERBUWNEUWdBRW9sb2tlR3BnCm5QZm9OTFNwOS81T21TVko0ZHByeG9hT3E3S0J0aHd5V1hiMzVoRE5UQU14OTVqc1VhcUtackpaTDVOOHhRRXEKS2VPS0dnYUNrSFFTbHFBQU1Bb0dDQ3FHU000OUJBTUNBMGtBTUVZQ0lRREMwV3E3UWlYQk1QbnFNcWoxTHZadAozdTdKMUI0dWY2dU1xUDBQVElWcHpBSWhBS05rNEozdEhadEQzenhrdVA1Z3RvM3NNTlI5a005SSsxVGcvU012CmgvcnoKLS0tLS1FTkQgQ0VSVElGSUNBVEUgUkVRVUVTVC0tLS0tCg==";
const DEVELOPER: &str = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIVU1Id0NBUUF3R2pFTU1Bb0dBMVVFQ2d3RFpHVjJNUW93Q0FZRFZRUUREQUY0TUZrd0V3WUhLb1pJemowQwpBUVlJS29aSXpqMERBUWNEUWdBRW9sb2tlR3BnblBmb05MU3A5LzVPbVNWSjRkcHJ4b2FPcTdLQnRod3lXWGIzCjVoRE5UQU14OTVqc1VhcUtackpaTDVOOHhRRXFLZU9LR2dhQ2tIUVNscUFBTUFvR0NDcUdTTTQ5QkFNQ0EwZ0EKTUVVQ0lFajJsdzZwS0hTbmI4VWowcGhyZ0lNVEdCd3d0dERwcmNiMDVMZURLakhVQWlFQW5xWStVckNOa1RLcwpCQVJScDJlV29rWnNwOVB1MlFiVjNGNFdnb0ZUZlZvPQotLS0tLUVORCBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0K";

#[test]
fn subjects() {
    let check = |signer: &str, request: &str, expect: &str| {
        let text = format!(
            r#"{{"metadata":{{"name":"a"}},"spec":{{"signerName":"{signer}","request":"{request}"}}}}"#
        );
        let found = refusal(&rig("none", ""), REQUESTS, "", &text, None);
        assert_eq!(found, expect, "{signer}");
    };
    let client = "kubernetes.io/kube-apiserver-client";
    let refused = "certificatesigningrequests.certificates.k8s.io \"a\" is forbidden: use of \
                   kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed";
    check(client, DEVELOPER, "");
    check(client, MASTERS, refused);
    check(client, MASTERS_WIDE, refused);
    check("example.com/s", MASTERS, "");
    check(
        client,
        "eA==",
        "certificatesigningrequests.certificates.k8s.io \"a\" is forbidden: failed to parse CSR: PEM block type must \
         be CERTIFICATE REQUEST",
    );
}
