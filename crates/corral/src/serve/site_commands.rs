//! Commands that run beside a site: which, and what the user is told of them.

use std::path::PathBuf;

use serde_json::{Map, Value};

use super::options::RunOptions;
use crate::site::background::{self, SiteCommand};
use crate::site::{Site, SiteKind};

/// The presence of Laravel, and what the command line asks for.
#[derive(Default)]
enum Laravel {
    /// No notice is needed.
    #[default]
    Settled,
    /// Laravel has a queue and a schedule, for which nothing asks.
    Offered,
    /// They are asked for and not there.
    Missing,
}

/// Commands of the folder that is served.
#[derive(Default)]
pub(super) struct SiteCommands {
    project: PathBuf,
    commands: Vec<SiteCommand>,
    /// Laravel's queue and schedule.
    laravel: Laravel,
}

impl SiteCommands {
    pub(super) fn of(options: &RunOptions, site: &Site) -> Self {
        let folder = match site.kind {
            SiteKind::Program(_) => Some(site.root.clone()),
            _ => options.path.canonicalize().ok().filter(|path| path.is_dir() && !options.files),
        };
        let Some(project) = folder else { return Self::default() };
        let mut commands = background::of_procfile(&project);
        let of_laravel = background::of_laravel(&project);
        let laravel = match (options.background, of_laravel.is_empty()) {
            (true, true) => Laravel::Missing,
            (false, false) if commands.is_empty() => Laravel::Offered,
            _ => Laravel::Settled,
        };
        if options.background {
            let known: Vec<_> = commands.iter().map(|command| command.name.clone()).collect();
            commands.extend(of_laravel.into_iter().filter(|command| !known.contains(&command.name)));
        }
        Self { project, commands, laravel }
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
        let beside = if names.is_empty() { String::new() } else { format!("beside: {}\n", names.join(", ")) };
        let note = match self.laravel {
            Laravel::Settled => "",
            Laravel::Offered => "note: Laravel's queue and scheduler do not run; --background starts them\n",
            Laravel::Missing => {
                "note: there is no Laravel here, whose queue and scheduler --background starts\n"
            }
        };
        beside + note
    }
}
