//! FlowSchemas and PriorityLevelConfigurations as objects: read from trees, and written as the bodies that make them.

use ringbolt_machinery::{json::quote::write_string, value::Value};

use super::config::{
    FlowDistinguisherMethod, FlowSchema, LevelKind, LimitResponse, NonResourcePolicyRule,
    PolicyRulesWithSubjects, PriorityLevel, QueuingConfiguration, ResourcePolicyRule, Subject,
};

/// Group and version of both kinds.
pub const API_VERSION: &str = "flowcontrol.apiserver.k8s.io/v1";
/// The path that FlowSchemas are under.
pub const FLOW_SCHEMAS: &str = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas";
/// The path that PriorityLevelConfigurations are under.
pub const PRIORITY_LEVELS: &str = "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations";
/// The annotation that says whether the server keeps an object's spec (`AutoUpdateAnnotationKey`).
pub const AUTO_UPDATE: &str = "apf.kubernetes.io/autoupdate-spec";

/// The condition `Dangling` of a FlowSchema, without its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dangling {
    /// `True` where the level is missing.
    pub status: String,
    /// `Found` or `NotFound`.
    pub reason: String,
    /// What people read.
    pub message: String,
}

impl Dangling {
    /// What the condition says where the level is there, or is not.
    pub fn expected(level: &str, found: bool) -> Dangling {
        // Go quotes the name; names of levels are made of letters, digits, `-` and `.`.
        let about =
            format!("This FlowSchema references the PriorityLevelConfiguration object named {level:?}");
        let (status, reason, message) = match found {
            true => ("False", "Found", format!("{about} and it exists")),
            false => ("True", "NotFound", format!("{about} but there is no such object")),
        };
        Dangling { status: status.to_owned(), reason: reason.to_owned(), message }
    }

    /// The condition that an object has.
    pub fn of(object: &Value<'_>) -> Option<Dangling> {
        let conditions = object.path(&["status", "conditions"])?.as_list()?;
        let condition = conditions.iter().find(|c| c.str_at(&["type"]) == Some("Dangling"))?;
        let text = |key| condition.str_at(&[key]).unwrap_or_default().to_owned();
        Some(Dangling { status: text("status"), reason: text("reason"), message: text("message") })
    }

