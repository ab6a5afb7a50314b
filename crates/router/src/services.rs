//! The services of an event loop for its connections: time, deadlines, figures, room.

pub(crate) mod admission;
pub(crate) mod countdown;
pub(crate) mod inner;
pub(crate) mod unserved;
mod wanted;

use std::rc::Rc;
use std::sync::Arc;

use corral_channel::Lane;

use crate::clock::deadline::Deadlines;
use crate::counters::Counters;
use crate::mirrors::OnTheirWay;
use crate::services::admission::Admission;
use crate::services::inner::InnerDoor;
use crate::services::unserved::Unserved;
use crate::tls::Provisions;
use crate::upstream::LoopServers;

/// One event loop as its connections see it.
pub(crate) struct Services {
    /// Which of the event loops it is.
    pub(crate) lane: Lane,
    pub(crate) counters: Arc<Counters>,
    pub(crate) deadlines: Rc<Deadlines>,
    pub(crate) admission: Arc<Admission>,
    /// Connections that are told why they are refused hold a copy.
    pub(crate) refusing: Rc<()>,
    /// Requests that wait without their clients hold a copy.
    pub(crate) abandoned: Rc<()>,
    /// Copies of requests that are on their way to other servers.
    pub(crate) copies: Rc<OnTheirWay>,
    /// Where the router asks its own applications.
    pub(crate) inner: InnerDoor,
    /// Servers that requests are proxied to.
    pub(crate) proxy_servers: LoopServers,
    /// Certificates that were ordered, and answers for those who issue them.
    pub(crate) provisions: Arc<Provisions>,
    /// Clients that there is no certificate for.
    pub(crate) unserved: Arc<Unserved>,
}

/// The services that all event loops share.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) admission: Arc<Admission>,
    pub(crate) provisions: Arc<Provisions>,
    pub(crate) unserved: Arc<Unserved>,
}

impl Services {
    pub(crate) fn new(lane: Lane, counters: Arc<Counters>, shared: Shared) -> Rc<Self> {
        let Shared { admission, provisions, unserved } = shared;
        Rc::new(Self {
            lane,
            counters,
            deadlines: Deadlines::new(),
            admission,
            refusing: Rc::new(()),
            abandoned: Rc::default(),
            copies: Rc::default(),
            inner: InnerDoor::new(),
            proxy_servers: LoopServers::default(),
            provisions,
            unserved,
        })
    }
}
