//! `listeners` (contract 6).

use std::collections::HashSet;

use super::context::Context;
use super::destination::destination;
use super::layer4::Layer4Draft;
use super::scalars::{INT_MAX, integer};
use super::schema::{self, BOOL, Field, Member, NUMBER, OBJECT, Rows, STRING, optional};
use super::{advice, authentication, defaults, forms, forwarded, https_only, layer4, throttle, tls};
use crate::address::ListenAddress;
use crate::authentication::Authentication;
use crate::json::{Bytes, Value};
use crate::listener::{Forwarded, Http2, HttpsOnly, Listener};
use crate::pattern::address::AddressPatternSet;
use crate::route::{ActionOptions, Destination};
use crate::table::Key;
use crate::throttle::Throttle;
use crate::tls::TlsSettings;

/// Reads all listeners; those that are wrong are left out.
pub(super) fn read(cx: &mut Context<'_>, field: Field<'_>) -> Vec<Listener> {
    let mut listeners: Vec<Listener> = Vec::new();
    let mut addresses = HashSet::new();
    for (name, value) in field.value.as_object().into_iter().flatten() {
        cx.at(name, |cx| {
            let Some(listener) = read_listener(cx, name, value) else { return };
            if !addresses.insert(listener.address.clone()) {
                cx.problem(format!(
                    "The listener address \"{name}\" is the same as that of another listener."
                ));
            }
            listeners.push(listener);
        });
    }
    listeners
}

fn read_listener(cx: &mut Context<'_>, name: &Bytes, value: &Value) -> Option<Listener> {
    let address = ListenAddress::parse_listener(name);
    if address.is_none() {
        let meant = ListenAddress::meant(name).map(|address| address.to_string());
        cx.problem_that_means(
            format!("The listener address \"{name}\" is invalid."),
            advice::LISTENER,
            meant,
        );
    }
    let Some(members) = value.as_object() else {
        let detail = schema::wrong_type(&name.to_string_lossy(), OBJECT, value);
        cx.problem_with_advice(detail, forms::LISTENER);
        return None;
    };
    let mut draft = ListenerDraft::default();
    let mut raw = Layer4Draft::default();
    let mut requests = Rows { tables: &[LISTENER], draft: &mut draft };
    let mut connections = Rows { tables: &[layer4::OPTIONS], draft: &mut raw };
    schema::read_parts(cx, members, &mut [&mut requests, &mut connections]);
    let address = address.and_then(|address| layer4::address(cx, address, &mut raw));
    let names =
        LISTENER.iter().map(|row| row.label.name).chain(layer4::OPTIONS.iter().map(|row| row.label.name));
    let names: Vec<_> = names.collect();
    layer4::report_what_is_for_others(cx, members, &raw, |name| {
        names.iter().any(|known| known.as_bytes() == name)
    });
    let leads = [b"pass".as_slice(), b"application", b"sni"];
    if !leads.iter().any(|name| members.contains_key(*name)) {
        cx.late_problem("The listener must have the \"pass\" option set.");
    }
    let ListenerDraft {
        pass,
        application,
        backlog,
        tls,
        https_only,
        http2,
        proxy_protocol,
        forwarded,
        client_ip,
        limits,
        authentication,
        defaults,
    } = draft;
    let forwarded = forwarded.into_iter().chain(client_ip).collect();
    let pass = pass.or(application);
    let layer4 = layer4::finish(cx, raw, pass.as_ref(), &limits);
    // Where there are servers for names alone, none of them is more than the others.
    let any = || layer4.as_ref().and_then(|layer4| layer4.sni.upstreams().next()).map(Destination::Upstream);
    let (address, pass) = (address?, pass.or_else(any)?);
    let defaults = defaults.map(|options| defaults::action(options, pass.clone()));
    Some(Listener {
        address,
        backlog,
        limits,
        authentication,
        pass,
        defaults,
        tls,
        https_only,
        http2,
        proxy_protocol,
        forwarded,
        layer4,
    })
}

