//! Sets of verbs.

use ringbolt_protocol::request_info::Verb;

/// Verbs that a resource or subresource serves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VerbSet(u8);

const GET: u8 = 1;
const LIST: u8 = 1 << 1;
const WATCH: u8 = 1 << 2;
const CREATE: u8 = 1 << 3;
const UPDATE: u8 = 1 << 4;
const PATCH: u8 = 1 << 5;
const DELETE: u8 = 1 << 6;
const DELETE_COLLECTION: u8 = 1 << 7;

impl VerbSet {
    /// The set of verbs as discovery names them; other words are left out.
    pub fn of(names: &[&str]) -> VerbSet {
        VerbSet(names.iter().fold(0, |set, name| {
            set | match *name {
                "get" => GET,
                "list" => LIST,
                "watch" => WATCH,
                "create" => CREATE,
                "update" => UPDATE,
                "patch" => PATCH,
                "delete" => DELETE,
                "deletecollection" => DELETE_COLLECTION,
                _ => 0,
            }
        }))
    }

    /// Whether the verb is in the set.
    pub fn contains(self, verb: Verb) -> bool {
        let bit = match verb {
            Verb::Get => GET,
            Verb::List => LIST,
            Verb::Watch => WATCH,
            Verb::Create => CREATE,
            Verb::Update => UPDATE,
            Verb::Patch => PATCH,
            Verb::Delete => DELETE,
            Verb::DeleteCollection => DELETE_COLLECTION,
            _ => 0,
        };
        self.0 & bit != 0
    }

    /// The verbs that go to the path of a collection.
    pub(super) fn of_collection(self) -> VerbSet {
        VerbSet(self.0 & (LIST | WATCH | CREATE | DELETE_COLLECTION))
    }

    /// The verbs that go to the path of one object.
    pub(super) fn of_object(self) -> VerbSet {
        VerbSet(self.0 & (GET | UPDATE | PATCH | DELETE))
    }

    /// The verbs that go to the path of a collection over all namespaces.
    pub(super) fn across_namespaces(self) -> VerbSet {
        VerbSet(self.0 & (LIST | WATCH))
    }

    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }
}
