//! The seats of one priority level, shared by all cores.
//!
//! A seat is in one of three places: taken by a request, idle at a core, or, where the level has shrunk below what is
//! taken, a debt that is paid when a request gives its seats back. Taken plus idle minus debt is the limit, always.
//!
//! A core takes its own idle seats first: that is an atomic on a cache line that nobody else uses. It takes those of
//! others only when its own do not do, and never those of a core that has requests waiting. A seat that comes free
//! while requests wait somewhere is given to one of the cores where they wait, in proportion to the queues that are
//! in use there, whoever gave it back: no core can keep seats from another by being busy.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst},
};

use super::stats::Padded;

/// Calls a core.
pub trait CallCore: Send + Sync {
    /// Core `core` has something to do: seats were given to it, or settings changed.
    fn call(&self, core: usize);
}

/// The seats of a level.
pub struct Seats {
    limit: AtomicU32,
    debt: AtomicU32,
    /// Cores at which requests wait.
    waiting: AtomicUsize,
    /// The core that may keep idle seats until they are enough for a wide request, plus one; 0 for none. Two that
    /// both did could each hold what the other lacks, for ever.
    gatherer: AtomicUsize,
    cores: Box<[Padded<CoreSeats>]>,
    caller: Arc<dyn CallCore>,
}

#[derive(Default)]
struct CoreSeats {
    idle: AtomicU32,
    waits: AtomicBool,
    /// How much of the seats it should get while it waits: queues in use.
    weight: AtomicU32,
    /// Where in its sequence of choices this core is, as the bits of an `f64`. Only the core itself touches it.
    choice: AtomicU64,
}

/// The step of a sequence that spreads evenly over 0..1 wherever it is cut: no weight goes without for long.
const GOLDEN: f64 = 0.618_033_988_749_894_9;

impl Seats {
    /// So many seats over so many cores.
    pub fn new(limit: u32, cores: usize, caller: Arc<dyn CallCore>) -> Self {
        let seats = Seats {
            limit: AtomicU32::new(0),
            debt: AtomicU32::new(0),
            waiting: AtomicUsize::new(0),
            gatherer: AtomicUsize::new(0),
            cores: (0..cores.max(1)).map(|_| Padded::default()).collect(),
            caller,
        };
        seats.set_limit(limit);
        seats
    }

    /// Seats in all.
    pub fn limit(&self) -> u32 {
        self.limit.load(Relaxed)
    }

    /// Seats that no request has, all cores together.
    pub fn idle(&self) -> u32 {
        self.cores.iter().map(|core| core.0.idle.load(Relaxed)).sum()
    }

    /// Seats that requests have, as far as one can tell while they come and go.
    pub fn taken(&self) -> u32 {
        (self.limit() + self.debt.load(SeqCst)).saturating_sub(self.idle())
    }

    /// Whether requests wait anywhere.
    pub fn is_waited_for(&self) -> bool {
        self.waiting.load(Relaxed) > 0
    }

    /// Takes seats for a request at a core, all or none.
    #[inline]
    pub fn take(&self, core: usize, seats: u32) -> bool {
        let own = &self.cores[core].0.idle;
        let idle = own.load(Relaxed);
        if idle >= seats && own.compare_exchange(idle, idle - seats, SeqCst, Relaxed).is_ok() {
            return true;
        }
        self.take_from_all(core, seats)
    }

    #[cold]
    fn take_from_all(&self, core: usize, seats: u32) -> bool {
        let count = self.cores.len();
        let mut got = self.cores[core].0.take_up_to(seats);
        for offset in 1..count {
            if got == seats {
                break;
            }
            let other = &self.cores[(core + offset) % count].0;
            if !other.waits.load(SeqCst) {
                got += other.take_up_to(seats - got);
            }
        }
        if got == seats {
            return true;
        }
        if got > 0 {
            self.put(core, got);
        }
        false
    }

    /// Takes the seats of a request back.
    #[inline]
    pub fn release(&self, core: usize, seats: u32) {
        let left = if self.debt.load(SeqCst) == 0 { seats } else { seats - self.pay(seats) };
        self.put(core, left);
    }

    /// Puts seats where they are wanted.
    #[inline]
    fn put(&self, core: usize, seats: u32) {
        let own = &self.cores[core].0;
        if self.waiting.load(SeqCst) == 0 {
            own.idle.fetch_add(seats, SeqCst);
            // Who began to wait just before the seats were there did not find them, and is found here.
            if self.waiting.load(SeqCst) == 0 {
                return;
            }
            let again = own.take_up_to(seats);
            return self.share_out(core, again);
        }
        self.share_out(core, seats);
    }

    /// Gives seats to the cores where requests wait.
    #[cold]
    fn share_out(&self, core: usize, seats: u32) {
        for _ in 0..seats {
            match self.choose(core) {
                Some(chosen) => {
                    self.cores[chosen].0.idle.fetch_add(1, SeqCst);
                    if chosen != core {
                        self.caller.call(chosen);
                    }
                }
                None => {
                    self.cores[core].0.idle.fetch_add(1, SeqCst);
                }
            }
        }
    }

