//! The loop: one thread, one epoll, all connections of a load.

use super::{
    super::{error::LoadError, limits, target::Target},
    Request, Sink,
    connection::Connection,
};
use mio::{Events, Interest, Poll, Token};
use std::{
    io::ErrorKind,
    time::{Duration, Instant},
};

/// What a load does between the answers.
pub(crate) trait Work: Sink {
    /// Bytes came just now; what follows until the next call came with them.
    fn arrived(&mut self);
    /// Its turn to send: after answers came, after a wake, and at the start.
    fn turn(&mut self, now: Instant, outbox: &mut Outbox<'_>) -> Result<Turn, LoadError>;
    /// A connection was lost; its open requests have ended before. An error ends the run.
    fn lost(&mut self, why: &str) -> Result<(), LoadError>;
}

/// What a load wants after its turn.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Turn {
    /// To wait for answers, and to be woken at this time at the latest.
    Wait(Option<Instant>),
    /// To end.
    Done,
}

/// Where a load puts its requests.
#[derive(Debug)]
pub(crate) struct Outbox<'a> {
    connections: &'a mut [Connection],
    to_send: &'a mut Vec<usize>,
}

impl Outbox<'_> {
    /// Sends a request on connection `preferred` (modulo their number), or on the next with room for it. False: none.
    pub(crate) fn send(&mut self, preferred: usize, tag: u32, request: &Request<'_>) -> bool {
        let count = self.connections.len();
        for index in (0..count).map(|next| (preferred + next) % count) {
            if self.send_on(index, tag, request) {
                return true;
            }
        }
        false
    }

    /// Sends a request on one connection. False: it has no room.
    pub(crate) fn send_on(&mut self, index: usize, tag: u32, request: &Request<'_>) -> bool {
        let connection = &mut self.connections[index];
        if connection.room() == 0 {
            return false;
        }
        connection.request(tag, request);
        if !std::mem::replace(&mut connection.listed, true) {
            self.to_send.push(index);
        }
        true
    }
}

/// All connections of a load.
#[derive(Debug)]
pub(crate) struct Driver {
    poll: Poll,
    events: Events,
    connections: Vec<Connection>,
    scratch: Vec<u8>,
    /// Connections with something to send.
    to_send: Vec<usize>,
    /// Connections that may have more to read.
    unread: Vec<usize>,
    /// Looks for answers without sleeping.
    awake: bool,
}

impl Driver {
    /// Opens the connections, some at a time.
    pub(crate) fn open(target: &Target, count: usize) -> Result<Driver, LoadError> {
        let mut driver = Driver {
            poll: Poll::new()?,
            events: Events::with_capacity(1024),
            connections: Vec::new(),
            scratch: vec![0; limits::READ_BYTES],
            to_send: Vec::new(),
            unread: Vec::new(),
            awake: false,
        };
        driver.add(target, count)?;
        Ok(driver)
    }

    /// Opens further connections; tells the number of the first.
    pub(crate) fn add(&mut self, target: &Target, count: usize) -> Result<usize, LoadError> {
        let (first, deadline) = (self.connections.len(), Instant::now() + limits::OPENING_TIMEOUT);
        let mut opening: Vec<usize> = Vec::new();
        loop {
            opening.retain(|index| !self.connections[*index].is_ready());
            while opening.len() < limits::OPENING_MAX && self.connections.len() < first + count {
                let index = self.connections.len();
                let mut connection = Connection::new(target)?;
                let interest = Interest::READABLE | Interest::WRITABLE;
                self.poll.registry().register(&mut connection.stream, Token(index), interest)?;
                self.connections.push(connection);
                opening.push(index);
                self.list(index);
            }
            if opening.is_empty() {
                break;
            }
            if Instant::now() > deadline {
                return Err(LoadError::new(format!("{}: connections do not open", target.authority)));
            }
            self.step(Some(Duration::from_millis(100)), &mut Opening)?;
        }
        let protocol = target.protocol;
        match self.connections[first..].iter().all(|connection| connection.speaks(protocol)) {
            true => Ok(first),
            false => Err(LoadError::new(format!("{} does not speak {protocol:?}", target.authority))),
        }
    }

