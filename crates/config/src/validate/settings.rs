//! `settings` (contract 15). Numbers are range-checked, which Unit does not do.

pub(super) mod control;
mod observe;
mod request_id;
mod scripts;

use std::ops::RangeInclusive;

use super::bounds;
use super::compression;
use super::context::Context;
use super::request_bounds::BoundsTable;
use super::scalars::{INT_MAX, MAX_SECONDS, count, integer, seconds, size};
use super::schema::{self, ARRAY, BOOL, Field, INTEGER, Member, OBJECT, STRING, optional};
use super::strings::{member_name, path};
use crate::json::Value;
use crate::settings::{Http2Settings, HttpSettings, ServerLimits, Settings, WebSocketSettings};

/// Reads settings over the defaults.
pub(super) fn read(cx: &mut Context<'_>, field: Field<'_>, settings: &mut Settings) {
    schema::read_nested(cx, field, &[SETTINGS], settings);
}

const SETTINGS: &[Member<Settings>] = &[
    optional("listen_threads", INTEGER)
        .default("one for each processor")
        .means("event loops, 128 at most")
        .read(|cx, field, settings| settings.listen_threads = count(cx, field)),
    optional("http", OBJECT)
        .means("how [HTTP is spoken](#http) with clients")
        .read(|cx, field, settings| {
            schema::read_nested(cx, field, HTTP, &mut settings.http);
        }),
    optional("limits", OBJECT)
        .means("[what all clients together may take](#what-all-clients-together-may-take) (beyond Unit)")
        .read(|cx, field, settings| schema::read_nested(cx, field, &[LIMITS], &mut settings.limits)),
    optional("js_module", STRING.or(ARRAY))
        .default("none")
        .means(
        "the [JavaScript modules](templates.md#javascript) that scripts see: a name, or an array of names",
    )
        .read(|cx, field, settings| settings.js_module = scripts::modules(cx, field)),
    optional("js_limits", OBJECT)
        .means("[what scripts may take](templates.md#javascript) (beyond Unit)")
        .read(|cx, field, settings| {
            schema::read_nested(cx, field, &[scripts::LIMITS], &mut settings.js_limits);
        }),
    optional("log", OBJECT)
        .means("[the server's log](logs.md#the-servers-log) (beyond Unit)")
        .read(|cx, field, settings| schema::read_nested(cx, field, &[observe::LOG], &mut settings.log)),
    optional("telemetry", OBJECT)
        .default("none")
        .means("[spans of each request, and the server's figures](logs.md#telemetry)")
        .read(|cx, field, settings| settings.telemetry = observe::telemetry(cx, field)),
    optional("metrics", OBJECT)
        .means("where [metrics](../operating/metrics.md) are served beside the control API (beyond Unit)")
        .read(|cx, field, settings| settings.metrics = control::metrics(cx, field)),
    optional("dashboard", OBJECT)
        .default("none")
        .means(
            "a listener for the [dashboard](../operating/dashboard.md) and the control API, for other machines \
             (beyond Unit)",
        )
        .read(|cx, field, settings| settings.dashboard = control::dashboard(cx, field)),
];

const HTTP: &[&[Member<HttpSettings>]] =
    &[TIMEOUTS, BoundsTable::<HttpSettings>::TIMEOUTS, BoundsTable::<HttpSettings>::SIZES, SIZES, SWITCHES];

const LIMITS: &[Member<ServerLimits>] = &[
    optional("connections", INTEGER)
        .default(
            "four fifths of the open files that the system permits, less those that listeners and \
             applications have",
        )
        .means("client connections of the whole server at a time")
        .read(|cx, field, limits| limits.connections = count(cx, field)),
    optional("connections_per_address", INTEGER)
        .default("any number")
        .means("those of one client: of an IPv4 address, or of 64 bits of an IPv6 address")
        .read(|cx, field, limits| limits.connections_per_address = count(cx, field)),
    optional("buffered_bytes", INTEGER)
        .default("33554432")
        .means(
            "bytes of memory, in the whole server, for request bodies and output of applications that \
             wait to be read",
        )
        .read(|cx, field, limits| {
            let bytes = integer(cx, field, 0..=i64::MAX).and_then(|bytes| u64::try_from(bytes).ok());
            replace(&mut limits.buffered_bytes, bytes);
        }),
];

const TIMEOUTS: &[Member<HttpSettings>] = &[
    optional("header_read_timeout", INTEGER)
        .default("30")
        .means("seconds from a request's first byte to the end of its head; then 408")
        .read(|cx, field, http| replace(&mut http.header_read_timeout, seconds(cx, field, 1..=MAX_SECONDS))),
    optional("idle_timeout", INTEGER)
        .default("180")
        .means(
            "seconds that a connection may wait for a request, the first one or the next; then it is closed \
             without a word",
        )
        .read(|cx, field, http| replace(&mut http.idle_timeout, seconds(cx, field, 1..=MAX_SECONDS))),
];