    /// A core where requests wait, by weight.
    fn choose(&self, chooser: usize) -> Option<usize> {
        let weight = |core: &Padded<CoreSeats>| match core.0.waits.load(SeqCst) {
            true => u64::from(core.0.weight.load(Relaxed).max(1)),
            false => 0,
        };
        let total: u64 = self.cores.iter().map(weight).sum();
        if total == 0 {
            return None;
        }
        let sequence = &self.cores[chooser].0.choice;
        let place = (f64::from_bits(sequence.load(Relaxed)) + GOLDEN).fract();
        sequence.store(place.to_bits(), Relaxed);
        let mut left = (place * total as f64) as u64;
        self.cores.iter().position(|core| {
            let weight = weight(core);
            let here = left < weight;
            left = left.saturating_sub(weight);
            here
        })
    }

    fn pay(&self, seats: u32) -> u32 {
        let mut paid = 0;
        // The closure may run again, and then says anew what it pays.
        let _ = self.debt.fetch_update(SeqCst, SeqCst, |debt| {
            paid = debt.min(seats);
            (paid > 0).then(|| debt - paid)
        });
        paid
    }

    /// Requests wait at a core, in so many queues; called again when that changes. The core looks for seats once more
    /// after it has said so.
    pub fn wait(&self, core: usize, queues: u32) {
        let own = &self.cores[core].0;
        own.weight.store(queues, Relaxed);
        if !own.waits.swap(true, SeqCst) {
            self.waiting.fetch_add(1, SeqCst);
        }
    }

    /// No request waits at a core any more. What it was given goes to others that wait.
    pub fn wait_no_more(&self, core: usize) {
        let own = &self.cores[core].0;
        if own.waits.swap(false, SeqCst) {
            self.waiting.fetch_sub(1, SeqCst);
        }
        self.gather_no_more(core);
        self.pass_on(core);
    }

    /// Idle seats of a core at which nothing waits go to cores where something does.
    pub fn pass_on(&self, core: usize) {
        let own = &self.cores[core].0;
        if own.waits.load(SeqCst) || self.waiting.load(SeqCst) == 0 {
            return;
        }
        let idle = own.take_up_to(u32::MAX);
        self.share_out(core, idle);
    }

    /// What is idle at a core is too little for the request that is next there. One core may keep it until it is
    /// enough; all others give theirs to that one.
    pub fn gather(&self, core: usize) {
        let own = &self.cores[core].0;
        if own.idle.load(SeqCst) == 0 {
            return;
        }
        match self.gatherer.compare_exchange(0, core + 1, SeqCst, SeqCst) {
            Ok(_) => {}
            Err(gatherer) if gatherer == core + 1 => {}
            Err(gatherer) => {
                let idle = own.take_up_to(u32::MAX);
                if idle > 0 {
                    self.cores[gatherer - 1].0.idle.fetch_add(idle, SeqCst);
                    self.caller.call(gatherer - 1);
                }
            }
        }
    }

    /// The core has what it gathered for, or does not want it any more.
    pub fn gather_no_more(&self, core: usize) {
        if self.gatherer.load(Relaxed) == core + 1 {
            let _ = self.gatherer.compare_exchange(core + 1, 0, SeqCst, SeqCst);
        }
    }

    /// Changes how many there are. One thread at a time does.
    pub fn set_limit(&self, limit: u32) {
        let before = self.limit.swap(limit, SeqCst);
        if limit >= before {
            let added = limit - before;
            let added = added - self.pay(added);
            if self.waiting.load(SeqCst) > 0 {
                return self.share_out(0, added);
            }
            let cores = self.cores.len() as u32;
            for (at, core) in (0..).zip(&self.cores) {
                let share = added / cores + u32::from(at < added % cores);
                core.0.idle.fetch_add(share, SeqCst);
            }
            // As in `put`: somebody may have begun to wait meanwhile.
            if self.waiting.load(SeqCst) > 0 {
                (0..self.cores.len()).for_each(|core| self.pass_on(core));
            }
            return;
        }
        let mut owed = before - limit;
        // A seat that a request takes or gives back while this looks is found in the debt.
        self.debt.fetch_add(owed, SeqCst);
        for core in &self.cores {
            let idle = core.0.take_up_to(owed);
            let paid = self.pay(idle);
            owed = owed.saturating_sub(paid);
            if paid < idle {
                // Requests have paid meanwhile.
                self.put(0, idle - paid);
            }
        }
    }
}

impl CoreSeats {
    /// Takes as many idle seats as there are, up to `seats`.
    fn take_up_to(&self, seats: u32) -> u32 {
        let mut taken = 0;
        let _ = self.idle.fetch_update(SeqCst, SeqCst, |idle| {
            taken = idle.min(seats);
            (taken > 0).then(|| idle - taken)
        });
        taken
    }
}
