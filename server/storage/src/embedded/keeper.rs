//! Work on files that must not hold up acknowledgements: preparing the next segment, writing snapshots, removing
//! what they cover. On a thread with a disk handle of its own where the disk has one, else in steps between batches.

use std::{
    collections::VecDeque,
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
};

use crossbeam_channel::{Receiver, Sender, unbounded};

use super::{
    segment::{segment_name, segment_number},
    snapshot_file::{SnapshotWriter, snapshot_sequence},
};
use crate::{disk::Disk, limits};

/// A piece of work.
pub(crate) enum Task {
    /// Makes a segment.
    Prepare { number: u64, size: u64 },
    /// Writes a snapshot, then removes the segments before `first_kept` and older snapshots.
    Compact { writer: Box<SnapshotWriter>, sequence: u64, first_kept: u64 },
}

/// A piece of work that is done.
pub(crate) enum Done {
    Prepared { number: u64, result: io::Result<()> },
    Compacted { first_kept: u64, result: io::Result<()> },
}

/// Who does the work.
pub(crate) enum Keeper {
    /// The caller, step by step.
    Inline(VecDeque<Task>),
    /// A thread.
    Thread {
        tasks: Sender<Task>,
        done: Receiver<Done>,
        stop: Arc<AtomicBool>,
        thread: Option<JoinHandle<()>>,
    },
}

impl Keeper {
    /// A thread if `disk` has another handle.
    pub(crate) fn new(disk: &mut dyn Disk) -> io::Result<Keeper> {
        let Some(mut disk) = disk.another()? else { return Ok(Keeper::Inline(VecDeque::new())) };
        let (tasks, todo) = unbounded::<Task>();
        let (report, done) = unbounded();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let work = move || {
            let mut tasks = VecDeque::new();
            loop {
                if tasks.is_empty() {
                    match todo.recv() {
                        Ok(task) => tasks.push_back(task),
                        Err(_) => return,
                    }
                }
                tasks.extend(todo.try_iter());
                if stopped.load(Ordering::Relaxed) {
                    return;
                }
                if let Some(outcome) = step_first(&mut tasks, &mut *disk)
                    && report.send(outcome).is_err()
                {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name("storage-keeper".into()).spawn(work)?;
        Ok(Keeper::Thread { tasks, done, stop, thread: Some(thread) })
    }
    /// Adds work.
    pub(crate) fn push(&mut self, task: Task) {
        match self {
            Keeper::Inline(tasks) => tasks.push_back(task),
            // It only ends before its sender when the sequencer does.
            Keeper::Thread { tasks, .. } => drop(tasks.send(task)),
        }
    }
    /// Whether the caller has steps to do.
    pub(crate) fn has_steps(&self) -> bool {
        matches!(self, Keeper::Inline(tasks) if !tasks.is_empty())
    }
    /// Whether work is done on the caller's time.
    pub(crate) fn is_inline(&self) -> bool {
        matches!(self, Keeper::Inline(_))
    }
    /// What the thread has done.
    pub(crate) fn poll(&mut self) -> Option<Done> {
        match self {
            Keeper::Inline(_) => None,
            Keeper::Thread { done, .. } => done.try_recv().ok(),
        }
    }
    /// Does a step if that is the caller's matter, and says what is done with it.
    pub(crate) fn step(&mut self, disk: &mut dyn Disk) -> Option<Done> {
        match self {
            Keeper::Inline(tasks) => step_first(tasks, disk),
            Keeper::Thread { .. } => None,
        }
    }
    /// Waits until something is done. `None` when there is nothing to wait for.
    pub(crate) fn wait(&mut self, disk: &mut dyn Disk) -> Option<Done> {
        match self {
            Keeper::Inline(tasks) => loop {
                if tasks.is_empty() {
                    return None;
                }
                if let Some(outcome) = step_first(tasks, disk) {
                    return Some(outcome);
                }
            },
            Keeper::Thread { done, .. } => done.recv().ok(),
        }
    }
}

impl Drop for Keeper {
    /// Work that is not done is done again, or cleared away, at the next start.
    fn drop(&mut self) {
        let Keeper::Thread { tasks, stop, thread, .. } = self else { return };
        stop.store(true, Ordering::Relaxed);
        *tasks = unbounded().0;
        if let Some(thread) = thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the storage keeper panicked");
        }
    }
}

/// A step of the first segment to prepare, since the sequencer may wait for it, or else of the first task.
fn step_first(tasks: &mut VecDeque<Task>, disk: &mut dyn Disk) -> Option<Done> {
    let at = tasks.iter().position(|task| matches!(task, Task::Prepare { .. })).unwrap_or(0);
    let outcome = step(tasks.get_mut(at)?, disk)?;
    tasks.remove(at);
    Some(outcome)
}

fn step(task: &mut Task, disk: &mut dyn Disk) -> Option<Done> {
    match task {
        Task::Prepare { number, size } => {
            let result = prepare(disk, *number, *size);
            Some(Done::Prepared { number: *number, result })
        }
        Task::Compact { writer, sequence, first_kept } => match writer.step(disk) {
            Ok(false) => None,
            Ok(true) => {
                let result = remove_covered(disk, *sequence, *first_kept);
                Some(Done::Compacted { first_kept: *first_kept, result })
            }
            Err(error) => {
                writer.abandon(disk);
                Some(Done::Compacted { first_kept: *first_kept, result: Err(error) })
            }
        },
    }
}

fn prepare(disk: &mut dyn Disk, number: u64, size: u64) -> io::Result<()> {
    if disk.free().is_some_and(|free| free < size + limits::FREE_BYTES_RESERVE) {
        return Err(io::Error::new(io::ErrorKind::StorageFull, "no space left for a journal segment"));
    }
    match disk.create(&segment_name(number), size) {
        Ok(file) => {
            disk.close(file);
            Ok(())
        }
        Err(error) => {
            // It may be there in part.
            drop(disk.remove(&segment_name(number)));
            Err(error)
        }
    }
}

/// Removes what the snapshot after batch `sequence` covers, oldest first: what is left is a suffix at any moment.
pub(crate) fn remove_covered(disk: &mut dyn Disk, sequence: u64, first_kept: u64) -> io::Result<()> {
    let files = disk.list()?;
    let mut segments: Vec<u64> = files.iter().filter_map(|(name, _)| segment_number(name)).collect();
    segments.sort_unstable();
    for number in segments.into_iter().filter(|number| *number < first_kept) {
        disk.remove(&segment_name(number))?;
    }
    for (name, _) in &files {
        if snapshot_sequence(name).is_some_and(|of| of < sequence) {
            disk.remove(name)?;
        }
    }
    Ok(())
}
