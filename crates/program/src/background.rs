//! The prototype of commands that no listener reaches: runs them when main says so, and tells how they ended.
//!
//! A prototype without running commands rests, so that a schedule costs no process between two runs.

use std::io;
use std::os::fd::OwnedFd;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Context;
use corral_config::plan::{AppSpec, ProcessSpec};
use corral_ipc::link::Link;
use corral_ipc::message::{Exit, FromPrototype, WorkerId};
use corral_sys::process;
use corral_sys::signal::{self, Pid, Signal};
use corral_worker::{Keeper, Scope, Termination, confine, redirect_output};

use crate::command::ProgramCommand;
use crate::gauge::{GAUGE, Gauge};
use crate::own_files;

/// The programs of an application.
pub(crate) struct CommandProcesses {
    command: ProgramCommand,
    /// Says how many processes there are to be.
    gauge: Option<Gauge>,
}

struct CommandHost {
    keeper: Keeper,
    command: ProgramCommand,
    gauge: Option<Gauge>,
}

/// Makes ready for commands, or says why they could not run.
pub(crate) fn prepare(spec: &AppSpec, process: &ProcessSpec) -> anyhow::Result<CommandProcesses> {
    // A title that could not be set costs nothing but a nicer `ps`.
    let _ = process::set_title(&format!("corral: \"{}\" prototype", spec.name));
    // Processes that commands leave behind end here, not at main. Without it, main collects it.
    let _ = process::become_subreaper();
    redirect_output(spec).context("open the application's output")?;
    let command = ProgramCommand::alone(&process.command)?;
    let gauge = process.queue.as_ref().map(Gauge::new).transpose()?;
    let commands = [&command].into_iter().chain(gauge.as_ref().map(Gauge::command));
    let readable = own_files().into_iter().chain(commands.map(|command| command.path().to_owned())).collect();
    confine(spec, readable, Vec::new())?;
    Ok(CommandProcesses { command, gauge })
}

/// Serves main until it says stop or is gone.
pub(crate) fn serve(
    link: Link,
    spec: &AppSpec,
    process: &ProcessSpec,
    programs: CommandProcesses,
) -> anyhow::Result<ExitCode> {
    let termination = Termination {
        signal: Signal::from_named_raw(process.stop_signal).unwrap_or(Signal::TERM),
        // A worker that has processes of its own ends them when their jobs are done.
        scope: Scope::Process,
        grace: process.grace(spec.restart.drain_timeout),
    };
    let keeper = Keeper::new(link, Scope::Group).context("listen to signals")?.ending_by(termination);
    keeper.tell(&FromPrototype::Ready, &[]);
    let CommandProcesses { command, gauge } = programs;
    CommandHost { keeper, command, gauge }.serve()
}

impl CommandHost {
    fn serve(mut self) -> anyhow::Result<ExitCode> {
        while !self.keeper.is_done() {
            self.sleep().context("wait")?;
            for (worker, exit) in self.keeper.reap().context("collect processes")? {
                self.ended(worker, exit);
            }
            while let Some(worker) = self.keeper.next_wanted().context("listen to the daemon")? {
                self.start(worker);
            }
            if let Some(gauge) = &mut self.gauge {
                gauge.look(&mut self.keeper, Instant::now());
            }
        }
        Ok(ExitCode::SUCCESS)
    }

    fn sleep(&self) -> io::Result<()> {
        let pipe: Vec<_> = self.gauge.as_ref().and_then(Gauge::descriptor).into_iter().collect();
        let due = self.gauge.as_ref().and_then(|gauge| gauge.deadline(self.keeper.is_stopping()));
        let limit = due.map(|at| at.saturating_duration_since(Instant::now()) + TICK);
        self.keeper.sleep(&pipe, limit)
    }

    fn start(&mut self, worker: WorkerId) {
        if self.keeper.is_stopping() {
            return self.fail(worker, "the application is stopping".to_owned());
        }
        match self.command.run_alone() {
            Ok(pid) => {
                self.keeper.children.add(pid, worker);
                let pidfd: Vec<OwnedFd> = process::pidfd(pid).ok().into_iter().collect();
                self.keeper.tell(&FromPrototype::Begun { worker, pid: number(pid) }, &pidfd);
            }
            Err(error) => self.fail(worker, format!("{error:#}")),
        }
    }

    fn fail(&self, worker: WorkerId, reason: String) {
        self.keeper.tell(&FromPrototype::ForkFailed { worker, reason }, &[]);
    }

    /// A command that goes to the background by itself would be started again beside itself: what it leaves behind ends
    /// with the last process of the application.
    fn ended(&mut self, worker: WorkerId, exit: Exit) {
        if self.keeper.children.is_empty() {
            for left in process::children() {
                signal::kill_child(left, Signal::KILL);
            }
        }
        match &mut self.gauge {
            Some(gauge) if worker == GAUGE => gauge.ended(&self.keeper, exit),
            _ => self.keeper.tell(&FromPrototype::Exited { worker, exit }, &[]),
        }
    }
}

/// Deadlines are not looked at a moment too early.
const TICK: Duration = Duration::from_millis(1);

fn number(pid: Pid) -> u32 {
    pid.as_raw_nonzero().get().unsigned_abs()
}
