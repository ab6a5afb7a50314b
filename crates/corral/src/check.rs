//! `corral check`: everything that is wrong with a configuration file, without a daemon.

use std::path::Path;
use std::process::ExitCode;

use corral_config::{Known, KnownModule, json, validate};
use corral_supervisor::modules;

use crate::cli::CheckOptions;
use crate::{client, daemon};

pub(crate) fn command(options: &CheckOptions) -> anyhow::Result<ExitCode> {
    let text = client::read_input(&options.file)?;
    let folder = options.modulesdir.clone().map_or_else(daemon::own_folder, Ok)?;
    let problems = problems(&text, &known(&folder));
    let name = if options.file == Path::new("-") {
        "standard input".into()
    } else {
        options.file.display().to_string()
    };
    if problems.is_empty() {
        println!("{name}: the configuration is valid");
        return Ok(ExitCode::SUCCESS);
    }
    for problem in problems {
        eprintln!("{name}{problem}");
    }
    Ok(ExitCode::FAILURE)
}

/// The modules of this machine. Without any, a file for another machine is checked: any module will do.
fn known(folder: &Path) -> Known {
    let found = modules::detect(folder, None).unwrap_or_default().modules;
    if found.is_empty() {
        return Known::validated_elsewhere();
    }
    let module = |module: corral_ipc::message::Module| KnownModule {
        language: module.language,
        version: module.version,
        path: module.path,
    };
    let known = Known::modules(found.into_iter().map(module).collect());
    known.with_confinement(corral_sys::confined::can_confine())
}

/// One line for each problem, to stand behind the name of the file.
fn problems(text: &[u8], known: &Known) -> Vec<String> {
    match json::parse(text) {
        Ok(document) => match validate(&document, known) {
            Ok(_) => Vec::new(),
            Err(problems) => problems.iter().map(|problem| format!(": {problem}")).collect(),
        },
        Err(error) => {
            let place = match error.position {
                Some((line, column)) => format!(":{line}:{column}"),
                None => format!(": byte {}", error.offset),
            };
            vec![format!("{place}: {}", error.detail)]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let found = problems(text.as_bytes(), &Known::validated_elsewhere());
        assert_eq!(found.len(), expected.len(), "{found:#?}");
        for (found, expected) in found.iter().zip(expected) {
            assert!(found.starts_with(expected), "{found}");
        }
    }

    #[test]
    fn all_problems_are_listed() {
        check("{}", &[]);
        check("{\"listeners\": {}, \"routes\": [], \"applications\": {}}", &[]);
        check("{\n  \"listeners\": {}\n  \"routes\": []\n}", &[":3:3: "]);
        check("{\"lisners\": {}, \"rutes\": []}", &[": /lisners: ", ": /rutes: "]);
    }
}
