//! Words that people type because other servers have them, and what does the same here.

use std::ffi::OsString;

/// Words at the beginning, and the command to use.
const REMEDIES: &[(&[&str], &str)] = &[
    (&["-t", "-T", "test", "configtest"], "to check a configuration: corral check FILE"),
    (&["-s", "-k"], "to signal a daemon: corral stop, corral reload, corral restart APPLICATION"),
    (&["quit", "down", "kill", "shutdown"], "to stop a daemon: corral stop"),
    (
        &["reopen", "rotate"],
        "to open the logs again after rotation: kill -USR1 PID, with the PID of corral status",
    ),
    (&["-c"], "to serve what a file says: corral run FILE, or in the background corral daemon --config FILE"),
    (
        &["-S", "-p", "--port", "--host", "--bind", "--reload", "dev", "server", "web", "http", "up"],
        "to serve a folder: corral run FOLDER --port 8080",
    ),
    (&["-d", "background"], "to run in the background: corral daemon"),
    (&["init", "new", "generate"], "to get a configuration to begin with: corral run FOLDER --print-config"),
    (&["ps", "list"], "to see what runs: corral status, or corral top as it changes"),
    (&["get", "set", "put", "edit", "apply", "diff"], "to change a configuration: corral config COMMAND"),
    (&["cert", "certs", "certificates"], "to list and upload certificates: corral certificate COMMAND"),
    (&["install", "enable"], "to start with the machine: systemctl enable --now corral"),
];

/// The remedy for a word that is not a command.
pub(crate) fn remedy(arguments: &[OsString]) -> Option<String> {
    let word = arguments.first()?.to_str()?;
    let (_, remedy) = REMEDIES.iter().find(|(words, _)| words.contains(&word))?;
    Some(format!("\"{word}\" is not a command; {remedy}"))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn words_of_other_servers_are_answered() {
        let remedy = |word: &str| remedy(&[word.into()]);
        assert!(remedy("-t").unwrap().contains("corral check FILE"));
        assert!(remedy("down").unwrap().contains("corral stop"));
        assert_eq!(remedy("run"), None);
        assert_eq!(super::remedy(&[]), None);
    }

    #[test]
    fn no_command_is_hidden_by_an_answer() {
        let cli = Cli::command();
        let names = cli.get_subcommands().flat_map(|command| command.get_name_and_visible_aliases());
        for name in names {
            assert_eq!(remedy(&[name.into()]), None, "{name}");
        }
    }
}
