//! The prototype at work: programs that start, programs that are ready, and programs that have ended.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use corral_config::plan::{AppSpec, HttpSpec, ProgramSocket, Ready, RuntimeSpec};
use corral_ipc::link::Link;
use corral_ipc::message::{Exit, FromPrototype, ToPrototype, WorkerId};
use corral_ipc::reason;
use corral_sys::process;
use corral_sys::signal::Pid;
use corral_worker::{Keeper, Scope, complain, confine, redirect_output};

use crate::background;
use crate::command::ProgramCommand;
use crate::endpoint::{OpenEndpoint, ProgramEndpoint};
use crate::folder::{ProgramFolder, SocketPath};
use crate::own_files;
use crate::probe::Probe;
use crate::stray::Stray;

/// How often a program is started in vain because another process has taken its port meanwhile.
const MOST_PORTS: u32 = 5;

struct ProgramHost {
    keeper: Keeper,
    http: HttpSpec,
    command: ProgramCommand,
    folder: Option<ProgramFolder>,
    starting: Vec<Starting>,
    /// Socket files of ready programs, removed when these end.
    ready: HashMap<WorkerId, Option<SocketPath>>,
}

/// A program that is not ready yet.
struct Starting {
    worker: WorkerId,
    pid: Pid,
    endpoint: ProgramEndpoint,
    probe: Probe,
    /// For one that may listen elsewhere.
    stray: Option<Stray>,
    deadline: Instant,
    /// How often it was started before.
    n_before: u32,
    /// Why it is being ended.
    failure: Option<String>,
}

/// Serves main as the prototype of an application, until main says stop or is gone. The process must have one thread.
///
/// # Errors
/// When it was not started by main, or its link cannot be used.
pub fn run() -> anyhow::Result<ExitCode> {
    let link = Link::inherited().context("this command is for the daemon itself")?;
    let Some((first, fds)) = link.recv::<ToPrototype>().context("wait for the daemon")? else {
        return Ok(ExitCode::SUCCESS);
    };
    let ToPrototype::Start { spec, .. } = first else {
        bail!("the daemon's first message is {first:?}, not Start");
    };
    if let RuntimeSpec::Process(process) = &spec.runtime {
        return match background::prepare(&spec, process) {
            Ok(programs) => background::serve(link, &spec, process, programs),
            Err(error) => fail(&link, &error),
        };
    }
    let (http, command, folder) = match prepare(&spec, fds.into_iter().next()) {
        Ok(prepared) => prepared,
        Err(error) => return fail(&link, &error),
    };
    let keeper = Keeper::new(link, Scope::Group).context("listen to signals")?;
    keeper.tell(&FromPrototype::Ready, &[]);
    ProgramHost { keeper, http, command, folder, starting: Vec::new(), ready: HashMap::new() }.serve()
}

fn fail(link: &Link, error: &anyhow::Error) -> anyhow::Result<ExitCode> {
    let failed = FromPrototype::Failed { reason: reason::cut(format!("{error:#}")) };
    link.send(&failed, &[]).context("tell the daemon of a failure")?;
    Ok(ExitCode::FAILURE)
}

/// `outside` is a folder for sockets that main has made.
fn prepare(
    spec: &AppSpec,
    outside: Option<OwnedFd>,
) -> anyhow::Result<(HttpSpec, ProgramCommand, Option<ProgramFolder>)> {
    let RuntimeSpec::Http(http) = &spec.runtime else { bail!("this is not a program that serves HTTP") };
    // A title that could not be set costs nothing but a nicer `ps`.
    let _ = process::set_title(&format!("corral: \"{}\" prototype", spec.name));
    // What programs leave behind ends here, not at main. Without it, main collects it.
    let _ = process::become_subreaper();
    redirect_output(spec).context("open the application's output")?;
    let command = ProgramCommand::new(http, &spec.module)?;
    let needs_folder = !matches!(http.socket, ProgramSocket::Port { .. }) || http.ready == Ready::Notify;
    let make = || outside.map_or_else(ProgramFolder::make, ProgramFolder::outside);
    let folder = needs_folder.then(make).transpose()?;
    let readable = own_files().into_iter().chain([command.path().to_owned()]).collect();
    let writable = folder.iter().filter_map(ProgramFolder::path).map(Path::to_owned).collect();
    confine(spec, readable, writable)?;
    Ok((http.clone(), command, folder))
}

impl ProgramHost {
    fn serve(mut self) -> anyhow::Result<ExitCode> {
        while !self.keeper.is_done() {
            self.sleep().context("wait")?;
            for (worker, exit) in self.keeper.reap().context("collect processes")? {
                self.ended(worker, exit);
            }
            while let Some(worker) = self.keeper.next_wanted().context("listen to the daemon")? {
                self.start(worker, Instant::now() + self.http.ready_timeout, 0);
            }
            self.look(Instant::now());
        }
        Ok(ExitCode::SUCCESS)
    }

    fn sleep(&self) -> std::io::Result<()> {
        let fds: Vec<_> = self.waited_for().filter_map(|starting| starting.probe.descriptor()).collect();
        let next = self.waited_for().map(Starting::next_look).min();
        let limit = next.map(|at| at.saturating_duration_since(Instant::now()) + TICK);
        self.keeper.sleep(&fds, limit)
    }

    /// Programs that may become ready.
    fn waited_for(&self) -> impl Iterator<Item = &Starting> {
        let is_stopping = self.keeper.is_stopping();
        self.starting.iter().filter(move |starting| !is_stopping && starting.failure.is_none())
    }

