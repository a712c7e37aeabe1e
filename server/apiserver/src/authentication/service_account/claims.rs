//! What a token says: who it is for, how long, whom it stands for, and what it is bound to.

use std::fmt;

use ringbolt_machinery::{
    json::quote::{write_int, write_string},
    value::{Map, Value},
};

/// An object that a token names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reference {
    /// Name.
    pub name: String,
    /// Identifier; empty for a node that is not there.
    pub uid: String,
}

/// The claims of a token that this server issues. Times are seconds since the epoch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claims {
    /// `iss`
    pub issuer: String,
    /// `aud`
    pub audiences: Vec<String>,
    /// `exp`
    pub expires: Option<i64>,
    /// `nbf`
    pub not_before: Option<i64>,
    /// `iat`
    pub issued: Option<i64>,
    /// `jti`
    pub id: String,
    /// `sub`
    pub subject: String,
    /// Namespace of the account.
    pub namespace: String,
    /// The account.
    pub account: Reference,
    /// The pod that the token lives no longer than.
    pub pod: Option<Reference>,
    /// The secret that the token lives no longer than.
    pub secret: Option<Reference>,
    /// The node that the token lives no longer than; with a pod, the node that it runs on.
    pub node: Option<Reference>,
    /// From when on the token is used longer than it was asked for.
    pub warn_after: Option<i64>,
    /// It is bound to the configuration of a webhook, as servers with an alpha gate issue them.
    pub for_webhook: bool,
}

/// A number of seconds; fractions count for nothing. What is no number is an error, and what is none of 64 bits is long
/// past, as it is for Go.
fn seconds(payload: &Map<'_>, claim: &str) -> Result<Option<i64>, BadClaim> {
    const BEYOND: f64 = 9_223_372_036_854_775_808.0;
    let seconds = match payload.get(claim) {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Int(seconds)) => *seconds as f64,
        Some(Value::Float(seconds)) => *seconds,
        Some(_) => return Err(BadClaim::Date),
    };
    Ok(Some(if seconds.abs() < BEYOND { seconds as i64 } else { i64::MIN }))
}

/// A claim of the wrong kind: the token counts for nothing, whoever signed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BadClaim {
    /// A time is no number.
    Date,
    /// The audiences are neither a text nor a list of texts.
    Audiences,
    /// Something else is not what it should be (a Go type); what it is.
    Other(&'static str, &'static str),
}

impl fmt::Display for BadClaim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadClaim::Date => {
                f.write_str("go-jose/go-jose/jwt: expected number value to unmarshal NumericDate")
            }
            BadClaim::Audiences => {
                f.write_str("go-jose/go-jose/jwt: expected string or array value to unmarshal to Audience")
            }
            BadClaim::Other(found, wanted) => {
                write!(f, "json: cannot unmarshal {found} into Go value of type {wanted}")
            }
        }
    }
}

/// What a value is, in Go's words.
fn kind(value: &Value<'_>) -> &'static str {
    match value {
        Value::Bool(_) => "bool",
        Value::Int(_) | Value::Float(_) => "number",
        Value::String(_) => "string",
        Value::List(_) => "array",
        _ => "object",
    }
}

/// A text claim, empty where there is none.
pub(super) fn text(payload: &Map<'_>, claim: &str) -> Result<String, BadClaim> {
    match payload.get(claim) {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::String(text)) => Ok((*text).to_owned()),
        Some(other) => Err(BadClaim::Other(kind(other), "string")),
    }
}

/// An object claim, where there is one.
fn object<'m, 'a>(
    payload: &'m Map<'a>,
    claim: &str,
    wanted: &'static str,
) -> Result<Option<&'m Map<'a>>, BadClaim> {
    match payload.get(claim) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Map(map)) => Ok(Some(map)),
        Some(other) => Err(BadClaim::Other(kind(other), wanted)),
    }
}

