//! What FlowSchemas and PriorityLevelConfigurations say, read once and then immutable.
//!
//! Whoever reads the objects hands them to [`Config::new`] as they are; what is missing or points nowhere is dealt
//! with there, as kube-apiserver does: mandatory objects are supplied, schemas of unknown levels are left out.

use std::collections::HashMap;

use super::builtin;

/// A whole configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// By precedence, then by name: the first that matches a request is its schema.
    flow_schemas: Vec<FlowSchema>,
    /// For each schema, the place of its level in `priority_levels`.
    level_of: Vec<usize>,
    /// By name.
    priority_levels: Vec<PriorityLevel>,
}

/// A FlowSchema.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlowSchema {
    /// `metadata.name`
    pub name: String,
    /// `metadata.uid`; empty for one that is no object (yet).
    pub uid: String,
    /// `spec.matchingPrecedence`; the smallest is asked first.
    pub matching_precedence: i32,
    /// `spec.priorityLevelConfiguration.name`
    pub priority_level: String,
    /// `spec.distinguisherMethod`; without one all requests of the schema are one flow.
    pub distinguisher: Option<FlowDistinguisherMethod>,
    /// `spec.rules`; one of them must match.
    pub rules: Vec<PolicyRulesWithSubjects>,
}

/// What tells flows of one schema apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowDistinguisherMethod {
    /// The user's name.
    ByUser,
    /// The namespace of the request, empty where it has none.
    ByNamespace,
}

/// Who asks, and what for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PolicyRulesWithSubjects {
    /// One of them must match.
    pub subjects: Vec<Subject>,
    /// One of them must match a request for a resource.
    pub resource_rules: Vec<ResourcePolicyRule>,
    /// One of them must match any other request.
    pub non_resource_rules: Vec<NonResourcePolicyRule>,
}

/// Whom a rule is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A user by name, `*` for all.
    User(String),
    /// A group by name, `*` for all.
    Group(String),
    /// A service account; the name `*` stands for all of the namespace.
    ServiceAccount {
        /// Its namespace.
        namespace: String,
        /// Its name, or `*`.
        name: String,
    },
}

/// Requests for resources. All four must match; a list that is just `*` matches everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourcePolicyRule {
    /// `verbs`
    pub verbs: Vec<String>,
    /// `apiGroups`
    pub api_groups: Vec<String>,
    /// `resources`, subresources as `resource/subresource`.
    pub resources: Vec<String>,
    /// Requests without a namespace match.
    pub cluster_scope: bool,
    /// `namespaces`: requests with one of these match.
    pub namespaces: Vec<String>,
}

/// Other requests. Both must match.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NonResourcePolicyRule {
    /// `verbs`
    pub verbs: Vec<String>,
    /// `nonResourceURLs`: `*`, a path and all below it, or the same with a trailing `*`.
    pub non_resource_urls: Vec<String>,
}

/// A PriorityLevelConfiguration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PriorityLevel {
    /// `metadata.name`
    pub name: String,
    /// `metadata.uid`; empty for one that is no object (yet).
    pub uid: String,
    /// `nominalConcurrencyShares`
    pub nominal_concurrency_shares: u32,
    /// `lendablePercent`
    pub lendable_percent: u32,
    /// Whether requests may have to wait, and how many seats can be borrowed.
    pub kind: LevelKind,
}

/// `spec.type` and what hangs on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LevelKind {
    /// Nothing ever waits here.
    Exempt,
    /// Requests take seats.
    Limited {
        /// `borrowingLimitPercent`; `None` for no limit.
        borrowing_limit_percent: Option<u32>,
        /// `limitResponse`
        limit_response: LimitResponse,
    },
}

/// What becomes of a request without a seat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitResponse {
    /// 429
    Reject,
    /// It waits.
    Queue(QueuingConfiguration),
}

/// `limitResponse.queuing`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueuingConfiguration {
    /// `queues`, at least 1.
    pub queues: u32,
    /// `handSize`: how many of them a flow may use, at least 1 and no more than there are.
    pub hand_size: u32,
    /// `queueLengthLimit`: requests that wait in one of them.
    pub queue_length_limit: u32,
}

impl Config {
    /// A configuration of these objects. Names are unique among each.
    ///
    /// Levels that break the alignment of kind and name are left out (only the level `exempt` is exempt, and it always
    /// is), then schemas whose level is not there; mandatory objects that are missing are supplied.
    pub fn new(mut flow_schemas: Vec<FlowSchema>, mut priority_levels: Vec<PriorityLevel>) -> Config {
        priority_levels.retain(PriorityLevel::is_sound);
        for level in builtin::mandatory_levels() {
            if !priority_levels.iter().any(|have| have.name == level.name) {
                priority_levels.push(level);
            }
        }
        priority_levels.sort_by(|a, b| a.name.cmp(&b.name));
        let places: HashMap<&str, usize> =
            priority_levels.iter().enumerate().map(|(at, level)| (level.name.as_str(), at)).collect();
        flow_schemas.retain(|schema| places.contains_key(schema.priority_level.as_str()));
        flow_schemas.sort_by(|a, b| (a.matching_precedence, &a.name).cmp(&(b.matching_precedence, &b.name)));
        // Supplied ones stand first and last whatever the others say.
        let [exempt, catch_all] = builtin::mandatory_schemas();
        if !flow_schemas.iter().any(|schema| schema.name == exempt.name) {
            flow_schemas.insert(0, exempt);
        }
        if !flow_schemas.iter().any(|schema| schema.name == catch_all.name) {
            flow_schemas.push(catch_all);
        }
        let level_of = flow_schemas.iter().map(|schema| places[schema.priority_level.as_str()]).collect();
        Config { flow_schemas, level_of, priority_levels }
    }

