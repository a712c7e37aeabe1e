//! Models on a clock that the test moves: fairness, starvation, seats, virtual time.

use std::{
    collections::{BTreeMap, VecDeque},
    rc::Rc,
    sync::Arc,
    task::{Poll, Waker},
    time::{Duration, Instant},
};

use ringbolt_protocol::request_info::RequestInfo;

use super::{
    FlowControl,
    clock::{Clock, FakeClock},
    config::{
        Config, FlowDistinguisherMethod, FlowSchema, LevelKind, LimitResponse, NonResourcePolicyRule,
        PolicyRulesWithSubjects, PriorityLevel, QueuingConfiguration, ResourcePolicyRule, Subject,
    },
    core::{Arrival, CoreFlowControl, Seat, Ticket, Verdict},
    estimate::WorkEstimate,
    queue_set::QueueSet,
    stats::{FlowCells, Rejection},
};
use crate::{authentication::UserInfo, limits::APF_PAST_FLOWS};

const MILLI: Duration = Duration::from_millis(1);

fn queuing(queues: u32, hand_size: u32, queue_length_limit: u32) -> LimitResponse {
    LimitResponse::Queue(QueuingConfiguration { queues, hand_size, queue_length_limit })
}

fn level(
    name: &str,
    shares: u32,
    lendable: u32,
    borrowing: Option<u32>,
    response: LimitResponse,
) -> PriorityLevel {
    PriorityLevel {
        name: name.to_owned(),
        uid: String::new(),
        nominal_concurrency_shares: shares,
        lendable_percent: lendable,
        kind: LevelKind::Limited { borrowing_limit_percent: borrowing, limit_response: response },
    }
}

/// A schema for the users of a group that is called like the level.
fn schema(level: &str) -> FlowSchema {
    let all = || vec!["*".to_owned()];
    FlowSchema {
        name: format!("schema-{level}"),
        matching_precedence: 100,
        priority_level: level.to_owned(),
        distinguisher: Some(FlowDistinguisherMethod::ByUser),
        rules: vec![PolicyRulesWithSubjects {
            subjects: vec![Subject::Group(level.to_owned())],
            resource_rules: vec![ResourcePolicyRule {
                verbs: all(),
                api_groups: all(),
                resources: all(),
                cluster_scope: true,
                namespaces: all(),
            }],
            non_resource_rules: vec![NonResourcePolicyRule { verbs: all(), non_resource_urls: all() }],
        }],
        ..FlowSchema::default()
    }
}

/// A server of some cores, whose requests take as long as the test says.
struct Model {
    clock: Rc<FakeClock>,
    shared: Arc<FlowControl>,
    cores: Vec<Rc<CoreFlowControl>>,
    running: Vec<Running>,
    waiting: Vec<Waiting>,
    /// Seats of each level that requests have, most that ever were, by what the test counts itself.
    most: BTreeMap<String, u32>,
    done: Vec<Done>,
    refused: u32,
}

struct Running {
    user: String,
    level: String,
    seats: u32,
    arrived: Instant,
    begun: Instant,
    until: Instant,
    _seat: Seat,
}

struct Waiting {
    user: String,
    level: String,
    arrived: Instant,
    takes: Duration,
    ticket: Ticket,
}

#[derive(Debug)]
struct Done {
    user: String,
    waited: Duration,
    seat_time: Duration,
}

impl Model {
    fn new(total: u32, cores: usize, levels: Vec<PriorityLevel>) -> Model {
        let clock = Rc::new(FakeClock::default());
        let shared = FlowControl::new(total, cores, clock.now());
        let schemas = levels.iter().map(|level| schema(&level.name)).collect();
        shared.put_in_force(Config::new(schemas, levels), clock.now());
        let cores =
            (0..cores).map(|core| CoreFlowControl::with_clock(shared.clone(), core, Box::new(clock.clone())));
        Model {
            cores: cores.collect(),
            clock,
            shared,
            running: Vec::new(),
            waiting: Vec::new(),
            most: BTreeMap::new(),
            done: Vec::new(),
            refused: 0,
        }
    }

