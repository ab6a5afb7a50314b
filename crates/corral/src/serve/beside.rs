//! Commands that run beside a site: which, and what the user is told of them.

use std::path::PathBuf;

use serde_json::{Map, Value};

use crate::cli::RunOptions;
use crate::site::background::{self, Command};

/// Commands of the folder that is served.
#[derive(Default)]
pub(super) struct Beside {
    project: PathBuf,
    commands: Vec<Command>,
    /// Laravel has a queue and a schedule, and the command line does not ask for them.
    offers: bool,
}

impl Beside {
    pub(super) fn of(options: &RunOptions) -> Self {
        let folder = options.path.canonicalize().ok().filter(|path| path.is_dir() && !options.files);
        let Some(project) = folder else { return Self::default() };
        let mut commands = background::of_procfile(&project);
        let of_laravel = background::of_laravel(&project);
        let offers = !options.background && commands.is_empty() && !of_laravel.is_empty();
        if options.background {
            let known: Vec<_> = commands.iter().map(|command| command.name.clone()).collect();
            commands.extend(of_laravel.into_iter().filter(|command| !known.contains(&command.name)));
        }
        Self { project, commands, offers }
    }

    /// Adds them to the document of the site.
    pub(super) fn add(&self, document: &mut Value, owner: Option<(&str, &str)>) {
        if self.commands.is_empty() {
            return;
        }
        let has_site = document["applications"].is_object();
        let further = background::applications(&self.commands, &self.project, owner, has_site);
        let applications = &mut document["applications"];
        match applications.as_object_mut() {
            Some(applications) => applications.extend(further),
            None => *applications = Value::Object(further.into_iter().collect::<Map<_, _>>()),
        }
    }

    pub(super) fn notice(&self) -> String {
        let names: Vec<_> = self.commands.iter().map(|command| &*command.name).collect();
        match (names.is_empty(), self.offers) {
            (false, _) => format!("beside: {}\n", names.join(", ")),
            (true, true) => {
                "note: Laravel's queue and scheduler do not run; --background starts them\n".to_owned()
            }
            (true, false) => String::new(),
        }
    }
}
