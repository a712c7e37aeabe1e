//! What a server at rest gives back: freed memory, and pages of the program that a start or a burst of work used.

use std::{fs, thread, time::Duration};

use ringbolt_engine::{give_back_memory, give_back_program};

/// How often it is looked whether the server rests. Each look takes some 20 µs.
const LOOK: Duration = Duration::from_secs(1);
/// CPU of a server that rests, at most, from one look to the next: one part in a hundred, in ticks of 10 ms.
const REST_TICKS: u64 = 1;
/// CPU since memory was given back from which on it is worth another time, in ticks of 10 ms. To take back what is used
/// then costs about a millisecond.
const WORTH_TICKS: u64 = 20;
/// The same of pages of files that came back since, 4 MiB: a single request for much, or of a rare kind, brings more in
/// work that is over than a server at rest needs. What is done from time to time at rest needs less.
const WORTH_PAGES: u64 = 1024;
/// The thread reads a line and calls the system.
const STACK_BYTES: usize = 64 << 10;

/// Gives back what a start took, and from now on what work took, whenever there is none.
pub fn begin() {
    // Also what was freed of reading the store, which belongs to the thread that read it.
    give_back();
    let thread = thread::Builder::new().name("rest".to_owned()).stack_size(STACK_BYTES);
    if let Err(error) = thread.spawn(watch) {
        // It costs memory, and nothing else.
        tracing::warn!(%error, "memory is not given back after work");
    }
}

fn give_back() {
    give_back_memory();
    give_back_program();
}

fn watch() {
    let mut rest = Rest::default();
    loop {
        thread::sleep(LOOK);
        if used().is_some_and(|used| rest.is_worth_it(used)) {
            give_back();
            rest.given = used();
        }
    }
}

/// What the process has used and holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Used {
    /// CPU, in ticks.
    ticks: u64,
    /// Resident pages of files.
    pages: u64,
}

fn used() -> Option<Used> {
    let ticks = ticks(&fs::read_to_string("/proc/self/stat").ok()?)?;
    // All pages, resident ones, those of them that are a file's.
    let pages = fs::read_to_string("/proc/self/statm").ok()?;
    Some(Used { ticks, pages: pages.split_ascii_whitespace().nth(2)?.parse().ok()? })
}

/// CPU that the process has used, user and system, in ticks, as the system's line of a process tells it.
fn ticks(stat: &str) -> Option<u64> {
    // The name may hold anything; the user's time is the 12th field behind it, the system's the next.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace().skip(11).map(|field| field.parse::<u64>().ok());
    Some(fields.next()?? + fields.next()??)
}

/// The process as it was.
#[derive(Default)]
struct Rest {
    /// CPU at the last look, in ticks.
    seen: u64,
    /// When memory was given back, if it ever was by this thread: threads of the start have ended since.
    given: Option<Used>,
}

impl Rest {
    /// Whether the process rests and has worked, of what it has used and holds now.
    fn is_worth_it(&mut self, Used { ticks, pages }: Used) -> bool {
        let rests = ticks.saturating_sub(std::mem::replace(&mut self.seen, ticks)) <= REST_TICKS;
        let has_worked = self.given.is_none_or(|given| {
            ticks.saturating_sub(given.ticks) >= WORTH_TICKS
                || pages.saturating_sub(given.pages) >= WORTH_PAGES
        });
        rests && has_worked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_of_a_process_with_any_name() {
        let line = "7 (a) S (b) R 1 2 3 4 5 6 7 8 9 10 41 22 0 0 20 0 1";
        assert_eq!(ticks(line), Some(63));
        assert_eq!(ticks("7 (a) R 1 2"), None);
        assert_eq!(ticks(""), None);
        assert!(ticks(&fs::read_to_string("/proc/self/stat").unwrap()).is_some());
    }

    #[test]
    fn it_is_worth_it_after_work_and_not_during_it() {
        let mut rest = Rest::default();
        let looks = [
            (10, 4000, false, "the start"),
            (11, 4000, true, "its end"),
            (11, 500, false, "nothing was done since"),
            (12, 700, false, "a little"),
            (90, 4000, false, "work"),
            (190, 4000, false, "more of it"),
            (191, 4000, true, "its end"),
            (210, 900, false, "work"),
            (210, 900, false, "too little"),
            (211, 900, true, "enough"),
            (214, 1523, false, "work"),
            (214, 1523, false, "too few pages"),
            (214, 1524, true, "enough of them"),
        ];
        for (ticks, pages, expect, what) in looks {
            let used = Used { ticks, pages };
            assert_eq!(rest.is_worth_it(used), expect, "{what}");
            if expect {
                rest.given = Some(Used { ticks, pages: 500 });
            }
        }
        assert!(used().is_some_and(|used| used.pages > 0));
    }
}
