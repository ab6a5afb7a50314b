//! The options of `unitd` (contract 1.2): option and value are separate arguments. One table says
//! what there is; the parser and the help text follow from it.

use std::ffi::{OsStr, OsString};
use std::fmt::Write;
use std::path::PathBuf;

use anyhow::bail;
use clap::{Arg, ArgAction};

use super::Flavour;

/// The action that the command line asks for.
#[derive(Debug)]
pub(super) enum StartRequest {
    Help,
    Version,
    Run(Box<GivenOptions>),
}

/// The options as they were given.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct GivenOptions {
    pub(super) control: Option<String>,
    pub(super) control_mode: Option<u32>,
    pub(super) control_user: Option<String>,
    pub(super) control_group: Option<String>,
    pub(super) control_token_file: Option<PathBuf>,
    pub(super) control_read_token_file: Option<PathBuf>,
    pub(super) user: Option<String>,
    pub(super) group: Option<String>,
    pub(super) pid_file: Option<PathBuf>,
    pub(super) log: Option<PathBuf>,
    pub(super) modules_dir: Option<PathBuf>,
    pub(super) state_dir: Option<PathBuf>,
    pub(super) temp_dir: Option<PathBuf>,
    /// Configuration files and folders, in the order of the options.
    pub(super) config: Vec<PathBuf>,
    pub(super) no_daemon: bool,
    /// Look for changes of the configuration files.
    pub(super) watch: bool,
    /// Let the control API change a configuration that comes from files.
    pub(super) config_writable: bool,
    /// Lines about options that should not be used any more.
    pub(super) warnings: Vec<String>,
}

/// One option with a value.
struct Valued {
    name: &'static str,
    /// A description of the value, for `option "--X" requires …`.
    value: &'static str,
    help: &'static str,
    set: fn(&mut GivenOptions, &OsStr) -> anyhow::Result<()>,
}

macro_rules! text {
    ($field:ident) => {
        |given, value| {
            given.$field = Some(value.to_string_lossy().into_owned());
            Ok(())
        }
    };
}

macro_rules! path {
    ($field:ident) => {
        |given, value| {
            given.$field = Some(value.into());
            Ok(())
        }
    };
}

const VALUED: &[Valued] = &[
    Valued {
        name: "--control",
        value: "socket address",
        help: "address of the control API: unix:PATH, unix:@NAME, ADDRESS:PORT",
        set: text!(control),
    },
    Valued {
        name: "--control-mode",
        value: "a mode",
        help: "permissions of the control socket's file, octal (default: 0600)",
        set: set_mode,
    },
    Valued {
        name: "--control-user",
        value: "a username",
        help: "owner of the control socket's file",
        set: text!(control_user),
    },
    Valued {
        name: "--control-group",
        value: "a group name",
        help: "group of the control socket's file",
        set: text!(control_group),
    },
    Valued {
        name: "--control-token-file",
        value: "filename",
        help: "file with the token that requests to the control API have to show",
        set: path!(control_token_file),
    },
    Valued {
        name: "--control-read-token-file",
        value: "filename",
        help: "file with another token, for requests that change nothing",
        set: path!(control_read_token_file),
    },
    Valued { name: "--pid", value: "filename", help: "file for the process id", set: path!(pid_file) },
    Valued { name: "--log", value: "filename", help: "file for the log", set: path!(log) },
    Valued {
        name: "--modulesdir",
        value: "directory",
        help: "folder of the language modules, corral-* (default: beside this executable)",
        set: path!(modules_dir),
    },
    Valued {
        name: "--statedir",
        value: "directory",
        help: "folder of the stored configuration",
        set: path!(state_dir),
    },
    Valued {
        name: "--config",
        value: "file or directory",
        help: "configuration, in place of the stored one: JSON, YAML or a folder; can be given several times",
        set: |given, value| {
            given.config.push(value.into());
            Ok(())
        },
    },
    Valued {
        name: "--tmpdir",
        value: "directory",
        help: "folder for temporary files (default: /var/tmp)",
        set: path!(temp_dir),
    },
    Valued {
        name: "--user",
        value: "username",
        help: "one user for the daemon's own processes and for applications without \"user\" (default: two that \
            differ)",
        set: text!(user),
    },
    Valued {
        name: "--group",
        value: "group name",
        help: "group of the daemon's own processes and of applications without \"user\"",
        set: text!(group),
    },
];