    /// A request of a user at a level comes to a core. Answers whether it runs at once.
    fn ask(&mut self, core: usize, level: &str, user: &str, takes: Duration) -> bool {
        let info = RequestInfo::new("GET", "/api/v1/namespaces/n/configmaps/c", "").expect("well formed");
        let who = UserInfo { name: user.to_owned(), groups: vec![level.to_owned()], ..UserInfo::default() };
        let (engine, now) = (self.cores[core].clone(), self.clock.now());
        let classified = engine.classify(&who, &info);
        assert_eq!(classified.priority_level(), level);
        let arrival = Arrival {
            user: &who,
            info: &info,
            query: "",
            now,
            wait_until: now + Duration::from_secs(15),
            bytes: 100,
            watch: false,
        };
        match engine.begin(&classified, &arrival) {
            Verdict::Run(mut seat) => {
                seat.lasts(&who, &info);
                self.run(user.to_owned(), level.to_owned(), now, takes, seat);
                return true;
            }
            Verdict::Wait(ticket) => {
                let (user, level) = (user.to_owned(), level.to_owned());
                self.waiting.push(Waiting { user, level, arrived: now, takes, ticket });
            }
            Verdict::Reject => self.refused += 1,
        }
        false
    }

    fn run(&mut self, user: String, level: String, arrived: Instant, takes: Duration, seat: Seat) {
        let now = self.clock.now();
        let seats = seat.seats();
        self.running.push(Running {
            user,
            level,
            seats,
            arrived,
            begun: now,
            until: now + takes,
            _seat: seat,
        });
        self.check();
    }

    /// Whoever was given seats runs; whoever has run or waited for long enough goes.
    fn step(&mut self, by: Duration) {
        self.clock.advance(by);
        let now = self.clock.now();
        let (over, running) =
            std::mem::take(&mut self.running).into_iter().partition::<Vec<_>, _>(|r| r.until <= now);
        self.running = running;
        for request in over {
            let seat_time = (now - request.begun) * request.seats;
            self.done.push(Done { user: request.user, waited: request.begun - request.arrived, seat_time });
        }
        for engine in self.cores.clone() {
            engine.tick(now);
        }
        self.serve();
    }

    fn serve(&mut self) {
        let now = self.clock.now();
        let mut at = 0;
        while at < self.waiting.len() {
            match self.waiting[at].ticket.poll(Waker::noop()) {
                Poll::Ready(seat) => {
                    let Waiting { user, level, arrived, takes, .. } = self.waiting.remove(at);
                    self.run(user, level, arrived, takes, seat);
                }
                Poll::Pending if self.waiting[at].ticket.until() <= now => {
                    self.waiting[at].ticket.timed_out();
                    self.waiting.remove(at);
                    self.refused += 1;
                }
                Poll::Pending => at += 1,
            }
        }
    }

    /// No level has more seats taken than it has.
    fn check(&mut self) {
        let mut taken: BTreeMap<&str, u32> = BTreeMap::new();
        for request in &self.running {
            *taken.entry(&request.level).or_default() += request.seats;
        }
        for (name, seats) in taken {
            let most = self.most.entry(name.to_owned()).or_default();
            *most = (*most).max(seats);
        }
    }

    fn limit(&self, name: &str) -> u32 {
        self.shared.active().levels.iter().find(|l| l.name == name).expect("a level of the test").limit()
    }

    fn taken(&self, name: &str) -> u32 {
        self.running.iter().filter(|request| request.level == name).map(|request| request.seats).sum()
    }

    fn served(&self, user: &str) -> (usize, Duration, Duration) {
        let mine = || self.done.iter().filter(|done| done.user == user);
        let longest = mine().map(|done| done.waited).max().unwrap_or_default();
        (mine().count(), mine().map(|done| done.seat_time).sum(), longest)
    }

    fn sum(&self, of: impl Fn(&FlowCells) -> u64) -> u64 {
        self.shared.flows().iter().flat_map(|flow| flow.cores().map(&of).collect::<Vec<_>>()).sum()
    }

