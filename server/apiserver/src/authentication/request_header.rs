//! A front proxy in front of this server: it has authenticated the client, and says in headers who that is.

use std::{collections::BTreeMap, sync::Arc};

use ringbolt_protocol::{head::Head, path};

use super::{
    UserInfo,
    current::Current,
    peer::{Bad, Peer},
    x509::{CertificateError, ClientCertificates},
};

/// Which headers are read (`RequestHeaderConfig`). Names are as the flags have them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestHeaderConfig {
    /// `--requestheader-allowed-names`: common names of proxies; none for all.
    pub allowed_names: Vec<String>,
    /// `--requestheader-username-headers`: the first that is there counts.
    pub username_headers: Vec<String>,
    /// `--requestheader-uid-headers`: the first that is there counts.
    pub uid_headers: Vec<String>,
    /// `--requestheader-group-headers`: all values of all of them count.
    pub group_headers: Vec<String>,
    /// `--requestheader-extra-headers-prefix`: what comes after it is a key.
    pub extra_header_prefixes: Vec<String>,
}

/// Believes what front proxies say.
#[derive(Debug)]
pub struct RequestHeader {
    /// `--requestheader-client-ca-file`: who proves that a proxy is one.
    pub trust: Arc<Current<ClientCertificates>>,
    config: RequestHeaderConfig,
}

impl RequestHeader {
    /// Believes the proxies that `trust` knows.
    pub fn new(trust: Arc<Current<ClientCertificates>>, config: &RequestHeaderConfig) -> Self {
        let lower = |names: &[String]| names.iter().map(|name| name.to_ascii_lowercase()).collect();
        RequestHeader {
            trust,
            config: RequestHeaderConfig {
                allowed_names: config.allowed_names.clone(),
                username_headers: lower(&config.username_headers),
                uid_headers: lower(&config.uid_headers),
                group_headers: lower(&config.group_headers),
                extra_header_prefixes: lower(&config.extra_header_prefixes),
            },
        }
    }

    /// Whether a header, by its name in lower case, is looked at.
    pub(super) fn reads(&self, name: &str) -> bool {
        self.config.reads(name)
    }

    /// Whom a proxy asks for; `None` where no proxy asks, or for nobody.
    pub(super) fn authenticate(
        &self,
        peer: &Peer,
        head: &Head<'_>,
        now: i64,
    ) -> Result<Option<Arc<UserInfo>>, Bad> {
        if peer.certificates.is_empty() {
            return Ok(None);
        }
        peer.front_proxy.by(&self.trust, now, |authorities| {
            let verified = authorities.verify(&peer.certificates, now)?;
            let names = &self.config.allowed_names;
            if names.is_empty() || names.contains(&verified.common_name) {
                Ok(((), verified.not_after))
            } else {
                Err(CertificateError::NotAllowed(verified.common_name))
            }
        })?;
        Ok(self.config.user(head).map(Arc::new))
    }
}

impl RequestHeaderConfig {
    /// Whether a header is one of these, all being in lower case.
    fn reads(&self, name: &str) -> bool {
        let names = self.username_headers.iter().chain(&self.uid_headers).chain(&self.group_headers);
        names.into_iter().any(|known| known == name)
            || self.extra_header_prefixes.iter().any(|prefix| name.starts_with(&**prefix))
    }

    /// The user that the headers name.
    fn user(&self, head: &Head<'_>) -> Option<UserInfo> {
        let name = first_value(head, &self.username_headers)?;
        let groups = self.group_headers.iter().flat_map(|name| head.headers_named(name));
        let user = UserInfo {
            name,
            uid: first_value(head, &self.uid_headers).unwrap_or_default(),
            groups: groups.filter(|value| !value.is_empty()).map(text).collect(),
            extra: self.extra(head),
        };
        Some(user.authenticated())
    }

    fn extra(&self, head: &Head<'_>) -> Vec<(String, Vec<String>)> {
        let mut extra: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for prefix in &self.extra_header_prefixes {
            for (name, value) in head.fields() {
                let start = name.get(..prefix.len());
                if start.is_some_and(|start| start.eq_ignore_ascii_case(prefix.as_bytes())) {
                    extra.entry(key(&name[prefix.len()..])).or_default().push(text(value));
                }
            }
        }
        extra.into_iter().collect()
    }
}

/// The first value of the first header that has one.
fn first_value(head: &Head<'_>, names: &[String]) -> Option<String> {
    names.iter().find_map(|name| head.header(name).filter(|value| !value.is_empty())).map(text)
}

fn text(value: &[u8]) -> String {
    String::from_utf8_lossy(value).into_owned()
}

/// The key of an extra: lower case, and escaped as in a path so that all of it can be a header's name. A name that is
/// not escaped well stands for itself.
fn key(name: &[u8]) -> String {
    let name = text(name).to_ascii_lowercase();
    let mut scratch = Vec::new();
    match path::decode(&name, &mut scratch) {
        Ok(key) => key.to_owned(),
        Err(_) => name,
    }
}

#[cfg(test)]
#[path = "request_header_tests.rs"]
mod tests;
