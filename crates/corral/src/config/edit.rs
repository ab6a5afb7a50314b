//! `corral config edit`: the running configuration in an editor, until the daemon takes it.

use std::fs;
use std::io::{self, BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, bail};
use corral_config::Problem;
use corral_manifest::{Format, Source};

use super::apply::title;
use crate::client::{self, ApiAnswer, ApiCall, Daemon};
use crate::output;

/// Edits what is at `target`, a path of the control API.
pub(crate) fn command(daemon: &Daemon, target: &str) -> anyhow::Result<ExitCode> {
    let answer = daemon.get(target)?;
    let version = answer.etag.clone();
    let before = String::from_utf8_lossy(&answer.into_body()?).replace("\r\n", "\n");
    let file = tempfile::Builder::new().prefix("corral-").suffix(".json").tempfile();
    let file = file.context("make a file to edit")?;
    fs::write(file.path(), &before).context("write the file to edit")?;
    loop {
        open_editor(file.path())?;
        let text = fs::read(file.path()).context("read the edited file")?;
        if text == before.as_bytes() {
            println!("nothing was changed");
            return Ok(ExitCode::SUCCESS);
        }
        let (body, if_match) = (Some(text.as_slice()), version.as_deref());
        let answer = daemon.ask(ApiCall { method: "PUT", path: target, body, if_match })?;
        if answer.status == 200 {
            output::print(&answer.body)?;
            return Ok(ExitCode::SUCCESS);
        }
        eprintln!("{}", explain(answer, &text, file.path(), target));
        if !ask_again()? {
            let kept = keep(file)?;
            bail!("nothing was changed; what you wrote is in {}", kept.display());
        }
    }
}

fn keep(file: tempfile::NamedTempFile) -> anyhow::Result<PathBuf> {
    let (_, path) = file.keep().context("keep the edited file")?;
    Ok(path)
}

/// As `git` does it: the variable may hold arguments, so a shell takes it apart.
fn open_editor(path: &Path) -> anyhow::Result<()> {
    let named = ["VISUAL", "EDITOR"].into_iter().filter_map(std::env::var_os);
    let editor = named.into_iter().find(|name| !name.is_empty()).unwrap_or_else(|| "vi".into());
    let mut script = editor.clone();
    script.push(" \"$@\"");
    let status = Command::new("sh").arg("-c").arg(script).arg("sh").arg(path).status();
    let status = status.with_context(|| format!("start the editor {}", editor.display()))?;
    if !status.success() {
        bail!("the editor {} ended with {status}; set VISUAL or EDITOR to another one", editor.display());
    }
    Ok(())
}

/// The problems with their places in the edited file.
fn explain(answer: ApiAnswer, text: &[u8], path: &Path, target: &str) -> String {
    if answer.status == 412 {
        return "the configuration was changed by another client meanwhile".to_owned();
    }
    let name = path.display().to_string();
    let source = Source { name, text: text.to_vec(), format: Format::Json };
    let base = target.strip_prefix("/config").unwrap_or_default();
    match corral_manifest::read_plain(&source) {
        Err(fault) => fault.to_string(),
        Ok(manifest) => {
            let problems: Vec<_> =
                client::problems(&answer).into_iter().map(|one| below(one, base)).collect();
            if problems.is_empty() {
                return answer.into_body().map_or_else(|error| format!("{error:#}"), |_| String::new());
            }
            let lines = manifest.locate(&problems).into_iter().map(|fault| format!("\n{fault}"));
            format!("{}:{}", title(&answer), lines.collect::<String>())
        }
    }
}

/// A part of the configuration was edited: pointers start there.
fn below(problem: Problem, base: &str) -> Problem {
    let pointer = problem.pointer.strip_prefix(base).unwrap_or_default().to_owned();
    Problem { pointer, ..problem }
}

/// Asks whether to edit again; without a terminal, the answer is no.
fn ask_again() -> anyhow::Result<bool> {
    if !io::stdin().is_terminal() {
        return Ok(false);
    }
    print!("Edit again? [Y/n] ");
    io::stdout().flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(!answer.trim().to_lowercase().starts_with('n') && !answer.is_empty())
}