    /// The mandatory and the suggested objects, as a new cluster has them: what holds until objects are read.
    pub fn builtin() -> Config {
        Config::new(builtin::flow_schemas(), builtin::priority_levels())
    }

    /// The schemas in the order in which they are asked.
    pub fn flow_schemas(&self) -> &[FlowSchema] {
        &self.flow_schemas
    }

    /// The levels, by name.
    pub fn priority_levels(&self) -> &[PriorityLevel] {
        &self.priority_levels
    }

    /// The place of a schema's level, both by place.
    pub fn level_of(&self, schema: usize) -> usize {
        self.level_of[schema]
    }
}

impl PriorityLevel {
    /// Whether nothing ever waits here.
    pub fn is_exempt(&self) -> bool {
        self.kind == LevelKind::Exempt
    }

    /// How requests wait here, where they do.
    pub fn queuing(&self) -> Option<QueuingConfiguration> {
        match self.kind {
            LevelKind::Limited { limit_response: LimitResponse::Queue(queuing), .. } => Some(queuing),
            LevelKind::Limited { limit_response: LimitResponse::Reject, .. } | LevelKind::Exempt => None,
        }
    }

    /// Whether requests can be served by it: only the level `exempt` is exempt, and a hand is dealt of the queues there
    /// are.
    pub fn is_sound(&self) -> bool {
        let queuing = self.queuing();
        self.is_exempt() == (self.name == builtin::EXEMPT)
            && queuing.is_none_or(|q| q.queues > 0 && (1..=q.queues).contains(&q.hand_size))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(name: &str) -> PriorityLevel {
        PriorityLevel {
            name: name.to_owned(),
            uid: format!("uid of {name}"),
            nominal_concurrency_shares: 10,
            lendable_percent: 0,
            kind: LevelKind::Limited { borrowing_limit_percent: None, limit_response: LimitResponse::Reject },
        }
    }

    fn schema(name: &str, precedence: i32, level: &str) -> FlowSchema {
        FlowSchema {
            name: name.to_owned(),
            matching_precedence: precedence,
            priority_level: level.to_owned(),
            ..FlowSchema::default()
        }
    }

    #[test]
    fn schemas_are_sorted_and_dangling_ones_left_out() {
        let schemas =
            vec![schema("z", 7, "a"), schema("late", 9, "a"), schema("b", 7, "a"), schema("x", 1, "no")];
        let config = Config::new(schemas, vec![level("a")]);
        let names: Vec<&str> = config.flow_schemas().iter().map(|s| s.name.as_str()).collect();
        assert_eq!(names, ["exempt", "b", "z", "late", "catch-all"]);
        let levels: Vec<&str> = config.priority_levels().iter().map(|l| l.name.as_str()).collect();
        assert_eq!(levels, ["a", "catch-all", "exempt"]);
        let level_of: Vec<usize> = (0..5).map(|at| config.level_of(at)).collect();
        assert_eq!(level_of, [2, 0, 0, 0, 1]);
    }

    #[test]
    fn objects_take_the_place_of_what_would_be_supplied() {
        let mine = FlowSchema { uid: "u".to_owned(), ..schema("catch-all", 10_000, "catch-all") };
        let config =
            Config::new(vec![mine.clone(), schema("beyond", 10_000, "catch-all")], vec![level("catch-all")]);
        let names: Vec<&str> = config.flow_schemas().iter().map(|s| s.name.as_str()).collect();
        assert_eq!(names, ["exempt", "beyond", "catch-all"]);
        assert_eq!(config.flow_schemas()[2], mine);
        assert_eq!(config.priority_levels()[0], level("catch-all"));
    }

    #[test]
    fn unsound_levels_are_left_out() {
        let exempt_by_kind = PriorityLevel { kind: LevelKind::Exempt, ..level("mine") };
        let limited_exempt = level("exempt");
        let hand = |queues, hand_size| PriorityLevel {
            kind: LevelKind::Limited {
                borrowing_limit_percent: None,
                limit_response: LimitResponse::Queue(QueuingConfiguration {
                    queues,
                    hand_size,
                    queue_length_limit: 50,
                }),
            },
            ..level(&format!("q{queues}h{hand_size}"))
        };
        let levels =
            vec![exempt_by_kind, limited_exempt, hand(4, 5), hand(0, 0), hand(4, 0), hand(4, 4), hand(1, 1)];
        let config = Config::new(Vec::new(), levels);
        let names: Vec<&str> = config.priority_levels().iter().map(|l| l.name.as_str()).collect();
        assert_eq!(names, ["catch-all", "exempt", "q1h1", "q4h4"]);
        assert!(config.priority_levels()[1].is_exempt());
    }
}
