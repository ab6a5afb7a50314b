//! `corral dashboard`: prints a link to a daemon's dashboard and opens it. A browser cannot reach a Unix socket, so
//! requests to a port of this machine are passed on to one for as long as the command runs.

mod link_page;
mod passing;

use std::io::{self, BufRead as _, IsTerminal as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use corral_config::address::ListenAddress;
use serde_json::Value;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use self::link_page::LinkPage;
use self::passing::{ControlSocket, Passage};
use crate::client::{Address, ApiCall, Daemon};
use crate::output;

#[derive(Debug, Args)]
pub(crate) struct DashboardOptions {
    /// Port of 127.0.0.1 for the browser, where the control API is a Unix socket (default: a free one)
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// Print the link and open no browser
    #[arg(long)]
    no_open: bool,
    /// Let the browser see everything and change nothing
    #[arg(long)]
    read_only: bool,
}

pub(crate) fn command(options: &DashboardOptions, daemon: &Daemon) -> anyhow::Result<ExitCode> {
    match place(&daemon.address)? {
        Place::Socket(socket) => serve(options, daemon, socket),
        Place::Port(authority) => {
            if options.port.is_some() {
                bail!("--port is for a control API on a Unix socket; this one is at {authority} already");
            }
            show(options, &link(daemon, options.read_only, &authority)?)
        }
    }
}

/// The way to a control API for a browser.
#[derive(Debug, PartialEq, Eq)]
enum Place {
    /// Nothing that a browser can reach.
    Socket(ControlSocket),
    /// The host and port of one that a browser can reach.
    Port(String),
}

fn place(address: &Address) -> anyhow::Result<Place> {
    Ok(match address {
        Address::Socket(ListenAddress::Unix(path)) => Place::Socket(ControlSocket::File(path.clone())),
        Address::Socket(ListenAddress::Abstract(name)) => {
            Place::Socket(ControlSocket::Abstract(name.clone()))
        }
        Address::Socket(ListenAddress::Inet(address)) if address.ip().is_unspecified() => {
            Place::Port(SocketAddr::from((Ipv4Addr::LOCALHOST, address.port())).to_string())
        }
        Address::Socket(ListenAddress::Inet(address)) => Place::Port(address.to_string()),
        Address::Http { host, port } if host.contains(':') => Place::Port(format!("[{host}]:{port}")),
        Address::Http { host, port } => Place::Port(format!("{host}:{port}")),
        Address::Socket(ListenAddress::Udp(_)) | Address::Remote(_) => bail!(
            "a browser of this machine cannot reach \"{address}\"; run `corral dashboard --no-open --port PORT` there, \
             and forward that port: ssh -L PORT:127.0.0.1:PORT HOST"
        ),
    })
}

/// How long a link begins a session.
const LINK_LIFETIME: Duration = Duration::from_secs(60);

/// Shows the way to a port. A browser may need the page that leads to it for as long as the link works.
fn show(options: &DashboardOptions, link: &str) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut end = EndSignals::new()?;
        let page = present(options, link, if options.opens() { ", and the command ends then" } else { "" })?;
        if let Some((_page, failed)) = page {
            tokio::select! {
                () = tokio::time::sleep(LINK_LIFETIME) => {}
                () = end.recv() => {}
                // Without a word, a browser goes on by itself.
                Ok(()) = failed => {}
            }
        }
        Ok(ExitCode::SUCCESS)
    })
}

/// The signals that end the command.
struct EndSignals {
    interruption: Signal,
    termination: Signal,
    /// The terminal is closed.
    hangup: Signal,
}

impl EndSignals {
    fn new() -> anyhow::Result<Self> {
        let interruption = signal(SignalKind::interrupt()).context("listen to SIGINT")?;
        let termination = signal(SignalKind::terminate()).context("listen to SIGTERM")?;
        let hangup = signal(SignalKind::hangup()).context("listen to SIGHUP")?;
        Ok(Self { interruption, termination, hangup })
    }

    async fn recv(&mut self) {
        tokio::select! {
            _ = self.interruption.recv() => {}
            _ = self.termination.recv() => {}
            _ = self.hangup.recv() => {}
        }
    }
}

