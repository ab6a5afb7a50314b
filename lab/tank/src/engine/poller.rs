//! Events of sockets, and a timer that is exact to the microsecond: the timeout of epoll(7) has the kernel's slack and,
//! in its older form, whole milliseconds.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};

use crate::clock::{Clock, Nanos};

/// Events that are fetched at a time: few enough that what is due in between is not late.
const AT_A_TIME: usize = 64;

/// The number of the timer among the sockets.
const TIMER: u64 = u64::MAX;

pub(super) struct Poller {
    epoll: OwnedFd,
    timer: OwnedFd,
    /// The moment that the timer is set to; it may wake up too early, never too late.
    alarm: Nanos,
    events: Vec<Event>,
}

/// An event of a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SocketEvent {
    pub(super) key: usize,
    /// The server has closed its side, or the connection is broken.
    pub(super) is_hup: bool,
}

impl Poller {
    pub(super) fn new() -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let timer =
            timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)?;
        // Edge-triggered: that it expired is told once, so nothing has to be read from it.
        epoll::add(&epoll, &timer, EventData::new_u64(TIMER), EventFlags::IN | EventFlags::ET)?;
        Ok(Self { epoll, timer, alarm: 0, events: Vec::with_capacity(AT_A_TIME) })
    }

    pub(super) fn add(&self, socket: BorrowedFd<'_>, key: usize) -> io::Result<()> {
        let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        Ok(epoll::add(&self.epoll, socket, EventData::new_u64(key as u64), flags)?)
    }

    /// Waits for events, at most until a moment.
    pub(super) fn wait(&mut self, until: Nanos, now: Nanos, clock: &Clock) -> io::Result<()> {
        self.events.clear();
        let is_due = until <= now;
        if !is_due && (self.alarm <= now || self.alarm > until) {
            self.set_alarm(until, clock)?;
        }
        let timeout = is_due.then_some(Timespec { tv_sec: 0, tv_nsec: 0 });
        match epoll::wait(&self.epoll, spare_capacity(&mut self.events), timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn set_alarm(&mut self, moment: Nanos, clock: &Clock) -> io::Result<()> {
        let never = Timespec { tv_sec: 0, tv_nsec: 0 };
        let setting = Itimerspec { it_interval: never, it_value: clock.monotonic(moment) };
        timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &setting)?;
        self.alarm = moment;
        Ok(())
    }

    pub(super) fn n_events(&self) -> usize {
        self.events.len()
    }

    /// One of the events that the last wait brought, unless it is that of the timer.
    pub(super) fn event(&self, at: usize) -> Option<SocketEvent> {
        let event = self.events.get(at)?;
        let hups = EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR;
        // Copies, as the kernel packs these.
        let (data, flags) = (event.data, event.flags);
        let is_hup = flags.intersects(hups);
        (data.u64() != TIMER).then(|| SocketEvent { key: data.u64() as usize, is_hup })
    }
}
