//! The ring of a core: operations in, completions out, one system call a turn.

use crate::{limits, out::Wire};
use io_uring::{EnterFlags, IoUring, cqueue, opcode, squeue, types};
use std::{io, mem, os::fd::RawFd, time::Duration};

/// What an operation was, and of whom; travels through the kernel as the operation's user data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    /// Multishot accept of a listener.
    Accept(u32),
    /// Multishot receive of a connection's slot.
    Receive(u32),
    /// Send of a connection's slot.
    Send(u32),
    /// Read of the core's wake-up descriptor.
    Wake,
    /// A cancel; its own completion tells nothing.
    Cancel,
}

impl Op {
    fn encode(self) -> u64 {
        let (kind, of) = match self {
            Op::Accept(listener) => (1, listener),
            Op::Receive(slot) => (2, slot),
            Op::Send(slot) => (3, slot),
            Op::Wake => (4, 0),
            Op::Cancel => (5, 0),
        };
        kind << 32 | u64::from(of)
    }

    fn decode(data: u64) -> Op {
        let of = data as u32;
        match data >> 32 {
            1 => Op::Accept(of),
            2 => Op::Receive(of),
            3 => Op::Send(of),
            4 => Op::Wake,
            _ => Op::Cancel,
        }
    }
}

/// What the kernel says about an operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Completion {
    pub(crate) op: Op,
    /// Zero or more, or a negated error number.
    pub(crate) result: i32,
    /// Whether the operation goes on and more completions come.
    pub(crate) more: bool,
    /// The receive buffer that was filled.
    pub(crate) buffer: Option<u16>,
}

/// The header and the slices of a vectored send, which the kernel may read until the send is done.
struct Vector {
    header: libc::msghdr,
    slices: [libc::iovec; limits::SEND_SLICES_MAX],
}

/// The ring of a core.
pub(crate) struct Ring {
    ring: IoUring,
    /// Vectors of sends under way, by slot.
    vectors: Vec<Option<Box<Vector>>>,
    /// Vectors to use again; boxed, as they go back to `vectors` without a copy.
    #[allow(clippy::vec_box, reason = "a vector is a kilobyte, and changes hands with every vectored send")]
    free: Vec<Box<Vector>>,
    /// What the wake-up read fills; on the heap, so that it stays where it is.
    wake_value: Box<u64>,
    /// Completions read early to make room for submissions.
    early: Vec<Completion>,
}

/// Vectors kept for use: a turn seldom has more vectored sends.
const VECTORS_FREE_MAX: usize = 16;

impl Ring {
    /// Makes the ring for the calling thread. Without deferred task running (6.1) it does with cooperative; a kernel
    /// without single issuers (6.0) has no multishot receive either, and is refused.
    pub(crate) fn new(entries: u32) -> io::Result<Ring> {
        let ring = match build(entries, true) {
            Err(err) if err.raw_os_error() == Some(libc::EINVAL) => build(entries, false)?,
            result => result?,
        };
        Ring::with(ring)
    }

    fn with(ring: IoUring) -> io::Result<Ring> {
        if !ring.params().is_feature_ext_arg() || !ring.params().is_feature_nodrop() {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        let (vectors, free, early) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Ring { ring, vectors, free, wake_value: Box::new(0), early })
    }

    pub(crate) fn inner(&self) -> &IoUring {
        &self.ring
    }

    /// Puts an operation into the submission queue.
    ///
    /// # Safety
    /// Memory the entry points to stays valid and in place until the operation's last completion was taken.
    unsafe fn push(&mut self, entry: squeue::Entry, op: Op) -> io::Result<()> {
        let entry = entry.user_data(op.encode());
        loop {
            // SAFETY: the caller keeps the entry's memory.
            if unsafe { self.ring.submission().push(&entry) }.is_ok() {
                return Ok(());
            }
            match self.ring.submit() {
                Ok(_) => {}
                Err(err) => match err.raw_os_error() {
                    Some(libc::EINTR) => {}
                    // The completion queue is full, and the kernel takes entries again once it was read.
                    Some(libc::EBUSY | libc::EAGAIN) => read(&mut self.ring, &mut self.early),
                    _ => return Err(err),
                },
            }
        }
    }

    /// Accepts connections of a listener, again and again.
    pub(crate) fn accept(&mut self, listener: RawFd, index: u32) -> io::Result<()> {
        let entry = opcode::AcceptMulti::new(types::Fd(listener)).flags(libc::SOCK_CLOEXEC).build();
        // SAFETY: the entry points to no memory.
        unsafe { self.push(entry, Op::Accept(index)) }
    }