    /// Everything that has come is over: nothing may be left anywhere.
    fn drain(&mut self) {
        for _ in 0..100_000 {
            if self.running.is_empty() && self.waiting.is_empty() {
                break;
            }
            self.step(MILLI);
        }
        assert!(self.running.is_empty() && self.waiting.is_empty(), "{} wait", self.waiting.len());
        // What lingers is over by then.
        self.step(Duration::from_secs(1));
        for level in &self.shared.active().levels {
            assert_eq!(level.seats.taken(), 0, "{}", level.name);
            assert_eq!(level.seats.idle(), level.seats.limit(), "{}", level.name);
            assert!(level.is_idle(), "{}", level.name);
        }
        let now = self.sum(|cells| cells.waiting.get() + cells.executing.get() + cells.waiting_seats.get());
        assert_eq!(now, 0);
        assert!(self.cores.iter().all(|core| core.waiting() == 0));
    }
}

/// Jain's index: 1 where all get the same, 1/n where one gets all.
fn jain(shares: &[f64]) -> f64 {
    let sum: f64 = shares.iter().sum();
    sum * sum / (shares.len() as f64 * shares.iter().map(|share| share * share).sum::<f64>())
}

/// Flows that always have so many requests on the way each, on the cores that `core` says, for as long as that.
fn closed_loops(model: &mut Model, flows: &[(&str, usize, Duration)], cores: usize, steps: u32) {
    for step in 0..steps {
        for (at, (user, inflight, takes)) in flows.iter().enumerate() {
            let there = model.running.iter().filter(|r| r.user == *user).count()
                + model.waiting.iter().filter(|w| w.user == *user).count();
            for more in there..*inflight {
                let core = (more + at + step as usize) % cores;
                model.ask(core, "l", user, *takes);
            }
        }
        model.step(MILLI);
    }
}

#[test]
fn unequal_flows_get_equal_shares() {
    for cores in [1, 2, 4] {
        let mut model = Model::new(8, cores, vec![level("l", 100, 0, None, queuing(64, 1, 1000))]);
        // Ten times as many, five times as long, and both.
        let flows = [
            ("many", 80, MILLI * 10),
            ("few", 8, MILLI * 10),
            ("long", 8, MILLI * 50),
            ("all", 80, MILLI * 50),
        ];
        closed_loops(&mut model, &flows, cores, 4000);
        let shares: Vec<f64> = flows.iter().map(|(user, ..)| model.served(user).1.as_secs_f64()).collect();
        let index = jain(&shares);
        println!("{cores} cores: seat-seconds {shares:?}, Jain's index {index:.4}");
        assert!(index > 0.95, "{cores} cores: {shares:?}");
        model.drain();
    }
}

#[test]
fn a_light_flow_waits_little_beside_a_heavy_one() {
    for cores in [1, 2, 4] {
        let mut model = Model::new(8, cores, vec![level("l", 100, 0, None, queuing(64, 6, 50))]);
        for step in 0..4000_usize {
            for _ in 0..20 {
                model.ask(step % cores, "l", "heavy", MILLI * 10);
            }
            if step % 20 == 0 {
                model.ask((step / 20) % cores, "l", "light", MILLI * 5);
            }
            model.step(MILLI);
        }
        let (served, _, longest) = model.served("light");
        println!("{cores} cores: the light flow had {served} of 200 served and waited {longest:?} at most");
        assert!(served >= 198, "{served}");
        assert!(longest <= MILLI * 40, "{cores} cores: {longest:?}");
        assert!(model.refused > 0, "the heavy flow was to fill its queues");
        model.drain();
    }
}

#[test]
fn a_flow_with_one_request_at_a_time_waits_for_its_turn_and_not_for_all_others() {
    for cores in [1, 2, 4] {
        // Two seats, and hands of six: ten requests of the heavy flow are always on the way, on all cores.
        let mut model = Model::new(2, cores, vec![level("l", 100, 0, Some(0), queuing(128, 6, 50))]);
        closed_loops(&mut model, &[("heavy", 20, MILLI * 10), ("light", 1, MILLI * 10)], cores, 4000);
        let ((light, _, longest), (heavy, ..)) = (model.served("light"), model.served("heavy"));
        println!("{cores} cores: light {light}, heavy {heavy}, the light one waited {longest:?} at most");
        assert!(light * 5 > heavy, "{cores} cores: {light} of {heavy}");
        assert!(longest <= MILLI * 60, "{cores} cores: {longest:?}");
        model.drain();
    }
}