    /// What is applied to the status of the schema of this name; `now` is a time as metadata has it.
    pub fn body(&self, name: &str, now: &str) -> Vec<u8> {
        let mut out = Writer::begin("FlowSchema", name);
        out.raw(r#"},"status":{"conditions":[{"type":"Dangling","#);
        for (key, value) in [("status", &*self.status), ("lastTransitionTime", now), ("reason", &self.reason)]
        {
            out.text(key, value);
            out.raw(",");
        }
        out.text("message", &self.message);
        out.raw("}]}}");
        out.0
    }
}

/// Reads a FlowSchema. A subject that names nobody matches nobody.
pub fn flow_schema(object: &Value<'_>) -> FlowSchema {
    let spec = object.path(&["spec"]).unwrap_or(&Value::Null);
    FlowSchema {
        name: text(object, &["metadata", "name"]),
        uid: text(object, &["metadata", "uid"]),
        matching_precedence: int(spec, &["matchingPrecedence"]).unwrap_or(0),
        priority_level: text(spec, &["priorityLevelConfiguration", "name"]),
        distinguisher: match spec.str_at(&["distinguisherMethod", "type"]) {
            Some("ByUser") => Some(FlowDistinguisherMethod::ByUser),
            Some("ByNamespace") => Some(FlowDistinguisherMethod::ByNamespace),
            _ => None,
        },
        rules: items(spec, "rules").map(rules).collect(),
    }
}

/// Reads a PriorityLevelConfiguration; `None` where its parts do not fit together, as then nobody can be served by it.
pub fn priority_level(object: &Value<'_>) -> Option<PriorityLevel> {
    let spec = object.path(&["spec"])?;
    let part = |key| spec.path(&[key]).filter(|part| !part.is_null());
    let (own, kind) = match (spec.str_at(&["type"])?, part("exempt"), part("limited")) {
        ("Exempt", Some(exempt), None) => (exempt, LevelKind::Exempt),
        ("Limited", None, Some(limited)) => {
            let limit_response = limit_response(limited.path(&["limitResponse"])?)?;
            let borrowing_limit_percent = int(limited, &["borrowingLimitPercent"]);
            (limited, LevelKind::Limited { borrowing_limit_percent, limit_response })
        }
        _ => return None,
    };
    Some(PriorityLevel {
        name: text(object, &["metadata", "name"]),
        uid: text(object, &["metadata", "uid"]),
        nominal_concurrency_shares: int(own, &["nominalConcurrencyShares"]).unwrap_or(0),
        lendable_percent: int(own, &["lendablePercent"]).unwrap_or(0),
        kind,
    })
}

fn limit_response(response: &Value<'_>) -> Option<LimitResponse> {
    let queuing = response.path(&["queuing"]).filter(|queuing| !queuing.is_null());
    match (response.str_at(&["type"])?, queuing) {
        ("Reject", None) => Some(LimitResponse::Reject),
        ("Queue", Some(queuing)) => Some(LimitResponse::Queue(QueuingConfiguration {
            queues: int(queuing, &["queues"])?,
            hand_size: int(queuing, &["handSize"])?,
            queue_length_limit: int(queuing, &["queueLengthLimit"])?,
        })),
        _ => None,
    }
}

fn rules(rules: &Value<'_>) -> PolicyRulesWithSubjects {
    PolicyRulesWithSubjects {
        subjects: items(rules, "subjects").filter_map(subject).collect(),
        resource_rules: items(rules, "resourceRules")
            .map(|rule| ResourcePolicyRule {
                verbs: texts(rule, "verbs"),
                api_groups: texts(rule, "apiGroups"),
                resources: texts(rule, "resources"),
                cluster_scope: rule.path(&["clusterScope"]).and_then(Value::as_bool).unwrap_or(false),
                namespaces: texts(rule, "namespaces"),
            })
            .collect(),
        non_resource_rules: items(rules, "nonResourceRules")
            .map(|rule| NonResourcePolicyRule {
                verbs: texts(rule, "verbs"),
                non_resource_urls: texts(rule, "nonResourceURLs"),
            })
            .collect(),
    }
}

fn subject(subject: &Value<'_>) -> Option<Subject> {
    let named = |path: &[&str]| subject.str_at(path).map(str::to_owned);
    Some(match subject.str_at(&["kind"])? {
        "User" => Subject::User(named(&["user", "name"])?),
        "Group" => Subject::Group(named(&["group", "name"])?),
        "ServiceAccount" => Subject::ServiceAccount {
            namespace: named(&["serviceAccount", "namespace"])?,
            name: named(&["serviceAccount", "name"])?,
        },
        _ => return None,
    })
}

fn text(value: &Value<'_>, path: &[&str]) -> String {
    value.str_at(path).unwrap_or_default().to_owned()
}

fn int<N: TryFrom<i64>>(value: &Value<'_>, path: &[&str]) -> Option<N> {
    value.path(path)?.as_i64().and_then(|n| n.try_into().ok())
}

fn items<'v, 'a: 'v>(value: &'v Value<'a>, key: &str) -> impl Iterator<Item = &'v Value<'a>> + use<'v, 'a> {
    value.path(&[key]).and_then(Value::as_list).into_iter().flatten()
}

fn texts(value: &Value<'_>, key: &str) -> Vec<String> {
    items(value, key).filter_map(Value::as_str).map(str::to_owned).collect()
}

impl FlowSchema {
    /// The body that makes this schema as one that the server keeps.
    pub fn body(&self) -> Vec<u8> {
        body("FlowSchema", &self.name, &self.spec())
    }