    /// Receives into the core's buffers, again and again.
    pub(crate) fn receive(&mut self, fd: RawFd, slot: u32) -> io::Result<()> {
        let entry = opcode::RecvMulti::new(types::Fd(fd), crate::buffers::GROUP).build();
        // SAFETY: the entry points to no memory; the buffers it selects from are those of the registered ring, whose
        // owner keeps them for as long as this ring lives.
        unsafe { self.push(entry, Op::Receive(slot)) }
    }

    /// Sends the front of a wire, as much as one operation takes. False if it holds nothing.
    ///
    /// # Safety
    /// Until the completion of `Op::Send(slot)` was taken, `wire` is neither dropped, nor cleared, nor advanced; adding
    /// to its end is fine.
    pub(crate) unsafe fn send(&mut self, fd: RawFd, slot: u32, wire: &Wire) -> io::Result<bool> {
        let mut slices = wire.segments.iter().map(|segment| segment.as_slice()).filter(|s| !s.is_empty());
        let Some(first) = slices.next() else { return Ok(false) };
        let Some(second) = slices.next() else {
            let entry = opcode::Send::new(types::Fd(fd), first.as_ptr(), first.len().min(SEND_MAX) as u32)
                .flags(libc::MSG_NOSIGNAL)
                .build();
            // SAFETY: the bytes belong to a segment of the wire, on the heap, and the caller keeps the wire.
            return unsafe { self.push(entry, Op::Send(slot)) }.map(|()| true);
        };
        let mut vector = self.free.pop().unwrap_or_else(|| {
            // SAFETY: all-zero bytes are a valid msghdr and valid iovecs: integers and null pointers.
            Box::new(unsafe { mem::zeroed() })
        });
        let mut count = 0;
        for slice in [first, second].into_iter().chain(slices).take(limits::SEND_SLICES_MAX) {
            vector.slices[count] =
                libc::iovec { iov_base: slice.as_ptr().cast_mut().cast(), iov_len: slice.len() };
            count += 1;
        }
        vector.header.msg_iov = vector.slices.as_mut_ptr();
        vector.header.msg_iovlen = count;
        let entry = opcode::SendMsg::new(types::Fd(fd), &raw const vector.header)
            .flags(libc::MSG_NOSIGNAL as u32)
            .build();
        if self.vectors.len() <= slot as usize {
            self.vectors.resize_with(slot as usize + 1, || None);
        }
        // The box does not move its content; it is kept until `sent`, which comes with the completion.
        self.vectors[slot as usize] = Some(vector);
        // SAFETY: the header and its slices live in the box just stored; the bytes belong to segments of the wire, on
        // the heap, and the caller keeps the wire.
        unsafe { self.push(entry, Op::Send(slot)) }.map(|()| true)
    }

    /// Tells that the completion of a slot's send was taken.
    pub(crate) fn sent(&mut self, slot: u32) {
        if let Some(vector) = self.vectors.get_mut(slot as usize).and_then(Option::take)
            && self.free.len() < VECTORS_FREE_MAX
        {
            self.free.push(vector);
        }
    }

    /// Reads the wake-up descriptor once.
    pub(crate) fn await_wake(&mut self, fd: RawFd) -> io::Result<()> {
        let into: *mut u64 = &mut *self.wake_value;
        let entry = opcode::Read::new(types::Fd(fd), into.cast(), size_of::<u64>() as u32).build();
        // SAFETY: the eight bytes are on the heap and owned by this value, which the core drops only after every
        // operation was given back; one such read is under way at a time.
        unsafe { self.push(entry, Op::Wake) }
    }

    /// Asks for an operation to end; its last completion still comes.
    pub(crate) fn cancel(&mut self, op: Op) -> io::Result<()> {
        let entry = opcode::AsyncCancel::new(op.encode()).build();
        // SAFETY: the entry points to no memory.
        unsafe { self.push(entry, Op::Cancel) }
    }

    /// Submits, and waits for a completion at most so long (for ever without a time). With a time of zero it only
    /// looks, which also runs the work the kernel deferred.
    pub(crate) fn enter(&mut self, wait: Option<Duration>) -> io::Result<()> {
        let result = match wait {
            Some(Duration::ZERO) => {
                let len = self.ring.submission().len() as u32;
                // SAFETY: no argument is passed, and the number of entries is that of the queue.
                unsafe {
                    self.ring.submitter().enter::<libc::sigset_t>(len, 0, EnterFlags::GETEVENTS.bits(), None)
                }
            }
            Some(wait) => {
                let timespec = types::Timespec::from(wait);
                self.ring.submitter().submit_with_args(1, &types::SubmitArgs::new().timespec(&timespec))
            }
            None => self.ring.submit_and_wait(1),
        };
        match result {
            Ok(_) => Ok(()),
            Err(err) => match err.raw_os_error() {
                // ETIME: the time ran out. EINTR: a signal. EBUSY and EAGAIN: completions must be read first.
                Some(libc::ETIME | libc::EINTR | libc::EBUSY | libc::EAGAIN) => Ok(()),
                _ => Err(err),
            },
        }
    }

