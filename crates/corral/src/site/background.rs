//! Commands that run beside a site: the further lines of a Procfile, and what Laravel has for its queue and schedule.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::folder::read_text;
use super::program::PROCFILE;
use super::shell::search_path;

/// A command beside a site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SiteCommand {
    pub(crate) name: String,
    /// As a shell reads it.
    line: String,
    /// When it runs, if not all the time.
    schedule: Option<&'static str>,
}

/// The lines of a Procfile that start neither what serves nor what is done before that.
pub(crate) fn of_procfile(project: &Path) -> Vec<SiteCommand> {
    let text = read_text(&project.join(PROCFILE));
    let all: Vec<_> = text.lines().filter_map(command).collect();
    // The last line of a name counts, as in a file of settings.
    let is_last = |idx: usize| all[idx + 1..].iter().all(|other| other.name != all[idx].name);
    (0..all.len()).filter(|idx| is_last(*idx)).map(|idx| all[idx].clone()).collect()
}

fn command(line: &str) -> Option<SiteCommand> {
    let (name, line) = line.split_once(':')?;
    let (name, line) = (name.trim(), line.trim());
    let is_name =
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    let is_other = !matches!(name, "web" | "release" | SITE);
    (is_name && is_other && !line.is_empty()).then(|| SiteCommand {
        name: name.to_owned(),
        line: line.to_owned(),
        schedule: None,
    })
}

/// The application that serves.
const SITE: &str = "site";

/// Laravel's queue and scheduler, if the project is of Laravel.
pub(crate) fn of_laravel(project: &Path) -> Vec<SiteCommand> {
    if !project.join("artisan").is_file() || !project.join("vendor/laravel/framework").is_dir() {
        return Vec::new();
    }
    let command = |name: &str, line: &str, schedule| SiteCommand {
        name: name.to_owned(),
        line: line.to_owned(),
        schedule,
    };
    vec![
        command("queue", "exec php artisan queue:work", None),
        command("scheduler", "exec php artisan schedule:run", Some("* * * * *")),
    ]
}

/// The members of `applications` that run them.
pub(crate) fn applications(
    commands: &[SiteCommand],
    project: &Path,
    owner: Option<(&str, &str)>,
    has_site: bool,
) -> Map<String, Value> {
    let application = |command: &SiteCommand| {
        let line = format!("{}; {}", search_path(project), shell_text(&command.line));
        let mut application =
            json!({ "type": "process", "command": ["/bin/sh", "-c", line], "working_directory": project });
        if let Some(schedule) = command.schedule {
            application["schedule"] = schedule.into();
        }
        if has_site {
            application["with"] = SITE.into();
        }
        if let Some((user, group)) = owner {
            application["user"] = user.into();
            application["group"] = group.into();
        }
        (command.name.clone(), application)
    };
    commands.iter().map(application).collect()
}

/// The line as text of a shell that hands on SIGTERM, which it gets alone: it becomes a command, as that may have
/// processes of its own that are not to be told. Of several commands that which runs is told, and the shell waits.
fn shell_text(line: &str) -> String {
    let n_assignments = line.split_whitespace().take_while(|word| is_assignment(word)).count();
    let words: Vec<_> = line.split_whitespace().collect();
    let (assignments, command) = words.split_at(n_assignments);
    match command {
        ["exec", ..] => line.to_owned(),
        [first, ..] if !line.contains(BEYOND_ONE_COMMAND) && !OF_THE_SHELL.contains(first) => {
            [assignments, &["exec"], command].concat().join(" ")
        }
        _ => format!(
            "trap 'trap : TERM; kill -s TERM 0' TERM; (trap 'exit 143' TERM; {line}\n) & child=$!; wait $child; \
             status=$?; while kill -0 $child 2>/dev/null; do wait $child; status=$?; done; exit $status"
        ),
    }
}

/// Characters of lines with several commands, or with spaces that count.
const BEYOND_ONE_COMMAND: [char; 12] = [';', '&', '|', '<', '>', '(', ')', '`', '\'', '"', '\\', '#'];

/// Words that no program has for its name.
const OF_THE_SHELL: [&str; 10] = [".", "source", "eval", "command", "cd", "if", "for", "while", "until", "!"];

fn is_assignment(word: &str) -> bool {
    let is_name = |name: &str| {
        !name.starts_with(|first: char| first.is_ascii_digit())
            && !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    word.split_once('=').is_some_and(|(name, _)| is_name(name))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[track_caller]
    fn check(procfile: &str, expected: &[(&str, &str)]) {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(PROCFILE), procfile).unwrap();
        let commands = of_procfile(folder.path());
        let found: Vec<_> = commands.iter().map(|command| (&*command.name, &*command.line)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn further_lines_of_a_procfile_run_beside_the_site() {
        let worker = ("worker", "celery -A shop worker");
        check(
            "web: ./serve\nrelease: migrate\nworker: celery -A shop worker\nbeat:celery beat\n",
            &[worker, ("beat", "celery beat")],
        );
        check("worker: x\nbeat: y\nworker: celery -A shop worker\n", &[("beat", "y"), worker]);
        check("# worker: x\n\nsite: x\nempty:\n: x\na b: x\n", &[]);
    }

    #[test]
    fn a_shell_becomes_a_command_or_waits_for_several() {
        for (line, expected) in [
            ("celery -A shop worker", "exec celery -A shop worker"),
            ("A=1 B=$C  bin/x --y=z", "A=1 B=$C exec bin/x --y=z"),
            ("exec x 'a b'", "exec x 'a b'"),
        ] {
            assert_eq!(shell_text(line), expected);
        }
        for line in ["cd x && ./y", "./y 'a  b'", "cd x", "A=1", "x # y"] {
            assert!(shell_text(line).contains(&format!("trap 'exit 143' TERM; {line}\n)")), "{line}");
        }
    }

    #[test]
    fn a_command_is_restarted_with_the_site() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(of_laravel(folder.path()), []);
        fs::create_dir_all(folder.path().join("vendor/laravel/framework")).unwrap();
        fs::write(folder.path().join("artisan"), "").unwrap();
        let commands = of_laravel(folder.path());
        let applications = applications(&commands, Path::new("/srv"), Some(("shop", "shop")), true);
        assert_eq!(applications["queue"]["with"], "site");
        assert_eq!(applications["queue"]["user"], "shop");
        assert_eq!(applications["scheduler"]["schedule"], "* * * * *");
    }
}
