//! `proxy` and the options of requests to servers, which an action has in `proxy_options` and an upstream
//! among its own members (contract 13).

use super::advice;
use super::context::Context;
use super::scalars::{INT_MAX, MAX_SECONDS, integer, seconds};
use super::schema::{self, BOOL, Field, INTEGER, Member, OBJECT, STRING};
use super::strings::name;
use crate::json::Value;
use crate::upstream::{KeepAlive, Origin, ProxyOptions, Timeouts, Upstream, UpstreamTls};

/// What `proxy` and `proxy_options` say.
#[derive(Default)]
pub(super) struct ProxyDraft {
    origin: Option<Origin>,
    options: ProxyOptions,
}

impl ProxyDraft {
    pub(super) fn into_upstream(self) -> Option<Upstream> {
        let origin = self.origin?;
        Some(Upstream::single(origin.to_string(), origin, self.options))
    }
}

pub(super) const PROXY: &[Member<ProxyDraft>] = &[
    Member::optional("proxy", STRING, |cx, field, draft| {
        let text = field.value.as_bytes();
        draft.origin = text.and_then(|text| Origin::parse_url(text));
        if let (Some(text), None) = (text, &draft.origin) {
            let meant = Origin::meant(text).map(|origin| origin.to_string());
            let detail = format!("The \"proxy\" address is invalid \"{text}\"");
            cx.problem_that_means(detail, advice::PROXY, meant);
        }
    }),
    Member::optional("proxy_options", OBJECT, |cx, field, draft| {
        schema::read_nested(cx, field, &[OPTIONS], &mut draft.options);
    }),
];

/// Options that every request to a server has.
pub(super) const OPTIONS: &[Member<ProxyOptions>] = &[
    Member::optional("timeouts", OBJECT, |cx, field, options| {
        schema::read_nested(cx, field, &[TIMEOUTS], &mut options.timeouts);
    }),
    Member::optional("keepalive", OBJECT, |cx, field, options| {
        schema::read_nested(cx, field, &[KEEPALIVE], &mut options.keepalive);
    }),
    Member::optional("tls", OBJECT, |cx, field, options| {
        schema::read_nested(cx, field, &[TLS], &mut options.tls);
    }),
    Member::optional("forwarded_headers", BOOL, |_, field, options| {
        options.hide_client = *field.value == Value::Bool(false);
    }),
];

const TIMEOUTS: &[Member<Timeouts>] = &[
    Member::optional("connect", INTEGER, |cx, field, timeouts| {
        timeouts.connect = seconds(cx, field, 1..=MAX_SECONDS).unwrap_or(timeouts.connect);
    }),
    Member::optional("send", INTEGER, |cx, field, timeouts| {
        timeouts.send = seconds(cx, field, 1..=MAX_SECONDS).unwrap_or(timeouts.send);
    }),
    Member::optional("response", INTEGER, |cx, field, timeouts| {
        timeouts.response = seconds(cx, field, 1..=MAX_SECONDS).unwrap_or(timeouts.response);
    }),
    Member::optional("read", INTEGER, |cx, field, timeouts| {
        timeouts.read = seconds(cx, field, 1..=MAX_SECONDS).unwrap_or(timeouts.read);
    }),
    Member::optional("tunnel", INTEGER, |cx, field, timeouts| {
        timeouts.tunnel = seconds(cx, field, 1..=MAX_SECONDS).unwrap_or(timeouts.tunnel);
    }),
];

const KEEPALIVE: &[Member<KeepAlive>] = &[
    Member::optional("connections", INTEGER, |cx, field, keepalive| {
        keepalive.connections = number(cx, field).unwrap_or_default();
    }),
    Member::optional("idle_timeout", INTEGER, |cx, field, keepalive| {
        keepalive.idle_timeout = seconds(cx, field, 1..=MAX_SECONDS).unwrap_or(keepalive.idle_timeout);
    }),
    Member::optional("requests", INTEGER, |cx, field, keepalive| {
        keepalive.requests = number(cx, field).unwrap_or_default();
    }),
];

/// How a server at `https://` is spoken to.
pub(super) const TLS: &[Member<UpstreamTls>] = &[
    Member::optional("verify", BOOL, |_, field, tls| tls.verify = *field.value == Value::Bool(true)),
    Member::optional("ca", STRING, |cx, field, tls| {
        tls.ca = name(cx, field);
        if let Some(bundle) = &tls.ca {
            cx.certificate(bundle);
        }
    }),
    Member::optional("server_name", STRING, |cx, field, tls| tls.server_name = name(cx, field)),
];

fn number(cx: &mut Context<'_>, field: Field<'_>) -> Option<u32> {
    integer(cx, field, 0..=INT_MAX).and_then(|number| u32::try_from(number).ok())
}
