//! Fair queuing: the queues of one priority level on one core.
//!
//! Every queue in use is entitled to the same number of seats. How far a queue has got is told in seat-seconds of
//! *virtual time* R, of which each second gives as much as seats are taken, divided by the queues in use. A queue is
//! as far as `next_dispatch`: it moves on by what a request is thought to take when that leaves the queue, and is put
//! right by what it took when it ends. Next is the request that would be finished first. A queue that was out of use
//! begins at R: nobody saves up.
//!
//! Seats are not given out here: whoever calls [`QueueSet::dispatch`] takes them, and says whether it could.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use slab::Slab;

use super::{config::QueuingConfiguration, dealer::Hand, estimate::WorkEstimate};
use crate::limits::{APF_QUEUES_MAX, APF_SERVICE_GUESS};

/// Work: seats times nanoseconds. Wide enough for every seat of the largest server for longer than it will run.
pub type SeatNanos = i128;

/// The queues, and the requests in them; `T` is what else is kept of a request.
pub struct QueueSet<T> {
    queues: Vec<Queue>,
    /// How many of the queues take requests: the others are left from a time when there were more.
    desired: usize,
    hand_size: u32,
    requests: Slab<Request<T>>,
    /// Places of queues in which requests wait, in no order.
    occupied: Vec<usize>,
    /// Queues with requests that wait or run.
    active: usize,
    virtual_time: SeatNanos,
    synced: Instant,
    /// The queue that was served last; among equals it is last.
    robin: usize,
    enqueued: usize,
    waiting: usize,
    waiting_seats: u64,
    executing: usize,
    seats_taken: u64,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<usize>,
    /// Work of all that wait.
    work: SeatNanos,
    initial_seats: u64,
    max_seats: u64,
    next_dispatch: SeatNanos,
    executing: usize,
    seats_taken: u64,
    /// The flow of its requests, or of the first of them where it is mixed.
    flow: u64,
    mixed: bool,
}

impl Queue {
    /// Whether all that wait or run here are of a flow, and some do.
    fn is_of(&self, flow: u64) -> bool {
        self.is_active() && !self.mixed && self.flow == flow
    }

    fn is_active(&self) -> bool {
        !self.waiting.is_empty() || self.executing > 0
    }
}

/// A request that waits or runs.
pub struct Request<T> {
    /// Whatever else is kept of it.
    pub payload: T,
    /// What it is thought to take.
    pub estimate: WorkEstimate,
    /// When it came.
    pub arrived: Instant,
    /// When it was let run.
    pub started: Option<Instant>,
    queue: usize,
    arrival: SeatNanos,
    seats: u32,
}

impl<T> Request<T> {
    /// The queue that it is in, or came through.
    pub fn queue(&self) -> usize {
        self.queue
    }

    /// The seats that it was given.
    pub fn seats(&self) -> u32 {
        self.seats
    }
}

/// A queue in numbers, for those who look.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueueDump {
    /// Requests that wait.
    pub waiting: usize,
    /// Requests that run.
    pub executing: usize,
    /// Seats of those that run.
    pub seats_in_use: u64,
    /// Virtual time at which its next request is due, in seat-nanoseconds.
    pub next_dispatch: SeatNanos,
    /// Seats that those that wait take at first.
    pub initial_seats: u64,
    /// Seats that those that wait take at most.
    pub max_seats: u64,
    /// Work of those that wait, in seat-nanoseconds.
    pub work: SeatNanos,
}

/// Work of a request whose duration is not known yet.
fn total_work(estimate: &WorkEstimate) -> SeatNanos {
    work(estimate.initial_seats, APF_SERVICE_GUESS) + work(estimate.final_seats, estimate.additional_latency)
}

fn work(seats: u32, time: Duration) -> SeatNanos {
    i128::from(seats) * time.as_nanos() as i128
}

impl<T> QueueSet<T> {
    /// Empty queues.
    pub fn new(queuing: QueuingConfiguration, now: Instant) -> Self {
        let mut set = QueueSet {
            queues: Vec::new(),
            desired: 0,
            hand_size: 1,
            requests: Slab::new(),
            occupied: Vec::new(),
            active: 0,
            virtual_time: 0,
            synced: now,
            robin: 0,
            enqueued: 0,
            waiting: 0,
            waiting_seats: 0,
            executing: 0,
            seats_taken: 0,
        };
        set.configure(queuing);
        set
    }

    /// As many queues as that. What waits in one too many stays there.
    pub fn configure(&mut self, queuing: QueuingConfiguration) {
        self.desired = (queuing.queues.max(1) as usize).min(APF_QUEUES_MAX);
        self.hand_size = queuing.hand_size;
        if self.queues.len() < self.desired {
            self.queues.resize_with(self.desired, Queue::default);
        }
        self.drop_spare_queues();
    }

    /// Queues that take requests, or still have some.
    pub fn len(&self) -> usize {
        self.queues.len()
    }

