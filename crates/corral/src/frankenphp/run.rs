//! `frankenphp run`: starts a daemon, passes its lines on, and answers Octane's calls until one of them, or a signal,
//! ends it.

use std::io::Write;
use std::net::{TcpListener, ToSocketAddrs};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::sync::Arc;
use std::thread;

use anyhow::{Context, bail};
use corral_sys::signal::{self, Pid, Signal};
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Notify, oneshot};

use super::admin::{self, Admin};
use super::certificate::LocalCertificate;
use super::daemon::DaemonOrder;
use super::document::{CERTIFICATE, DocumentContext, document, processes};
use super::lines::OutputLines;
use super::passing::pass_on;
use super::plan::CaddyfilePlan;
use crate::serve::{Owner, RunFolder};

pub(super) fn command(config: &Path) -> anyhow::Result<ExitCode> {
    let plan = CaddyfilePlan::read(config)?;
    let owner = Owner::of(plan.root(), None)?;
    let folder = RunFolder::make(&owner.users(plan.root()))?;
    let order = order(&plan, &owner, &folder)?;
    let listener = plan.globals.admin.as_deref().map(bind).transpose()?;
    let admin = Admin { document: description(&plan), control: folder.control(), stop: Notify::new() };
    let mut child = start(&order)?;
    let passing = pass_on(&mut child, OutputLines::new(plan.site.log.as_ref()));
    let status = supervise(child, listener, admin);
    passing.into_iter().for_each(|thread| drop(thread.join()));
    let code = status?.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}

/// The daemon's orders.
fn order(plan: &CaddyfilePlan, owner: &Owner, folder: &RunFolder) -> anyhow::Result<String> {
    let pages = match &plan.site.error_page {
        Some(page) => page.write(&folder.add_public("errors")?)?,
        None => Vec::new(),
    };
    let here = std::env::current_dir().context("find the working directory")?;
    let surroundings = DocumentContext { owner: owner.names(), pages: &pages, folder: &here };
    let worker = plan.site.php.worker.as_ref();
    let names = plan.site.addresses.certified_names();
    let certificate = if names.is_empty() { None } else { Some(LocalCertificate::of(&names)?) };
    let hand_over =
        |certificate: &LocalCertificate| folder.add_certificate(CERTIFICATE, certificate.bundle());
    let state = certificate.as_ref().map(hand_over).transpose()?;
    let notice = certificate.as_ref().map(|certificate| certificate.notice(&names));
    let order = DaemonOrder {
        document: &document(plan, &surroundings),
        root: plan.root(),
        control: &folder.control(),
        temp: &folder.temp(),
        state: state.as_deref(),
        notice: notice.as_deref(),
        watch: worker.map_or(&[], |worker| &worker.watch),
    };
    Ok(order.to_text())
}

fn bind(address: &str) -> anyhow::Result<TcpListener> {
    let context = || format!("listen on \"{address}\", the \"admin\" of the Caddyfile");
    let addresses: Vec<_> = address.to_socket_addrs().with_context(context)?.collect();
    // Any client that reaches it can stop the server, and nothing is asked for.
    if let Some(far) = addresses.iter().find(|address| !address.ip().is_loopback()) {
        let far = far.ip();
        bail!(
            "the \"admin\" of the Caddyfile, \"{address}\", can be reached from other machines ({far}): use localhost"
        );
    }
    TcpListener::bind(&*addresses).with_context(context)
}

/// FrankenPHP's part of Caddy's configuration, as it would be.
fn description(plan: &CaddyfilePlan) -> serde_json::Value {
    let worker =
        |worker| json!({ "file_name": plan.site.root.join(&plan.site.php.index), "num": processes(worker) });
    json!({ "workers": plan.site.php.worker.iter().map(worker).collect::<Vec<_>>() })
}

/// Starts the daemon: in a group of its own, as it is told by this process when to end.
fn start(order: &str) -> anyhow::Result<Child> {
    let mut child = Command::new("/proc/self/exe")
        .arg0("corral")
        .args(["internal", "frankenphp"])
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("start the daemon")?;
    let Some(mut stdin) = child.stdin.take() else { bail!("the daemon has no standard input") };
    stdin.write_all(order.as_bytes()).context("tell the daemon what to serve")?;
    Ok(child)
}

/// Waits for the daemon's end, and brings it about.
fn supervise(mut child: Child, listener: Option<TcpListener>, admin: Admin) -> anyhow::Result<ExitStatus> {
    let admin = Arc::new(admin);
    let pid = Pid::from_raw(child.id().cast_signed()).context("the daemon has no number")?;
    let (tell, ended) = oneshot::channel();
    thread::spawn(move || tell.send(child.wait()));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        if let Some(listener) = listener {
            tokio::spawn(admin::serve(listener, admin.clone()));
        }
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let mut ended = ended;
        // Requests in progress are finished, unless the daemon is told to end a second time.
        let mut how = Signal::QUIT;
        loop {
            tokio::select! {
                status = &mut ended => return Ok(status.context("wait for the daemon")??),
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                () = admin.stop.notified() => {}
            }
            // It may have ended just now.
            let _ = signal::kill(pid, how);
            how = Signal::TERM;
        }
    })
}
