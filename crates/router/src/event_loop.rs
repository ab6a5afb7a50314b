//! One thread with one event loop: its connections, its half of every channel, its view of the configuration.
//!
//! Rings are looked at before the loop sleeps and after it wakes, by the runtime's park hooks: at those two
//! points no task runs, everything that could be done for the sockets has been done, and all requests of
//! the batch are in the rings, so that each worker is woken once.

pub(crate) mod clock;
pub(crate) mod counters;
pub(crate) mod deadline;

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::os::fd::OwnedFd;
use std::panic::{self, AssertUnwindSafe};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use corral_channel::{Bell, Lane, LaneReceiver, RequestId};
use corral_config::address::ListenAddress;
use corral_ipc::message::{AppId, Exit};
use corral_sys::watched::Watched;
use tokio::io::Interest;
use tokio::sync::{Notify, mpsc};

use crate::client::accept::{self, Acceptor, Slot};
use crate::client::admission::Admission;
use crate::event_loop::counters::Counters;
use crate::event_loop::deadline::Deadlines;
use crate::files;
use crate::generation::{Generation, LoopGeneration};
use crate::instance::{App, BusyApps, Failure, Gone, LoopApp, RESCUE, WorkerKey};
use crate::storage::buffered::{self, Budget};
use crate::upstream::LoopServers;

thread_local! {
    static CURRENT: OnceCell<Rc<EventLoop>> = const { OnceCell::new() };
}

/// What a loop is told by the control thread.
pub(crate) enum Command {
    /// An application whose workers may answer from now on.
    AddApp {
        app: Arc<App>,
        bell: Arc<Bell>,
    },
    RemoveApp {
        app: AppId,
    },
    AddWorker {
        worker: Arc<NewWorker>,
        receiver: LaneReceiver,
    },
    RemoveWorker {
        app: AppId,
        gone: Arc<Gone>,
        exit: Exit,
    },
    Fail {
        app: AppId,
        id: RequestId,
        failure: Failure,
    },
    /// A new generation and the sockets of its listeners.
    Swap {
        generation: Arc<Generation>,
        sockets: Vec<(ListenAddress, Vec<Arc<OwnedFd>>)>,
        done: Countdown,
    },
    /// Finish what is being done at this moment: what clients have seen of it is counted and logged then.
    Settle {
        done: Countdown,
    },
    /// Stop accepting, finish what is in progress. Connections may wait for a request for as long as is said.
    Finish {
        keep_idle: Duration,
        done: Countdown,
    },
}

/// A worker that takes requests as soon as every loop listens to it.
pub(crate) struct NewWorker {
    pub(crate) app: Arc<App>,
    pub(crate) key: WorkerKey,
    /// Loops that do not listen yet.
    pub(crate) n_missing: AtomicUsize,
}

/// Tells the control thread when the last loop has dropped its copy.
pub(crate) type Countdown = Arc<mpsc::Sender<()>>;

/// The control thread's hold on a loop.
pub(crate) struct Handle {
    pub(crate) commands: mpsc::UnboundedSender<Command>,
    pub(crate) counters: Arc<Counters>,
}

/// What all loops share.
#[derive(Clone)]
pub(crate) struct Commons {
    pub(crate) admission: Arc<Admission>,
    pub(crate) budget: Arc<Budget>,
}

/// The state of one event loop.
pub(crate) struct EventLoop {
    lane: Lane,
    pub(crate) counters: Arc<Counters>,
    pub(crate) deadlines: Rc<Deadlines>,
    pub(crate) admission: Arc<Admission>,
    /// Connections that are told why they are refused hold a copy.
    pub(crate) refusing: Rc<()>,
    /// Servers that requests are proxied to.
    pub(crate) proxy_servers: LoopServers,
    apps: RefCell<BTreeMap<AppId, AttachedApp>>,
    busy: Rc<BusyApps>,
    slots: RefCell<HashMap<ListenAddress, Rc<Slot>>>,
    /// The bells say that this loop sleeps.
    announced: Cell<bool>,
    /// A request waits ahead although a worker is idle.
    rescue_later: Notify,
    /// Workers have said more than is heard at a time.
    go_on: Notify,
}

