//! Values that the tests of this crate share.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use corral_config::plan::{
    AppSpec, CommandLine, HttpSpec, Isolation, Limits, PhpSpec, PhpTarget, PoolGrowth, ProcessSpec,
    Processes, ProgramKind, ProgramSocket, Ready, Restart, RuntimeSpec,
};

use crate::users::{Account, UserOptions, Users};

/// The daemon as this user, and applications as `nobody`.
pub(crate) fn users(daemon: &str) -> Users {
    let account = |user: &str| Account { user: user.to_owned(), group: None };
    let options =
        UserOptions { daemon: Some(account(daemon)), daemon_group: None, applications: account("nobody") };
    Users::of(&options).unwrap()
}

/// An application with two workers from `name=root`.
pub(crate) fn spec(text: &str) -> AppSpec {
    let (name, root) = text.split_once('=').unwrap();
    let target = PhpTarget {
        root_varies: false,
        name: String::new(),
        root: root.into(),
        script: None,
        index: "index.php".to_owned(),
        worker: None,
    };
    let php = PhpSpec { targets: vec![target], ..PhpSpec::default() };
    AppSpec {
        name: name.to_owned(),
        module: PathBuf::from("/modules/corral-php"),
        user: None,
        group: None,
        working_directory: None,
        environment: vec![],
        inherit_environment: true,
        stdout: None,
        stderr: None,
        isolation: Isolation::default(),
        processes: Processes {
            max: NonZeroU32::new(2).unwrap(),
            spare: 2,
            idle_timeout: Duration::from_secs(15),
            growth: PoolGrowth::ByRequests,
        },
        limits: Limits::default(),
        restart: Restart::default(),
        runtime: RuntimeSpec::Php(php),
    }
}

/// As `spec`, a command that no listener reaches.
pub(crate) fn command(name: &str, with: Option<&str>) -> AppSpec {
    let process = ProcessSpec {
        command: CommandLine { executable: "/bin/true".into(), arguments: vec![] },
        stop_signal: 15,
        with: with.map(str::to_owned),
        schedule: None,
        queue: None,
    };
    AppSpec { module: PathBuf::new(), runtime: RuntimeSpec::Process(process), ..spec(&format!("{name}=/")) }
}

/// As `spec`, a program that serves HTTP.
pub(crate) fn program(name: &str) -> AppSpec {
    let http = HttpSpec {
        kind: ProgramKind::Server,
        executable: "/bin/true".into(),
        arguments: vec![],
        socket: ProgramSocket::Inherited,
        ready: Ready::Connect,
        ready_timeout: Duration::from_secs(60),
        concurrency: NonZeroU32::MIN,
    };
    AppSpec { module: PathBuf::new(), runtime: RuntimeSpec::Http(http), ..spec(&format!("{name}=/")) }
}