    fn start(&mut self, worker: WorkerId, deadline: Instant, n_before: u32) {
        match self.try_start(worker, deadline, n_before) {
            Ok(starting) => {
                self.keeper.children.add(starting.pid, worker);
                let begun = FromPrototype::Begun { worker, pid: number(starting.pid) };
                self.keeper.tell(&begun, &process::pidfd(starting.pid).ok().into_iter().collect::<Vec<_>>());
                self.starting.push(starting);
            }
            Err(error) => self.fail(worker, format!("{error:#}")),
        }
    }

    fn try_start(&self, worker: WorkerId, deadline: Instant, n_before: u32) -> anyhow::Result<Starting> {
        if self.keeper.is_stopping() {
            bail!("the application is stopping");
        }
        let folder = self.folder.as_ref();
        let endpoint = ProgramEndpoint::new(&self.http.socket, folder, worker)?;
        let probe = Probe::new(&self.http.ready, folder, worker, Instant::now())?;
        let pid = self.command.run(&endpoint, probe.notify_path())?;
        let stray = match (&self.http.socket, &endpoint) {
            (ProgramSocket::Port { or_any: true, .. }, ProgramEndpoint::Port(place)) => {
                Some(Stray::new(*place, Instant::now()))
            }
            _ => None,
        };
        Ok(Starting { worker, pid, endpoint, probe, stray, deadline, n_before, failure: None })
    }

    fn fail(&self, worker: WorkerId, reason: String) {
        self.keeper.tell(&FromPrototype::ForkFailed { worker, reason }, &[]);
    }

    /// Reports those that have become ready, and ends those that have taken too long.
    fn look(&mut self, now: Instant) {
        if self.keeper.is_stopping() {
            return;
        }
        let mut idx = 0;
        while idx < self.starting.len() {
            let starting = &mut self.starting[idx];
            starting.follow(now);
            if starting.failure.is_none() && starting.probe.look(&starting.endpoint, starting.pid, now) {
                let starting = self.starting.remove(idx);
                self.became_ready(starting);
                continue;
            }
            if starting.failure.is_none() && now >= starting.deadline {
                starting.failure = Some(starting.is_late(&self.http));
                self.keeper.children.end(starting.worker, now);
            }
            idx += 1;
        }
    }

    fn became_ready(&mut self, starting: Starting) {
        let Starting { worker, pid, endpoint, .. } = starting;
        let OpenEndpoint { endpoint, file, path } = match endpoint.open() {
            Ok(opened) => opened,
            Err(error) => {
                self.keeper.children.end(worker, Instant::now());
                return self.fail(worker, format!("{error:#}"));
            }
        };
        self.ready.insert(worker, path);
        // Main may not know that number, if this process has a namespace of its own.
        let descriptors: Vec<_> = [file, process::pidfd(pid).ok()].into_iter().flatten().collect();
        self.keeper.tell(&FromPrototype::Started { worker, pid: number(pid), endpoint }, &descriptors);
    }

    fn ended(&mut self, worker: WorkerId, exit: Exit) {
        if self.ready.remove(&worker).is_some() {
            return self.keeper.tell(&FromPrototype::Exited { worker, exit }, &[]);
        }
        let Some(idx) = self.starting.iter().position(|starting| starting.worker == worker) else { return };
        let starting = self.starting.remove(idx);
        if starting.lost_its_port() && !self.keeper.is_stopping() {
            complain(format_args!("{} was taken: trying another one", starting.endpoint.describe()));
            return self.start(worker, starting.deadline, starting.n_before + 1);
        }
        // A program that was told to end needs no advice.
        let advice = if self.keeper.is_stopping() { "" } else { self.http.kind.advice() };
        self.fail(worker, starting.why_it_ended(exit, advice));
    }
}

fn number(pid: Pid) -> u32 {
    pid.as_raw_nonzero().get().unsigned_abs()
}

/// Deadlines are not looked at a moment too early.
const TICK: Duration = Duration::from_millis(1);

impl Starting {
    fn next_look(&self) -> Instant {
        let stray = self.stray.as_ref().map(Stray::next_look);
        stray
            .into_iter()
            .chain([self.probe.next_look(), self.deadline])
            .min()
            .expect("there are two at least")
    }

    /// Goes where the program listens, if that is not where it was told to.
    fn follow(&mut self, now: Instant) {
        let Some(place) = self.stray.as_mut().and_then(|stray| stray.look(self.pid, now)) else { return };
        complain(format_args!(
            "notice: the program listens on {place} and not on {}, as the variable with its port asks for: it is \
             served there",
            self.endpoint.describe()
        ));
        self.stray = None;
        self.endpoint = ProgramEndpoint::Strayed(place);
    }

    fn is_late(&self, http: &HttpSpec) -> String {
        let (pid, missing) = (self.pid.as_raw_nonzero(), self.probe.missing());
        let (limit, advice) = (http.ready_timeout.as_secs(), http.kind.advice());
        format!("process {pid} was not ready within {limit} s (ready.timeout): {missing}{advice}")
    }

    fn why_it_ended(self, exit: Exit, advice: &str) -> String {
        let pid = self.pid.as_raw_nonzero();
        self.failure.unwrap_or_else(|| match exit {
            Exit::Code(code) => format!("process {pid} exited with code {code} before it was ready{advice}"),
            Exit::Signal(number) => {
                format!("process {pid} exited on signal {number} before it was ready{advice}")
            }
        })
    }

    /// Whether the program has ended because another process has taken its port.
    fn lost_its_port(&self) -> bool {
        let is_taken =
            matches!(self.endpoint, ProgramEndpoint::Port(place) if crate::port::is_taken(place.port));
        is_taken && self.failure.is_none() && self.n_before < MOST_PORTS
    }
}
