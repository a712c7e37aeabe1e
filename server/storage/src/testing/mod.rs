//! What the tests of this crate share: a random number generator, a simulated disk, and the behaviour suite that
//! every backend passes.

pub(crate) mod model;
mod objects;
mod random;
mod sim_disk;
pub(crate) mod suite;

pub(crate) use self::{
    objects::{LabelInspect, delete, encoded, put, text},
    random::Random,
    sim_disk::SimDisk,
};
