//! A core's own tasks and timers: futures that belong to no connection (post-start hooks, controllers).

use std::{
    cell::RefCell,
    collections::BinaryHeap,
    future::Future,
    pin::Pin,
    rc::Rc,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll, Wake, Waker},
    time::Instant,
};

use slab::Slab;

/// A future that stays on its core.
pub type LocalTask = Pin<Box<dyn Future<Output = ()>>>;

/// Tells a core, from any thread, that it has work.
pub type WakeCore = Arc<dyn Fn() + Send + Sync>;

/// Runs local tasks. One a core; [`Spawner`]s are handles to it.
pub struct Tasks {
    slots: RefCell<Slab<Option<LocalTask>>>,
    ready: Arc<Ready>,
}

/// A handle through which tasks are added.
#[derive(Clone)]
pub struct Spawner(Rc<Tasks>);

struct Ready {
    queue: Mutex<Vec<usize>>,
    wake: WakeCore,
}

impl Ready {
    fn push(&self, task: usize) {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.push(task);
        let first = queue.len() == 1;
        drop(queue);
        if first {
            (self.wake)();
        }
    }
}

struct TaskWaker {
    ready: Arc<Ready>,
    task: usize,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.ready.push(self.task);
    }
    fn wake_by_ref(self: &Arc<Self>) {
        self.ready.push(self.task);
    }
}

impl Spawner {
    /// A runner without tasks; `wake` must lead to a call of [`Spawner::run`] on this thread.
    pub fn new(wake: WakeCore) -> Self {
        let ready = Arc::new(Ready { queue: Mutex::default(), wake });
        Spawner(Rc::new(Tasks { slots: RefCell::default(), ready }))
    }

    /// Adds a task; it is polled for the first time in the next [`Spawner::run`].
    pub fn spawn(&self, task: LocalTask) {
        let id = self.0.slots.borrow_mut().insert(Some(task));
        self.0.ready.push(id);
    }

    /// Polls every task that was woken. Tasks woken meanwhile run in the next call, so that a task that always
    /// wakes itself cannot hold the core.
    pub fn run(&self) {
        let ready = std::mem::take(&mut *self.0.ready.queue.lock().unwrap_or_else(PoisonError::into_inner));
        for id in ready {
            // Taken out while it runs: it may spawn, which changes the slab.
            let Some(mut task) = self.0.slots.borrow_mut().get_mut(id).and_then(Option::take) else {
                continue;
            };
            let waker = Waker::from(Arc::new(TaskWaker { ready: self.0.ready.clone(), task: id }));
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                task.as_mut().poll(&mut Context::from_waker(&waker)).is_ready()
            }));
            let mut slots = self.0.slots.borrow_mut();
            match done {
                Ok(false) => slots[id] = Some(task),
                Ok(true) => drop(slots.remove(id)),
                Err(_) => {
                    tracing::error!("a task of the core panicked and was dropped");
                    slots.remove(id);
                }
            }
        }
    }

    /// Tasks that have not finished.
    pub fn len(&self) -> usize {
        self.0.slots.borrow().len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The core's sleeping futures.
pub struct Timers {
    entries: RefCell<BinaryHeap<Entry>>,
    wake: WakeCore,
}

struct Entry {
    when: Instant,
    waker: Waker,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.when == other.when
    }
}
impl Eq for Entry {}
impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Entry {
    /// The heap is a max-heap: the earliest must be the greatest.
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        other.when.cmp(&self.when)
    }
}

impl Timers {
    /// No sleepers; `wake` must lead to a call of [`Timers::fire`], so that the core's own timer is set anew.
    pub fn new(wake: WakeCore) -> Self {
        Timers { entries: RefCell::default(), wake }
    }

    fn add(&self, entry: Entry) {
        let when = entry.when;
        self.entries.borrow_mut().push(entry);
        if self.next() == Some(when) {
            (self.wake)();
        }
    }

    /// Ready at `when`.
    pub fn sleep_until(self: &Rc<Self>, when: Instant) -> impl Future<Output = ()> + 'static {
        Sleep { when, timers: self.clone(), registered: false }
    }

    /// Wakes what is due; answers when to call again.
    pub fn fire(&self, now: Instant) -> Option<Instant> {
        loop {
            let mut entries = self.entries.borrow_mut();
            match entries.peek() {
                Some(entry) if entry.when <= now => {}
                other => return other.map(|e| e.when),
            }
            let due = entries.pop();
            drop(entries);
            if let Some(entry) = due {
                entry.waker.wake();
            }
        }
    }

    /// When [`Timers::fire`] has something to do next.
    pub fn next(&self) -> Option<Instant> {
        self.entries.borrow().peek().map(|e| e.when)
    }
}

struct Sleep {
    when: Instant,
    timers: Rc<Timers>,
    registered: bool,
}

impl Future for Sleep {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if Instant::now() >= self.when {
            return Poll::Ready(());
        }
        // One entry a sleep: a poll for another reason must not pile them up. The waker of a core's task is the
        // same at every poll.
        if !self.registered {
            self.registered = true;
            let entry = Entry { when: self.when, waker: context.waker().clone() };
            self.timers.add(entry);
        }
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use std::{
        cell::Cell,
        sync::atomic::{AtomicU32, Ordering},
        time::Duration,
    };

    use super::*;

    fn spawner() -> (Spawner, Arc<AtomicU32>) {
        let wakes = Arc::new(AtomicU32::new(0));
        let count = wakes.clone();
        let wake: WakeCore = Arc::new(move || {
            count.fetch_add(1, Ordering::Relaxed);
        });
        (Spawner::new(wake), wakes)
    }

    #[test]
    fn tasks_run_when_woken_and_leave_when_done() {
        let (spawner, wakes) = spawner();
        let timers = Rc::new(Timers::new(Arc::new(|| ())));
        let steps = Rc::new(Cell::new(0));
        let (seen, sleep) = (steps.clone(), timers.sleep_until(Instant::now() + Duration::from_millis(5)));
        spawner.spawn(Box::pin(async move {
            seen.set(1);
            sleep.await;
            seen.set(2);
        }));
        assert_eq!(wakes.load(Ordering::Relaxed), 1);
        spawner.run();
        assert_eq!((steps.get(), spawner.len()), (1, 1));
        spawner.run();
        assert_eq!(steps.get(), 1, "nothing woke it");
        let due = timers.next().expect("one sleeper");
        assert_eq!(timers.fire(due - Duration::from_millis(1)), Some(due));
        std::thread::sleep(Duration::from_millis(6));
        assert_eq!(timers.fire(Instant::now()), None);
        spawner.run();
        assert_eq!((steps.get(), spawner.len()), (2, 0));
    }

    #[test]
    fn a_panic_ends_one_task_only() {
        let (spawner, _) = spawner();
        let done = Rc::new(Cell::new(false));
        let mark = done.clone();
        spawner.spawn(Box::pin(async { panic!("expected in this test") }));
        spawner.spawn(Box::pin(async move { mark.set(true) }));
        spawner.run();
        assert!(done.get());
        assert!(spawner.is_empty());
    }
}