struct AttachedApp {
    loop_app: Rc<LoopApp>,
    /// Registered for its edges alone: a ring of the bell ends the sleep, nothing is ever read. None of a silent one.
    _ring: Option<Watched>,
}

/// Starts the thread of one loop.
pub(crate) fn spawn(lane: Lane, commons: Commons) -> io::Result<Handle> {
    let (commands, inbox) = mpsc::unbounded_channel();
    let counters = Arc::new(Counters::default());
    let theirs = Arc::clone(&counters);
    let runtime_result = std::thread::Builder::new().name(format!("loop {}", lane.0)).spawn(move || {
        let ended = panic::catch_unwind(AssertUnwindSafe(|| run(lane, commons, theirs, inbox)));
        match ended {
            Ok(Ok(())) => return,
            Ok(Err(error)) => tracing::error!("event loop {}: {error}", lane.0),
            // The others cannot do without it, but main can start another router.
            Err(_) => tracing::error!("event loop {} has panicked", lane.0),
        }
        std::process::abort();
    });
    runtime_result?;
    Ok(Handle { commands, counters })
}

fn run(
    lane: Lane,
    commons: Commons,
    counters: Arc<Counters>,
    inbox: mpsc::UnboundedReceiver<Command>,
) -> io::Result<()> {
    buffered::join(commons.budget);
    let event_loop = EventLoop::new(lane, counters, commons.admission);
    CURRENT.with(|current| current.set(Rc::clone(&event_loop)).ok()).ok_or(io::ErrorKind::AlreadyExists)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .on_thread_park(|| with_current(EventLoop::before_sleep))
        .on_thread_unpark(|| with_current(EventLoop::after_sleep))
        .build_local(tokio::runtime::LocalOptions::default())?;
    runtime.block_on(async move {
        let deadlines = Rc::clone(&event_loop.deadlines);
        tokio::task::spawn_local(async move { deadlines.keep_sweeping().await });
        tokio::task::spawn_local(rescue(Rc::clone(&event_loop)));
        tokio::task::spawn_local(go_on(Rc::clone(&event_loop)));
        tokio::task::spawn_local(make_room(Rc::clone(&event_loop)));
        tokio::task::spawn_local(files::keep_sweeping());
        let proxying = Rc::clone(&event_loop);
        tokio::task::spawn_local(async move { proxying.proxy_servers.keep_sweeping().await });
        event_loop.obey(inbox).await;
    });
    Ok(())
}

fn with_current(act: impl FnOnce(&EventLoop)) {
    CURRENT.with(|current| {
        if let Some(event_loop) = current.get() {
            act(event_loop);
        }
    });
}

/// How often a loop that has nothing else to do looks whether workers say something before it sleeps. They might do
/// nothing else.
const MOST_LOOKS: usize = 16;

/// Nothing, but a loop with something to run does not sleep.
async fn go_on(event_loop: Rc<EventLoop>) {
    loop {
        event_loop.go_on.notified().await;
    }
}

/// Looks after requests that were not given to an idle worker, see `Pool::rescue`.
async fn rescue(event_loop: Rc<EventLoop>) {
    loop {
        event_loop.rescue_later.notified().await;
        tokio::time::sleep(RESCUE).await;
        let now = Instant::now();
        event_loop.busy.each(|app| app.app.rescue(now));
    }
}

/// Ends connections that wait for a request when other event loops have none left.
async fn make_room(event_loop: Rc<EventLoop>) {
    loop {
        event_loop.admission.crowded(event_loop.lane).await;
        event_loop.deadlines.expire_oldest_idle();
    }
}

