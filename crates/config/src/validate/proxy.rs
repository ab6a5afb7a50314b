//! `proxy` and the options of requests to servers, which an action has in `proxy_options` and an upstream
//! among its own members (contract 13).

use std::sync::Arc;

use super::advice;
use super::bounds;
use super::context::Context;
use super::local_address;
use super::rewrites;
use super::scalars::{INT_MAX, MAX_SECONDS, integer, seconds};
use super::schema::{self, ARRAY, BOOL, Field, INTEGER, Member, OBJECT, Rows, STRING, optional};
use super::strings::{name, one_or_more, template};
use crate::json::Value;
use crate::route::ActionKind;
use crate::template::Template;
use crate::upstream::{
    AllowedServers, DynamicProxy, KeepAlive, Origin, ProxyOptions, ResponseRewrites, Timeouts, Upstream,
    UpstreamTls,
};

/// The members `proxy` and `proxy_options`, as far as they were read.
#[derive(Default)]
pub(super) struct ProxyDraft {
    server: Option<ServerAddress>,
    allow: AllowedServers,
    options: ProxyOptions,
}

/// The server of an action.
enum ServerAddress {
    Fixed(Origin),
    /// The value of `proxy`, too.
    Dynamic(String, Template),
}

impl ProxyDraft {
    pub(super) fn into_action(mut self, cx: &mut Context<'_>) -> Option<ActionKind> {
        let server = self.server?;
        let fixed = match &server {
            ServerAddress::Fixed(origin) => Some(origin),
            ServerAddress::Dynamic(..) => None,
        };
        let speaks_http2 = self.options.http2;
        cx.at(b"proxy_options", |cx| {
            local_address::check(cx, &mut self.options, fixed.into_iter(), speaks_http2);
        });
        if self.allow.is_empty() != fixed.is_some() {
            cx.problem_with_advice(
                "An address with variables in \"proxy\" and \"allow\" in \"proxy_options\" go together.",
                "\"allow\" has the names and networks of the servers that requests may lead to: \
                 \"*.internal.example\", \"10.0.0.0/8\".",
            );
            return None;
        }
        let (allow, options) = (self.allow, self.options);
        Some(match server {
            ServerAddress::Fixed(origin) => {
                ActionKind::Proxy(cx.proxy(Upstream::single(origin.to_string(), origin, options)))
            }
            ServerAddress::Dynamic(name, url) => {
                let proxy = DynamicProxy { name, url, allow: Arc::new(allow), options };
                ActionKind::DynamicProxy(cx.tables.dynamic_proxies.push(proxy))
            }
        })
    }
}

pub(super) const PROXY: &[Member<ProxyDraft>] = &[
    optional("proxy", STRING)
        .default("required")
        .means(
            "the server: `http://HOST:PORT`, `https://HOST:PORT` or `http://unix:PATH`; HOST and PORT may have \
             [variables](#servers-that-requests-name)",
        )
        .read(|cx, field, draft| draft.server = server(cx, field)),
    optional("proxy_options", OBJECT)
        .means("[options](#options) of requests to it (beyond Unit)")
        .read(|cx, field, draft| {
            let Some(members) = field.value.as_object() else { return };
            let mut requests = Rows { tables: &[OPTIONS], draft: &mut draft.options };
            let mut allowed = Rows { tables: &[ALLOW], draft: &mut draft.allow };
            schema::read_parts(cx, members, &mut [&mut requests, &mut allowed]);
        }),
];

fn server(cx: &mut Context<'_>, field: Field<'_>) -> Option<ServerAddress> {
    let text = field.value.as_bytes()?;
    if Template::is_dynamic(text) {
        let url = template(cx, field)?;
        if !url.begins_with(b"http://") && !url.begins_with(b"https://") {
            cx.problem("A \"proxy\" address with variables must begin with \"http://\" or \"https://\".");
            return None;
        }
        return Some(ServerAddress::Dynamic(text.to_string_lossy().into_owned(), url));
    }
    let origin = Origin::parse_url(text);
    if origin.is_none() {
        let meant = Origin::meant(text).map(|origin| origin.to_string());
        let detail = format!("The \"proxy\" address is invalid \"{text}\"");
        cx.problem_that_means(detail, advice::PROXY, meant);
    }
    origin.map(ServerAddress::Fixed)
}

const ALLOW: &[Member<AllowedServers>] = &[optional("allow", STRING.or(ARRAY))
    .default("none")
    .means(
        "where `proxy` [has variables](#servers-that-requests-name): the servers that may be reached, as names, `*.` \
         and the end of names, addresses or networks",
    )
    .read(|cx, field, allow| {
        for entry in one_or_more(cx, field, name) {
            if !allow.add(&entry) {
                cx.problem(format!("The \"allow\" entry \"{entry}\" is neither a name of hosts nor a network."));
            }
        }
    })];