    /// Does not sleep from here on, so that the time in which a CPU gets up is in no latency.
    pub(crate) fn stay_awake(&mut self) {
        self.awake = true;
    }

    /// Connections there are.
    pub(crate) fn len(&self) -> usize {
        self.connections.len()
    }

    /// The least number of requests that each connection takes at a time.
    pub(crate) fn room(&self) -> usize {
        self.connections.iter().map(Connection::room).min().unwrap_or(0)
    }

    /// Runs a load until it is done.
    pub(crate) fn run(&mut self, work: &mut impl Work) -> Result<(), LoadError> {
        loop {
            let mut outbox = Outbox { connections: &mut self.connections, to_send: &mut self.to_send };
            let wake = match work.turn(Instant::now(), &mut outbox)? {
                Turn::Done => return Ok(()),
                Turn::Wait(wake) => wake,
            };
            self.step(wake.map(|wake| wake.saturating_duration_since(Instant::now())), work)?;
        }
    }

    /// Sends what waits, waits for answers, and hands them on.
    fn step(&mut self, timeout: Option<Duration>, work: &mut impl Work) -> Result<(), LoadError> {
        for index in std::mem::take(&mut self.to_send) {
            self.connections[index].listed = false;
            if let Err(error) = self.connections[index].send() {
                self.connections[index].lost(work);
                work.lost(&error.0)?;
            }
        }
        let timeout = if self.unread.is_empty() && !self.awake { timeout } else { Some(Duration::ZERO) };
        match self.poll.poll(&mut self.events, timeout) {
            Err(error) if error.kind() == ErrorKind::Interrupted => return Ok(()),
            polled => polled?,
        }
        for index in std::mem::take(&mut self.unread) {
            self.receive(index, true, work)?;
        }
        let events = std::mem::replace(&mut self.events, Events::with_capacity(0));
        for event in &events {
            let index = event.token().0;
            if event.is_readable() || event.is_read_closed() || event.is_error() {
                self.receive(index, event.is_read_closed() || event.is_error(), work)?;
            }
            if event.is_writable() {
                self.list(index);
            }
        }
        self.events = events;
        Ok(())
    }

    fn receive(&mut self, index: usize, to_end: bool, work: &mut impl Work) -> Result<(), LoadError> {
        let connection = &mut self.connections[index];
        match connection.receive(&mut self.scratch, to_end, work) {
            Ok(true) => self.unread.push(index),
            Ok(false) => {}
            Err(error) => {
                connection.lost(work);
                // It was closed, or will be soon; no more of its events are wanted.
                self.poll.registry().deregister(&mut self.connections[index].stream)?;
                work.lost(&error.0)?;
            }
        }
        self.list(index);
        Ok(())
    }

    /// Lists a connection that has something to send.
    fn list(&mut self, index: usize) {
        let connection = &mut self.connections[index];
        if connection.has_to_send() && !std::mem::replace(&mut connection.listed, true) {
            self.to_send.push(index);
        }
    }
}

/// What hears connections that open.
struct Opening;

impl Sink for Opening {
    fn head(&mut self, _: u32, _: u16) {}
    fn data(&mut self, _: u32, _: &[u8]) {}
    fn end(&mut self, _: u32, _: bool) {}
}

impl Work for Opening {
    fn arrived(&mut self) {}

    fn turn(&mut self, _: Instant, _: &mut Outbox<'_>) -> Result<Turn, LoadError> {
        Ok(Turn::Wait(None))
    }

    fn lost(&mut self, why: &str) -> Result<(), LoadError> {
        Err(LoadError::new(format!("a connection does not open: {why}")))
    }
}
