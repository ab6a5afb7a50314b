//! A request of a script: its variables, and the process that answers it.

use std::ffi::CString;
use std::fmt;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use corral_cgi::scgi;
use corral_sys::signal::Pid;
use corral_sys::spawn::{Executable, Program, SpawnError};
use rustix::io::Errno;

/// A script that is to be started.
pub(super) struct ScriptRequest {
    script: CString,
    /// The folder that it is in.
    folder: CString,
    environment: Vec<CString>,
}

/// Why a script was not started, and what to do.
#[derive(Debug, thiserror::Error)]
pub(super) enum ScriptRefusal {
    #[error(transparent)]
    Head(#[from] scgi::ScgiHeadError),
    #[error("a request names no script (SCRIPT_FILENAME)")]
    NoScript,
    #[error("cannot run {script}: {source}: {}{}", .source.source, ScriptAdvice(.source))]
    Spawn { script: String, source: SpawnError },
}

impl ScriptRequest {
    /// The words of a request, over the application's own variables.
    pub(super) fn parse(head: &[u8], own: &[CString]) -> Result<Self, ScriptRefusal> {
        let mut variables = scgi::variables(head)?;
        // A body that there is none of has no length (RFC 3875 section 4.1.2).
        variables.retain(|variable| !matches!(variable, (b"SCGI", _) | (b"CONTENT_LENGTH", b"0")));
        let find = |name: &[u8]| variables.iter().find(|(other, _)| *other == name).map(|(_, value)| *value);
        let path = find(b"SCRIPT_FILENAME").ok_or(ScriptRefusal::NoScript)?;
        let end = path.iter().rposition(|byte| *byte == b'/').ok_or(ScriptRefusal::NoScript)?;
        let text = |bytes: &[u8]| CString::new(bytes).map_err(|_| scgi::ScgiHeadError::Variable);
        let is_kept = |variable: &&CString| {
            let name = variable.as_bytes().split(|byte| *byte == b'=').next().unwrap_or_default();
            name != b"CONTENT_LENGTH" && name != b"CONTENT_TYPE" && find(name).is_none()
        };
        let mut environment: Vec<_> = own.iter().filter(is_kept).cloned().collect();
        for (name, value) in &variables {
            environment.push(text(&[name, &b"="[..], value].concat())?);
        }
        Ok(Self {
            script: text(path)?,
            folder: text(if end == 0 { b"/" } else { &path[..end] })?,
            environment,
        })
    }

    /// Starts the script in its folder, with the connection as its standard input and output. Returns its name for
    /// messages, too.
    pub(super) fn start(self, connection: &OwnedFd) -> Result<(Pid, String), ScriptRefusal> {
        let stderr = io::stderr();
        let program = Program {
            executable: Executable::Path(&self.script),
            argv: std::slice::from_ref(&self.script),
            environment: &self.environment,
            pid_variable: None,
            working_directory: Some(&self.folder),
            credentials: None,
            no_new_privileges: false,
            wall: None,
            isolation: None,
            controlling_terminal: false,
            fds: &[(connection.as_fd(), 0), (connection.as_fd(), 1), (stderr.as_fd(), 2)],
        };
        let script = self.script.to_string_lossy().escape_debug().to_string();
        match program.spawn() {
            Ok(pid) => Ok((pid, script)),
            Err(source) => Err(ScriptRefusal::Spawn { script, source }),
        }
    }
}

impl ScriptRefusal {
    /// The response to the request, which says nothing of the reason.
    pub(super) fn response(&self) -> String {
        let status = match self {
            Self::Spawn { source, .. } => match errno(source) {
                Some(Errno::ACCESS | Errno::PERM) => "403 Forbidden",
                Some(Errno::TOOBIG) => "431 Request Header Fields Too Large",
                Some(Errno::AGAIN | Errno::NOMEM | Errno::MFILE | Errno::NFILE) => "503 Service Unavailable",
                _ => "500 Internal Server Error",
            },
            Self::Head(_) | Self::NoScript => "500 Internal Server Error",
        };
        format!("Status: {status}\r\nContent-Type: text/plain\r\n\r\n{status}\n")
    }
}

fn errno(error: &SpawnError) -> Option<Errno> {
    Errno::from_io_error(&error.source)
}

/// The remedy.
struct ScriptAdvice<'e>(&'e SpawnError);

impl fmt::Display for ScriptAdvice<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match errno(self.0) {
            Some(Errno::ACCESS) => {
                " (the application's user must be able to execute the script, by chmod +x, and its interpreter)"
            }
            Some(Errno::NOENT) => " (the interpreter in its first line does not exist)",
            Some(Errno::NOEXEC) => " (its first line does not name an interpreter, as in #!/usr/bin/perl)",
            Some(Errno::TOOBIG) => " (the headers of the request are too large for the environment of a process)",
            Some(Errno::TXTBSY) => " (it is open for writing)",
            _ => "",
        })
    }
}
