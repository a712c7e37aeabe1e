//! Work on files that must not hold up acknowledgements: preparing the next segment, writing snapshots, removing
//! what they cover. On a thread with a disk handle of its own where the disk has one, else in steps between batches.

use std::{
    collections::VecDeque,
    io,
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::Instant,
};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, unbounded};

use super::{
    ahead::Ahead,
    segment::{segment_name, segment_number},
    snapshot_file::{SnapshotWriter, snapshot_sequence},
};
use crate::{
    disk::{BLOCK, Disk, FileId},
    limits,
};

/// A piece of work.
pub(crate) enum Task {
    /// Makes a segment.
    Prepare { number: u64, size: u64 },
    /// Writes zeroes to a segment from block `from` on and before `end`, ahead of the journal.
    Fill { number: u64, from: usize, end: usize, file: Option<FileId> },
    /// Writes a snapshot, then removes the segments before `first_kept` and older snapshots.
    Compact { writer: Box<SnapshotWriter>, sequence: u64, first_kept: u64, urgent: bool },
}

impl Task {
    /// Zeroes for the blocks of a segment.
    pub(crate) fn fill(number: u64, from: usize, end: usize) -> Task {
        Task::Fill { number, from, end, file: None }
    }

    /// Whether writes wait for it, so that it does not rest.
    fn is_urgent(&self) -> bool {
        matches!(self, Task::Prepare { .. } | Task::Compact { urgent: true, .. })
    }
}

/// A piece of work that is done.
pub(crate) enum Done {
    Prepared { number: u64, result: io::Result<()> },
    Compacted { first_kept: u64, result: io::Result<()> },
}

/// What a step of work came to.
enum Step {
    /// There is more of the same; whether the disk was busy with it.
    More { wrote: bool },
    /// It is done, and nobody waits for it.
    Over,
    /// It is done.
    Done(Done),
}