    /// Whether completions wait, or work the kernel has put off until it is entered.
    pub(crate) fn has_news(&mut self) -> bool {
        let queue = self.ring.submission();
        let put_off = queue.taskrun() || queue.cq_overflow();
        drop(queue);
        put_off || !self.ring.completion().is_empty()
    }

    /// Takes the completions there are.
    pub(crate) fn take(&mut self, into: &mut Vec<Completion>) {
        into.append(&mut self.early);
        read(&mut self.ring, into);
    }
}

fn build(entries: u32, deferred: bool) -> io::Result<IoUring> {
    let mut builder = IoUring::builder();
    builder.setup_cqsize(entries.saturating_mul(4)).setup_clamp().setup_submit_all().dontfork();
    builder.setup_coop_taskrun().setup_single_issuer().setup_taskrun_flag();
    if deferred {
        builder.setup_defer_taskrun();
    }
    builder.build(entries)
}

fn read(ring: &mut IoUring, into: &mut Vec<Completion>) {
    for entry in ring.completion() {
        let flags = entry.flags();
        into.push(Completion {
            op: Op::decode(entry.user_data()),
            result: entry.result(),
            more: cqueue::more(flags),
            buffer: cqueue::buffer_select(flags),
        });
    }
}

/// The most one send is asked for; the kernel cuts at the same place (MAX_RW_COUNT is a little below 2^31).
const SEND_MAX: usize = 1 << 30;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys;
    use std::{os::fd::AsRawFd, thread, time::Instant};

    #[test]
    fn operations_survive_the_trip() {
        for op in [Op::Accept(3), Op::Receive(0), Op::Receive(u32::MAX), Op::Send(77), Op::Wake, Op::Cancel] {
            assert_eq!(Op::decode(op.encode()), op);
        }
    }

    /// Waits until one operation is done, through as many turns as it takes.
    fn next(ring: &mut Ring) -> Completion {
        let mut completions = Vec::new();
        for _ in 0..100 {
            ring.take(&mut completions);
            if let Some(completion) = completions.pop() {
                assert!(completions.is_empty());
                return completion;
            }
            ring.enter(Some(Duration::from_millis(100))).unwrap();
        }
        panic!("no completion came");
    }

    #[test]
    fn a_sleeping_ring_is_woken_with_and_without_deferred_work() {
        for deferred in [true, false] {
            let mut ring = Ring::with(build(8, deferred).unwrap()).unwrap();
            let fd = sys::event_fd().unwrap();
            for _ in 0..3 {
                ring.await_wake(fd.as_raw_fd()).unwrap();
                thread::scope(|scope| {
                    scope.spawn(|| {
                        thread::sleep(Duration::from_millis(10));
                        sys::signal(&fd);
                    });
                    let start = Instant::now();
                    let completion = next(&mut ring);
                    assert_eq!((completion.op, completion.result), (Op::Wake, 8));
                    assert!(start.elapsed() < Duration::from_secs(5));
                });
            }
        }
    }

    #[test]
    fn a_cancelled_operation_says_so() {
        let mut ring = Ring::new(8).unwrap();
        let fd = sys::event_fd().unwrap();
        ring.await_wake(fd.as_raw_fd()).unwrap();
        ring.enter(Some(Duration::ZERO)).unwrap();
        ring.cancel(Op::Wake).unwrap();
        let mut seen = Vec::new();
        while seen.len() < 2 {
            ring.enter(Some(Duration::from_millis(100))).unwrap();
            ring.take(&mut seen);
        }
        let wake = seen.iter().find(|completion| completion.op == Op::Wake).unwrap();
        assert_eq!(wake.result, -libc::ECANCELED);
    }

    #[test]
    fn more_operations_than_the_queue_holds_are_submitted_early() {
        let mut ring = Ring::new(4).unwrap();
        for _ in 0..200 {
            ring.cancel(Op::Send(9)).unwrap();
        }
        let mut seen = Vec::new();
        for _ in 0..200 {
            ring.enter(Some(Duration::ZERO)).unwrap();
            ring.take(&mut seen);
        }
        assert_eq!(seen.len(), 200);
        assert!(seen.iter().all(|completion| completion.result == -libc::ENOENT));
    }
}