impl EventLoop {
    fn new(lane: Lane, counters: Arc<Counters>, admission: Arc<Admission>) -> Rc<Self> {
        Rc::new(Self {
            lane,
            counters,
            deadlines: Deadlines::new(),
            admission,
            refusing: Rc::new(()),
            proxy_servers: LoopServers::default(),
            apps: RefCell::new(BTreeMap::new()),
            busy: Rc::default(),
            slots: RefCell::default(),
            announced: Cell::new(false),
            rescue_later: Notify::new(),
            go_on: Notify::new(),
        })
    }

    /// Which of the event loops it is.
    pub(crate) fn lane(&self) -> Lane {
        self.lane
    }

    /// Wakes workers, takes answers, and publishes that this loop sleeps unless a task has work to do.
    fn before_sleep(&self) {
        let now = self.deadlines.now();
        self.wake_workers();
        let mut is_needed = self.drain(now) || self.drain_after_workers(now);
        for _ in 0..MOST_LOOKS {
            if self.busy.take_behind() {
                break;
            }
            if is_needed {
                return;
            }
            // Taking answers has freed hands and given credit.
            self.wake_workers();
            self.busy.prune();
            if !self.announce_sleep() {
                return;
            }
            self.stay_awake();
            is_needed = self.drain(now);
        }
        // Sockets are looked at before the rest, as some task has to run.
        self.go_on.notify_one();
    }

    fn wake_workers(&self) {
        let mut may_need_rescue = false;
        self.busy.each(|app| may_need_rescue |= app.wake_workers());
        if may_need_rescue {
            self.rescue_later.notify_one();
        }
    }

    /// From here on workers ring. True when one has answered before that: this loop must not sleep.
    fn announce_sleep(&self) -> bool {
        self.announced.set(true);
        let mut missed = false;
        self.busy.each(|app| missed |= app.announce_sleep());
        missed
    }

    fn after_sleep(&self) {
        self.deadlines.refresh();
        self.stay_awake();
        self.drain(self.deadlines.now());
    }

    fn stay_awake(&self) {
        if self.announced.replace(false) {
            self.busy.each(|app| app.cancel_sleep());
        }
    }

    /// Takes all frames of all workers. True when that woke a task of this loop.
    fn drain(&self, now: Instant) -> bool {
        let mut woke = false;
        self.busy.each(|app| woke |= app.is_waiting() && app.drain(now));
        woke
    }

    /// Lets workers that wait for this processor run first. On a busy machine they have answers then, and
    /// nobody has slept or was woken; on an idle one it costs a system call.
    fn drain_after_workers(&self, now: Instant) -> bool {
        if !self.busy.are_waiting() {
            return false;
        }
        std::thread::yield_now();
        self.drain(now)
    }

    async fn obey(self: Rc<Self>, mut inbox: mpsc::UnboundedReceiver<Command>) {
        while let Some(command) = inbox.recv().await {
            match command {
                Command::AddApp { app, bell } => self.add_app(app, bell),
                Command::RemoveApp { app } => drop(self.apps.borrow_mut().remove(&app)),
                Command::AddWorker { worker, receiver } => self.add_worker(&worker, receiver),
                Command::RemoveWorker { app, gone, exit } => {
                    self.with_app(app, |app| app.remove_receiver(&gone, exit));
                }
                Command::Fail { app, id, failure } => self.with_app(app, |app| app.fail(id, failure)),
                Command::Swap { generation, sockets, done } => {
                    self.swap(&generation, sockets, &done);
                    drop(done);
                }
                Command::Settle { done } => drop(done),
                Command::Finish { keep_idle, done } => self.finish(keep_idle, done),
            }
        }
    }

    fn add_app(&self, app: Arc<App>, bell: Arc<Bell>) {
        let ring =
            bell.eventfd(self.lane).map(|eventfd| Watched::new(Arc::clone(eventfd), Interest::READABLE));
        let ring = match ring.transpose() {
            Ok(ring) => ring,
            Err(error) => return tracing::error!("listen to the bell of \"{}\": {error}", app.spec.name),
        };
        match self.apps.borrow_mut().entry(app.id) {
            Entry::Occupied(mut known) => {
                known.get().loop_app.replace_bell(bell);
                known.get_mut()._ring = ring;
            }
            Entry::Vacant(vacant) => {
                vacant.insert(AttachedApp {
                    loop_app: LoopApp::new(app, self.lane, bell, Rc::clone(&self.busy)),
                    _ring: ring,
                });
            }
        }
    }

