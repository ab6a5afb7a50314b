//! Destinations of requests by their names: `pass`, and upstreams.

use super::context::{Context, nearest};
use super::schema::Field;
use super::strings::template;
use crate::destination::{PassError, UpstreamProtocol};
use crate::route::Destination;
use crate::table::Key;
use crate::upstream::Upstream;

/// The destination of requests that `pass` names.
pub(super) fn request_destination(cx: &mut Context<'_>, field: Field<'_>) -> Option<Destination> {
    let destination = destination(cx, field);
    if let Some(destination) = &destination {
        check_takes_requests(cx, destination);
    }
    destination
}

/// Reports servers that get connections alone.
pub(super) fn check_takes_requests(cx: &mut Context<'_>, destination: &Destination) {
    if let Destination::Upstream(upstream) = destination
        && cx.destinations.protocols.get(*upstream) == Some(&UpstreamProtocol::Tcp)
    {
        cx.problem_with_advice(
            "The servers of this upstream get no requests, as its \"protocol\" is \"tcp\".",
            "Leave that out for servers of HTTP; for others, name the upstream in a listener whose \"protocol\" is \
             \"tcp\".",
        );
    }
}

/// The destination that `pass` names; a text with variables is looked up for each request.
pub(super) fn destination(cx: &mut Context<'_>, field: Field<'_>) -> Option<Destination> {
    let template = template(cx, field)?;
    let text = field.value.as_bytes()?;
    if crate::template::Template::is_dynamic(text) {
        return Some(Destination::Template(template));
    }
    let error = match cx.destinations.resolve(text) {
        Ok(destination) => return Some(destination),
        Err(error) => error,
    };
    let detail = match error {
        PassError::Malformed => format!("Request \"pass\" value \"{text}\" is invalid."),
        PassError::Background => {
            format!("Request \"pass\" points to \"{text}\", which no listener reaches.")
        }
        PassError::Unknown => format!("Request \"pass\" points to invalid location \"{text}\"."),
    };
    let known = cx.destinations;
    let text = text.to_string_lossy();
    if error == PassError::Background {
        let advice =
            "A command of type \"process\" gets no requests. A program that serves HTTP is of type \"http\".";
        cx.problem_with_advice(detail, advice);
        return None;
    }
    let meant = cx.search(|| known.meant(&text, |text, known| nearest(text, known.iter())));
    let advice = if meant.is_none() { destination_advice(&text, &known.few()) } else { String::new() };
    cx.problem_that_means(detail, advice, meant);
    None
}

/// The advice on a destination that is near none.
fn destination_advice(text: &str, known: &[String]) -> String {
    if text.contains("://") {
        return "A server is not a destination: pass to a route with \"proxy\", or to one of \"upstreams\"."
            .to_owned();
    }
    match known {
        [] => "A destination is \"routes\", \"routes/NAME\", \"applications/NAME\", \"applications/NAME/TARGET\" or \
             \"upstreams/NAME\"."
            .to_owned(),
        known => format!("There is \"{}\".", known.join("\", \"")),
    }
}

/// The upstream that a text names.
pub(super) fn named_upstream(cx: &mut Context<'_>, field: Field<'_>, advice: &str) -> Option<Key<Upstream>> {
    let known = cx.destinations;
    let text = field.value.as_bytes()?;
    if let Ok(Destination::Upstream(idx)) = known.resolve(text) {
        return Some(idx);
    }
    let written = text.to_string_lossy();
    let meant = cx.search(|| known.meant(&written, |text, known| nearest(text, known.iter())));
    cx.problem_that_means(format!("There is no upstream \"{text}\"."), advice, meant);
    None
}