#[test]
fn a_core_gets_seats_from_others_that_are_busy() {
    // All of the heavy flow on one core, the light one on another.
    let mut model = Model::new(4, 2, vec![level("l", 100, 0, None, queuing(16, 1, 1000))]);
    for step in 0..3000_usize {
        if step < 2000 {
            for _ in 0..3 {
                model.ask(0, "l", "heavy", MILLI * 10);
            }
        }
        if step % 40 == 0 {
            model.ask(1, "l", "light", MILLI * 10);
        }
        model.step(MILLI);
    }
    let (served, _, longest) = model.served("light");
    assert!(served >= 74, "{served}");
    assert!(longest <= MILLI * 60, "{longest:?}");
    assert_eq!(model.most["l"], 4, "all seats are used, and no more");
    model.drain();
}

#[test]
fn seats_are_never_exceeded_whatever_comes() {
    for seed in 0..20_u64 {
        let mut random = seed;
        let mut next = |below: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % below
        };
        let cores = 1 + next(5) as usize;
        let levels = vec![
            level("a", 50, 50, Some(40), queuing(8, 2, 20)),
            level("b", 30, 80, None, queuing(4, 1, 5)),
            level("c", 20, 0, Some(0), LimitResponse::Reject),
        ];
        let mut model = Model::new(20 + next(40) as u32, cores, levels);
        for _ in 0..3000 {
            let before: Vec<u32> =
                ["a", "b", "c"].iter().map(|l| model.limit(l).max(model.taken(l))).collect();
            for _ in 0..next(4) {
                let name = ["a", "b", "c"][next(3) as usize];
                let user = format!("u{}", next(6));
                model.ask(next(cores as u64) as usize, name, &user, MILLI * next(120) as u32);
            }
            for (name, most) in ["a", "b", "c"].iter().zip(before) {
                assert!(model.taken(name) <= most, "seed {seed}: {} of {most} at {name}", model.taken(name));
            }
            // Clients go away.
            if next(10) == 0 && !model.waiting.is_empty() {
                let gone = next(model.waiting.len() as u64) as usize;
                model.waiting.remove(gone);
            }
            // Now and then seats are lent anew.
            model.step(if next(500) == 0 { Duration::from_secs(11) } else { MILLI * next(10) as u32 });
            for name in ["a", "b", "c"] {
                let bounds = model
                    .shared
                    .active()
                    .levels
                    .iter()
                    .find(|l| l.name == name)
                    .expect("it is there")
                    .bounds();
                assert!((bounds.lower..=bounds.upper).contains(&model.limit(name)), "{name}: {bounds:?}");
            }
        }
        model.drain();
        let came = model.sum(|cells| {
            cells.dispatched.get()
                + Rejection::ALL.map(|why| cells.rejected[why as usize].get()).iter().sum::<u64>()
        });
        let cancelled = model.sum(|cells| cells.cancelled.get());
        let counted = model.done.len() as u64 + u64::from(model.refused) + cancelled;
        assert_eq!(came, counted, "seed {seed}: every request is counted once");
    }
}

#[test]
fn idle_levels_lend_and_take_back() {
    let levels = vec![
        level("busy", 50, 0, Some(50), queuing(8, 2, 500)),
        level("idle", 50, 60, None, queuing(8, 2, 500)),
    ];
    let mut model = Model::new(110, 2, levels);
    let nominal = 53;
    closed_loop_of(&mut model, "busy", 120, Duration::from_secs(30));
    // Half of its own on top, and no more.
    assert_eq!(model.limit("busy"), nominal + 27);
    assert_eq!(model.most["busy"], nominal + 27);
    assert!(model.limit("idle") >= 21, "what is not lent stays");
    closed_loop_of(&mut model, "idle", 80, Duration::from_secs(60));
    assert!(model.limit("idle") >= nominal, "{}", model.limit("idle"));
    model.drain();
}

