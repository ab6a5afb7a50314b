//! From a listener's `pass` to the action that answers the request. Pure.

use corral_config::Config;
use corral_config::route::{Action, ActionKind, Destination, Facts, Return, Share};
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
    /// The servers with this index in `Config::upstreams`.
    Upstream(usize),
    /// The server with this index in `Config::proxies`.
    Proxy(usize),
    /// Nothing does; the status says why.
    Nothing(u16),
}

/// What answers a request, and the last action on the way there: its options are those that count.
#[derive(Debug)]
pub(crate) struct Found<'c> {
    pub(crate) target: Target<'c>,
    pub(crate) action: Option<&'c Action>,
}

/// Follows a `pass` through the routes.
pub(crate) fn follow<'c>(
    config: &'c Config,
    pass: &'c Destination,
    facts: &Facts<'_>,
    variables: &mut dyn Variables,
) -> Found<'c> {
    follow_from(config, pass, None, facts, variables)
}

/// Follows an action that was reached otherwise, such as a `fallback`.
pub(crate) fn follow_action<'c>(
    config: &'c Config,
    action: &'c Action,
    facts: &Facts<'_>,
    variables: &mut dyn Variables,
) -> Found<'c> {
    match take(action) {
        Ok(pass) => follow_from(config, pass, Some(action), facts, variables),
        Err(target) => Found { target, action: Some(action) },
    }
}

fn follow_from<'c>(
    config: &'c Config,
    pass: &'c Destination,
    action: Option<&'c Action>,
    facts: &Facts<'_>,
    variables: &mut dyn Variables,
) -> Found<'c> {
    let (mut pass, mut action) = (pass, action);
    for _ in 0..MAX_ACTIONS {
        let taken = step(config, pass, facts, variables).and_then(|next| {
            action = Some(next);
            take(next)
        });
        match taken {
            Ok(next) => pass = next,
            Err(target) => return Found { target, action },
        }
    }
    Found { target: Target::Nothing(500), action }
}

/// Where an action passes the request on to, or what it does with it.
fn take(action: &Action) -> Result<&Destination, Target<'_>> {
    match &action.kind {
        ActionKind::Pass(pass) => Ok(pass),
        ActionKind::Return(answer) => Err(Target::Return(answer)),
        ActionKind::Share(share) => Err(Target::Share(share)),
        ActionKind::Proxy(proxy) => Err(Target::Proxy(*proxy)),
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
        Destination::Upstream(upstream) => Err(Target::Upstream(*upstream)),
        Destination::Route(route) => first_match(config, *route, facts),
        Destination::Template(template) => {
            let mut text = Vec::new();
            if let Err(exception) = template.render(variables, &mut text) {
                tracing::error!("{exception}");
                return Err(Target::Nothing(500));
            }
            match config.resolve(&text) {
                Some(Destination::Application { app, target }) => Err(Target::Application { app, target }),
                Some(Destination::Route(route)) => first_match(config, route, facts),
                Some(Destination::Upstream(upstream)) => Err(Target::Upstream(upstream)),
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
