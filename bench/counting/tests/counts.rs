//! The counter counts what it should, on each thread and in all.

use std::{alloc::System, hint::black_box};

use ringbolt_counting_allocator::{Count, Counting, allocations, of_thread, total};

#[global_allocator]
static ALLOCATOR: Counting<System> = Counting(System);

#[test]
fn counts() {
    assert_eq!(allocations(|| ()), 0);
    assert_eq!(allocations(|| drop(black_box(Box::new(1)))), 1);
    let before = of_thread();
    let mut list: Vec<u8> = black_box(Vec::with_capacity(100));
    list.reserve_exact(300);
    drop(black_box(vec![0_u8; 50]));
    assert_eq!(of_thread() - before, Count { allocations: 3, bytes: 350 });
    // Another thread's are its own; the total has both.
    let before = (total(), of_thread());
    let spawned = std::thread::spawn(|| allocations(|| drop(black_box(Box::new([0_u8; 64])))));
    assert_eq!(spawned.join().expect("it only counts"), 1);
    assert!((total() - before.0).allocations > (of_thread() - before.1).allocations);
}