    /// Whether no request waits or runs.
    pub fn is_empty(&self) -> bool {
        self.waiting == 0 && self.executing == 0
    }

    /// Requests that wait.
    pub fn waiting(&self) -> usize {
        self.waiting
    }

    /// Most seats that the waiting ones take.
    pub fn waiting_seats(&self) -> u64 {
        self.waiting_seats
    }

    /// Queues with requests that wait or run.
    pub fn active_queues(&self) -> usize {
        self.active
    }

    /// Virtual time, in seat-nanoseconds.
    pub fn virtual_time(&self) -> SeatNanos {
        self.virtual_time
    }

    /// A request.
    pub fn get(&self, key: usize) -> Option<&Request<T>> {
        self.requests.get(key)
    }

    /// A request, to change.
    pub fn get_mut(&mut self, key: usize) -> Option<&mut Request<T>> {
        self.requests.get_mut(key)
    }

    /// Lets time pass. It never runs back, whatever a clock says.
    fn sync(&mut self, now: Instant) {
        let passed = now.saturating_duration_since(self.synced);
        self.synced = self.synced.max(now);
        if self.active > 0 {
            self.virtual_time += self.seats_taken as i128 * passed.as_nanos() as i128 / self.active as i128;
        }
    }

    /// The queue of a flow's hand for one more request: the one that the flow has for itself already, else the one with
    /// the least to do, and one that is full only if all are.
    ///
    /// kube-apiserver takes the one with the least to do at once, so that a flow with much to do is in all the queues of
    /// its hand and gets as many shares. Cores have queues of their own here, which would multiply that; a flow that
    /// stays in one queue gets one share for as long as that is not full.
    pub fn choose(&mut self, flow: u64, is_full: impl Fn(usize) -> bool) -> usize {
        let hand = Hand::deal(flow, self.desired as u32, self.hand_size);
        let cards = hand.cards();
        // Begins elsewhere each time, or the first cards of overlapping hands would get more than the others.
        let offset = self.enqueued % cards.len();
        self.enqueued = self.enqueued.wrapping_add(1);
        let (first, rest) = (&cards[offset..], &cards[..offset]);
        let order = |card: &&u32| {
            let (place, queue) = (**card as usize, &self.queues[**card as usize]);
            (is_full(place), !queue.is_of(flow), queue.is_active(), queue.work)
        };
        first.iter().chain(rest).min_by_key(order).map_or(0, |card| *card as usize)
    }

    /// Requests that wait in a queue.
    pub fn length(&self, queue: usize) -> usize {
        self.queues[queue].waiting.len()
    }

    /// Puts a request of a flow into a queue.
    pub fn enqueue(
        &mut self,
        (queue, flow): (usize, u64),
        estimate: WorkEstimate,
        payload: T,
        now: Instant,
    ) -> usize {
        self.sync(now);
        let key = self.insert((queue, flow), estimate, payload, now);
        let place = &mut self.queues[queue];
        if place.waiting.is_empty() {
            self.occupied.push(queue);
        }
        place.waiting.push_back(key);
        place.work += total_work(&estimate);
        place.initial_seats += u64::from(estimate.initial_seats);
        place.max_seats += u64::from(estimate.max_seats());
        self.waiting += 1;
        self.waiting_seats += u64::from(estimate.max_seats());
        self.bound(queue);
        key
    }

    /// A request that got its seats without waiting lasts: it counts as one that was dispatched from this queue when it
    /// came.
    pub fn charge(
        &mut self,
        place: (usize, u64),
        estimate: WorkEstimate,
        payload: T,
        started: Instant,
    ) -> usize {
        self.sync(started);
        let key = self.insert(place, estimate, payload, started);
        self.start(key, estimate.max_seats(), started);
        key
    }

    fn insert(
        &mut self,
        (queue, flow): (usize, u64),
        estimate: WorkEstimate,
        payload: T,
        arrived: Instant,
    ) -> usize {
        let place = &mut self.queues[queue];
        if !place.is_active() {
            place.next_dispatch = self.virtual_time;
            (place.flow, place.mixed) = (flow, false);
            self.active += 1;
        }
        place.mixed |= place.flow != flow;
        let arrival = self.virtual_time;
        self.requests.insert(Request { payload, estimate, arrived, started: None, queue, arrival, seats: 0 })
    }

    fn start(&mut self, key: usize, seats: u32, now: Instant) {
        let request = &mut self.requests[key];
        request.started = Some(now);
        request.seats = seats;
        let queue = &mut self.queues[request.queue];
        queue.executing += 1;
        queue.seats_taken += u64::from(seats);
        queue.next_dispatch += total_work(&request.estimate);
        self.executing += 1;
        self.seats_taken += u64::from(seats);
    }

