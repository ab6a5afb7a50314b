//! Where a program is reached: the socket or port that it gets, and what the router gets of that.

use std::fs::{self, Permissions};
use std::io;
use std::os::fd::{AsFd, OwnedFd, RawFd};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, bail};
use corral_config::plan::ProgramSocket;
use corral_ipc::message::{Door, WorkerId};
use corral_sys::listen;
use corral_sys::poll::{self, Interest};
use corral_sys::signal::Pid;
use rustix::fs::{Mode, OFlags};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use crate::folder::{Folder, SocketPath};
use crate::port::{self, Place};

/// The socket or port of a program that starts.
#[derive(Debug)]
pub(crate) enum Doorway {
    /// A socket that listens already. The listener is here only until the program is ready: no connection shall wait
    /// for a program that has ended. `number` is the descriptor that the socket becomes.
    Inherited { listener: OwnedFd, path: SocketPath, number: RawFd },
    /// A socket that the program makes.
    Unix { path: SocketPath },
    /// A port that the program listens on.
    Port(Place),
    /// A port that it listens on in place of that.
    Strayed(Place),
}

/// The socket or port of a program that is ready.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) door: Door,
    /// The socket's file, which is all that the router needs.
    pub(crate) file: Option<OwnedFd>,
    /// Removed when the program has ended.
    pub(crate) path: Option<SocketPath>,
}

/// Where `sd_listen_fds` begins.
const FIRST_DESCRIPTOR: RawFd = 3;

/// The mode of a socket's file: the router runs as another user. Other users cannot enter the folder.
const FOR_THE_ROUTER: u32 = 0o666;

impl Doorway {
    /// Makes what can be made before the program starts. `folder` is there unless it is a port.
    pub(crate) fn new(
        socket: &ProgramSocket,
        folder: Option<&Folder>,
        worker: WorkerId,
    ) -> anyhow::Result<Self> {
        let path = folder.map(|folder| folder.socket(&format!("{}.http", worker.0)));
        match (socket, path) {
            (ProgramSocket::Port { .. }, _) => {
                Ok(Self::Port(Place::v4(port::choose().context("choose a port")?)))
            }
            (ProgramSocket::Inherited, Some(path)) => Self::inherited(path, FIRST_DESCRIPTOR),
            (ProgramSocket::Standard, Some(path)) => Self::inherited(path, 0),
            (ProgramSocket::Unix { .. }, Some(path)) => Ok(Self::Unix { path }),
            (_, None) => bail!("there is no folder for its socket"),
        }
    }

    fn inherited(path: SocketPath, number: RawFd) -> anyhow::Result<Self> {
        let listener = path.with(listen_on).context("make its socket")?;
        Ok(Self::Inherited { listener, path, number })
    }

    /// A connection to the program that need not be accepted yet. Does not block for long.
    pub(crate) fn connect(&self, program: Pid) -> io::Result<OwnedFd> {
        match self {
            Self::Inherited { path, .. } | Self::Unix { path } => {
                let socket = rustix::net::socket_with(
                    AddressFamily::UNIX,
                    SocketType::STREAM,
                    SocketFlags::NONBLOCK | SocketFlags::CLOEXEC,
                    None,
                )?;
                path.with(|path| Ok(rustix::net::connect(&socket, &SocketAddrUnix::new(path)?)?))?;
                Ok(socket)
            }
            Self::Port(place) | Self::Strayed(place) => {
                let stream = port::connect(*place)?;
                stream.set_nonblocking(true)?;
                if port::is_foreign(place.port, program) {
                    return Err(io::Error::new(io::ErrorKind::AddrInUse, "another process does"));
                }
                Ok(stream.into())
            }
        }
    }

    /// Whether the program has accepted all connections so far; where it listens itself that does not matter.
    pub(crate) fn is_attended(&self) -> bool {
        let Self::Inherited { listener, .. } = self else { return true };
        let waiting = poll::wait(&[(listener.as_fd(), Interest::Read)], Some(Duration::ZERO));
        waiting.is_ok_and(|ready| ready.iter().all(|ready| !ready.readable))
    }

    /// The program is ready.
    pub(crate) fn open(self) -> anyhow::Result<Opened> {
        match self {
            Self::Inherited { path, .. } => {
                let file = Some(path.with(open_file)?);
                Ok(Opened { door: Door::Socket, file, path: None })
            }
            Self::Unix { path } => {
                let shown = path.path().display();
                let permissions = Permissions::from_mode(FOR_THE_ROUTER);
                fs::set_permissions(path.path(), permissions).with_context(|| format!("open {shown}"))?;
                let file = Some(open_file(path.path()).with_context(|| format!("open {shown}"))?);
                Ok(Opened { door: Door::Socket, file, path: Some(path) })
            }
            Self::Port(Place { port, .. }) => Ok(Opened { door: Door::Port(port), file: None, path: None }),
            Self::Strayed(Place { port, v6 }) => {
                Ok(Opened { door: Door::Strayed { port, v6 }, file: None, path: None })
            }
        }
    }

    /// The name of the socket or port in messages.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Inherited { number, .. } => format!("descriptor {number}"),
            Self::Unix { path } => path.path().display().to_string(),
            Self::Port(place) | Self::Strayed(place) => place.to_string(),
        }
    }
}

/// Blocking, as service managers hand them over: a program that wants another kind can change that.
fn listen_on(path: &Path) -> io::Result<OwnedFd> {
    let listener = listen::unix(path, FOR_THE_ROUTER, None)?;
    let flags = rustix::fs::fcntl_getfl(&listener)?;
    rustix::fs::fcntl_setfl(&listener, flags - OFlags::NONBLOCK)?;
    Ok(listener)
}

/// The file itself, whatever becomes of its name.
fn open_file(path: &Path) -> io::Result<OwnedFd> {
    Ok(rustix::fs::open(path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?)
}