fn closed_loop_of(model: &mut Model, name: &str, inflight: usize, time: Duration) {
    let until = model.clock.elapsed() + time;
    while model.clock.elapsed() < until {
        let there = model.running.iter().filter(|r| r.level == name).count()
            + model.waiting.iter().filter(|w| w.level == name).count();
        for more in there..inflight {
            model.ask(more % model.cores.len(), name, &format!("u{}", more % 7), MILLI * 100);
        }
        model.step(MILLI * 50);
    }
}

#[test]
fn who_waits_too_long_or_goes_away_gives_its_place_back() {
    let mut model = Model::new(1, 1, vec![level("l", 100, 0, Some(0), queuing(1, 1, 2))]);
    let minute = Duration::from_secs(60);
    assert!(model.ask(0, "l", "a", minute));
    assert!(!model.ask(0, "l", "b", MILLI));
    assert!(!model.ask(0, "l", "c", MILLI));
    assert_eq!((model.waiting.len(), model.refused), (2, 0));
    assert!(!model.ask(0, "l", "d", MILLI));
    assert_eq!((model.waiting.len(), model.refused), (2, 1), "the queue is full");
    model.waiting.remove(0);
    assert!(!model.ask(0, "l", "e", MILLI));
    assert_eq!((model.waiting.len(), model.refused), (2, 1), "a place is free again");
    model.step(Duration::from_secs(14));
    assert_eq!(model.waiting.len(), 2);
    model.step(Duration::from_secs(2));
    assert_eq!((model.waiting.len(), model.refused), (0, 3));
    let reasons = Rejection::ALL.map(|why| model.sum(|cells| cells.rejected[why as usize].get()));
    assert_eq!((reasons, model.sum(|cells| cells.cancelled.get())), ([1, 0, 3], 1));
    // A seat that was given to somebody who left meanwhile.
    assert!(!model.ask(0, "l", "f", MILLI));
    model.running.clear();
    model.waiting.clear();
    assert!(model.ask(0, "l", "g", MILLI));
    model.drain();
}

/// A level without seats serves one request after the other, as kube-apiserver does, rather than none for ever.
#[test]
fn a_level_without_seats_serves_one_at_a_time() {
    for cores in 1..4 {
        let levels = vec![
            level("all", 100, 0, None, queuing(4, 1, 50)),
            level("reject", 0, 0, Some(0), LimitResponse::Reject),
            level("queue", 0, 0, Some(0), queuing(2, 1, 3)),
        ];
        let mut model = Model::new(8, cores, levels);
        let at = |n: usize| n % cores;
        for name in ["reject", "queue"] {
            assert_eq!(model.limit(name), 0);
            assert!(model.ask(at(0), name, "a", MILLI * 10), "{name} on {cores}");
            assert!(!model.ask(at(1), name, "a", MILLI * 10), "{name} on {cores}");
        }
        assert_eq!((model.running.len(), model.waiting.len(), model.refused), (2, 1, 1));
        model.step(MILLI * 11);
        assert_eq!((model.running.len(), model.waiting.len()), (1, 0), "the one that waited has its turn");
        assert!(model.ask(at(2), "reject", "b", MILLI));
        // What others leave idle is lent, and taken back when they want it.
        closed_loop_of(&mut model, "all", 40, Duration::from_secs(30));
        assert_eq!(model.limit("queue"), 0);
        model.drain();
        assert_eq!(model.most["reject"].max(model.most["queue"]), 1);
    }
}

#[test]
fn a_level_that_goes_serves_who_is_in_it() {
    let mut model = Model::new(4, 2, vec![level("l", 100, 0, Some(0), queuing(4, 1, 50))]);
    for at in 0..20 {
        model.ask(at % 2, "l", "a", MILLI * 10);
    }
    assert!(model.waiting.len() > 10);
    model.shared.put_in_force(Config::new(Vec::new(), Vec::new()), model.clock.now());
    let quiescing = model.shared.dump().into_iter().find(|dump| dump.name == "l").expect("still there");
    assert!(quiescing.is_quiescing && !quiescing.is_idle && quiescing.waiting > 10);
    assert_eq!(quiescing.requests.len(), model.running.len() + model.waiting.len());
    model.drain();
    assert_eq!(model.done.len(), 20);
}

