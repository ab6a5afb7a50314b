//! `corral trust`: puts the certificate of the local authority where browsers and programs look for authorities.

mod nss;
mod places;
mod system;

use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::Args;

use self::nss::Nss;
use self::places::NssFolder;
use self::system::System;
use crate::authority::LocalAuthority;
use crate::{output, user_dirs};

/// The thing that is done with each store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wish {
    Trust,
    Remove,
}

/// The result for one store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StoreOutcome {
    Done,
    /// Nothing had to be done.
    Already,
}

impl StoreOutcome {
    fn words(self, wish: Wish) -> &'static str {
        match (wish, self) {
            (Wish::Trust, Self::Done) => "trusted from now on",
            (Wish::Trust, Self::Already) => "trusted already",
            (Wish::Remove, Self::Done) => "removed",
            (Wish::Remove, Self::Already) => "not in there",
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct TrustOptions {
    /// Take back what was done
    #[arg(long)]
    pub(crate) remove: bool,
    /// Print the authority's certificate, for other machines and containers
    #[arg(long, conflicts_with_all = ["remove", "path", "nss_store", "no_system"])]
    pub(crate) print: bool,
    /// Print the path of the file that has the authority's certificate
    #[arg(long, conflicts_with_all = ["remove", "nss_store", "no_system"])]
    pub(crate) path: bool,
    /// A folder with a store of NSS (cert9.db), which is made if there is none, and no other store; can be given
    /// several times
    #[arg(long, value_name = "FOLDER")]
    pub(crate) nss_store: Vec<PathBuf>,
    /// Leave the system's store alone, which only root can change
    #[arg(long)]
    pub(crate) no_system: bool,
}

pub(crate) fn command(options: &TrustOptions) -> anyhow::Result<ExitCode> {
    if options.print || options.path {
        let authority = LocalAuthority::open()?;
        let path = format!("{}\n", authority.path().display());
        output::write(if options.print { authority.certificate() } else { &path })?;
        return Ok(ExitCode::SUCCESS);
    }
    let authority = if options.remove { LocalAuthority::existing()? } else { Some(LocalAuthority::open()?) };
    let Some(authority) = authority else {
        output::write("there is no local authority that could be trusted\n")?;
        return Ok(ExitCode::SUCCESS);
    };
    let wish = if options.remove { Wish::Remove } else { Wish::Trust };
    if let (Wish::Trust, Some(warning)) = (wish, authority.warning()) {
        eprintln!("{warning}");
    }
    let mut report = TrustReport { wish, text: String::new(), n_worked: 0 };
    if options.nss_store.is_empty() {
        if !options.no_system {
            report.system(&authority);
        }
        let home = user_dirs::home().context("HOME names no folder, so no browser's store can be found")?;
        report.browsers(&places::found_in(&home), &authority);
    } else {
        report.browsers(&places::named(&options.nss_store), &authority);
    }
    output::write(&report.text)?;
    if report.n_worked == 0 {
        bail!("no store could be changed");
    }
    Ok(ExitCode::SUCCESS)
}

/// A line for each store.
struct TrustReport {
    wish: Wish,
    text: String,
    n_worked: usize,
}

impl TrustReport {
    fn system(&mut self, authority: &LocalAuthority) {
        let outcome = System::of_this_machine().and_then(|system| system.set(self.wish, authority));
        self.line("system", outcome);
    }

    fn browsers(&mut self, places: &[NssFolder], authority: &LocalAuthority) {
        if places.is_empty() {
            self.text.push_str("browsers: this user has none that keeps a store\n");
            return;
        }
        let nss = match Nss::find() {
            Ok(nss) => nss,
            Err(error) => return self.line("browsers", Err(error)),
        };
        for place in places {
            let outcome = nss.set(self.wish, place, authority);
            self.line(&format!("{}, {}", place.of, place.folder.display()), outcome);
        }
    }

    fn line(&mut self, store: &str, outcome: anyhow::Result<StoreOutcome>) {
        // Writing to a string cannot fail.
        let _ = match outcome {
            Ok(outcome) => {
                self.n_worked += 1;
                writeln!(self.text, "{store}: {}", outcome.words(self.wish))
            }
            Err(error) => writeln!(self.text, "{store}: not changed: {error:#}"),
        };
    }
}