const SIZES: &[Member<HttpSettings>] = &[
    optional("large_header_buffer_size", INTEGER)
        .at_most(bounds::HEAD_BUFFER)
        .default("8192")
        .means(
            "bytes of each buffer for a request's head, whose first 2048 bytes need none. A request line, or \
             a header without its name, has to fit into one of them, and larger ones get 431",
        )
        .read(|cx, field, http| replace(&mut http.large_header_buffer_size, size(cx, field, 1..=INT_MAX))),
    optional("large_header_buffers", INTEGER)
        .at_most(bounds::HEAD_BUFFERS)
        .default("4")
        .means("how many such buffers a request's head may take")
        .read(|cx, field, http| replace(&mut http.large_header_buffers, size(cx, field, 0..=INT_MAX))),
    optional("body_temp_path", STRING)
        .default("`--tmpdir`")
        .means("the folder of the files that larger bodies are kept in")
        .read(|cx, field, http| http.body_temp_path = path(cx, field)),
];

const SWITCHES: &[Member<HttpSettings>] = &[
    optional("discard_unsafe_fields", BOOL)
        .default("`true`")
        .means("drop headers whose names hold anything but letters, digits and `-`")
        .read(|_, field, http| http.discard_unsafe_fields = is_true(field)),
    optional("log_route", BOOL)
        .default("`false`")
        .means("log the steps that a request takes through the routes")
        .read(|_, field, http| http.log_route = is_true(field)),
    optional("error_format", STRING)
        .default("`\"html\"`")
        .means(
            "`negotiated`: [plain error pages](routes.md#errors) are `application/problem+json` for clients \
             that prefer it (beyond Unit)",
        )
        .read(|cx, field, http| match field.value.as_bytes().map(|text| &**text) {
            Some(b"html") => http.negotiate_errors = false,
            Some(b"negotiated") => http.negotiate_errors = true,
            _ => cx.problem("The \"error_format\" can either be \"html\" or \"negotiated\"."),
        }),
    optional("request_id", BOOL.or(OBJECT))
        .default("`false`")
        .means(
            "`true`: each request has an `X-Request-Id`, which applications, other servers, clients and logs see: \
             [request IDs](logs.md#request-ids) (beyond Unit)",
        )
        .read(|cx, field, http| http.request_id = request_id::read(cx, field)),
    optional("server_version", BOOL)
        .default("`true`")
        .means("say the version in the `Server` header")
        .read(|_, field, http| http.server_version = is_true(field)),
    optional("chunked_transform", BOOL)
        .default("`true` (Unit: `false`)")
        .means("accept bodies in chunks, whose length is not known before; with `false` they get 411")
        .read(|_, field, http| http.chunked_transform = is_true(field)),
    optional("static", OBJECT).read(|cx, field, http| schema::read_nested(cx, field, &[STATIC], http)),
    optional("websocket", OBJECT)
        .read(|cx, field, http| schema::read_nested(cx, field, &[WEBSOCKET], &mut http.websocket)),
    optional("http2", OBJECT)
        .means("limits of [HTTP/2](http2.md) (beyond Unit)")
        .read(|cx, field, http| schema::read_nested(cx, field, &[HTTP2], &mut http.http2)),
    optional("compression", OBJECT)
        .default("off")
        .means("[compression](compression.md) of replies")
        .read(|cx, field, http| http.compression = compression::read(cx, field)),
];

const WEBSOCKET: &[Member<WebSocketSettings>] = &[
    optional("read_timeout", INTEGER)
        .default("60")
        .means("seconds without a frame of the client; then its WebSocket is closed")
        .read(|cx, field, websocket| {
            replace(&mut websocket.read_timeout, seconds(cx, field, 1..=MAX_SECONDS));
        }),
    optional("keepalive_interval", INTEGER)
        .default("30")
        .means("seconds of silence after which the client is sent a ping; 0 for never")
        .read(|cx, field, websocket| {
            let interval = seconds(cx, field, 0..=MAX_SECONDS);
            websocket.keepalive_interval = interval.filter(|interval| !interval.is_zero());
        }),
    optional("max_frame_size", INTEGER)
        .at_most(bounds::IN_MEMORY)
        .default("1048576")
        .means("bytes of a frame with its head (6 to 14 bytes); larger ones close the WebSocket")
        .read(|cx, field, websocket| {
            let size = integer(cx, field, 1..=INT_MAX).and_then(|size| u64::try_from(size).ok());
            replace(&mut websocket.max_frame_size, size);
        }),
];