/// One option without a value.
struct Flag {
    name: &'static str,
    help: &'static str,
    set: fn(&mut GivenOptions),
}

const FLAGS: &[Flag] = &[
    Flag { name: "--no-daemon", help: "stay in the foreground", set: |given| given.no_daemon = true },
    Flag {
        name: "--watch",
        help: "read the files of --config again when they change, not only on SIGHUP",
        set: |given| given.watch = true,
    },
    Flag {
        name: "--config-writable",
        help: "let the control API change what the files of --config say, until they are read again",
        set: |given| given.config_writable = true,
    },
];

/// Old names with the names that replaced them.
const SYNONYMS: &[(&str, &str)] =
    &[("--modules", "--modulesdir"), ("--state", "--statedir"), ("--tmp", "--tmpdir")];

fn set_mode(given: &mut GivenOptions, value: &OsStr) -> anyhow::Result<()> {
    let text = value.to_string_lossy();
    match u32::from_str_radix(&text, 8) {
        Ok(mode) if mode <= 0o777 => given.control_mode = Some(mode),
        _ => bail!("option \"--control-mode\" requires an octal mode such as 0660, not \"{text}\""),
    }
    Ok(())
}

/// Reads the arguments behind the program's name `name`.
pub(super) fn parse(name: &str, arguments: &[OsString]) -> anyhow::Result<StartRequest> {
    let mut given = GivenOptions::default();
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let text = argument.to_string_lossy();
        match &*text {
            "-h" | "--help" => return Ok(StartRequest::Help),
            "--version" => return Ok(StartRequest::Version),
            text => {
                if let Some(flag) = FLAGS.iter().find(|flag| flag.name == text) {
                    (flag.set)(&mut given);
                    continue;
                }
                let current = SYNONYMS.iter().find(|(old, _)| *old == text).map(|(_, new)| *new);
                if let Some(new) = current {
                    given.warnings.push(format!("option \"{text}\" is deprecated; use \"{new}\" instead"));
                }
                let Some(option) = VALUED.iter().find(|option| option.name == current.unwrap_or(text)) else {
                    bail!("unknown option \"{text}\", try \"{name} -h\" for available options");
                };
                let Some(value) = arguments.next() else {
                    bail!("option \"{text}\" requires {}", option.value);
                };
                (option.set)(&mut given, value)?;
            }
        }
    }
    if given.config.is_empty() && (given.watch || given.config_writable) {
        let name = if given.watch { "--watch" } else { "--config-writable" };
        bail!("option \"{name}\" is about configuration files and needs \"--config\"");
    }
    if given.control_read_token_file.is_some() && given.control_token_file.is_none() {
        bail!(
            "option \"--control-read-token-file\" needs \"--control-token-file\": without that, every client may \
             change everything"
        );
    }
    Ok(StartRequest::Run(Box::new(given)))
}

/// The help text.
pub(super) fn usage(name: &str, flavour: &Flavour) -> String {
    let mut text = format!("{name} options:\n\n");
    let mut line = |option: &str, help: &str| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {option:<36}{help}");
    };
    line("--version", "print the version and the defaults");
    for flag in FLAGS {
        line(flag.name, flag.help);
    }
    for option in VALUED {
        let value = option.value.rsplit(' ').next().unwrap_or_default().to_uppercase();
        line(&format!("{} {value}", option.name), &with_default(option, flavour));
    }
    line("-h, --help", "print this text");
    text
}

/// The same for manual pages and completions.
pub(super) fn definition(flavour: &Flavour) -> clap::Command {
    let flag = |name: &'static str, help: &'static str| {
        let name = name.trim_start_matches('-');
        Arg::new(name).long(name).help(help).action(ArgAction::SetTrue)
    };
    let valued = VALUED.iter().map(|option| {
        let name = option.name.trim_start_matches('-');
        let value = option.value.rsplit(' ').next().unwrap_or_default();
        Arg::new(name).long(name).value_name(value).help(with_default(option, flavour))
    });
    clap::Command::new("daemon")
        .arg(flag("--version", "print the version and the defaults"))
        .args(FLAGS.iter().map(|option| flag(option.name, option.help)))
        .args(valued)
}