/// Options that every request to a server has.
pub(super) const OPTIONS: &[Member<ProxyOptions>] = &[
    optional("timeouts", OBJECT)
        .read(|cx, field, options| schema::read_nested(cx, field, &[TIMEOUTS], &mut options.timeouts)),
    optional("keepalive", OBJECT)
        .read(|cx, field, options| schema::read_nested(cx, field, &[KEEPALIVE], &mut options.keepalive)),
    optional("tls", OBJECT)
        .read(|cx, field, options| schema::read_nested(cx, field, &[TLS, OWN_CERTIFICATE], &mut options.tls)),
    optional("http2", BOOL)
        .default("`false`")
        .means("whether [HTTP/2](#http2-and-grpc) is spoken to the server")
        .read(|_, field, options| options.http2 = *field.value == Value::Bool(true)),
    optional("forwarded_headers", BOOL)
        .default("`true`")
        .means("whether headers such as `X-Forwarded-For` tell the server the client's address")
        .read(|_, field, options| options.hide_client = *field.value == Value::Bool(false)),
    optional("bind", STRING)
        .default("any")
        .means("the address of this machine that connections come from")
        .read(|cx, field, options| options.bind = local_address::bind(cx, field)),
    optional("proxy_protocol", INTEGER)
        .default("none")
        .means("1 or 2: each connection begins with a header of this version of the [PROXY protocol](#proxy-protocol)")
        .read(|cx, field, options| options.proxy_protocol = local_address::proxy_protocol(cx, field)),
    optional("rewrite_location", BOOL.or(OBJECT))
        .default("`false`")
        .means(
            "`true`: the server's own scheme, host and port [become the client's](#what-servers-say-of-themselves) in \
             `Location`, `Content-Location` and `Refresh`; or an object: beginnings of URLs with what they become, as \
             texts with variables",
        )
        .read(|cx, field, options| {
            if let Some(location) = rewrites::location(cx, field) {
                rewrites_of(options).location = Some(location);
            }
        }),
    optional("rewrite_cookies", OBJECT).read(|cx, field, options| {
        if let Some(cookies) = rewrites::cookies(cx, field) {
            rewrites_of(options).cookies = Some(cookies);
        }
    }),
];

fn rewrites_of(options: &mut ProxyOptions) -> &mut ResponseRewrites {
    Arc::make_mut(options.rewrites.get_or_insert_default())
}

const TIMEOUTS: &[Member<Timeouts>] = &[
    optional("connect", INTEGER)
        .default("60")
        .means("seconds for the connection, the look-up of its name and TLS")
        .read(|cx, field, timeouts| {
            timeouts.connect = seconds(cx, field, 1..=MAX_SECONDS).unwrap_or(timeouts.connect);
        }),
    optional("send", INTEGER).default("30").means("seconds between two writes of the request").read(
        |cx, field, timeouts| timeouts.send = seconds(cx, field, 1..=MAX_SECONDS).unwrap_or(timeouts.send),
    ),
    optional("response", INTEGER)
        .default("60")
        .means("seconds from the end of the request to the head of the response")
        .read(|cx, field, timeouts| {
            timeouts.response = seconds(cx, field, 1..=MAX_SECONDS).unwrap_or(timeouts.response);
        }),
    optional("read", INTEGER).default("30").means("seconds between two reads of the response's body").read(
        |cx, field, timeouts| timeouts.read = seconds(cx, field, 1..=MAX_SECONDS).unwrap_or(timeouts.read),
    ),
    optional("tunnel", INTEGER)
        .default("3600")
        .means("seconds without a byte in either direction of an upgraded connection")
        .read(|cx, field, timeouts| {
            timeouts.tunnel = seconds(cx, field, 1..=MAX_SECONDS).unwrap_or(timeouts.tunnel);
        }),
];

const KEEPALIVE: &[Member<KeepAlive>] = &[
    optional("connections", INTEGER)
        .at_most(bounds::KEPT_CONNECTIONS)
        .default("128")
        .means("idle connections that are kept for each server by each thread; 0: a new one for each request")
        .read(|cx, field, keepalive| keepalive.connections = number(cx, field).unwrap_or_default()),
    optional("idle_timeout", INTEGER)
        .default("60")
        .means("how long; less if the server says so in `Keep-Alive: timeout=N`")
        .read(|cx, field, keepalive| {
            keepalive.idle_timeout = seconds(cx, field, 1..=MAX_SECONDS).unwrap_or(keepalive.idle_timeout);
        }),
    optional("requests", INTEGER)
        .default("0")
        .means("requests on one connection; 0: no limit")
        .read(|cx, field, keepalive| keepalive.requests = number(cx, field).unwrap_or_default()),
];

/// How a server at `https://` is spoken to.
pub(super) const TLS: &[Member<UpstreamTls>] = &[
    optional("verify", BOOL)
        .default("`true`")
        .means("whether an `https://` server has to prove its name")
        .read(|_, field, tls| tls.verify = *field.value == Value::Bool(true)),
    optional("ca", STRING)
        .means(
        "a bundle of `/certificates` whose certificates are trusted, for others that they have signed and \
         for themselves, instead of the system's",
    )
        .read(|cx, field, tls| {
        tls.ca = name(cx, field);
        if let Some(bundle) = &tls.ca {
            cx.certificate(bundle);
        }
    }),
    optional("server_name", STRING)
        .default("host")
        .means(
            "the name that is asked for and proved; with `ca` a common name is enough where alternative names \
             are missing",
        )
        .read(|cx, field, tls| tls.server_name = name(cx, field)),
];

/// The certificate that servers of a proxy are shown.
const OWN_CERTIFICATE: &[Member<UpstreamTls>] = &[optional("certificate", STRING)
    .default("none")
    .means(
        "a bundle of `/certificates`, with its key, that is [shown to servers](#certificates-for-servers) which ask \
         for a certificate",
    )
    .read(|cx, field, tls| {
        tls.certificate = name(cx, field);
        if let Some(bundle) = &tls.certificate {
            cx.certificate(bundle);
        }
    })];

pub(super) fn number(cx: &mut Context<'_>, field: Field<'_>) -> Option<u32> {
    integer(cx, field, 0..=INT_MAX).and_then(|number| u32::try_from(number).ok())
}
