//! `corral exec`: runs a command as an application would. The daemon says what that is; the command is a child of this
//! process, so that neither its life nor its terminal is the daemon's business.

mod describe;
mod relay;
mod streams;

use std::ffi::OsString;
use std::fs::File;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::{Args, ValueHint};
use corral_ipc::message::{ExecContext, Exit, FolderChoice, FromExec, ToExec};
use corral_supervisor::{Attachment, start_exec};
use corral_sys::signal::{self, SignalFd};

use self::relay::TerminalRelay;
use self::streams::Streams;
use crate::client::Control;

#[derive(Debug, Args)]
pub(crate) struct ExecOptions {
    /// Name of the application in the configuration
    pub(crate) application: String,
    /// The command with its arguments, which can follow `--`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    #[arg(value_name = "COMMAND", value_hint = ValueHint::CommandWithArguments)]
    pub(crate) command: Vec<OsString>,
    /// Folder to run it in, as the application sees it [default: the application's working_directory, or else the
    /// folder of its code]
    #[arg(long, short, value_name = "FOLDER")]
    pub(crate) workdir: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) control: Control,
}

/// Added to the number of a signal, as shells do.
const BY_SIGNAL: i32 = 128;

pub(crate) fn command(options: &ExecOptions) -> anyhow::Result<ExitCode> {
    let context = describe::context(&options.application, &options.control.daemon()?)?;
    if options.command.is_empty() {
        bail!("there is no command; for example: {}", example(options, &context));
    }
    match run(options, &context)? {
        FromExec::Ended { exit: Exit::Code(code) } => Ok(exit_code(code)),
        FromExec::Ended { exit: Exit::Signal(number) } => Ok(exit_code(BY_SIGNAL + number)),
        FromExec::Failed { reason, code } => {
            eprintln!("corral: {reason}");
            Ok(ExitCode::from(code))
        }
    }
}

fn run(options: &ExecOptions, context: &ExecContext) -> anyhow::Result<FromExec> {
    // It is opened by the user that this process has now.
    let executable = File::open("/proc/self/exe").context("open this executable")?;
    // The folder that this process is in may be another one by then.
    let folder = options.workdir.as_ref().map(std::path::absolute).transpose().context("find the folder")?;
    // Before the terminal is changed: a signal ends this process no more.
    let signals = SignalFd::new(&relay::signals()).context("listen to signals")?;
    let streams = Streams::new(context.owner).context("make a terminal for the command")?;
    let terminal = std::env::var_os("TERM").filter(|_| streams.has_terminal());
    let attached = start_exec(
        context,
        &Attachment {
            executable: executable.as_fd(),
            streams: streams.of_command(),
            folder: folder.as_deref(),
            terminal: terminal.as_deref(),
        },
    )?;
    let start = ToExec::Start {
        spec: Box::new(context.spec.clone()),
        dependencies: context.dependencies.clone(),
        folder: folder_choice(options, context),
        words: options.command.clone(),
        controlling_terminal: streams.has_keyboard(),
    };
    attached.link.send(&start, &[]).context("say which command it is")?;
    let terminal = streams.handed_over().context("take the keyboard over")?;
    let end = TerminalRelay { link: &attached.link, signals, terminal, typed: Vec::new() }.run();
    // Its control group can be removed only when it is empty.
    let _ = signal::wait_for(attached.pid);
    end
}

fn folder_choice(options: &ExecOptions, context: &ExecContext) -> FolderChoice {
    match (&options.workdir, &context.spec.working_directory) {
        (None, None) => FolderChoice::OfCode { otherwise: context.folder.clone() },
        _ => FolderChoice::Given,
    }
}

fn example(options: &ExecOptions, context: &ExecContext) -> String {
    format!("corral exec {} -- {}", options.application, describe::usual_command(&context.spec.runtime))
}

/// The kernel keeps eight bits.
fn exit_code(code: i32) -> ExitCode {
    ExitCode::from(code.to_le_bytes()[0])
}
