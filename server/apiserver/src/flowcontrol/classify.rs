//! Which FlowSchema a request belongs to: rules made ready for asking, which allocates nothing.

use ringbolt_protocol::request_info::{RequestInfo, Verb};

use super::config::{Config, PolicyRulesWithSubjects, ResourcePolicyRule, Subject};
use crate::authentication::UserInfo;

/// Stands for everything, where it is alone.
const ALL: &str = "*";
/// Begins the names of service accounts as users.
const SERVICE_ACCOUNT: &str = "system:serviceaccount:";

/// The rules of all schemas, in the order of the schemas.
pub struct Classifier {
    schemas: Vec<Vec<Rules>>,
    /// What no schema takes.
    catch_all: usize,
}

struct Rules {
    subjects: Vec<Who>,
    resources: Vec<ResourceRule>,
    others: Vec<PathRule>,
}

enum Who {
    Everyone,
    User(String),
    Group(String),
    /// The user's name begins with it: accounts of a namespace.
    UserPrefix(String),
}

/// A list of which one must match, or a wildcard.
enum OneOf<T> {
    Any,
    These(Vec<T>),
}

struct ResourceRule {
    verbs: Verbs,
    groups: OneOf<String>,
    /// Resource and subresource.
    resources: OneOf<(String, String)>,
    cluster_scope: bool,
    namespaces: OneOf<String>,
}

struct PathRule {
    verbs: Verbs,
    /// A path, and the same with a slash behind it, below which everything matches.
    paths: OneOf<(String, String)>,
}

/// Verbs as bits.
#[derive(Clone, Copy)]
struct Verbs(u32);

impl Verbs {
    const KNOWN: [Verb; 15] = [
        Verb::Get,
        Verb::List,
        Verb::Watch,
        Verb::Create,
        Verb::Update,
        Verb::Patch,
        Verb::Delete,
        Verb::DeleteCollection,
        Verb::Proxy,
        Verb::Post,
        Verb::Put,
        Verb::Head,
        Verb::Options,
        Verb::Trace,
        Verb::Connect,
    ];

    fn new(verbs: &[String]) -> Self {
        if matches!(verbs, [only] if only == ALL) {
            return Verbs(u32::MAX);
        }
        let bit =
            |verb: &Verb| if verbs.iter().any(|text| text == verb.as_str()) { 1 << *verb as u32 } else { 0 };
        Verbs(Self::KNOWN.iter().map(bit).sum())
    }

    fn contain(self, verb: Verb) -> bool {
        self.0 & (1 << verb as u32) != 0
    }
}

impl<T> OneOf<T> {
    fn new(texts: &[String], make: impl Fn(&String) -> T) -> Self {
        if matches!(texts, [only] if only == ALL) {
            return OneOf::Any;
        }
        OneOf::These(texts.iter().map(make).collect())
    }

    #[inline]
    fn matches(&self, test: impl Fn(&T) -> bool) -> bool {
        match self {
            OneOf::Any => true,
            OneOf::These(these) => these.iter().any(test),
        }
    }
}

impl Who {
    fn new(subject: &Subject) -> Self {
        match subject {
            Subject::User(name) | Subject::Group(name) if name == ALL => Who::Everyone,
            Subject::User(name) => Who::User(name.clone()),
            Subject::Group(name) => Who::Group(name.clone()),
            Subject::ServiceAccount { namespace, name } if name == ALL => {
                Who::UserPrefix(format!("{SERVICE_ACCOUNT}{namespace}:"))
            }
            Subject::ServiceAccount { namespace, name } => {
                Who::User(format!("{SERVICE_ACCOUNT}{namespace}:{name}"))
            }
        }
    }

    #[inline]
    fn is(&self, user: &UserInfo) -> bool {
        match self {
            Who::Everyone => true,
            Who::User(name) => *name == user.name,
            Who::Group(name) => user.is_in_group(name),
            Who::UserPrefix(prefix) => user.name.starts_with(prefix.as_str()),
        }
    }
}

impl Rules {
    fn new(rules: &PolicyRulesWithSubjects) -> Self {
        let path = |path: &String| {
            let mut below = path.strip_suffix('*').unwrap_or(path).to_owned();
            if !below.ends_with('/') {
                below.push('/');
            }
            (path.clone(), below)
        };
        let others = rules.non_resource_rules.iter().map(|rule| PathRule {
            verbs: Verbs::new(&rule.verbs),
            // Other than in the lists of resource rules, the wildcard counts beside others too.
            paths: match rule.non_resource_urls.iter().any(|path| path == ALL) {
                true => OneOf::Any,
                false => OneOf::new(&rule.non_resource_urls, path),
            },
        });
        Rules {
            subjects: rules.subjects.iter().map(Who::new).collect(),
            resources: rules.resource_rules.iter().map(ResourceRule::new).collect(),
            others: others.collect(),
        }
    }

    #[inline]
    fn match_request(&self, user: &UserInfo, info: &RequestInfo<'_>) -> bool {
        if !self.subjects.iter().any(|subject| subject.is(user)) {
            return false;
        }
        if info.is_resource_request {
            return self.resources.iter().any(|rule| rule.matches(info));
        }
        self.others.iter().any(|rule| {
            rule.verbs.contain(info.verb)
                && rule
                    .paths
                    .matches(|(path, below)| info.path == path || info.path.starts_with(below.as_str()))
        })
    }
}

impl ResourceRule {
    fn new(rule: &ResourcePolicyRule) -> Self {
        let resource = |text: &String| {
            let (resource, subresource) = text.split_once('/').unwrap_or((text, ""));
            (resource.to_owned(), subresource.to_owned())
        };
        ResourceRule {
            verbs: Verbs::new(&rule.verbs),
            groups: OneOf::new(&rule.api_groups, String::clone),
            resources: OneOf::new(&rule.resources, resource),
            cluster_scope: rule.cluster_scope,
            namespaces: OneOf::new(&rule.namespaces, String::clone),
        }
    }

    #[inline]
    fn matches(&self, info: &RequestInfo<'_>) -> bool {
        self.verbs.contain(info.verb)
            && self.resources.matches(|(resource, sub)| resource == info.resource && sub == info.subresource)
            && self.groups.matches(|group| group == info.api_group)
            && match info.namespace {
                "" => self.cluster_scope,
                namespace => self.namespaces.matches(|listed| listed == namespace),
            }
    }
}

impl Classifier {
    /// The rules of a configuration.
    pub fn new(config: &Config) -> Self {
        let schemas: Vec<Vec<Rules>> = config
            .flow_schemas()
            .iter()
            .map(|schema| schema.rules.iter().map(Rules::new).collect())
            .collect();
        let name = super::builtin::CATCH_ALL;
        let catch_all = config.flow_schemas().iter().position(|schema| schema.name == name);
        Classifier { catch_all: catch_all.unwrap_or(schemas.len().saturating_sub(1)), schemas }
    }

    /// The place of the schema of a request.
    #[inline]
    pub fn classify(&self, user: &UserInfo, info: &RequestInfo<'_>) -> usize {
        let matches = |rules: &Vec<Rules>| rules.iter().any(|rules| rules.match_request(user, info));
        self.schemas.iter().position(matches).unwrap_or(self.catch_all)
    }
}
