//! The host executable of an application that a test drives: it gives its link to main away, and makes processes when
//! it is told to. What it does is up to [`corral_testkit::Attacker`].

#![forbid(unsafe_code)]

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::thread::sleep;
use std::time::Duration;

use corral_sys::process;
use corral_sys::signal::{self, Signal};
use corral_sys::socket::{self, Wait};
use corral_sys::spawn::{self, Fork};
use rustix::process::getpid;

/// Where the test listens.
const SOCKET: &str = "ATTACKER";

/// A process that is not ended by then ends by itself.
const LONGEST_LIFE: Duration = Duration::from_secs(120);

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("describe") => {
            println!("php 0.0");
            ExitCode::SUCCESS
        }
        Some("prototype") => match serve() {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("the attacker: {error}");
                ExitCode::FAILURE
            }
        },
        _ => ExitCode::from(2),
    }
}

fn serve() -> io::Result<()> {
    let link = process::take_link_descriptor()?;
    let path = std::env::var_os(SOCKET).ok_or_else(|| io::Error::other("no test has started this"))?;
    let test = UnixStream::connect(path)?;
    let (orders, others) = socket::seqpacket_pair()?;
    introduce(test.as_fd(), &[link.as_fd(), process::pidfd(getpid())?.as_fd(), others.as_fd()])?;
    // From now on the test has the only end of both.
    drop((link, others));
    loop {
        let mut order = [0; 1024];
        let received = socket::recv(orders.as_fd(), &mut order, Wait::Block)?;
        match &order[..received.len] {
            b"fork" => fork(orders.as_fd())?,
            b"orphan" => orphan(orders.as_fd())?,
            [b'p', line @ ..] => eprint!("{}", String::from_utf8_lossy(line)),
            _ => return Ok(()),
        }
    }
}

/// Says which process this is, with descriptors.
fn introduce(test: BorrowedFd<'_>, fds: &[BorrowedFd<'_>]) -> io::Result<()> {
    let pid = getpid().as_raw_nonzero().get().to_ne_bytes();
    socket::send(test, &pid, fds, Wait::Block)
}

/// Makes a process that does nothing, and goes with this one.
fn fork(test: BorrowedFd<'_>) -> io::Result<()> {
    if spawn::fork()? == Fork::Child {
        process::set_parent_death_signal(Signal::KILL)?;
        idle(test);
    }
    Ok(())
}

/// Makes a process that does nothing, whose parent ends at once.
fn orphan(test: BorrowedFd<'_>) -> io::Result<()> {
    match spawn::fork()? {
        Fork::Parent(child) => signal::wait_for(child).map(drop),
        Fork::Child => {
            if spawn::fork()? == Fork::Child {
                idle(test);
            }
            std::process::exit(0);
        }
    }
}

fn idle(test: BorrowedFd<'_>) -> ! {
    let told = process::pidfd(getpid()).and_then(|pidfd| introduce(test, &[pidfd.as_fd()]));
    if told.is_ok() {
        sleep(LONGEST_LIFE);
    }
    std::process::exit(0);
}
