//! Connections from received bytes to queued bytes: the whole server but the socket.

mod answers;
mod bodies;
mod counting;
mod custom;
mod custom_apply;
mod impersonation;
mod live;
mod no_allocation;
mod priority_and_fairness;
mod relaying;
mod rig;
mod roles;
mod tables;
mod waiting;
mod watching;
