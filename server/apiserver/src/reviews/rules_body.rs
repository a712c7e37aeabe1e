//! The body of a SelfSubjectRulesReview, written from the rules themselves piece by piece.
//!
//! A subject of thousands of bindings of a large role gets its rules as many times, as kube-apiserver tells them: that can
//! be gigabytes. What is held is one piece; what a protobuf message says of its length is known from the lengths that
//! sets of rules know of themselves.

use std::{collections::HashSet, sync::Arc};

use bytes::Bytes;
use ringbolt_machinery::{json::quote::write_string, protobuf, status::Status};

use crate::{
    authorization::{Found, PolicyRule, RuleSet, RuleWalk, Rules},
    endpoints::{
        list_parts::{ListParts, Step},
        resource::ResourceStore,
    },
    limits::{MISSING_ROLES_TOLD, RULES_PIECE_BYTES, RULES_STEP_BINDINGS},
};

/// What stands before the rules about resources, behind the kind of the object.
const JSON_BEGIN: &str = r#""metadata":{},"spec":{},"status":{"resourceRules":["#;
/// What stands between them and the rules about paths.
const JSON_MIDDLE: &str = r#"],"nonResourceRules":["#;

/// The same in a message: metadata and spec with the fields of theirs that are always there.
const PROTOBUF_BEGIN: &[u8] =
    b"\x0a\x10\x0a\x00\x12\x00\x1a\x00\x22\x00\x2a\x00\x32\x00\x38\x00\x42\x00\x12\x02\x0a\x00";

/// How the rules are written.
pub(super) enum Wire {
    /// Text, with what stands before the metadata and behind the object.
    Json {
        /// Up to `"metadata"`.
        head: Bytes,
        /// Behind the last brace.
        tail: &'static [u8],
    },
    /// A message in its envelope.
    Protobuf {
        /// Whose kind the envelope names.
        store: Arc<ResourceStore>,
    },
}

/// What is written next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Measuring,
    Resources,
    Paths,
    Ended,
}

/// A body in parts.
pub(super) struct RulesBody {
    rules: Rules,
    wire: Wire,
    stage: Stage,
    walk: RuleWalk,
    /// The set that is written.
    set: Option<Arc<RuleSet>>,
    /// Of the set, the rule that is written or comes next.
    rule: usize,
    /// Of that rule, the list and the item that come next; `None` before it began.
    at: Option<(usize, usize)>,
    /// Whether no rule of the stage was written yet.
    is_first: bool,
    /// Bytes of protobuf that the rules come to: about resources, and about paths.
    sizes: [usize; 2],
    errors: Vec<String>,
    told: HashSet<String>,
}

impl RulesBody {
    pub(super) fn new(rules: Rules, wire: Wire) -> Self {
        RulesBody {
            rules,
            wire,
            stage: Stage::Measuring,
            walk: RuleWalk::default(),
            set: None,
            rule: 0,
            at: None,
            is_first: true,
            sizes: [0; 2],
            errors: Vec::new(),
            told: HashSet::new(),
        }
    }

    /// Whether the rules come to more than this in protobuf, found out with as little work as that takes.
    pub(super) fn is_longer_than(&mut self, bytes: usize) -> bool {
        let is_longer = |body: &Self| body.sizes.iter().sum::<usize>() > bytes;
        while !is_longer(self) && self.measure() {}
        is_longer(self)
    }

    /// Measures what comes next; false where there is nothing more.
    fn measure(&mut self) -> bool {
        if self.stage != Stage::Measuring {
            return false;
        }
        for _ in 0..RULES_STEP_BINDINGS {
            match self.rules.next(&mut self.walk) {
                Some(Found::Rules(set)) => {
                    self.sizes[0] += set.resource_len;
                    self.sizes[1] += set.path_len;
                }
                Some(Found::Missing(error)) => {
                    if self.errors.len() < MISSING_ROLES_TOLD && self.told.insert(error.clone()) {
                        self.errors.push(error);
                    }
                }
                None => return false,
            }
        }
        true
    }

    fn begin(&mut self, stage: Stage) {
        self.stage = stage;
        self.walk = RuleWalk::default();
        self.is_first = true;
    }

