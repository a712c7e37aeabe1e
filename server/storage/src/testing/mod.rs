//! What the tests of this crate share: a random number generator, a simulated disk, and the behaviour suite that
//! every backend passes.

mod objects;
mod random;
mod sim_disk;

pub(crate) use self::{
    objects::{LabelInspect, delete, encoded, put},
    random::Random,
    sim_disk::SimDisk,
};
