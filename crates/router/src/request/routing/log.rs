//! The lines of `settings.http.log_route` (contract 2.3).

use corral_config::route::{Facts, Route, RouteStep, Undecided};

/// As `Route::choose`, with a line for each step on the way.
pub(crate) fn choose<'r, F: Facts>(
    route: &'r Route,
    facts: &mut F,
) -> Result<Option<&'r RouteStep>, Undecided> {
    for (idx, step) in route.steps().iter().enumerate() {
        let separator = if route.name().is_some() { "/" } else { "" };
        let name = route.name().unwrap_or_default();
        if step.conditions.matches(facts)? {
            tracing::info!(target: "notice", "\"routes{separator}{name}/{idx}\" selected");
            return Ok(Some(step));
        }
        tracing::info!("\"routes{separator}{name}/{idx}\" discarded");
    }
    Ok(None)
}

pub(crate) fn rewritten(path: &[u8], query: Option<&[u8]>) {
    let mark = if query.is_some() { "?" } else { "" };
    let (path, query) = (path.escape_ascii(), query.unwrap_or_default().escape_ascii());
    tracing::info!(target: "notice", "URI rewritten to \"{path}{mark}{query}\"");
}

/// The line that begins the story of a request.
pub(crate) fn request(line: &[u8]) {
    tracing::info!(target: "notice", "http request line \"{}\"", line.escape_ascii());
}

pub(crate) fn fallback() {
    tracing::info!(target: "notice", "\"fallback\" taken");
}
