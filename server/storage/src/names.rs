//! The names of a store's resources: numbers are given to them once, and kept for as long as the store is open.

use std::{
    collections::HashMap,
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use crate::{limits::RESOURCES_MAX, object::ResourceId};

/// Why a name gets no number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResourceError {
    /// It is empty, or longer than a record of the journal can hold.
    Name(String),
    /// There are as many as a store has numbers for.
    TooMany,
}

impl fmt::Display for ResourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ResourceError::Name(name) => {
                write!(f, "the resource name {name:?} is empty or longer than {NAME_BYTES_MAX} bytes")
            }
            ResourceError::TooMany => write!(
                f,
                "the store has had {RESOURCES_MAX} resources since it was opened, as many as it takes; restart the \
                 server to forget those that are gone"
            ),
        }
    }
}

impl std::error::Error for ResourceError {}

/// Longest name: records hold its length in a byte.
const NAME_BYTES_MAX: usize = u8::MAX as usize;

/// All names, by number.
pub(crate) struct Names {
    /// Numbers below this are given.
    count: AtomicUsize,
    given: Mutex<Given>,
}

#[derive(Default)]
struct Given {
    names: Vec<Arc<str>>,
    numbers: HashMap<Arc<str>, u16>,
}

impl Names {
    /// The names that there are at open.
    pub(crate) fn new(names: Vec<Arc<str>>) -> Names {
        let numbers = names.iter().enumerate().map(|(at, name)| (name.clone(), at as u16)).collect();
        Names { count: AtomicUsize::new(names.len()), given: Mutex::new(Given { names, numbers }) }
    }
    fn lock(&self) -> MutexGuard<'_, Given> {
        self.given.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.count.load(Ordering::Acquire)
    }
    /// The number of a name, given to it now where it has none; `make_room` sees to what belongs to a new number before
    /// anyone knows it, and says whether it can be.
    pub(crate) fn number(
        &self,
        name: &str,
        make_room: impl FnOnce(usize) -> bool,
    ) -> Result<ResourceId, ResourceError> {
        let mut given = self.lock();
        if let Some(number) = given.numbers.get(name) {
            return Ok(ResourceId(*number));
        }
        if name.is_empty() || name.len() > NAME_BYTES_MAX {
            return Err(ResourceError::Name(name.to_owned()));
        }
        let number = given.names.len();
        let id = u16::try_from(number).ok().filter(|_| make_room(number)).ok_or(ResourceError::TooMany)?;
        let name: Arc<str> = name.into();
        given.names.push(name.clone());
        given.numbers.insert(name, id);
        self.count.store(number + 1, Ordering::Release);
        Ok(ResourceId(id))
    }
    /// Those from this number on.
    pub(crate) fn from(&self, number: usize) -> Vec<Arc<str>> {
        self.lock().names.get(number..).unwrap_or_default().to_vec()
    }
}
