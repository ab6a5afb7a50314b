//! `settings.metrics` and `settings.dashboard` (beyond Unit).

use super::super::context::Context;
use super::super::schema::{self, ARRAY, Field, Member, OBJECT, STRING, optional, required};
use super::super::strings::string_array;
use super::super::{advice, tls};
use crate::address::ListenAddress;
use crate::control_service::{BearerToken, ControlDestination};
use crate::json::pointer;
use crate::listener::Listener;
use crate::problem::{Problem, Stage};
use crate::route::Destination;
use crate::settings::{DashboardSettings, METRIC_LABELS, MetricsSettings, Settings};
use crate::tls::TlsSettings;

pub(super) const METRICS: &[Member<MetricsSettings>] = &[
    optional("listen", STRING)
        .default("none")
        .means(
            "an address, as [listeners](../configuration/listeners.md) have, such as `127.0.0.1:9145`: `/metrics` \
             is served there, and nothing else",
        )
        .read(|cx, field, metrics| metrics.listen = address(cx, field)),
    optional("token", STRING)
        .default("none")
        .means(
            "a secret of at least 16 characters that collectors show at this address, as \
             `Authorization: Bearer TOKEN`",
        )
        .read(|cx, field, metrics| metrics.token = token(cx, field)),
    optional("without", ARRAY)
        .default("`[]`")
        .means("labels, such as `\"step\"`: series that have one of them are left out, in the control API as well")
        .read(|cx, field, metrics| metrics.without = string_array(cx, field, label)),
];

/// Reads `metrics`.
pub(super) fn metrics(cx: &mut Context<'_>, field: Field<'_>) -> MetricsSettings {
    let mut draft = MetricsSettings::default();
    schema::read_nested(cx, field, &[METRICS], &mut draft);
    if draft.token.is_some() && draft.listen.is_none() && !has_member(field, b"listen") {
        let advice = "Add \"listen\": the control API has its own token, and routes have \"authenticate\".";
        cx.problem_with_advice("The \"token\" of metrics is of no use without \"listen\".", advice);
    }
    draft
}

/// Reads `dashboard`.
pub(super) fn dashboard(cx: &mut Context<'_>, field: Field<'_>) -> Option<DashboardSettings> {
    let mut draft = DashboardDraft::default();
    schema::read_object(cx, field.value.as_object()?, &[DASHBOARD], &mut draft);
    let DashboardDraft { listen, tls, token, read_token } = draft;
    if token.is_some() && token == read_token {
        cx.problem("The \"read_token\" must be another one than the \"token\": it would change nothing.");
    }
    let listen = listen?;
    if tls.is_none() && !has_member(field, b"tls") && is_reached_by_others(&listen) {
        cx.problem_with_advice(
            format!(
                "The dashboard at \"{listen}\", which other machines reach, must have the \"tls\" option set."
            ),
            "Tokens would be sent in the clear. Or listen on \"127.0.0.1\" and reach it by \"ssh -L\".",
        );
    }
    Some(DashboardSettings { listen, tls, token: token?, read_token })
}

#[derive(Default)]
struct DashboardDraft {
    listen: Option<ListenAddress>,
    tls: Option<TlsSettings>,
    token: Option<BearerToken>,
    read_token: Option<BearerToken>,
}

const DASHBOARD: &[Member<DashboardDraft>] = &[
    required("listen", STRING)
        .means("an address, as [listeners](../configuration/listeners.md) have, that nothing else has")
        .read(|cx, field, draft| draft.listen = address(cx, field)),
    required("token", STRING)
        .means("a secret of at least 16 characters: clients that show it may change everything")
        .read(|cx, field, draft| draft.token = token(cx, field)),
    optional("read_token", STRING)
        .default("none")
        .means("another secret: clients that show that one see everything and change nothing")
        .read(|cx, field, draft| draft.read_token = token(cx, field)),
    optional("tls", OBJECT)
        .default("none")
        .means("[TLS](../configuration/tls.md), which an address that other machines reach has to have")
        .read(|cx, field, draft| draft.tls = tls::read(cx, field)),
];

/// Adds the listeners of settings; problems of addresses that others have.
pub(in super::super) fn add_listeners(listeners: &mut Vec<Listener>, settings: &Settings) -> Vec<Problem> {
    let metrics = settings.metrics.listen.iter().map(|address| {
        let listener = Listener::to_control(address.clone(), ControlDestination::MetricsListener, None);
        ("/settings/metrics", listener)
    });
    let dashboard = settings.dashboard.iter().map(|dashboard| {
        let DashboardSettings { listen, tls, .. } = dashboard;
        (
            "/settings/dashboard",
            Listener::to_control(listen.clone(), ControlDestination::Dashboard, tls.clone()),
        )
    });
    let mut problems = Vec::new();
    for (place, listener) in metrics.chain(dashboard) {
        match listeners.iter().find(|other| other.address == listener.address) {
            Some(other) => problems.push(is_taken(place, other)),
            None => listeners.push(listener),
        }
    }
    problems
}

fn is_taken(place: &str, other: &Listener) -> Problem {
    let advice = match other.pass {
        Destination::Control(_) => "Give each an address of its own.",
        _ => {
            "Choose another one, or serve metrics by a route of that listener: {\"action\": {\"metrics\": true}}."
        }
    };
    Problem {
        pointer: pointer::member(place, b"listen"),
        detail: format!("The address \"{}\" is that of another listener.", other.address),
        advice: advice.to_owned(),
        suggestion: None,
        stage: Stage::Validation,
    }
}

/// The address of a listener for connections.
fn address(cx: &mut Context<'_>, field: Field<'_>) -> Option<ListenAddress> {
    let text = field.value.as_bytes()?;
    let address = ListenAddress::parse(text);
    if address.is_none() {
        let meant = ListenAddress::meant(text).map(|address| address.to_string());
        let detail = format!("The listener address \"{text}\" is invalid.");
        cx.problem_that_means(detail, advice::LISTENER, meant);
    }
    address
}

/// A secret.
fn token(cx: &mut Context<'_>, field: Field<'_>) -> Option<BearerToken> {
    let token = BearerToken::new(field.value.as_bytes()?);
    if token.is_none() {
        let least = BearerToken::LEAST;
        cx.problem_with_advice(
            format!("The \"{}\" must have at least {least} characters of ASCII, without blanks.", field.name),
            "A good one is made by: openssl rand -hex 32",
        );
    }
    token
}

/// The name of a label that series have.
fn label(cx: &mut Context<'_>, field: Field<'_>) -> Option<String> {
    let text = field.value.as_bytes()?.to_string_lossy().into_owned();
    if METRIC_LABELS.contains(&text.as_str()) {
        return Some(text);
    }
    let detail = format!("No metric has the label \"{text}\".");
    cx.problem_with_suggestion(detail, &text, METRIC_LABELS.iter());
    None
}

/// Whether processes of other machines can connect.
fn is_reached_by_others(address: &ListenAddress) -> bool {
    match address {
        ListenAddress::Inet(address) | ListenAddress::Udp(address) => !address.ip().is_loopback(),
        ListenAddress::Unix(_) | ListenAddress::Abstract(_) => false,
    }
}

fn has_member(field: Field<'_>, name: &[u8]) -> bool {
    field.value.as_object().is_some_and(|members| members.contains_key(name))
}