/// Passes requests on until Ctrl-C.
fn serve(options: &DashboardOptions, daemon: &Daemon, socket: ControlSocket) -> anyhow::Result<ExitCode> {
    let port = options.port.unwrap_or(0);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port));
    let listener = listener.with_context(|| format!("listen on 127.0.0.1:{port}"))?;
    let own = listener.local_addr().context("find the port")?;
    let authority = own.to_string();
    // Before anything is served: a daemon that is not there is told as by other commands.
    let first = link(daemon, options.read_only, &authority)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let served = runtime.block_on(async {
        let mut end = EndSignals::new()?;
        let hint = if io::stdin().is_terminal() { "; Enter prints another one, Ctrl-C ends" } else { "" };
        let mut page = present(options, &first, hint)?;
        // Held to the end, so that there may be another wish at any time.
        let (wish, mut wishes) = mpsc::channel(1);
        watch_keyboard(wish.clone());
        let passage = Passage::new(socket, own);
        let passing = passing::serve(listener, Arc::clone(&passage));
        let used = timeout(LINK_LIFETIME, passage.session_begun());
        tokio::pin!(passing, used);
        loop {
            tokio::select! {
                ended = &mut passing => return ended,
                () = end.recv() => return Ok(()),
                _ = &mut used, if page.is_some() => page = None,
                Some(()) = wishes.recv() => {
                    let (daemon, read_only, authority) = (daemon.clone(), options.read_only, authority.clone());
                    let next = tokio::task::spawn_blocking(move || link(&daemon, read_only, &authority));
                    match next.await.context("ask for a link")? {
                        Ok(next) => output::write(format!("{next}\n"))?,
                        Err(error) => eprintln!("corral: {error:#}"),
                    }
                }
            }
        }
    });
    // A thread may wait for the keyboard.
    runtime.shutdown_background();
    served.map(|()| ExitCode::SUCCESS)
}

/// Tells of each Enter at the terminal: a person wants another link.
fn watch_keyboard(wishes: mpsc::Sender<()>) {
    if !io::stdin().is_terminal() {
        return;
    }
    thread::spawn(move || {
        for line in io::stdin().lock().lines() {
            if line.is_err() || wishes.blocking_send(()).is_err() {
                return;
            }
        }
    });
}

/// A link that begins one session.
fn link(daemon: &Daemon, read_only: bool, authority: &str) -> anyhow::Result<String> {
    let path = if read_only { "/dashboard/tokens?access=read" } else { "/dashboard/tokens" };
    let answer = daemon.ask(ApiCall { method: "POST", path, body: None, if_match: None })?;
    if answer.status == 404 {
        bail!("the daemon is older than this command and has no dashboard; `corral upgrade` has it replaced");
    }
    let body: Value = serde_json::from_slice(&answer.into_body()?).context("the answer is not JSON")?;
    let token = body["token"].as_str().context("the answer has no token")?;
    Ok(format!("http://{authority}/dashboard/#token={token}"))
}

impl DashboardOptions {
    fn opens(&self) -> bool {
        let has_display = ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some());
        has_display && !self.no_open
    }
}

/// Says where the dashboard is, and has a browser open it: by a page, which stays until it is dropped. The receiver
/// hears if none could be started.
fn present(
    options: &DashboardOptions,
    link: &str,
    hint: &str,
) -> anyhow::Result<Option<(LinkPage, oneshot::Receiver<()>)>> {
    output::write(format!("{link}\nThe link works once, within a minute{hint}.\n"))?;
    // Where nothing opens it, the link is on the screen.
    Ok(if options.opens() { open(link) } else { None })
}

fn open(link: &str) -> Option<(LinkPage, oneshot::Receiver<()>)> {
    let page = LinkPage::write(link).ok()?;
    let mut browser = Command::new("xdg-open");
    browser.arg(page.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut browser = browser.spawn().ok()?;
    let (failure, failed) = oneshot::channel();
    thread::spawn(move || {
        if browser.wait().is_ok_and(|status| !status.success()) {
            // The command may have ended.
            let _ = failure.send(());
        }
    });
    Some((page, failed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(address: &str, expected: Option<&Place>) {
        assert_eq!(place(&Address::parse(address).unwrap()).ok().as_ref(), expected, "{address}");
    }

    #[test]
    fn a_browser_gets_a_port() {
        let check_port =
            |address: &str, authority: &str| check(address, Some(&Place::Port(authority.to_owned())));
        check("unix:/run/c.sock", Some(&Place::Socket(ControlSocket::File("/run/c.sock".into()))));
        check("unix:@name", Some(&Place::Socket(ControlSocket::Abstract(b"name".to_vec()))));
        check_port("127.0.0.1:80", "127.0.0.1:80");
        check_port("*:8081", "127.0.0.1:8081");
        check_port("[::1]:80", "[::1]:80");
        check_port("http://example.org", "example.org:80");
        check_port("http://[::1]:8081", "[::1]:8081");
        check("ssh://example.org/run/c.sock", None);
        check("docker://web", None);
    }
}