#[test]
fn what_was_counted_of_schemas_that_went_is_bounded() {
    let levels = || vec![level("l", 100, 0, Some(0), queuing(4, 1, 50))];
    let mut model = Model::new(4, 1, levels());
    model.ask(0, "l", "a", Duration::from_secs(60));
    let supplied = model.shared.active().flows.len() - 1;
    let last = APF_PAST_FLOWS + 50;
    for at in 0..=last {
        let schema = FlowSchema { name: format!("s{at}"), ..schema("l") };
        model.shared.put_in_force(Config::new(vec![schema], levels()), model.clock.now());
    }
    let of_level = || -> Vec<String> {
        let flows = model.shared.flows();
        flows.iter().filter(|f| f.priority_level == "l").map(|f| f.flow_schema.clone()).collect()
    };
    assert!(model.shared.flows().len() <= APF_PAST_FLOWS + 1 + supplied, "{}", model.shared.flows().len());
    let names = of_level();
    assert!(names.contains(&format!("s{last}")) && names.contains(&format!("s{}", last - 1)));
    assert!(!names.contains(&"s0".to_owned()), "the one that went first");
    assert!(names.contains(&"schema-l".to_owned()), "somebody of it runs");
    assert_eq!(model.sum(|cells| cells.executing.get()), 1);
    model.drain();
}

#[test]
fn a_dump_tells_what_requests_are_that_waited() {
    let mut model = Model::new(1, 1, vec![level("l", 100, 0, Some(0), queuing(1, 1, 10))]);
    assert!(model.ask(0, "l", "first", MILLI * 10));
    assert!(!model.ask(0, "l", "second", MILLI * 10));
    let user_of = |model: &Model, runs: bool| {
        let dump =
            model.shared.dump().into_iter().find(|dump| dump.name == "l").expect("a level of the test");
        let request = dump.requests.into_iter().find(|request| request.started.is_some() == runs);
        request.expect("one waits and one runs").details.map(|details| details.user)
    };
    assert_eq!(user_of(&model, false).as_deref(), Some("second"));
    model.step(MILLI * 20);
    assert_eq!(user_of(&model, true).as_deref(), Some("second"), "it runs now");
    model.drain();
}

#[test]
fn a_queue_may_be_no_longer_on_all_cores_together() {
    let mut model = Model::new(4, 4, vec![level("l", 100, 0, Some(0), queuing(1, 1, 10))]);
    let limit = model.limit("l") as usize;
    for at in 0..100 {
        model.ask(at % 4, "l", "a", MILLI * 10);
    }
    assert_eq!((model.running.len(), model.waiting.len()), (limit, 10));
    model.drain();
}

#[test]
fn virtual_time_never_runs_back() {
    let clock = FakeClock::default();
    let queuing = QueuingConfiguration { queues: 8, hand_size: 2, queue_length_limit: 50 };
    let mut set = QueueSet::new(queuing, clock.now());
    let (mut random, mut last, mut running) = (7_u64, 0, VecDeque::new());
    let mut free = 5;
    for _ in 0..20_000 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // Now and then somebody comes with a time that has passed.
        let now = clock.now() - Duration::from_micros(random >> 60).min(clock.elapsed());
        match (random >> 40) % 4 {
            0 => {
                let queue = set.choose(random, |_| false);
                set.enqueue(
                    (queue, random >> 60),
                    WorkEstimate::seats(1 + (random >> 50) as u32 % 2),
                    (),
                    now,
                );
            }
            1 if set.waiting() > 0 => {
                let dispatched = set.dispatch(now, |estimate| {
                    let seats = estimate.max_seats();
                    (seats <= free).then(|| {
                        free -= seats;
                        seats
                    })
                });
                running.extend(dispatched);
            }
            2 => {
                if let Some(key) = running.pop_front() {
                    free += set.get(key).expect("it runs").seats();
                    set.finish(key, now);
                    set.free(key, now);
                }
            }
            _ => clock.advance(Duration::from_micros((random >> 45) % 5000)),
        }
        assert!(set.virtual_time() >= last);
        last = set.virtual_time();
    }
    assert!(last > 0);
}
