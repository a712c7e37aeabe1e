//! Tokens of service accounts, as pods show them.

use std::sync::Arc;

use ringbolt_apiserver::authentication::service_account::{
    BoundKinds, Claims, Issuer, Reference, ServiceAccountTokens,
    keys::{PublicKey, SigningKey},
};
use ringbolt_controlplane::registry::Registry;
use ringbolt_machinery::scan;
use ringbolt_storage::object::Object;

/// Who issues them, and whom they are for.
const ISSUER: &str = "https://kubernetes.default.svc";
/// A time that no measurement sees the end of.
const EXPIRES: i64 = 1 << 40;

/// The key of a server.
pub(crate) struct Key(String);

impl Key {
    /// A new one.
    pub(crate) fn new() -> Key {
        Key(rcgen::KeyPair::generate().expect("there is randomness").serialize_pem())
    }

    /// What a server with these resources knows of tokens.
    pub(crate) fn tokens(&self, registry: &Registry) -> ServiceAccountTokens {
        let stored = |resource| registry.find("", "v1", resource).expect("it is built in").stored;
        ServiceAccountTokens {
            issuers: vec![ISSUER.to_owned()],
            keys: PublicKey::read_all(self.0.as_bytes()).expect("it was written as one"),
            audiences: Arc::from([ISSUER.to_owned()]),
            lookup: true,
            issuer: self.issuer(),
            kinds: BoundKinds {
                service_accounts: stored("serviceaccounts"),
                pods: stored("pods"),
                secrets: stored("secrets"),
                nodes: stored("nodes"),
            },
            uses: Arc::default(),
            counts: Arc::default(),
        }
    }

    fn issuer(&self) -> Issuer {
        Issuer {
            key: SigningKey::read(self.0.as_bytes()).expect("it was written as one"),
            name: ISSUER.to_owned(),
            longest_seconds: 0,
            extends: true,
        }
    }

    /// The token that a kubelet gives to a pod.
    pub(crate) fn sign(&self, account: &Object, pod: &Object) -> String {
        let claims = Claims {
            audiences: vec![ISSUER.to_owned()],
            expires: Some(EXPIRES),
            id: "0b7e1a7e-8f1c-4d3e-9a55-0a1b2c3d4e5f".to_owned(),
            subject: format!("system:serviceaccount:default:{}", account.name()),
            namespace: "default".to_owned(),
            account: reference(account),
            pod: Some(reference(pod)),
            ..Claims::default()
        };
        self.issuer().sign(claims).expect("there is randomness")
    }
}

fn reference(object: &Object) -> Reference {
    let uid = scan::scalar(&object.json, &["metadata", "uid"]).expect("every object has one");
    Reference { name: object.name().to_owned(), uid: uid.into_owned() }
}