/// Who does the work.
pub(crate) enum Keeper {
    /// The caller, step by step.
    Inline { tasks: VecDeque<Task>, ahead: Arc<Ahead> },
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
    pub(crate) fn new(disk: &mut dyn Disk, ahead: Arc<Ahead>) -> io::Result<Keeper> {
        let Some(mut disk) = disk.another()? else {
            return Ok(Keeper::Inline { tasks: VecDeque::new(), ahead });
        };
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
                let begun = Instant::now();
                let (outcome, wrote) = step_first(&mut tasks, &mut *disk, &ahead);
                if let Some(outcome) = outcome
                    && report.send(outcome).is_err()
                {
                    return;
                }
                if wrote && !tasks.iter().any(Task::is_urgent) {
                    // A task that comes meanwhile ends the rest.
                    match todo.recv_timeout(begun.elapsed() * limits::KEEPER_RESTS) {
                        Ok(task) => tasks.push_back(task),
                        Err(RecvTimeoutError::Timeout) => {}
                        Err(RecvTimeoutError::Disconnected) => return,
                    }
                }
            }
        };
        let thread = std::thread::Builder::new().name("storage-keeper".into()).spawn(work)?;
        Ok(Keeper::Thread { tasks, done, stop, thread: Some(thread) })
    }
    /// Adds work.
    pub(crate) fn push(&mut self, task: Task) {
        match self {
            Keeper::Inline { tasks, .. } => tasks.push_back(task),
            // It only ends before its sender when the sequencer does.
            Keeper::Thread { tasks, .. } => drop(tasks.send(task)),
        }
    }
    /// Whether the caller has steps to do.
    pub(crate) fn has_steps(&self) -> bool {
        matches!(self, Keeper::Inline { tasks, .. } if !tasks.is_empty())
    }
    /// Whether work is done on the caller's time.
    pub(crate) fn is_inline(&self) -> bool {
        matches!(self, Keeper::Inline { .. })
    }
    /// What the thread has done.
    pub(crate) fn poll(&mut self) -> Option<Done> {
        match self {
            Keeper::Inline { .. } => None,
            Keeper::Thread { done, .. } => done.try_recv().ok(),
        }
    }
    /// Does a step if that is the caller's matter, and says what is done with it.
    pub(crate) fn step(&mut self, disk: &mut dyn Disk) -> Option<Done> {
        match self {
            Keeper::Inline { tasks, ahead } => step_first(tasks, disk, ahead).0,
            Keeper::Thread { .. } => None,
        }
    }
    /// Waits until something is done. `None` when there is nothing to wait for.
    pub(crate) fn wait(&mut self, disk: &mut dyn Disk) -> Option<Done> {
        match self {
            Keeper::Inline { tasks, ahead } => loop {
                if tasks.is_empty() {
                    return None;
                }
                if let (Some(outcome), _) = step_first(tasks, disk, ahead) {
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

/// A step of the first urgent task, or else of the first, after which it is the turn of the next one. Answers what is
/// done with it, and whether the disk was busy.
fn step_first(tasks: &mut VecDeque<Task>, disk: &mut dyn Disk, ahead: &Ahead) -> (Option<Done>, bool) {
    let prepares = |task: &Task| matches!(task, Task::Prepare { .. });
    let at = tasks.iter().position(prepares).or_else(|| tasks.iter().position(Task::is_urgent));
    let Some(mut task) = tasks.remove(at.unwrap_or(0)) else { return (None, false) };
    match step(&mut task, disk, ahead) {
        Step::More { wrote } => {
            tasks.push_back(task);
            (None, wrote)
        }
        Step::Over => (None, false),
        Step::Done(done) => (Some(done), true),
    }
}

fn step(task: &mut Task, disk: &mut dyn Disk, ahead: &Ahead) -> Step {
    match task {
        Task::Prepare { number, size } => {
            let result = prepare(disk, *number, *size);
            Step::Done(Done::Prepared { number: *number, result })
        }
        Task::Fill { number, from, end, file } => match fill(disk, ahead, *number, *from..*end, file) {
            Ok(Some((next, wrote))) => {
                *from = next;
                Step::More { wrote }
            }
            Ok(None) => {
                close(disk, file);
                Step::Over
            }
            Err(error) => {
                // The journal does without, and will tell if the disk is at fault.
                tracing::debug!(segment = *number, %error, "no zeroes ahead of the journal");
                close(disk, file);
                Step::Over
            }
        },
        Task::Compact { writer, sequence, first_kept, .. } => match writer.step(disk) {
            Ok(false) => Step::More { wrote: true },
            Ok(true) => {
                let result = remove_covered(disk, *sequence, *first_kept);
                Step::Done(Done::Compacted { first_kept: *first_kept, result })
            }
            Err(error) => {
                writer.abandon(disk);
                Step::Done(Done::Compacted { first_kept: *first_kept, result: Err(error) })
            }
        },
    }
}

/// Fills the next piece of a segment's blocks. Answers where to go on, and whether anything was written; None where the
/// journal has come to all of them.
fn fill(
    disk: &mut dyn Disk,
    ahead: &Ahead,
    number: u64,
    blocks: Range<usize>,
    file: &mut Option<FileId>,
) -> io::Result<Option<(usize, bool)>> {
    let Some(claim) = ahead.claim(number, blocks.start, blocks.end) else { return Ok(None) };
    let opened = match *file {
        Some(opened) => opened,
        None => *file.insert(disk.open(&segment_name(number))?),
    };
    let bytes = (claim.blocks.start * BLOCK) as u64..(claim.blocks.end * BLOCK) as u64;
    let wrote = disk.fill(opened, bytes)?;
    Ok(Some((claim.blocks.end, wrote)))
}

fn close(disk: &mut dyn Disk, file: &mut Option<FileId>) {
    if let Some(file) = file.take() {
        disk.close(file);
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