const HTTP2: &[Member<Http2Settings>] = &[
    optional("max_concurrent_streams", INTEGER)
        .default("128")
        .means("requests that one connection may have at a time; more are refused in a way that clients try again")
        .read(|cx, field, http2| {
            replace(&mut http2.max_concurrent_streams, number(cx, field, 1..=MAX_STREAMS));
        }),
    optional("stream_window", INTEGER).at_most(bounds::IN_MEMORY)
        .default("131072")
        .means("bytes of a request body that a client may send before they are read")
        .read(|cx, field, http2| replace(&mut http2.stream_window, number(cx, field, LEAST_WINDOW..=INT_MAX))),
    optional("connection_window", INTEGER).at_most(bounds::IN_MEMORY)
        .default("262144")
        .means("the same for all requests of a connection together")
        .read(|cx, field, http2| {
            replace(&mut http2.connection_window, number(cx, field, LEAST_WINDOW..=INT_MAX));
        }),
];

/// More would be of no use to a client, and each may take the memory of a request.
const MAX_STREAMS: i64 = 10_000;

/// The window that every connection begins with (RFC 9113 section 6.9.2).
const LEAST_WINDOW: i64 = 65_535;

/// An integer inside a range that 32 bits can hold.
fn number(cx: &mut Context<'_>, field: Field<'_>, range: RangeInclusive<i64>) -> Option<u32> {
    integer(cx, field, range).and_then(|number| u32::try_from(number).ok())
}

const STATIC: &[Member<HttpSettings>] = &[
    optional("mime_types", OBJECT)
        .means("`{ \"text/x-foo\": [\".foo\"] }`, added to the built-in table")
        .read(|cx, field, http| http.mime_types = mime_types(cx, field)),
    optional("cache_valid", INTEGER)
        .default("0")
        .means("seconds for which an open [file](files.md) is served without a look whether it has changed")
        .read(|cx, field, http| replace(&mut http.file_trust, seconds(cx, field, 0..=MAX_SECONDS))),
];

/// A setting keeps its default when its value is wrong.
fn replace<T>(setting: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *setting = value;
    }
}

fn mime_types(cx: &mut Context<'_>, field: Field<'_>) -> Vec<(String, Vec<String>)> {
    let mut types: Vec<(String, Vec<String>)> = Vec::new();
    for (name, value) in field.value.as_object().into_iter().flatten() {
        cx.at(name, |cx| {
            let Some(mime_type) = member_name(cx, name) else { return };
            let extensions = extensions(cx, &mime_type, value, &types);
            types.push((mime_type, extensions));
        });
    }
    types
}

/// Reads the extensions of one type; `earlier` are the types before it, which must not share any.
fn extensions(
    cx: &mut Context<'_>,
    mime_type: &str,
    value: &Value,
    earlier: &[(String, Vec<String>)],
) -> Vec<String> {
    let elements = match value {
        Value::Array(elements) => elements.as_slice(),
        Value::String(_) => std::slice::from_ref(value),
        other => {
            schema::report_wrong_type(cx, mime_type, STRING.or(ARRAY), other);
            return Vec::new();
        }
    };
    let mut extensions = Vec::new();
    for (idx, element) in elements.iter().enumerate() {
        let read = |cx: &mut Context<'_>| extension(cx, mime_type, element, earlier);
        let extension = if value.as_array().is_some() { cx.at_index(idx, read) } else { read(cx) };
        extensions.extend(extension);
    }
    extensions
}

fn extension(
    cx: &mut Context<'_>,
    mime_type: &str,
    value: &Value,
    earlier: &[(String, Vec<String>)],
) -> Option<String> {
    let Some(text) = value.as_bytes() else {
        cx.problem(format!("The \"{mime_type}\" MIME type array must contain only strings."));
        return None;
    };
    if text.is_empty() {
        cx.problem(format!("An empty file extension for the \"{mime_type}\" MIME type."));
        return None;
    }
    let text = member_name(cx, text)?;
    let declared = |known: &String| known.eq_ignore_ascii_case(&text);
    if let Some((other, _)) = earlier.iter().find(|(_, extensions)| extensions.iter().any(declared)) {
        cx.problem(format!(
            "The \"{text}\" file extension has been declared for \"{other}\" and \"{mime_type}\" MIME types \
             at the same time."
        ));
    }
    Some(text)
}

fn is_true(field: Field<'_>) -> bool {
    *field.value == Value::Bool(true)
}
