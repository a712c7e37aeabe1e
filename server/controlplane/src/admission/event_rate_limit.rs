//! EventRateLimit: how many events per second are taken, from everybody, of a namespace, from a user, or about one thing
//! from one source.

use std::{
    collections::{BTreeMap, HashMap},
    hash::{BuildHasher as _, RandomState},
    sync::{Mutex, PoisonError},
    time::Instant,
};

use bumpalo::Bump;
use ringbolt_apiserver::admission::{Attributes, Operation};
use ringbolt_machinery::{
    field::{FieldError, Verbatim, child, index},
    status::{Reason, Status},
    value::Value,
};

use super::configuration::{Kind, Shape};
use crate::{limits::EVENT_BUCKETS, tree::Members};

const KIND: Kind = Kind {
    group: "eventratelimit.admission.k8s.io",
    versions: &["v1alpha1"],
    kind: "Configuration",
    is_strict: false,
    fields: &[(
        "limits",
        Shape::List(&Shape::Fields(&[
            ("type", Shape::Text),
            ("qps", Shape::Int),
            ("burst", Shape::Int),
            ("cacheSize", Shape::Int),
        ])),
    )],
};

/// Whose events share a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LimitType {
    Server,
    Namespace,
    User,
    SourceAndObject,
}

impl LimitType {
    const ALL: [(&str, LimitType); 4] = [
        ("Namespace", LimitType::Namespace),
        ("Server", LimitType::Server),
        ("SourceAndObject", LimitType::SourceAndObject),
        ("User", LimitType::User),
    ];

    fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, ty)| *ty == self).map_or("", |(name, _)| name)
    }

    /// The bucket of an event.
    fn key(self, attributes: &Attributes<'_>, event: &Value<'_>) -> String {
        match self {
            LimitType::Server => String::new(),
            LimitType::Namespace => attributes.namespace.to_owned(),
            LimitType::User => attributes.user.name.to_string(),
            LimitType::SourceAndObject => {
                let source = ["component", "host"].map(|name| event.str_at(&["source", name]));
                let object = ["kind", "namespace", "name", "uid", "apiVersion"];
                let object = object.map(|name| event.str_at(&["involvedObject", name]));
                source.into_iter().chain(object).flatten().collect()
            }
        }
    }
}

/// One limit.
#[derive(Clone, Copy, Debug)]
struct Limit {
    ty: LimitType,
    /// Events a second.
    rate: f64,
    /// Events at once.
    burst: f64,
    /// Buckets that are kept.
    buckets: usize,
}

/// What events are limited to.
#[derive(Clone, Debug, Default)]
pub(super) struct Configuration(Vec<Limit>);

impl Configuration {
    /// Reads one. Without a text there are no limits, which is wrong as well.
    pub(super) fn read(text: Option<&[u8]>) -> Result<Self, String> {
        let arena = Bump::new();
        let object = text.map(|text| KIND.read(&arena, text)).transpose()?.unwrap_or(Value::Null);
        let limits = object.as_map().map_or(&[][..], |object| object.items("limits"));
        let (mut read, mut errors) = (Vec::new(), Vec::new());
        if limits.is_empty() {
            let none = if object.path(&["limits"]).is_some_and(|l| !l.is_null()) { "[]" } else { "null" };
            errors.push(FieldError::invalid("limits", Verbatim(none), "must not be empty"));
        }
        for (at, limit) in limits.iter().filter_map(Value::as_map).enumerate() {
            let path = index("limits", at);
            let number = |name: &str| limit.int(name).unwrap_or(0);
            let ty = LimitType::ALL.iter().find(|(name, _)| *name == limit.text("type"));
            if ty.is_none() {
                let names = LimitType::ALL.map(|(name, _)| name);
                errors.push(FieldError::not_supported(child(&path, "type"), limit.text("type"), &names));
            }
            for name in ["burst", "qps"].into_iter().filter(|name| number(name) <= 0) {
                errors.push(FieldError::invalid(child(&path, name), number(name), "must be positive"));
            }
            let size = number("cacheSize");
            if size < 0 && limit.text("type") != LimitType::Server.name() {
                errors.push(FieldError::invalid(child(&path, "cacheSize"), size, "must not be negative"));
            }
            let buckets = usize::try_from(size).ok().filter(|size| *size > 0).unwrap_or(EVENT_BUCKETS);
            if let Some((_, ty)) = ty {
                let (rate, burst) = (number("qps") as f64, number("burst") as f64);
                read.push(Limit { ty: *ty, rate, burst, buckets });
            }
        }
        match errors.as_slice() {
            [] => Ok(Configuration(read)),
            [one] => Err(one.to_string()),
            many => Err(format!("[{}]", many.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))),
        }
    }
}

/// The plugin.
pub(super) struct EventRateLimit {
    limits: Vec<(Limit, Mutex<Buckets>)>,
    started: Instant,
}

impl EventRateLimit {
    /// With full buckets.
    pub(super) fn new(configuration: &Configuration) -> Self {
        let limits = configuration.0.iter().map(|limit| (*limit, Mutex::default())).collect();
        EventRateLimit { limits, started: Instant::now() }
    }

