//! One thread with one event loop: its connections, its half of every channel, its view of the configuration.

mod apps;
pub(crate) mod command;
mod listeners;
mod sleep;
mod turn_clock;

use std::cell::OnceCell;
use std::io;
use std::os::fd::OwnedFd;
use std::panic::{self, AssertUnwindSafe};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use corral_channel::Lane;
use corral_config::Config;
use corral_config::address::ListenAddress;
use corral_ipc::message::{SlowRequest, keep_slowest};
use tokio::sync::mpsc;

use self::apps::LoopApps;
use self::listeners::LoopListeners;
use self::sleep::LoopSleep;
use crate::client::internal;
use crate::counters::{LoopCounters, inner};
use crate::event_loop::command::LoopCommand;
use crate::files;
use crate::generation::{Generation, LoopGeneration};
use crate::instance::BusyApps;
use crate::services::countdown::Countdown;
use crate::services::{LoopServices, SharedServices};
use crate::storage::buffered::{self, MemoryBudget};

thread_local! {
    static SLEEP: OnceCell<Rc<LoopSleep>> = const { OnceCell::new() };
}

/// The control thread's hold on a loop.
pub(crate) struct LoopHandle {
    pub(crate) commands: mpsc::UnboundedSender<LoopCommand>,
    pub(crate) counters: Arc<LoopCounters>,
}

/// The slowest requests of all loops.
pub(crate) fn slow_requests(loops: &[LoopHandle]) -> Vec<SlowRequest> {
    let now = Instant::now();
    let mut all = loops.iter().flat_map(|handle| handle.counters.slow.list(now)).collect();
    keep_slowest(&mut all);
    all
}

/// The part that all loops share.
#[derive(Clone)]
pub(crate) struct LoopShared {
    pub(crate) shared: SharedServices,
    pub(crate) budget: Arc<MemoryBudget>,
}

/// The state of one event loop.
struct EventLoop {
    services: Rc<LoopServices>,
    apps: LoopApps,
    listeners: LoopListeners,
}

/// Starts the thread of one loop.
pub(crate) fn spawn(lane: Lane, commons: LoopShared) -> io::Result<LoopHandle> {
    let (commands, inbox) = mpsc::unbounded_channel();
    let counters = Arc::new(LoopCounters::default());
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
    Ok(LoopHandle { commands, counters })
}

fn run(
    lane: Lane,
    commons: LoopShared,
    counters: Arc<LoopCounters>,
    inbox: mpsc::UnboundedReceiver<LoopCommand>,
) -> io::Result<()> {
    buffered::join(commons.budget);
    inner::join(Arc::clone(&counters));
    let services = LoopServices::new(lane, counters, commons.shared);
    let busy = Rc::<BusyApps>::default();
    let sleep = LoopSleep::new(&services, Rc::clone(&busy));
    SLEEP.with(|ours| ours.set(Rc::clone(&sleep)).ok()).ok_or(io::ErrorKind::AlreadyExists)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .on_thread_park(|| with_sleep(LoopSleep::before))
        .on_thread_unpark(|| with_sleep(LoopSleep::after))
        .build_local(tokio::runtime::LocalOptions::default())?;
    let apps = LoopApps::new(lane, busy);
    let listeners = LoopListeners::new(Rc::clone(&services));
    let event_loop = EventLoop { services, apps, listeners };
    runtime.block_on(async move {
        keep_up(&event_loop.services, sleep);
        event_loop.obey(inbox).await;
    });
    Ok(())
}

fn with_sleep(act: impl FnOnce(&LoopSleep)) {
    SLEEP.with(|sleep| {
        if let Some(sleep) = sleep.get() {
            act(sleep);
        }
    });
}

/// Starts what goes on beside the connections.
fn keep_up(services: &Rc<LoopServices>, sleep: Rc<LoopSleep>) {
    let deadlines = Rc::clone(&services.deadlines);
    tokio::task::spawn_local(async move { deadlines.keep_sweeping().await });
    let rescuing = Rc::clone(&sleep);
    tokio::task::spawn_local(async move { rescuing.keep_rescuing().await });
    tokio::task::spawn_local(async move { sleep.keep_going().await });
    tokio::task::spawn_local(make_room(Rc::clone(services)));
    tokio::task::spawn_local(internal::run(Rc::clone(services)));
    tokio::task::spawn_local(files::keep_sweeping());
    let proxying = Rc::clone(services);
    tokio::task::spawn_local(async move { proxying.proxy_servers.keep_sweeping().await });
    let proxying = Rc::clone(services);
    tokio::task::spawn_local(async move { proxying.proxy_servers.keep_serving().await });
}

/// Ends connections that wait for a request when other event loops have none left.
async fn make_room(services: Rc<LoopServices>) {
    loop {
        services.admission.crowded(services.lane).await;
        services.deadlines.expire_oldest_idle();
    }
}

impl EventLoop {
    async fn obey(self, mut inbox: mpsc::UnboundedReceiver<LoopCommand>) {
        while let Some(command) = inbox.recv().await {
            match command {
                LoopCommand::AddApp { app, bell } => self.apps.add(app, bell),
                LoopCommand::RemoveApp { app } => self.apps.remove(app),
                LoopCommand::AddWorker { worker, receiver } => {
                    if let Some(app) = self.apps.find(worker.app.id) {
                        app.add_receiver(worker.key, receiver);
                    }
                    worker.is_heard();
                }
                LoopCommand::RemoveWorker { app, dead, exit } => {
                    if let Some(app) = self.apps.find(app) {
                        app.remove_receiver(&dead, exit);
                    }
                }
                LoopCommand::Fail { app, id, failure } => {
                    if let Some(app) = self.apps.find(app) {
                        app.fail(id, failure);
                    }
                }
                LoopCommand::Swap { generation, config, sockets, done } => {
                    self.swap(&generation, config, sockets, &done);
                    drop(done);
                }
                LoopCommand::Settle { done } => drop(done),
                LoopCommand::Finish { keep_idle, closed, done } => {
                    self.listeners.close(|_| false, keep_idle, &closed);
                    self.finish(keep_idle, done);
                }
            }
        }
    }

    fn swap(
        &self,
        generation: &Arc<Generation>,
        config: Arc<Config>,
        sockets: Vec<(ListenAddress, Vec<Arc<OwnedFd>>)>,
        done: &Countdown,
    ) {
        let apps = generation.leases.iter().filter_map(|lease| self.apps.find(lease.0.id)).collect();
        let servers = (&self.services.proxy_servers, self.services.lane);
        let generation = Rc::new(LoopGeneration::new(Arc::clone(generation), config, apps, servers));
        self.listeners.close(|handle| handle.stays_in(&generation), Duration::ZERO, done);
        files::forget_all();
        for (address, sockets) in sockets {
            self.listeners.listen(&generation, address, sockets);
        }
    }

    fn finish(&self, keep_idle: Duration, done: Countdown) {
        let counters = Arc::clone(&self.services.counters);
        tokio::task::spawn_local(async move {
            wait_until_quiet(&counters, keep_idle).await;
            drop(done);
        });
    }
}

/// Connections without a request are waited for only if they were given time for one.
async fn wait_until_quiet(counters: &LoopCounters, keep_idle: Duration) {
    let LoopCounters { accepted, closed, active, .. } = counters;
    let has_idle = || !keep_idle.is_zero() && accepted.get() > closed.get();
    while active.get() > 0 || has_idle() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
