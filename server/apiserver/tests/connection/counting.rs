//! The allocator of this test binary counts.

use std::alloc::System;

use ringbolt_counting_allocator::Counting;

#[global_allocator]
static ALLOCATOR: Counting<System> = Counting(System);