    /// Takes an event out of every bucket it is in; refuses it where one is empty.
    pub(super) fn validate(
        &self,
        attributes: &Attributes<'_>,
        event: Option<&Value<'_>>,
    ) -> Result<(), Status> {
        let writes = matches!(attributes.operation, Operation::Create | Operation::Update);
        // Events of their own group are not counted, as in Kubernetes.
        let concerns = writes && !attributes.dry_run && attributes.is_part_of("", "events");
        let Some(event) = event.filter(|_| concerns) else { return Ok(()) };
        let now = self.started.elapsed().as_secs_f64();
        let mut reached = Vec::new();
        for (limit, buckets) in &self.limits {
            let key = limit.ty.key(attributes, event);
            // Events are few beside what a core does; the lock is held for one look-up.
            let mut buckets = buckets.lock().unwrap_or_else(PoisonError::into_inner);
            if !buckets.take(limit, &key, now) {
                reached.push(format!("limit reached on type {} for key {key}", limit.ty.name()));
            }
        }
        let why = match reached.as_slice() {
            [] => return Ok(()),
            [one] => one.clone(),
            many => format!("[{}]", many.join(", ")),
        };
        Err(Status::failure(429, Reason::TooManyRequests, format!("Too many requests: {why}")))
    }
}

/// The buckets of a limit, the least used going first where there are too many. Known by a hash of their keys, which may
/// be as long as a request: two that share one share a bucket.
#[derive(Default)]
struct Buckets {
    hasher: RandomState,
    by_key: HashMap<u64, Bucket>,
    by_use: BTreeMap<u64, u64>,
    uses: u64,
}

struct Bucket {
    tokens: f64,
    /// Seconds since the start when that was so.
    at: f64,
    /// When it was used last, in uses of all.
    used: u64,
}

impl Buckets {
    /// Takes a token out of a bucket, `now` seconds after the start; `false` where there is none.
    fn take(&mut self, limit: &Limit, key: &str, now: f64) -> bool {
        self.uses += 1;
        let key = self.hasher.hash_one(key);
        if let Some(bucket) = self.by_key.get(&key) {
            self.by_use.remove(&bucket.used);
        } else {
            while self.by_key.len() >= limit.buckets {
                let Some((_, least)) = self.by_use.pop_first() else { break };
                self.by_key.remove(&least);
            }
        }
        self.by_use.insert(self.uses, key);
        let full = || Bucket { tokens: limit.burst, at: now, used: 0 };
        let bucket = self.by_key.entry(key).or_insert_with(full);
        bucket.tokens = (bucket.tokens + (now - bucket.at).max(0.0) * limit.rate).min(limit.burst);
        (bucket.at, bucket.used) = (now, self.uses);
        let has = bucket.tokens >= 1.0;
        if has {
            bucket.tokens -= 1.0;
        }
        has
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_fill_and_are_forgotten() {
        let limit = Limit { ty: LimitType::User, rate: 2.0, burst: 3.0, buckets: 2 };
        let mut buckets = Buckets::default();
        let mut check = |key: &str, now: f64, expect: bool| {
            assert_eq!(buckets.take(&limit, key, now), expect, "{key} at {now}");
            assert!(buckets.by_key.len() <= 2 && buckets.by_key.len() == buckets.by_use.len());
        };
        for _ in 0..3 {
            check("a", 0.0, true);
        }
        check("a", 0.0, false);
        check("a", 0.4, false);
        check("a", 0.5, true);
        check("a", 0.5, false);
        // A third key takes the place of the one that was used least.
        check("b", 0.5, true);
        check("a", 0.5, false);
        check("c", 0.5, true);
        check("a", 0.5, false);
        check("b", 0.5, true);
        check("b", 0.5, true);
        check("b", 0.5, true);
        check("b", 0.5, false);
        // It never holds more than the burst.
        for _ in 0..3 {
            check("a", 1000.0, true);
        }
        check("a", 1000.0, false);
    }

    #[test]
    fn configurations() {
        let check = |text: Option<&str>, expect: Result<usize, &str>| {
            let read = Configuration::read(text.map(str::as_bytes)).map(|limits| limits.0.len());
            assert_eq!(read, expect.map_err(str::to_owned), "{text:?}");
        };
        let of = |limits: &str| {
            format!(
                "apiVersion: eventratelimit.admission.k8s.io/v1alpha1\nkind: Configuration\nlimits: {limits}"
            )
        };
        check(None, Err("limits: Invalid value: null: must not be empty"));
        check(Some(&of("[]")), Err("limits: Invalid value: []: must not be empty"));
        check(
            Some(&of(
                "[{type: Server, qps: 1, burst: 2, cacheSize: -1}, {type: User, qps: 1, burst: 1, x: 1}]",
            )),
            Ok(2),
        );
        check(
            Some(&of("[{type: Foo, qps: 0, burst: -1, cacheSize: -2}]")),
            Err(
                r#"[limits[0].type: Unsupported value: "Foo": supported values: "Namespace", "Server", "SourceAndObject", "User", limits[0].burst: Invalid value: -1: must be positive, limits[0].qps: Invalid value: 0: must be positive, limits[0].cacheSize: Invalid value: -2: must not be negative]"#,
            ),
        );
    }
}