fn with_default(option: &Valued, flavour: &Flavour) -> String {
    let default = match option.name {
        "--control" => flavour.control,
        "--pid" => flavour.pid_file,
        "--log" => flavour.log,
        "--statedir" => flavour.state_dir,
        _ => return option.help.to_owned(),
    };
    format!("{} (default: {default})", option.help)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> anyhow::Result<StartRequest> {
        let arguments: Vec<_> = text.split_ascii_whitespace().map(OsString::from).collect();
        parse("unitd", &arguments)
    }

    #[track_caller]
    fn check(text: &str, expected: &GivenOptions) {
        match parsed(text).unwrap() {
            StartRequest::Run(given) => assert_eq!(&*given, expected),
            request => panic!("{request:?}"),
        }
    }

    #[test]
    fn options_are_read() {
        check("", &GivenOptions::default());
        let control = Some("unix:/run/c.sock".to_owned());
        check(
            "--no-daemon --control unix:/run/c.sock",
            &GivenOptions { no_daemon: true, control, ..GivenOptions::default() },
        );
        let files = GivenOptions {
            pid_file: Some("/a".into()),
            log: Some("/b".into()),
            modules_dir: Some("/c".into()),
            state_dir: Some("/d".into()),
            temp_dir: Some("/e".into()),
            ..GivenOptions::default()
        };
        check("--pid /a --log /b --modulesdir /c --statedir /d --tmpdir /e", &files);
        let people = GivenOptions {
            user: Some("u".into()),
            group: Some("g".into()),
            control_user: Some("cu".into()),
            control_group: Some("cg".into()),
            control_mode: Some(0o660),
            ..GivenOptions::default()
        };
        check("--user u --group g --control-user cu --control-group cg --control-mode 660", &people);
        check("--user a --user b", &GivenOptions { user: Some("b".into()), ..GivenOptions::default() });
    }

    #[test]
    fn a_token_for_reading_needs_one_for_changes() {
        let both = GivenOptions {
            control_token_file: Some("/a".into()),
            control_read_token_file: Some("/b".into()),
            ..GivenOptions::default()
        };
        check("--control-read-token-file /b --control-token-file /a", &both);
        let error = parsed("--control-read-token-file /b").unwrap_err().to_string();
        assert!(error.contains("needs \"--control-token-file\""), "{error}");
    }

    #[test]
    fn old_names_work_and_are_told() {
        let warnings = vec![
            "option \"--modules\" is deprecated; use \"--modulesdir\" instead".to_owned(),
            "option \"--state\" is deprecated; use \"--statedir\" instead".to_owned(),
            "option \"--tmp\" is deprecated; use \"--tmpdir\" instead".to_owned(),
        ];
        let given = GivenOptions {
            modules_dir: Some("/c".into()),
            state_dir: Some("/d".into()),
            temp_dir: Some("/e".into()),
            warnings,
            ..GivenOptions::default()
        };
        check("--modules /c --state /d --tmp /e", &given);
    }

    #[track_caller]
    fn check_error(text: &str, expected: &str) {
        assert_eq!(parsed(text).unwrap_err().to_string(), expected);
    }

    #[test]
    fn mistakes_are_named() {
        check_error("--control", "option \"--control\" requires socket address");
        check_error("--no-daemon --statedir", "option \"--statedir\" requires directory");
        check_error("--state", "option \"--state\" requires directory");
        check_error("--user", "option \"--user\" requires username");
        check_error("--wrong", "unknown option \"--wrong\", try \"unitd -h\" for available options");
        check_error("--log=/x", "unknown option \"--log=/x\", try \"unitd -h\" for available options");
        check_error("x", "unknown option \"x\", try \"unitd -h\" for available options");
        for mode in ["9", "rw", "1777", "-1"] {
            let expected = "option \"--control-mode\" requires an octal mode such as 0660, not";
            check_error(&format!("--control-mode {mode}"), &format!("{expected} \"{mode}\""));
        }
    }

    #[test]
    fn help_and_version_come_first() {
        assert!(matches!(parsed("--no-daemon -h --wrong").unwrap(), StartRequest::Help));
        assert!(matches!(parsed("--version").unwrap(), StartRequest::Version));
        let usage = usage("unitd", &Flavour::unit());
        assert!(VALUED.iter().all(|option| usage.contains(option.name)));
    }
}