    fn add_worker(&self, worker: &NewWorker, receiver: LaneReceiver) {
        self.with_app(worker.app.id, |app| app.add_receiver(worker.key, receiver));
        if worker.n_missing.fetch_sub(1, Ordering::AcqRel) == 1 {
            worker.app.enable_worker(worker.key);
        }
    }

    fn with_app(&self, id: AppId, act: impl FnOnce(&Rc<LoopApp>)) {
        let loop_app = self.apps.borrow().get(&id).map(|attached| Rc::clone(&attached.loop_app));
        if let Some(loop_app) = loop_app {
            act(&loop_app);
        }
    }

    fn swap(
        self: &Rc<Self>,
        generation: &Arc<Generation>,
        sockets: Vec<(ListenAddress, Vec<Arc<OwnedFd>>)>,
        done: &Countdown,
    ) {
        let apps = self.apps.borrow();
        let loop_apps = generation
            .leases
            .iter()
            .filter_map(|lease| apps.get(&lease.0.id).map(|attached| Rc::clone(&attached.loop_app)))
            .collect();
        drop(apps);
        let servers = self.proxy_servers.groups(&generation.servers, self.lane);
        let generation = Rc::new(LoopGeneration::new(Arc::clone(generation), loop_apps, servers));
        self.close_slots(|address| generation.find_listener(address).is_some(), Duration::ZERO, done);
        files::forget_all();
        for (address, sockets) in sockets {
            self.listen(&generation, address, sockets);
        }
    }

    /// Starts a listener, or gives a running one its new configuration.
    fn listen(
        self: &Rc<Self>,
        generation: &Rc<LoopGeneration>,
        address: ListenAddress,
        sockets: Vec<Arc<OwnedFd>>,
    ) {
        let Some(listener) = generation.find_listener(&address) else { return };
        let known = self.slots.borrow().get(&address).map(Rc::clone);
        if let Some(slot) = known {
            slot.configure(Rc::clone(generation), listener);
            return;
        }
        match Acceptor::new(&address, sockets) {
            Ok(acceptor) => {
                let slot = Slot::new(address.clone(), Rc::clone(generation), listener);
                self.slots.borrow_mut().insert(address, Rc::clone(&slot));
                tokio::task::spawn_local(accept::run(Rc::clone(self), acceptor, slot));
            }
            Err(error) => tracing::error!("take over the socket of a listener: {error}"),
        }
    }

    /// Closes listeners; `done` counts each until its socket is closed, so that its address can be bound again.
    fn close_slots(&self, keep: impl Fn(&ListenAddress) -> bool, keep_idle: Duration, done: &Countdown) {
        self.slots.borrow_mut().retain(|_, slot| {
            let keep = keep(&slot.address);
            if !keep {
                slot.close(keep_idle, Arc::clone(done));
                self.deadlines.expire_idle(slot.id(), keep_idle);
            }
            keep
        });
    }

    fn finish(self: &Rc<Self>, keep_idle: Duration, done: Countdown) {
        self.close_slots(|_| false, keep_idle, &done);
        let event_loop = Rc::clone(self);
        tokio::task::spawn_local(async move {
            event_loop.wait_until_quiet(keep_idle).await;
            drop(done);
        });
    }

    /// Connections without a request are waited for only if they were given time for one.
    async fn wait_until_quiet(&self, keep_idle: Duration) {
        let Counters { accepted, closed, active, .. } = &*self.counters;
        let has_idle = || !keep_idle.is_zero() && accepted.get() > closed.get();
        while active.get() > 0 || has_idle() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}
