//! Stores of NSS, the library by which Firefox, and Chromium on Linux, keep certificates: changed by its own tool.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use anyhow::{Context, bail};

use super::places::NssFolder;
use super::{StoreOutcome, Wish};
use crate::authority::LocalAuthority;

/// The tool `certutil` of NSS.
pub(super) struct Nss(());

/// Trusted to sign certificates of servers, and for nothing else.
const TRUST: &str = "C,,";

impl Nss {
    pub(super) fn find() -> anyhow::Result<Self> {
        // Without a command it only prints what it can do.
        match Command::new(TOOL).arg("-H").stdin(Stdio::null()).output() {
            Ok(_) => Ok(Self(())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                bail!(
                    "certutil is missing; install it: sudo apt install libnss3-tools (Fedora: nss-tools, Arch: nss)"
                )
            }
            Err(error) => Err(error).context("start certutil"),
        }
    }

    pub(super) fn set(
        &self,
        wish: Wish,
        place: &NssFolder,
        authority: &LocalAuthority,
    ) -> anyhow::Result<StoreOutcome> {
        let store = NssStore { database: format!("sql:{}", place.folder.display()), name: authority.name() };
        if !place.has_store() {
            if wish == Wish::Remove {
                return Ok(StoreOutcome::Already);
            }
            store.make(&place.folder)?;
        }
        let is_there = store.holds(authority.certificate())?;
        match wish {
            Wish::Trust if is_there => Ok(StoreOutcome::Already),
            Wish::Trust => store.add(&authority.path()).map(|()| StoreOutcome::Done),
            Wish::Remove if is_there => store.remove().map(|()| StoreOutcome::Done),
            Wish::Remove => Ok(StoreOutcome::Already),
        }
    }
}

const TOOL: &str = "certutil";

/// One database, and the authority's name in it.
struct NssStore<'a> {
    database: String,
    name: &'a str,
}

impl NssStore<'_> {
    fn make(&self, folder: &Path) -> anyhow::Result<()> {
        crate::user_dirs::make_folder(folder).with_context(|| format!("create \"{}\"", folder.display()))?;
        self.change(&["-N", "--empty-password"])
    }

    /// Whether it has this very certificate, and trusts it.
    fn holds(&self, certificate: &str) -> anyhow::Result<bool> {
        let found = self.run(&["-L", "-n", self.name, "-a"])?;
        let words = |text: &str| text.split_ascii_whitespace().collect::<String>();
        if !found.status.success() || words(&String::from_utf8_lossy(&found.stdout)) != words(certificate) {
            return Ok(false);
        }
        let list = self.run(&["-L"])?;
        let list = String::from_utf8_lossy(&list.stdout).into_owned();
        Ok(list.lines().any(|line| line.starts_with(self.name) && line.trim_end().ends_with(TRUST)))
    }

    fn add(&self, file: &Path) -> anyhow::Result<()> {
        let file = file.to_str().context("the path of the certificate is not UTF-8")?;
        self.change(&["-A", "-n", self.name, "-t", TRUST, "-i", file])
    }

    fn remove(&self) -> anyhow::Result<()> {
        self.change(&["-D", "-n", self.name])
    }

    fn change(&self, arguments: &[&str]) -> anyhow::Result<()> {
        let output = self.run(arguments)?;
        if !output.status.success() {
            let words = String::from_utf8_lossy(&output.stderr);
            bail!("certutil says: {}", words.lines().last().unwrap_or("nothing"));
        }
        Ok(())
    }

    /// The program gets no input: for a store with a password, it fails.
    fn run(&self, arguments: &[&str]) -> anyhow::Result<Output> {
        Command::new(TOOL)
            .args(["-d", &self.database])
            .args(arguments)
            .stdin(Stdio::null())
            .output()
            .context("start certutil")
    }
}
