//! Control sockets that are out of reach: on another machine, behind ssh, or in a container. The `curl` that is
//! there asks them.

use std::fmt;
use std::io::Write as _;
use std::process::{Command, Stdio};

use anyhow::{Context, bail};

use super::ApiCall;

/// A socket file somewhere else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Remote {
    place: RemoteHost,
    socket: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum RemoteHost {
    /// Another machine: `HOST` or `USER@HOST`.
    Machine { destination: String, port: Option<u16> },
    /// A container of this machine.
    Container(String),
}

/// Reads `[USER@]HOST[:PORT]/PATH`.
pub(super) fn ssh(rest: &str) -> Option<Remote> {
    let (authority, path) = rest.split_once('/')?;
    let (destination, port) = match authority.rsplit_once(':') {
        Some((destination, port)) => (destination, Some(port.parse().ok()?)),
        None => (authority, None),
    };
    let place = RemoteHost::Machine { destination: destination.to_owned(), port };
    (is_plain(destination) && is_plain(path)).then(|| Remote { place, socket: format!("/{path}") })
}

/// Reads `CONTAINER[/PATH]`; without a path it is the socket of Unit's images.
pub(super) fn docker(rest: &str) -> Option<Remote> {
    let (container, path) = rest.split_once('/').unwrap_or((rest, ""));
    let path = if path.is_empty() { SOCKET_OF_IMAGES } else { path };
    let place = RemoteHost::Container(container.to_owned());
    (is_plain(container) && is_plain(path)).then(|| Remote { place, socket: format!("/{path}") })
}

const SOCKET_OF_IMAGES: &str = "var/run/control.unit.sock";

/// Nothing that a program or a shell could take for something else than a name.
fn is_plain(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with('-')
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"@._-/".contains(&byte))
}

impl Remote {
    /// Has the `curl` that is there send the request; the answer comes with its head.
    pub(super) fn exchange(&self, ask: ApiCall<'_>) -> anyhow::Result<Vec<u8>> {
        let mut command = self.command();
        command.args(self.curl(ask));
        let program = command.get_program().to_string_lossy().into_owned();
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = child.with_context(|| format!("start {program}"))?;
        let mut stdin = child.stdin.take().expect("it was asked for");
        let sent = stdin.write_all(ask.body.unwrap_or_default());
        drop(stdin);
        let output = child.wait_with_output().with_context(|| format!("wait for {program}"))?;
        if !output.status.success() {
            bail!("{program} for {self} ended with {}", output.status);
        }
        sent.with_context(|| format!("send the request through {program}"))?;
        Ok(output.stdout)
    }

    /// The client that runs a command there: `ssh` or `docker exec`.
    fn command(&self) -> Command {
        match &self.place {
            RemoteHost::Machine { destination, port } => {
                let mut ssh = Command::new("ssh");
                if let Some(port) = port {
                    ssh.arg("-p").arg(port.to_string());
                }
                ssh.arg(destination).arg("--");
                ssh
            }
            RemoteHost::Container(container) => {
                // `podman` understands the same.
                let program = std::env::var_os("DOCKER").filter(|name| !name.is_empty());
                let mut docker = Command::new(program.unwrap_or_else(|| "docker".into()));
                docker.args(["exec", "-i", container]);
                docker
            }
        }
    }

    fn curl(&self, ask: ApiCall<'_>) -> Vec<String> {
        let ApiCall { method, path, body, if_match } = ask;
        let fixed = ["curl", "--silent", "--show-error", "--include", "--globoff", "--path-as-is"];
        let socket = ["--header", "Expect:", "--unix-socket", &self.socket, "--request", method];
        let mut words: Vec<_> = fixed.into_iter().chain(socket).map(str::to_owned).collect();
        if let Some(version) = if_match {
            words.extend(["--header".to_owned(), self.quoted(&format!("If-Match: {version}"))]);
        }
        if body.is_some() {
            words.extend(["--data-binary", "@-"].map(str::to_owned));
        }
        words.push(self.quoted(&format!("http://localhost{path}")));
        words
    }

    /// For the shell of the other machine; in a container there is none.
    fn quoted(&self, text: &str) -> String {
        match self.place {
            RemoteHost::Machine { .. } => format!("'{}'", text.replace('\'', "'\\''")),
            RemoteHost::Container(_) => text.to_owned(),
        }
    }
}

impl fmt::Display for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let socket = &self.socket;
        match &self.place {
            RemoteHost::Machine { destination, port: Some(port) } => {
                write!(f, "ssh://{destination}:{port}{socket}")
            }
            RemoteHost::Machine { destination, port: None } => write!(f, "ssh://{destination}{socket}"),
            RemoteHost::Container(container) => write!(f, "docker://{container}{socket}"),
        }
    }
}