    /// The queue that is served next: the one whose first request would be finished first in virtual time.
    fn next_queue(&self) -> Option<usize> {
        let count = self.queues.len();
        let order = |queue: &usize| {
            let place = &self.queues[*queue];
            let first = &self.requests[*place.waiting.front()?];
            let turn = (queue + count - 1 - self.robin % count) % count;
            Some((place.next_dispatch + total_work(&first.estimate), turn))
        };
        self.occupied.iter().filter_map(|queue| Some((order(queue)?, *queue))).min().map(|(_, queue)| queue)
    }

    /// Lets the next request run, if `take` gets the seats it needs, as many as it says. Answers which.
    pub fn dispatch(
        &mut self,
        now: Instant,
        take: impl FnOnce(&WorkEstimate) -> Option<u32>,
    ) -> Option<usize> {
        self.sync(now);
        let queue = self.next_queue()?;
        let key = *self.queues[queue].waiting.front()?;
        let seats = take(&self.requests[key].estimate)?;
        self.robin = queue;
        self.leave(queue, 0);
        self.start(key, seats, now);
        self.bound(queue);
        Some(key)
    }

    /// Takes a request out of its queue, whose place it is at.
    fn leave(&mut self, queue: usize, place: usize) {
        let from = &mut self.queues[queue];
        let Some(key) = from.waiting.remove(place) else { return };
        let estimate = self.requests[key].estimate;
        from.work -= total_work(&estimate);
        from.initial_seats -= u64::from(estimate.initial_seats);
        from.max_seats -= u64::from(estimate.max_seats());
        self.waiting -= 1;
        self.waiting_seats -= u64::from(estimate.max_seats());
        if from.waiting.is_empty() {
            self.occupied.retain(|occupied| *occupied != queue);
        }
    }

    /// A request that waits does not want to any more. Answers the queue it was in, and what was kept of it.
    pub fn cancel(&mut self, key: usize, now: Instant) -> Option<(usize, T)> {
        self.sync(now);
        let queue = self.requests.get(key)?.queue;
        let place = self.queues[queue].waiting.iter().position(|waiting| *waiting == key)?;
        self.leave(queue, place);
        let request = self.requests.remove(key);
        self.bound(queue);
        self.settle(queue);
        Some((queue, request.payload))
    }

    /// A request that ran has given its answer, but may keep its seats for longer: [`QueueSet::free`] says when it has
    /// not. Its queue pays what it took, not what it was thought to take.
    pub fn finish(&mut self, key: usize, now: Instant) {
        self.sync(now);
        let Some(request) = self.requests.get(key) else { return };
        let (queue, seats) = (request.queue, request.estimate.initial_seats);
        let took = now.saturating_duration_since(request.started.unwrap_or(now));
        self.queues[queue].next_dispatch += work(seats, took) - work(seats, APF_SERVICE_GUESS);
        self.bound(queue);
    }

    /// The seats of a request that ran are free.
    pub fn free(&mut self, key: usize, now: Instant) {
        self.sync(now);
        let Some(request) = self.requests.try_remove(key) else { return };
        let queue = &mut self.queues[request.queue];
        queue.executing -= 1;
        queue.seats_taken -= u64::from(request.seats);
        self.executing -= 1;
        self.seats_taken -= u64::from(request.seats);
        self.settle(request.queue);
    }

    /// Dispatch in the virtual world does not come before arrival: a queue that could not use its seats does not get
    /// them later.
    fn bound(&mut self, queue: usize) {
        let place = &mut self.queues[queue];
        if let Some(first) = place.waiting.front() {
            place.next_dispatch = place.next_dispatch.max(self.requests[*first].arrival);
        }
    }

    /// A request is gone from a queue.
    fn settle(&mut self, queue: usize) {
        if !self.queues[queue].is_active() {
            self.active -= 1;
            self.drop_spare_queues();
        }
    }

    fn drop_spare_queues(&mut self) {
        while self.queues.len() > self.desired && self.queues.last().is_some_and(|queue| !queue.is_active()) {
            self.queues.pop();
        }
    }

    /// The queues in numbers.
    pub fn dump(&self) -> Vec<QueueDump> {
        let dump = |queue: &Queue| QueueDump {
            waiting: queue.waiting.len(),
            executing: queue.executing,
            seats_in_use: queue.seats_taken,
            next_dispatch: queue.next_dispatch,
            initial_seats: queue.initial_seats,
            max_seats: queue.max_seats,
            work: queue.work,
        };
        self.queues.iter().map(dump).collect()
    }

    /// All requests: the queue of each, its place there while it waits, and itself.
    pub fn requests(&self) -> impl Iterator<Item = (usize, Option<usize>, &Request<T>)> {
        self.requests.iter().map(|(key, request)| {
            let place = match request.started {
                Some(_) => None,
                None => self.queues[request.queue].waiting.iter().position(|waiting| *waiting == key),
            };
            (request.queue, place, request)
        })
    }
}