#[derive(Default)]
struct ListenerDraft {
    pass: Option<Destination>,
    application: Option<Destination>,
    backlog: Option<u32>,
    tls: Option<TlsSettings>,
    https_only: Option<HttpsOnly>,
    http2: Http2,
    proxy_protocol: Option<AddressPatternSet>,
    forwarded: Option<Forwarded>,
    client_ip: Option<Forwarded>,
    limits: Vec<Key<Throttle>>,
    authentication: Option<Key<Authentication>>,
    defaults: Option<ActionOptions>,
}

const LISTENER: &[Member<ListenerDraft>] = &[
    optional("pass", STRING)
        .means(
            "`routes`, `routes/NAME`, `applications/NAME`, `applications/NAME/TARGET` or `upstreams/NAME`; \
             may hold [variables](routes.md#variables)",
        )
        .read(|cx, field, draft| draft.pass = destination(cx, field)),
    optional("application", STRING)
        .means("an application by its name alone, as old configurations have it")
        .read(|cx, field, draft| draft.application = application(cx, field)),
    optional("tls", OBJECT)
        .means("encryption by [TLS](tls.md)")
        .read(|cx, field, draft| draft.tls = tls::read(cx, field)),
    optional("https_only", BOOL.or(OBJECT))
        .default("`false`")
        .means(
            "[requests without TLS are redirected](tls.md#https-only) to where they have it, and replies with TLS tell \
             browsers to use nothing else (beyond Unit)",
        )
        .read(|cx, field, draft| draft.https_only = https_only::read(cx, field)),
    optional("http2", BOOL.or(STRING))
        .default("`true`")
        .means(
            "[HTTP/2](http2.md) for connections with TLS; `\"prior_knowledge\"`: without TLS as well; `false`: not at \
             all (beyond Unit)",
        )
        .read(http2),
    optional("proxy_protocol", OBJECT)
        .means(
            "[the client's address](clients.md#the-proxy-protocol) when a proxy tells it at the beginning of a \
             connection (beyond Unit)",
        )
        .read(|cx, field, draft| draft.proxy_protocol = forwarded::read_proxy_protocol(cx, field)),
    optional("forwarded", OBJECT)
        .means("[the client's address and scheme](clients.md#request-headers) when a proxy tells them in request \
            headers")
        .read(|cx, field, draft| draft.forwarded = forwarded::read(cx, field)),
    optional("client_ip", OBJECT)
        .means("the same as [older configurations](clients.md#request-headers) have it")
        .read(|cx, field, draft| draft.client_ip = forwarded::read_legacy(cx, field)),
    throttle::REQUESTS.read(|cx, field, draft| throttle::requests(cx, field, &mut draft.limits)),
    throttle::CONNECTIONS.read(|cx, field, draft| throttle::connections(cx, field, &mut draft.limits)),
    authentication::AUTHENTICATE.read(|cx, field, draft| draft.authentication = authentication::read(cx, field)),
    defaults::OF_LISTENER.read(|cx, field, draft| draft.defaults = Some(defaults::read(cx, field))),
    optional("backlog", NUMBER)
        .default("the system's maximum")
        .means("connections that may wait to be accepted")
        .read(|cx, field, draft| {
            // -1 means the operating system's maximum, as does no number at all.
            draft.backlog = integer(cx, field, -1..=INT_MAX).and_then(|number| u32::try_from(number).ok());
        }),
];

/// `true`, `false` or `"prior_knowledge"`.
fn http2(cx: &mut Context<'_>, field: Field<'_>, draft: &mut ListenerDraft) {
    draft.http2 = match field.value {
        Value::Bool(true) => Http2::WithTls,
        Value::Bool(false) => Http2::Off,
        Value::String(word) if **word == *b"prior_knowledge" => Http2::PriorKnowledge,
        _ => return cx.problem("The \"http2\" value must be true, false or \"prior_knowledge\"."),
    };
}

/// The old spelling of `pass: applications/NAME`.
fn application(cx: &mut Context<'_>, field: Field<'_>) -> Option<Destination> {
    let name = field.value.as_bytes()?;
    let Some(idx) = cx.destinations.applications.get_index_of(&**name) else {
        cx.problem(format!("Listening socket is assigned for a non existing application \"{name}\"."));
        return None;
    };
    Some(Destination::Application { app: Key::nth(idx), target: 0 })
}
