//! The way to the control process, for requests of clients that it answers: metrics and the dashboard.
//!
//! Each request has a pair of sockets of its own. One end goes by main to the control process, which answers HTTP
//! there; so nothing listens for it, and no other process can connect. Until the control process closes that end it is
//! a descriptor somewhere, and the request keeps its share, whatever its client does.

use std::io;
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use corral_config::control_service::ControlService;
use corral_ipc::message::{ControlCall, FromRouter};
use tokio::net::UnixStream;
use tokio::time::timeout;

use crate::io::AnySocket;
use crate::main_link::MainSender;
use crate::upstream::ServerConnection;

/// How long a share outlives its client at most. A change of the configuration may take longer: the control process
/// bounds its requests as well.
const LONGEST_END: Duration = Duration::from_secs(5);

/// Makes connections, for all event loops.
pub(crate) struct ControlLine {
    main: MainSender,
    n_metrics: AtomicUsize,
    n_dashboard: AtomicUsize,
}

/// One request's share of the line.
pub(crate) struct ControlShare {
    line: Arc<ControlLine>,
    service: ControlService,
}

impl ControlLine {
    pub(crate) fn new(main: MainSender) -> Arc<Self> {
        Arc::new(Self { main, n_metrics: AtomicUsize::new(0), n_dashboard: AtomicUsize::new(0) })
    }

    /// A share, unless others have all those of the service.
    pub(crate) fn enter(self: &Arc<Self>, service: ControlService) -> Option<ControlShare> {
        let enter = |n_open| (n_open < most(service)).then_some(n_open + 1);
        self.n_open(service).fetch_update(Ordering::Relaxed, Ordering::Relaxed, enter).ok()?;
        Some(ControlShare { line: Arc::clone(self), service })
    }

    fn n_open(&self, service: ControlService) -> &AtomicUsize {
        match service {
            ControlService::Metrics => &self.n_metrics,
            ControlService::Dashboard => &self.n_dashboard,
        }
    }
}

/// The requests of the whole router at a time. Each service has a bound of its own, so that clients of the dashboard,
/// whose page needs no token, keep no collector from the metrics.
const fn most(service: ControlService) -> usize {
    match service {
        // Some collectors.
        ControlService::Metrics => 16,
        // Some people who look, each by a few connections.
        ControlService::Dashboard => 64,
    }
}

impl ControlShare {
    /// A connection on which one request is answered. It ends at once if no control process runs.
    ///
    /// # Errors
    /// When there are no descriptors left, or main has no time for more.
    pub(crate) fn connect(&self, call: ControlCall) -> io::Result<ServerConnection> {
        let (ours, theirs) = UnixStream::pair()?;
        self.line.main.try_send_with(&FromRouter::ControlCall(call), &[theirs.as_fd()])?;
        Ok(ServerConnection::new(AnySocket::unix(ours), None))
    }

    /// Keeps the share until the control process has closed its end. `is_asked` if all of the request was sent, so that
    /// the control process is to stop writing; otherwise it is to stop reading.
    pub(crate) async fn await_end(self, connection: ServerConnection, is_asked: bool) {
        let Some(socket) = connection.plain() else { return };
        let told = if is_asked { socket.stop_reading() } else { socket.finish_writing() };
        if told.is_ok() {
            // Whether the control process was in time makes no difference: the connection is dropped next.
            let _ = timeout(LONGEST_END, socket.hung_up()).await;
        }
    }
}

impl Drop for ControlShare {
    fn drop(&mut self) {
        self.line.n_open(self.service).fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use corral_ipc::link::Link;

    use super::*;
    use crate::io::now;

    const CALL: ControlCall =
        ControlCall { service: ControlService::Dashboard, client: None, is_secure: false };

    /// A line, and main's end of its link.
    fn line() -> (Arc<ControlLine>, Link) {
        let (ours, theirs) = Link::pair().unwrap();
        (ControlLine::new(MainSender::new(Arc::new(ours))), theirs)
    }

    fn n_open(line: &ControlLine) -> usize {
        line.n_open(ControlService::Dashboard).load(Ordering::Relaxed)
    }

    /// The share is not given back before the end that is on its way has been closed.
    async fn check_end(is_asked: bool) {
        let (line, main) = line();
        let share = line.enter(ControlService::Dashboard).unwrap();
        let connection = share.connect(CALL).unwrap();
        let mut ending = pin!(share.await_end(connection, is_asked));
        assert!(now(ending.as_mut()).await.is_none());
        let (_, sockets) = main.recv::<FromRouter>().unwrap().unwrap();
        tokio::task::yield_now().await;
        assert!(now(ending.as_mut()).await.is_none());
        assert_eq!((sockets.len(), n_open(&line)), (1, 1));
        drop(sockets);
        ending.await;
        assert_eq!(n_open(&line), 0);
    }

    #[tokio::test]
    async fn a_share_lasts_until_the_other_end_is_closed() {
        check_end(true).await;
        check_end(false).await;
    }

    #[tokio::test]
    async fn a_link_that_is_full_keeps_no_event_loop_waiting() {
        let (line, _main) = line();
        let share = line.enter(ControlService::Dashboard).unwrap();
        let refused = (0..100_000).find_map(|_| share.connect(CALL).err());
        assert!(refused.is_some(), "the link has taken everything");
    }

    #[test]
    fn services_have_shares_of_their_own() {
        let (line, _main) = line();
        let take_all = |service| std::iter::from_fn(|| line.enter(service)).collect::<Vec<_>>();
        let of_dashboard = take_all(ControlService::Dashboard);
        let of_metrics = take_all(ControlService::Metrics);
        assert_eq!((of_dashboard.len(), of_metrics.len()), (64, 16));
        drop(of_metrics);
        assert!(line.enter(ControlService::Metrics).is_some());
        assert!(line.enter(ControlService::Dashboard).is_none());
    }
}
