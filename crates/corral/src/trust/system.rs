//! The system's store, which curl, git, PHP, Python and most programs read.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};
use corral_sys::user;

use super::{StoreOutcome, Wish};
use crate::authority::LocalAuthority;

/// How a system keeps authorities of its administrator.
#[derive(Debug)]
pub(super) struct System {
    /// A file for each, in PEM.
    folder: PathBuf,
    /// Puts the files in force.
    command: &'static [&'static str],
}

/// Debian and its like; Fedora and its like; SUSE; Arch.
const SYSTEMS: [(&str, &[&str]); 4] = [
    ("/usr/local/share/ca-certificates", &["update-ca-certificates"]),
    ("/etc/pki/ca-trust/source/anchors", &["update-ca-trust", "extract"]),
    ("/etc/pki/trust/anchors", &["update-ca-certificates"]),
    ("/etc/ca-certificates/trust-source/anchors", &["update-ca-trust", "extract"]),
];

impl System {
    pub(super) fn of_this_machine() -> anyhow::Result<Self> {
        let found = SYSTEMS.iter().find(|(folder, _)| Path::new(folder).is_dir());
        let (folder, command) =
            found.context("it is of no kind that is known here; on Debian, install ca-certificates")?;
        Ok(Self { folder: PathBuf::from(folder), command })
    }

    pub(super) fn set(&self, wish: Wish, authority: &LocalAuthority) -> anyhow::Result<StoreOutcome> {
        let file = self.file(authority);
        let is_there = fs::read(&file).is_ok_and(|found| found == authority.certificate().as_bytes());
        match wish {
            Wish::Trust if is_there => return Ok(StoreOutcome::Already),
            Wish::Remove if !file.exists() => return Ok(StoreOutcome::Already),
            Wish::Trust | Wish::Remove => {}
        }
        if user::effective_uid() != 0 {
            bail!("only root can do that: {}", self.advice(wish, authority));
        }
        match wish {
            Wish::Trust => fs::write(&file, authority.certificate()),
            Wish::Remove => fs::remove_file(&file),
        }
        .with_context(|| format!("change \"{}\"", file.display()))?;
        self.refresh()?;
        Ok(StoreOutcome::Done)
    }

    /// The name ends as Debian wants it.
    fn file(&self, authority: &LocalAuthority) -> PathBuf {
        self.folder.join(authority.name().replace(' ', "-").to_lowercase() + ".crt")
    }

    /// The commands by which an administrator does it.
    fn advice(&self, wish: Wish, authority: &LocalAuthority) -> String {
        let (file, command) = (self.file(authority), self.command.join(" "));
        let (file, source) = (file.display(), authority.path());
        match wish {
            Wish::Trust => {
                format!("sudo install -m 644 '{}' {file} && sudo {command}", source.display())
            }
            Wish::Remove => format!("sudo rm {file} && sudo {command}"),
        }
    }

    fn refresh(&self) -> anyhow::Result<()> {
        let (program, arguments) = self.command.split_first().context("there is a command")?;
        let output = Command::new(program).args(arguments).stdin(Stdio::null()).output();
        let output = output.with_context(|| format!("start {program}"))?;
        if !output.status.success() {
            bail!("{program} says: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
        Ok(())
    }
}