    /// Its spec.
    pub fn spec(&self) -> Vec<u8> {
        let mut out = Writer::default();
        out.raw(r#"{"priorityLevelConfiguration":{"#);
        out.text("name", &self.priority_level);
        out.raw(&format!(r#"}},"matchingPrecedence":{}"#, self.matching_precedence));
        if let Some(method) = self.distinguisher {
            let method = match method {
                FlowDistinguisherMethod::ByUser => "ByUser",
                FlowDistinguisherMethod::ByNamespace => "ByNamespace",
            };
            out.raw(r#","distinguisherMethod":{"#);
            out.text("type", method);
            out.raw("}");
        }
        out.raw(r#","rules":"#);
        out.list(&self.rules, Writer::rules);
        out.raw("}");
        out.0
    }
}

impl PriorityLevel {
    /// The body that makes this level as one that the server keeps.
    pub fn body(&self) -> Vec<u8> {
        body("PriorityLevelConfiguration", &self.name, &self.spec())
    }

    /// Its spec.
    pub fn spec(&self) -> Vec<u8> {
        let shares = format!(
            r#""nominalConcurrencyShares":{},"lendablePercent":{}"#,
            self.nominal_concurrency_shares, self.lendable_percent
        );
        match self.kind {
            LevelKind::Exempt => format!(r#"{{"type":"Exempt","exempt":{{{shares}}}}}"#),
            LevelKind::Limited { borrowing_limit_percent, limit_response } => {
                let borrowing = borrowing_limit_percent
                    .map_or(String::new(), |percent| format!(r#","borrowingLimitPercent":{percent}"#));
                let response = match limit_response {
                    LimitResponse::Reject => r#"{"type":"Reject"}"#.to_owned(),
                    LimitResponse::Queue(QueuingConfiguration { queues, hand_size, queue_length_limit }) => {
                        format!(
                            r#"{{"type":"Queue","queuing":{{"queues":{queues},"handSize":{hand_size},"queueLengthLimit":{queue_length_limit}}}}}"#
                        )
                    }
                };
                format!(
                    r#"{{"type":"Limited","limited":{{{shares}{borrowing},"limitResponse":{response}}}}}"#
                )
            }
        }
        .into_bytes()
    }
}

/// An object that the server keeps.
fn body(kind: &str, name: &str, spec: &[u8]) -> Vec<u8> {
    let mut out = Writer::begin(kind, name);
    out.raw(&format!(r#","annotations":{{"{AUTO_UPDATE}":"true"}}}},"spec":"#));
    out.0.extend_from_slice(spec);
    out.raw("}");
    out.0
}

/// JSON on its way out.
#[derive(Default)]
struct Writer(Vec<u8>);

impl Writer {
    /// An object up to its name: its metadata is open.
    fn begin(kind: &str, name: &str) -> Writer {
        let mut out = Writer::default();
        out.raw(&format!(r#"{{"apiVersion":"{API_VERSION}","kind":"{kind}","metadata":{{"#));
        out.text("name", name);
        out
    }

    fn raw(&mut self, json: &str) {
        self.0.extend_from_slice(json.as_bytes());
    }

    /// A member that is text.
    fn text(&mut self, key: &str, value: &str) {
        self.raw(&format!(r#""{key}":"#));
        write_string(&mut self.0, value);
    }

    fn list<T>(&mut self, items: &[T], write: impl Fn(&mut Writer, &T)) {
        self.raw("[");
        for (at, item) in items.iter().enumerate() {
            if at > 0 {
                self.raw(",");
            }
            write(self, item);
        }
        self.raw("]");
    }

    /// Members that are lists of texts, with commas between them.
    fn texts(&mut self, members: &[(&str, &[String])]) {
        for (at, (key, texts)) in members.iter().enumerate() {
            self.raw(&format!(r#"{}"{key}":"#, if at > 0 { "," } else { "" }));
            self.list(texts, |out, text| write_string(&mut out.0, text));
        }
    }

    fn rules(&mut self, rules: &PolicyRulesWithSubjects) {
        self.raw(r#"{"subjects":"#);
        self.list(&rules.subjects, Writer::subject);
        if !rules.resource_rules.is_empty() {
            self.raw(r#","resourceRules":"#);
            self.list(&rules.resource_rules, |out, rule| {
                out.raw("{");
                out.texts(&[
                    ("verbs", &rule.verbs),
                    ("apiGroups", &rule.api_groups),
                    ("resources", &rule.resources),
                    ("namespaces", &rule.namespaces),
                ]);
                out.raw(if rule.cluster_scope { r#","clusterScope":true}"# } else { "}" });
            });
        }
        if !rules.non_resource_rules.is_empty() {
            self.raw(r#","nonResourceRules":"#);
            self.list(&rules.non_resource_rules, |out, rule| {
                out.raw("{");
                out.texts(&[("verbs", &rule.verbs), ("nonResourceURLs", &rule.non_resource_urls)]);
                out.raw("}");
            });
        }
        self.raw("}");
    }

    fn subject(&mut self, subject: &Subject) {
        match subject {
            Subject::User(name) => {
                self.raw(r#"{"kind":"User","user":{"#);
                self.text("name", name);
            }
            Subject::Group(name) => {
                self.raw(r#"{"kind":"Group","group":{"#);
                self.text("name", name);
            }
            Subject::ServiceAccount { namespace, name } => {
                self.raw(r#"{"kind":"ServiceAccount","serviceAccount":{"#);
                self.text("namespace", namespace);
                self.raw(",");
                self.text("name", name);
            }
        }
        self.raw("}}");
    }
}

#[cfg(test)]
mod tests {
    use bumpalo::Bump;
    use ringbolt_machinery::json::decode_untyped;

    use super::*;
    use crate::flowcontrol::builtin;

    fn read<'a>(arena: &'a Bump, json: &[u8]) -> Value<'a> {
        decode_untyped(arena, arena.alloc_slice_copy(json)).unwrap()
    }

    #[test]
    fn what_is_written_reads_back_the_same() {
        let arena = Bump::new();
        let odd = FlowSchema {
            name: "odd".to_owned(),
            priority_level: "p".to_owned(),
            rules: vec![PolicyRulesWithSubjects {
                subjects: vec![Subject::User("\"quoted\"\n".to_owned())],
                ..PolicyRulesWithSubjects::default()
            }],
            ..FlowSchema::default()
        };
        for schema in builtin::flow_schemas().into_iter().chain([odd]) {
            let object = read(&arena, &schema.body());
            assert_eq!(flow_schema(&object), schema);
            assert_eq!(object.str_at(&["metadata", "annotations", AUTO_UPDATE]), Some("true"));
            assert_eq!(object.str_at(&["apiVersion"]), Some(API_VERSION));
        }
        let [_, mut lent] = builtin::mandatory_levels();
        lent.name = "lent".to_owned();
        lent.kind =
            LevelKind::Limited { borrowing_limit_percent: Some(7), limit_response: LimitResponse::Reject };
        for level in builtin::priority_levels().into_iter().chain([lent]) {
            let object = read(&arena, &level.body());
            assert_eq!(priority_level(&object), Some(level));
        }
    }

    #[test]
    fn levels_whose_parts_do_not_fit_are_none() {
        let check = |spec: &str, expect: bool| {
            let arena = Bump::new();
            let object = read(&arena, format!(r#"{{"metadata":{{"name":"n"}},"spec":{spec}}}"#).as_bytes());
            assert_eq!(priority_level(&object).is_some(), expect, "{spec}");
        };
        check(r#"{"type":"Limited","limited":{"limitResponse":{"type":"Reject"}}}"#, true);
        check(r#"{"type":"Exempt","exempt":{}}"#, true);
        check(r#"{"type":"Exempt"}"#, false);
        check(r#"{"type":"Exempt","limited":{"limitResponse":{"type":"Reject"}}}"#, false);
        check(r#"{"type":"Limited","exempt":{}}"#, false);
        check(r#"{"type":"Limited","limited":{"limitResponse":{"type":"Queue"}}}"#, false);
        let queuing = r#"{"queues":2,"handSize":1,"queueLengthLimit":5}"#;
        let limited = |kind| {
            format!(
                r#"{{"type":"Limited","limited":{{"limitResponse":{{"type":"{kind}","queuing":{queuing}}}}}}}"#
            )
        };
        check(&limited("Queue"), true);
        check(&limited("Reject"), false);
        check("null", false);
    }

    #[test]
    fn the_condition_reads_back() {
        for found in [true, false] {
            let dangling = Dangling::expected("level-1", found);
            let arena = Bump::new();
            let object = read(&arena, &dangling.body("f", "2026-01-02T03:04:05Z"));
            assert_eq!(Dangling::of(&object), Some(dangling.clone()));
            assert_eq!(dangling.status == "True", !found);
            assert_eq!(object.str_at(&["metadata", "name"]), Some("f"));
        }
        assert_eq!(Dangling::of(&Value::Null), None);
    }
}
