//! The controller process: the control API, and the configuration behind it (contract 3).
//!
//! The controller validates what it is sent, has main put it in force, and keeps the document for the next change. The
//! controller opens nothing itself: its listening socket comes from main, and everything that a configuration names is
//! opened by main. Storing documents belongs to main as well.

#![forbid(unsafe_code)]

mod access;
mod access_level;
mod api;
mod api_request;
mod body;
mod browsers;
mod bundle;
mod caller;
mod calls;
mod conditions;
mod config_history;
mod dashboard;
mod endpoints;
mod exec;
mod exporting;
mod files;
mod folders;
mod hidden;
mod history;
mod insertions;
mod issuing;
mod listener_access;
mod main_link;
mod metrics;
mod openapi;
mod peers;
mod pem;
mod permission;
mod query;
mod questions;
mod queue;
mod refusals;
mod renewal;
mod reply;
mod salvage;
mod scripts;
mod secrets;
mod server;
mod slow;
mod startup;
mod state;
mod status;
mod uploads;
mod workers;
mod write_timeout;

use std::future::Future;
use std::os::fd::OwnedFd;

use anyhow::{Context as _, bail};
use corral_acme::{AcmeEngine, RunningEngine};
use corral_config::plan::Asset;
use corral_ipc::link::Link;
use corral_ipc::message::{ControlToken, FromController, IssuedSecret, ToController};

pub use self::browsers::reason_to_refuse;
pub use self::bundle::check_key;
pub use self::folders::is_folder;
pub use self::peers::uid_behind;
pub use self::scripts::check_expression;
use crate::access::ControlAccess;
use crate::main_link::{Calls, MainLink, Replacements};
use crate::peers::Peers;
use crate::server::ControlSocket;
use crate::startup::Start;
use crate::state::Controller;

/// Serves the control API until main closes the other end of `link`.
///
/// # Errors
///
/// When main's first message is not `Start` with a listening socket, or when the link breaks.
pub fn run(link: Link) -> anyhow::Result<()> {
    let FirstMessage { start, records, tokens: [token, read_token], socket } = receive_start(&link)?;
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().context("start the event loop")?;
    let starter = uid_behind(&link).context("find who has started the daemon")?;
    let ended = runtime.block_on(async {
        let (main, answers, replacements, calls) = MainLink::new(link).context("watch the link to main")?;
        let peers = Peers::of(&socket, token.is_some(), starter);
        let socket = ControlSocket::new(socket, peers).context("use the control API's socket")?;
        let access = ControlAccess::new(token, read_token, socket.is_port());
        let records = records.into_iter().map(|record| (record.name, record.bytes));
        let (engine, orders, known) = AcmeEngine::new(main.clone(), records);
        let answers = answers.receive(engine.clone());
        let certificates = Certificates { engine, orders, known };
        until_main_is_gone(answers, serve(main, start, certificates, access, socket, (replacements, calls)))
            .await
    });
    // A look-up of a user's name may wait for another machine.
    runtime.shutdown_background();
    ended
}

/// Main's first message, taken apart.
struct FirstMessage {
    start: Start,
    records: Vec<Asset>,
    /// The one for all requests, and the one for those that change nothing.
    tokens: [Option<ControlToken>; 2],
    socket: OwnedFd,
}

/// Certificates that the daemon orders by itself.
struct Certificates {
    engine: AcmeEngine,
    orders: RunningEngine<MainLink>,
    /// Certificates that routers can use before there is a configuration.
    known: Vec<IssuedSecret>,
}

fn receive_start(link: &Link) -> anyhow::Result<FirstMessage> {
    let received = link.recv().context("receive the first message of main")?;
    let Some((message, mut fds)) = received else { bail!("main left before it sent its first message") };
    let ToController::Start {
        document,
        origin,
        generation,
        modules,
        assets,
        records,
        history,
        files,
        token,
        read_token,
    } = message
    else {
        bail!("the first message of main is not Start");
    };
    let socket = fds.pop().context("main sent no socket for the control API")?;
    let start = Start { document, origin, generation, modules, assets, files, history };
    Ok(FirstMessage { start, records, tokens: [token, read_token], socket })
}

async fn serve(
    main: MainLink,
    start: Start,
    certificates: Certificates,
    access: ControlAccess,
    socket: ControlSocket,
    (replacements, calls): (Replacements, Calls),
) -> anyhow::Result<()> {
    let Certificates { engine, orders, known } = certificates;
    issuing::provide_known(&main, known).await;
    let controller = Controller::start(main, start, engine).await;
    if let Err(error) = controller.main().send(&FromController::Listening).await {
        // Only when main is gone; the reader of the link then ends the process.
        tracing::debug!("tell main that the control API listens: {error}");
    }
    tokio::select! {
        ended = socket.serve(controller.clone(), access) => ended,
        () = files::follow(&controller, replacements) => Ok(()),
        () = calls::serve(&controller, calls) => Ok(()),
        () = orders.run() => Ok(()),
        () = exporting::run(&controller) => Ok(()),
    }
}

/// Ends with the link: `answers` is the task that reads it.
async fn until_main_is_gone(
    answers: impl Future<Output = anyhow::Result<()>>,
    serve: impl Future<Output = anyhow::Result<()>>,
) -> anyhow::Result<()> {
    tokio::select! {
        ended = answers => ended,
        failed = serve => failed,
    }
}

#[cfg(test)]
mod tests;
