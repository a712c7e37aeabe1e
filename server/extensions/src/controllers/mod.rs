//! What the server itself does about CustomResourceDefinitions: names, conditions, and the end of their objects.

mod cleanup;
mod conditions;
mod inbox;
mod manager;
mod names;
mod writer;

pub(crate) use self::{
    inbox::{Inbox, Watcher},
    manager::{Manager, Shared},
};