fn audiences(payload: &Map<'_>) -> Result<Vec<String>, BadClaim> {
    match payload.get("aud") {
        None => Ok(Vec::new()),
        Some(Value::String(one)) => Ok(vec![(*one).to_owned()]),
        Some(Value::List(all)) => {
            let texts = all.iter().map(|one| one.as_str().map(str::to_owned));
            texts.collect::<Option<_>>().ok_or(BadClaim::Audiences)
        }
        Some(_) => Err(BadClaim::Audiences),
    }
}

impl Claims {
    /// Reads what every token says, from a payload whose signature is good.
    pub(super) fn read_public(payload: &Map<'_>) -> Result<Claims, BadClaim> {
        Ok(Claims {
            issuer: text(payload, "iss")?,
            subject: text(payload, "sub")?,
            audiences: audiences(payload)?,
            expires: seconds(payload, "exp")?,
            not_before: seconds(payload, "nbf")?,
            issued: seconds(payload, "iat")?,
            id: text(payload, "jti")?,
            ..Claims::default()
        })
    }

    /// The same with what tokens of accounts say besides.
    pub(super) fn read(payload: &Map<'_>) -> Result<Claims, BadClaim> {
        let public = Claims::read_public(payload)?;
        let Some(own) = object(payload, "kubernetes.io", "serviceaccount.kubernetes")? else {
            return Ok(public);
        };
        let reference = |member: &str| match object(own, member, "serviceaccount.ref")? {
            Some(map) => Ok(Some(Reference { name: text(map, "name")?, uid: text(map, "uid")? })),
            None => Ok(None),
        };
        Ok(Claims {
            namespace: text(own, "namespace")?,
            account: reference("serviceaccount")?.unwrap_or_default(),
            pod: reference("pod")?,
            secret: reference("secret")?,
            node: reference("node")?,
            for_webhook: reference("validatingwebhookconfiguration")?.is_some()
                || reference("mutatingwebhookconfiguration")?.is_some(),
            warn_after: seconds(own, "warnafter")?,
            ..public
        })
    }

    /// The payload: members in the order of their names, as kube-apiserver writes them.
    pub(super) fn write(&self) -> Vec<u8> {
        let mut out = Object::new();
        out.member("aud", |out| {
            out.push(b'[');
            for (at, audience) in self.audiences.iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                write_string(out, audience);
            }
            out.push(b']');
        });
        out.seconds("exp", self.expires);
        out.seconds("iat", self.issued);
        out.text("iss", &self.issuer);
        out.text("jti", &self.id);
        out.member("kubernetes.io", |out| {
            let mut own = Object::new();
            own.text("namespace", &self.namespace);
            own.reference("node", self.node.as_ref());
            own.reference("pod", self.pod.as_ref());
            own.reference("secret", self.secret.as_ref());
            own.reference("serviceaccount", Some(&self.account));
            own.seconds("warnafter", self.warn_after);
            out.extend(own.end());
        });
        out.seconds("nbf", self.not_before);
        out.text("sub", &self.subject);
        out.end()
    }
}

/// A JSON object being written; what is empty is left out.
struct Object(Vec<u8>);

impl Object {
    fn new() -> Self {
        Object(vec![b'{'])
    }

    fn member(&mut self, name: &str, value: impl FnOnce(&mut Vec<u8>)) {
        if self.0.len() > 1 {
            self.0.push(b',');
        }
        write_string(&mut self.0, name);
        self.0.push(b':');
        value(&mut self.0);
    }

    fn text(&mut self, name: &str, value: &str) {
        if !value.is_empty() {
            self.member(name, |out| write_string(out, value));
        }
    }

    fn seconds(&mut self, name: &str, value: Option<i64>) {
        if let Some(value) = value {
            self.member(name, |out| write_int(out, value));
        }
    }

    fn reference(&mut self, name: &str, to: Option<&Reference>) {
        if let Some(to) = to {
            self.member(name, |out| {
                let mut map = Object::new();
                map.text("name", &to.name);
                map.text("uid", &to.uid);
                out.extend(map.end());
            });
        }
    }

    fn end(mut self) -> Vec<u8> {
        self.0.push(b'}');
        self.0
    }
}
