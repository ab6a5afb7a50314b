//! The services of an event loop for its connections: time, deadlines, figures, room.

pub(crate) mod admission;
pub(crate) mod control_line;
pub(crate) mod countdown;
pub(crate) mod internal;
pub(crate) mod uncertified_clients;
mod wanted;

use std::rc::Rc;
use std::sync::Arc;

use corral_channel::Lane;

use crate::clock::deadline::Deadlines;
use crate::counters::LoopCounters;
use crate::mirrors::CopiesInFlight;
use crate::services::admission::Admission;
use crate::services::control_line::ControlLine;
use crate::services::internal::InternalEndpoint;
use crate::services::uncertified_clients::UncertifiedClients;
use crate::tls::IssuedSecrets;
use crate::upstream::LoopServers;

/// One event loop as its connections see it.
pub(crate) struct LoopServices {
    /// Which of the event loops it is.
    pub(crate) lane: Lane,
    pub(crate) counters: Arc<LoopCounters>,
    pub(crate) deadlines: Rc<Deadlines>,
    pub(crate) admission: Arc<Admission>,
    /// Connections that are told why they are refused hold a copy.
    pub(crate) refusing: Rc<()>,
    /// Requests that wait without their clients hold a copy.
    pub(crate) abandoned: Rc<()>,
    /// Copies of requests that are on their way to other servers.
    pub(crate) copies: Rc<CopiesInFlight>,
    /// Where the router asks its own applications.
    pub(crate) inner: InternalEndpoint,
    /// Servers that requests are proxied to.
    pub(crate) proxy_servers: LoopServers,
    /// Certificates that were ordered, and answers for the authorities that issue them.
    pub(crate) secrets: Arc<IssuedSecrets>,
    /// Clients that there is no certificate for.
    pub(crate) uncertified: Arc<UncertifiedClients>,
    /// The way to the control process.
    pub(crate) control: Arc<ControlLine>,
}

/// The services that all event loops share.
#[derive(Clone)]
pub(crate) struct SharedServices {
    pub(crate) admission: Arc<Admission>,
    pub(crate) secrets: Arc<IssuedSecrets>,
    pub(crate) uncertified: Arc<UncertifiedClients>,
    pub(crate) control: Arc<ControlLine>,
}

impl LoopServices {
    pub(crate) fn new(lane: Lane, counters: Arc<LoopCounters>, shared: SharedServices) -> Rc<Self> {
        let SharedServices { admission, secrets, uncertified, control } = shared;
        Rc::new(Self {
            lane,
            counters,
            deadlines: Deadlines::new(),
            admission,
            refusing: Rc::new(()),
            abandoned: Rc::default(),
            copies: Rc::default(),
            inner: InternalEndpoint::new(),
            proxy_servers: LoopServers::default(),
            secrets,
            uncertified,
            control,
        })
    }
}