    /// The object up to its rules.
    fn head(&self) -> Bytes {
        match &self.wire {
            Wire::Json { head, .. } => [head, JSON_BEGIN.as_bytes()].concat().into(),
            Wire::Protobuf { store } => {
                let mut end = Vec::new();
                self.status_end(&mut end);
                let status = self.sizes[0] + self.sizes[1] + end.len();
                let len = PROTOBUF_BEGIN.len() + protobuf::field_len(status);
                let mut head = Vec::with_capacity(128);
                protobuf::unknown_head(&store.group_version, store.kind(), len, &mut head);
                head.extend_from_slice(PROTOBUF_BEGIN);
                protobuf::field_head(3, status, &mut head);
                head.into()
            }
        }
    }

    /// What follows the rules within the status.
    fn status_end(&self, out: &mut Vec<u8>) {
        let error = Rules::evaluation_error(&self.errors);
        match &self.wire {
            Wire::Json { .. } => {
                let incomplete = if self.rules.incomplete { "true" } else { "false" };
                out.extend_from_slice(format!(r#"],"incomplete":{incomplete}"#).as_bytes());
                if !error.is_empty() {
                    out.extend_from_slice(br#","evaluationError":"#);
                    write_string(out, &error);
                }
            }
            Wire::Protobuf { .. } => {
                protobuf::bool_field(3, self.rules.incomplete, out);
                protobuf::field_head(4, error.len(), out);
                out.extend_from_slice(error.as_bytes());
            }
        }
    }

    /// What ends the body.
    fn end(&self) -> Bytes {
        let mut end = Vec::new();
        self.status_end(&mut end);
        match &self.wire {
            Wire::Json { tail, .. } => {
                end.extend_from_slice(b"}}");
                end.extend_from_slice(tail);
            }
            Wire::Protobuf { .. } => protobuf::unknown_tail(&mut end),
        }
        end.into()
    }

    /// Finds the rule that comes next, unless one is being written; false where there is none.
    fn find_rule(&mut self) -> bool {
        loop {
            let is_about = |rule: &PolicyRule| match self.stage {
                Stage::Paths => !rule.non_resource_urls.is_empty(),
                _ => !rule.resources.is_empty(),
            };
            if let Some(set) = &self.set {
                let rest = set.rules.iter().enumerate().skip(self.rule);
                if let Some((number, _)) = rest.into_iter().find(|(_, rule)| is_about(rule)) {
                    self.rule = number;
                    return true;
                }
            }
            self.rule = 0;
            self.set = loop {
                match self.rules.next(&mut self.walk) {
                    Some(Found::Rules(set)) => break Some(set.clone()),
                    Some(Found::Missing(_)) => {}
                    None => break None,
                }
            };
            if self.set.is_none() {
                return false;
            }
        }
    }

    /// Writes on at the rule that was found, to its end or until the piece is full.
    fn write_rule(&mut self, out: &mut Vec<u8>) {
        let Some(set) = &self.set else { return };
        let rule = &set.rules[self.rule];
        let is_json = matches!(self.wire, Wire::Json { .. });
        let is_about_paths = self.stage == Stage::Paths;
        let lists = lists(rule, is_about_paths);
        let (list, mut item) = self.at.unwrap_or_else(|| {
            match is_json {
                true => out.extend_from_slice(if self.is_first { b"{" } else { b",{" }),
                false => {
                    protobuf::field_head(1 + u32::from(is_about_paths), rule.message_len(is_about_paths), out)
                }
            }
            (0, 0)
        });
        self.is_first = false;
        for (number, (field, names)) in lists.into_iter().enumerate().skip(list) {
            if names.is_empty() && number > 0 {
                continue;
            }
            if is_json && item == 0 {
                if number > 0 {
                    out.push(b',');
                }
                write_string(out, field);
                out.extend_from_slice(b":[");
            }
            for name in &names[item..] {
                if item > 0 && out.len() >= RULES_PIECE_BYTES {
                    self.at = Some((number, item));
                    return;
                }
                match is_json {
                    true => {
                        if item > 0 {
                            out.push(b',');
                        }
                        write_string(out, name);
                    }
                    false => {
                        protobuf::field_head(number as u32 + 1, name.len(), out);
                        out.extend_from_slice(name.as_bytes());
                    }
                }
                item += 1;
            }
            if is_json {
                out.push(b']');
            }
            item = 0;
        }
        if is_json {
            out.push(b'}');
        }
        self.at = None;
        self.rule += 1;
    }
}

/// The lists of a rule, in the order of their fields in a message; what is empty is left out, but for the verbs.
fn lists(rule: &PolicyRule, is_about_paths: bool) -> [(&'static str, &[Box<str>]); 4] {
    match is_about_paths {
        true => [("verbs", &rule.verbs), ("nonResourceURLs", &rule.non_resource_urls), ("", &[]), ("", &[])],
        false => [
            ("verbs", &rule.verbs),
            ("apiGroups", &rule.api_groups),
            ("resources", &rule.resources),
            ("resourceNames", &rule.resource_names),
        ],
    }
}

impl ListParts for RulesBody {
    fn step(&mut self, part: &mut dyn FnMut(Bytes)) -> Result<Step, Status> {
        match self.stage {
            Stage::Measuring => {
                if !self.measure() {
                    part(self.head());
                    self.begin(Stage::Resources);
                }
                // A step along bindings takes about as long as to encode so many bytes.
                return Ok(Step::On { encoded: RULES_STEP_BINDINGS * 16 });
            }
            Stage::Resources | Stage::Paths => {}
            Stage::Ended => return Ok(Step::End),
        }
        let mut piece = Vec::with_capacity(RULES_PIECE_BYTES + 256);
        let mut has_more = true;
        while has_more && piece.len() < RULES_PIECE_BYTES {
            has_more = self.find_rule();
            if has_more {
                self.write_rule(&mut piece);
            }
        }
        let encoded = piece.len();
        if !has_more && self.stage == Stage::Resources {
            self.begin(Stage::Paths);
            if matches!(self.wire, Wire::Json { .. }) {
                piece.extend_from_slice(JSON_MIDDLE.as_bytes());
            }
        } else if !has_more {
            self.begin(Stage::Ended);
            piece.extend_from_slice(&self.end());
        }
        // Where no rule is about resources there is nothing between the head and those about paths.
        if !piece.is_empty() {
            part(piece.into());
        }
        Ok(Step::On { encoded })
    }
}

#[cfg(test)]
mod tests {
    use bumpalo::Bump;
    use ringbolt_machinery::{
        json,
        schema::{Resource, Schema},
        table::DEFAULT_PRINTER,
    };
    use ringbolt_storage::object::ResourceId;

    use super::*;
    use crate::{
        authentication::UserInfo,
        authorization::{
            Authorizers,
            rbac::tests::{KINDS, rbac_of},
        },
        endpoints::{list_parts::flat, not_stored},
    };

    fn facts() -> &'static Resource {
        Schema::builtin().resource("authorization.k8s.io", "v1", "selfsubjectrulesreviews").unwrap()
    }

    /// Rules of two roles, one of them bound often, and of one that is gone.
    fn rules(names: usize, bindings: usize) -> Rules {
        let texts = |of: &str| (0..names).map(|n| format!(",\"{of}<{n}>\"")).collect::<String>();
        let large = format!(
            r#""rules":[{{"verbs":["get"],"apiGroups":[""{}],"resources":["s"{}],"resourceNames":["t"{}]}},{{"verbs":["*"],"nonResourceURLs":["/x"{}]}},{{"verbs":["use","get"],"apiGroups":["g"],"resources":["r"]}}]}}"#,
            texts("g"),
            texts("r"),
            texts("n"),
            texts("/p")
        );
        let small = r#""rules":[{"verbs":["get"],"nonResourceURLs":["/version"]}]}"#;
        let to = |kind: &str, name: &str| {
            format!(
                r#""roleRef":{{"kind":"{kind}","name":"{name}"}},"subjects":[{{"kind":"User","name":"u"}}]}}"#
            )
        };
        let (to_large, to_small, to_gone) =
            (to("ClusterRole", "large"), to("ClusterRole", "small"), to("Role", "gone"));
        let called: Vec<String> = (0..bindings).map(|n| format!("b{n}")).collect();
        let mut objects = vec![
            (KINDS.cluster_roles, "", "large", large.as_str()),
            (KINDS.cluster_roles, "", "small", small),
            (KINDS.cluster_role_bindings, "", "small", &to_small),
            (KINDS.role_bindings, "n", "gone", &to_gone),
        ];
        objects
            .extend(called.iter().map(|name| (KINDS.role_bindings, "n", name.as_str(), to_large.as_str())));
        let user = UserInfo { name: "u".to_owned(), ..UserInfo::default() };
        Authorizers::new(vec![rbac_of(&objects)]).rules_for(&user, "n")
    }

    fn json_of(rules: Rules) -> Vec<u8> {
        flat(RulesBody::new(rules, Wire::Json { head: Bytes::from_static(b"{"), tail: b"" }), 0).unwrap()
    }

    /// Both forms are what the Schema's encoders make of the same review.
    #[test]
    fn is_written_as_any_object_is() {
        let schema = Schema::builtin();
        // The last one is more than a piece, so that rules and lists are cut.
        for (names, bindings) in [(0, 0), (0, 1), (1, 2), (3, 40), (RULES_PIECE_BYTES / 30, 3)] {
            let text = json_of(rules(names, bindings));
            let arena = Bump::new();
            let copy = arena.alloc_slice_copy(&text);
            let tree = json::decode_typed(&arena, schema, facts().ty, copy, json::Mode::Strict).unwrap();
            assert!(tree.strict_errors.is_empty());
            let mut again = Vec::new();
            json::encode(schema, facts().ty, &tree.value, &mut again);
            assert!(
                again == text,
                "{names} names: {}",
                String::from_utf8_lossy(&text[..text.len().min(500)])
            );
            let mut message = Vec::new();
            protobuf::encode(schema, facts().ty, &tree.value, &mut message);
            let mut expect = Vec::new();
            protobuf::encode_unknown(
                "authorization.k8s.io/v1",
                "SelfSubjectRulesReview",
                &message,
                &mut expect,
            );
            let store = not_stored::store(schema, facts(), &DEFAULT_PRINTER, ResourceId(0));
            let found = flat(RulesBody::new(rules(names, bindings), Wire::Protobuf { store }), 0).unwrap();
            assert!(found == expect, "{names} names:\n{found:?}\n{expect:?}");
        }
    }

    #[test]
    fn a_rule_that_is_bound_twice_is_told_twice() {
        let expect = |large: &str| {
            format!(
                r#"{{"metadata":{{}},"spec":{{}},"status":{{"resourceRules":[{large}],"nonResourceRules":[{{"verbs":["get"],"nonResourceURLs":["/version"]}},{{"verbs":["*"],"nonResourceURLs":["/x"]}},{{"verbs":["*"],"nonResourceURLs":["/x"]}}],"incomplete":false,"evaluationError":"role.rbac.authorization.k8s.io \"gone\" not found"}}}}"#
            )
        };
        let use_r = r#"{"verbs":["get"],"apiGroups":[""],"resources":["s"],"resourceNames":["t"]},{"verbs":["use","get"],"apiGroups":["g"],"resources":["r"]}"#;
        assert_eq!(String::from_utf8(json_of(rules(0, 2))).unwrap(), expect(&format!("{use_r},{use_r}")));
    }

    /// However much there is to tell, what is held at a time is a piece.
    #[test]
    fn pieces_are_small_and_lengths_known_before() {
        let body = || RulesBody::new(rules(2_000, 3_000), Wire::Json { head: Bytes::new(), tail: b"" });
        let mut longest = 0;
        let (mut whole, mut parts) = (0, body());
        while parts
            .step(&mut |part| {
                longest = longest.max(part.len());
                whole += part.len();
            })
            .unwrap()
            != Step::End
        {
            if whole > 10 << 20 {
                break;
            }
        }
        assert!(whole > 10 << 20, "{whole}");
        assert!(longest < RULES_PIECE_BYTES + 4_096, "{longest}");
        assert!(body().is_longer_than(100 << 20));
        assert!(!body().is_longer_than(1 << 30));
        let few = |names| RulesBody::new(rules(names, 3), Wire::Json { head: Bytes::new(), tail: b"" });
        assert!(few(2_000).is_longer_than(64 << 10), "also where one step measures all");
        assert!(!few(1).is_longer_than(64 << 10));
    }
}
