//! A worker that `main` has announced, on its way into a pool.

use std::hash::{BuildHasher, RandomState};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::num::NonZeroU32;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use corral_channel::WorkerDescriptors;
use corral_config::address::ListenAddress;
use corral_config::plan::{AppSpec, HttpSpec, Limits, ProgramKind};
use corral_config::protocol::Protocol;
use corral_config::upstream::{KeepAlive, ProxyOptions, Timeouts};
use corral_ipc::message::{Endpoint, WorkerId};
use corral_sys::deferred_close::ForeignFd;
use corral_sys::descriptor_kind::DescriptorKind;

use super::only;
use crate::instance::ReadyProgram;
use crate::upstream::UpstreamServer;

/// A worker and how it is reached, or why it cannot be.
pub(super) struct AnnouncedWorker {
    pub(super) worker: WorkerId,
    pub(super) pid: u32,
    pub(super) access: anyhow::Result<WorkerAccess>,
}

/// How a worker is reached.
pub(super) enum WorkerAccess {
    /// By its channel. With `concurrency` it sleeps in an event loop, and runs so many requests at once.
    Channel { memory: OwnedFd, beside: WorkerDescriptors, concurrency: Option<NonZeroU32> },
    /// At a socket whose file this is.
    Socket(OwnedFd),
    /// At a port of this machine.
    Port(SocketAddr),
}

impl WorkerAccess {
    pub(super) fn of_channel(
        concurrency: Option<NonZeroU32>,
        has_files: bool,
        fds: Vec<OwnedFd>,
    ) -> anyhow::Result<Self> {
        let n_wanted = 1 + usize::from(concurrency.is_some()) + usize::from(has_files);
        ensure!(fds.len() == n_wanted, "{} descriptors came, not {n_wanted}", fds.len());
        let mut fds = fds.into_iter();
        let memory = fds.next().context("no memory came")?;
        let bell = concurrency.and_then(|_| fds.next());
        let files = fds.next();
        Ok(Self::Channel { memory, beside: WorkerDescriptors { bell, files }, concurrency })
    }

    pub(super) fn of_program(endpoint: Endpoint, fds: Vec<OwnedFd>) -> anyhow::Result<Self> {
        match endpoint {
            Endpoint::Socket => {
                let file = ForeignFd::from(only(fds)?);
                ensure!(
                    DescriptorKind::of(&file) == DescriptorKind::SocketFile,
                    "what a program is reached at is not a socket's file"
                );
                Ok(Self::Socket(file.into_inner()))
            }
            Endpoint::Port(port) => Ok(Self::Port((Ipv4Addr::LOCALHOST, port).into())),
            Endpoint::Strayed { port, v6: false } => Ok(Self::Port((Ipv4Addr::LOCALHOST, port).into())),
            Endpoint::Strayed { port, v6: true } => Ok(Self::Port((Ipv6Addr::LOCALHOST, port).into())),
        }
    }
}

/// A program as a worker.
pub(super) struct ProgramHost<'h> {
    pub(super) spec: &'h AppSpec,
    pub(super) http: &'h HttpSpec,
    pub(super) n_loops: usize,
}

impl ProgramHost<'_> {
    pub(super) fn program(
        &self,
        worker: WorkerId,
        pid: u32,
        address: ListenAddress,
        socket: Option<OwnedFd>,
    ) -> Arc<ReadyProgram> {
        let mut options = options(&self.spec.limits, self.http.concurrency.get(), self.n_loops);
        // What Unit hands over is what the client has sent.
        options.hide_client = self.http.kind != ProgramKind::Server;
        if let ProgramKind::Java(_) = self.http.kind {
            // Its connections have no threads.
            options.keepalive = KeepAlive::default();
        }
        options.gateway = self.http.gateway();
        if options.gateway == Some(Protocol::FastCgi) {
            // A connection keeps a process, or one of its threads, for itself. It ends with the process.
            options.processes = self.http.concurrency.get();
            options.keepalive = KeepAlive { idle_timeout: FOR_EVER, requests: 0, ..options.keepalive };
        }
        let title = format!("\"{}\": process {pid}", self.spec.name);
        let server = UpstreamServer::of_program(address, title, options, self.n_loops);
        let n_requests = self.spec.limits.draw_requests(RandomState::new().hash_one(worker));
        ReadyProgram::new(worker, pid, server, socket, n_requests)
    }
}

/// Where a socket is whose file is open here, in whatever namespace it was made, and whether or not its name is
/// still there.
pub(super) fn address_of(file: &OwnedFd) -> ListenAddress {
    ListenAddress::Unix(format!("/proc/self/fd/{}", file.as_raw_fd()).into())
}

/// How programs are spoken to. A program may have a thread for each connection and no more of them than requests at
/// once, so that all event loops together keep no more connections than that.
fn options(limits: &Limits, concurrency: u32, n_loops: usize) -> ProxyOptions {
    let silence = limits.timeout.unwrap_or(FOR_EVER);
    let defaults = Timeouts::default();
    let n_loops = u32::try_from(n_loops).unwrap_or(u32::MAX).max(1);
    ProxyOptions {
        timeouts: Timeouts {
            connect: defaults.connect,
            send: silence,
            response: silence,
            read: silence,
            tunnel: defaults.tunnel,
        },
        keepalive: KeepAlive { connections: concurrency / n_loops, ..KeepAlive::default() },
        ..ProxyOptions::default()
    }
}

/// A century.
const FOR_EVER: Duration = Duration::from_secs(100 * 365 * 24 * 3600);
