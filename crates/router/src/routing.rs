//! From a listener's `pass` to the action that answers the request. Pure.

use corral_config::Config;
use corral_config::route::{Action, Destination, Facts, Return, Share};
use corral_config::template::Variables;

/// Actions that one request may go through (UNIT-COMPAT 9).
const MAX_ACTIONS: usize = 256;

/// What answers a request.
#[derive(Debug)]
pub(crate) enum Target<'c> {
    /// The application and the target with these indices.
    Application {
        app: usize,
        target: u16,
    },
    Return(&'c Return),
    Share(&'c Share),
    /// Nothing does; the status says why.
    Nothing(u16),
}

/// Follows a `pass` through the routes.
pub(crate) fn follow<'c>(
    config: &'c Config,
    pass: &'c Destination,
    facts: &Facts<'_>,
    variables: &mut dyn Variables,
) -> Target<'c> {
    let mut pass = pass;
    for _ in 0..MAX_ACTIONS {
        match step(config, pass, facts, variables) {
            Ok(Action::Pass(next)) => pass = next,
            Ok(Action::Return(answer)) => return Target::Return(answer),
            Ok(Action::Share(share)) => return Target::Share(share),
            Err(target) => return target,
        }
    }
    Target::Nothing(500)
}

/// Follows an action that was reached otherwise, such as a `fallback`.
pub(crate) fn follow_action<'c>(
    config: &'c Config,
    action: &'c Action,
    facts: &Facts<'_>,
    variables: &mut dyn Variables,
) -> Target<'c> {
    match action {
        Action::Pass(pass) => follow(config, pass, facts, variables),
        Action::Return(answer) => Target::Return(answer),
        Action::Share(share) => Target::Share(share),
    }
}

fn step<'c>(
    config: &'c Config,
    pass: &Destination,
    facts: &Facts<'_>,
    variables: &mut dyn Variables,
) -> Result<&'c Action, Target<'c>> {
    match pass {
        Destination::Application { app, target } => Err(Target::Application { app: *app, target: *target }),
        Destination::Route(route) => first_match(config, *route, facts),
        Destination::Template(template) => {
            let mut text = Vec::new();
            template.render(variables, &mut text);
            match config.resolve(&text) {
                Some(Destination::Application { app, target }) => Err(Target::Application { app, target }),
                Some(Destination::Route(route)) => first_match(config, route, facts),
                Some(Destination::Template(_)) | None => Err(Target::Nothing(404)),
            }
        }
    }
}

fn first_match<'c>(config: &'c Config, route: usize, facts: &Facts<'_>) -> Result<&'c Action, Target<'c>> {
    let steps = config.routes.get(route).map_or(&[][..], |route| &route.steps);
    let step = steps.iter().find(|step| step.conditions.matches(facts));
    step.map(|step| &step.action).ok_or(Target::Nothing(404))
}
