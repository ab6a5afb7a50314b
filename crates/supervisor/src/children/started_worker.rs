//! A worker that a prototype has made, on its way to the router.

use std::num::NonZeroU32;
use std::os::fd::{AsFd, OwnedFd};

use anyhow::Context;
use corral_config::address::ListenAddress;
use corral_config::plan::{AppSpec, ProgramSocket, RuntimeSpec};
use corral_ipc::message::{AppId, Endpoint, ToRouter, WorkerId};
use corral_sys::child_check::{NotAChild, VerifiedChild};
use corral_sys::deferred_close;
use corral_sys::signal::Pid;

use crate::peer::Peer;

/// A worker that a prototype has made.
pub(crate) struct StartedWorker {
    pub(crate) worker: WorkerId,
    /// As the prototype knows it.
    number: u32,
    /// Where it is reached, if it is a program that serves HTTP; else by its memory.
    endpoint: Option<Endpoint>,
    /// The worker's memory or its socket, if it has any and there was room.
    access: Option<OwnedFd>,
    /// Requests that it runs at once in an event loop, if it has said so.
    concurrency: Option<NonZeroU32>,
    /// The push of that loop's bell.
    bell: Option<OwnedFd>,
    /// Whether it sends files.
    has_files: bool,
    /// The socket for them.
    files: Option<OwnedFd>,
    pidfd: Option<OwnedFd>,
}

impl StartedWorker {
    /// `fds` are what the message comes with, or none where there was no room for them.
    pub(crate) fn forked(
        worker: WorkerId,
        number: u32,
        concurrency: Option<NonZeroU32>,
        has_files: bool,
        fds: Vec<OwnedFd>,
    ) -> Self {
        let mut fds = fds.into_iter();
        let access = fds.next();
        let bell = concurrency.and_then(|_| fds.next());
        let files = if has_files { fds.next() } else { None };
        Self {
            worker,
            number,
            endpoint: None,
            access,
            concurrency,
            bell,
            has_files,
            files,
            pidfd: fds.next(),
        }
    }

    /// As `forked`.
    pub(crate) fn started(worker: WorkerId, number: u32, endpoint: Endpoint, fds: Vec<OwnedFd>) -> Self {
        let mut fds = fds.into_iter();
        let access = if endpoint == Endpoint::Socket { fds.next() } else { None };
        let pidfd = fds.next();
        let (concurrency, bell) = (None, None);
        let (has_files, files) = (false, None);
        Self { worker, number, endpoint: Some(endpoint), access, concurrency, bell, has_files, files, pidfd }
    }

    /// Whether an application is reached like this: its prototype chooses no other way, nor the port of the control
    /// API.
    pub(crate) fn fits(&self, spec: &AppSpec, control: &ListenAddress) -> bool {
        if spec.is_background() {
            return false;
        }
        let RuntimeSpec::Http(http) = &spec.runtime else { return self.endpoint.is_none() };
        let has_port = matches!(http.socket, ProgramSocket::Port { .. });
        let may_stray = matches!(http.socket, ProgramSocket::Port { or_any: true, .. });
        match self.endpoint {
            None => false,
            Some(Endpoint::Socket) => !has_port,
            Some(Endpoint::Strayed { .. }) if !may_stray => false,
            Some(Endpoint::Port(port) | Endpoint::Strayed { port, .. }) => {
                has_port && !matches!(control, ListenAddress::Inet(address) if address.port() == port)
            }
        }
    }

    /// Whether it is a program with a port of its own choice.
    pub(crate) fn strays(&self) -> bool {
        matches!(self.endpoint, Some(Endpoint::Strayed { .. }))
    }

    /// The worker's process, if that is a child of the prototype. In a namespace of its own, a prototype knows it by
    /// another number than main.
    pub(crate) fn process(
        &mut self,
        prototype: Pid,
        has_namespace: bool,
    ) -> Result<Option<VerifiedChild>, NotAChild> {
        VerifiedChild::find(prototype, self.number, has_namespace, self.pidfd.take())
    }

    /// The worker's number, as the prototype knows it.
    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    /// Tells the router about it; `pid` is its process for main, or 0.
    pub(crate) fn announce(&self, app: AppId, pid: u32, router: &mut Peer) -> anyhow::Result<()> {
        let worker = self.worker;
        let message = match self.endpoint {
            None => ToRouter::WorkerReady {
                app,
                worker,
                pid,
                concurrency: self.concurrency,
                files: self.has_files,
            },
            Some(endpoint) => ToRouter::ProgramReady { app, worker, pid, endpoint },
        };
        if let Some(Endpoint::Port(_) | Endpoint::Strayed { .. }) = self.endpoint {
            return router.try_send(&message, &[]);
        }
        let access = self.access.as_ref().context("no descriptor is left for what it is reached by")?;
        let fds = [Some(access), self.bell.as_ref(), self.files.as_ref()];
        let fds: Vec<_> = fds.into_iter().flatten().map(AsFd::as_fd).collect();
        router.try_send(&message, &fds)
    }
}

impl Drop for StartedWorker {
    /// The router has duplicates. What the application has put into its sockets may take its time to be closed.
    fn drop(&mut self) {
        deferred_close::let_go(
            [self.access.take(), self.bell.take(), self.files.take()].into_iter().flatten(),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{program, spec};

    #[track_caller]
    fn check(spec: &AppSpec, endpoint: Option<Endpoint>, expect: bool) {
        let started = match endpoint {
            Some(endpoint) => StartedWorker::started(WorkerId(1), 2, endpoint, vec![]),
            None => StartedWorker::forked(WorkerId(1), 2, None, false, vec![]),
        };
        let control = ListenAddress::parse(b"127.0.0.1:8080").unwrap();
        assert_eq!(started.fits(spec, &control), expect, "{endpoint:?}");
    }

    #[test]
    fn who_is_reached_in_another_way_than_the_configuration_says_is_a_liar() {
        let language = spec("a=/a");
        check(&language, None, true);
        check(&language, Some(Endpoint::Socket), false);
        check(&language, Some(Endpoint::Port(80)), false);
        let mut http = program("a");
        check(&http, None, false);
        check(&http, Some(Endpoint::Socket), true);
        check(&http, Some(Endpoint::Port(8081)), false);
        let RuntimeSpec::Http(options) = &mut http.runtime else { panic!("it is a program") };
        options.socket = ProgramSocket::Port { variable: "PORT".to_owned(), or_any: false };
        check(&http, Some(Endpoint::Socket), false);
        check(&http, Some(Endpoint::Port(8081)), true);
        check(&http, Some(Endpoint::Port(8080)), false);
        check(&http, Some(Endpoint::Strayed { port: 8081, v6: false }), false);
        let RuntimeSpec::Http(options) = &mut http.runtime else { panic!("it is a program") };
        options.socket = ProgramSocket::Port { variable: "PORT".to_owned(), or_any: true };
        check(&http, Some(Endpoint::Strayed { port: 8081, v6: true }), true);
        check(&http, Some(Endpoint::Strayed { port: 8080, v6: false }), false);
    }
}
