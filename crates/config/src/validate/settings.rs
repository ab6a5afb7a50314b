//! `settings` (contract 15). Numbers are range-checked, which Unit does not do.

mod observe;
mod scripts;

use super::compression;
use super::context::Context;
use super::scalars::{INT_MAX, MAX_SECONDS, count, integer, seconds, size};
use super::schema::{self, ARRAY, BOOL, Field, INTEGER, Member, OBJECT, STRING};
use super::strings::{member_name, path};
use crate::json::Value;
use crate::settings::{HttpSettings, ServerLimits, Settings, WebSocketSettings};

/// Reads settings over the defaults.
pub(super) fn read(cx: &mut Context<'_>, field: Field<'_>, settings: &mut Settings) {
    schema::read_nested(cx, field, &[SETTINGS], settings);
}

const SETTINGS: &[Member<Settings>] = &[
    Member::optional("listen_threads", INTEGER, |cx, field, settings| {
        settings.listen_threads = count(cx, field);
    }),
    Member::optional("http", OBJECT, |cx, field, settings| {
        schema::read_nested(cx, field, &[TIMEOUTS, SIZES, SWITCHES], &mut settings.http);
    }),
    Member::optional("limits", OBJECT, |cx, field, settings| {
        schema::read_nested(cx, field, &[LIMITS], &mut settings.limits);
    }),
    Member::optional("js_module", STRING.or(ARRAY), |cx, field, settings| {
        settings.js_module = scripts::modules(cx, field);
    }),
    Member::optional("js_limits", OBJECT, |cx, field, settings| {
        schema::read_nested(cx, field, &[scripts::LIMITS], &mut settings.js_limits);
    }),
    Member::optional("log", OBJECT, |cx, field, settings| {
        schema::read_nested(cx, field, &[observe::LOG], &mut settings.log);
    }),
    Member::optional("telemetry", OBJECT, |cx, field, settings| {
        settings.telemetry = observe::telemetry(cx, field);
    }),
];

const LIMITS: &[Member<ServerLimits>] = &[
    Member::optional("connections", INTEGER, |cx, field, limits| limits.connections = count(cx, field)),
    Member::optional("connections_per_address", INTEGER, |cx, field, limits| {
        limits.connections_per_address = count(cx, field);
    }),
    Member::optional("buffered_bytes", INTEGER, |cx, field, limits| {
        let bytes = integer(cx, field, 0..=i64::MAX).and_then(|bytes| u64::try_from(bytes).ok());
        replace(&mut limits.buffered_bytes, bytes);
    }),
];

const TIMEOUTS: &[Member<HttpSettings>] = &[
    Member::optional("header_read_timeout", INTEGER, |cx, field, http| {
        replace(&mut http.header_read_timeout, seconds(cx, field, 1..=MAX_SECONDS));
    }),
    Member::optional("body_read_timeout", INTEGER, |cx, field, http| {
        replace(&mut http.body_read_timeout, seconds(cx, field, 1..=MAX_SECONDS));
    }),
    Member::optional("send_timeout", INTEGER, |cx, field, http| {
        replace(&mut http.send_timeout, seconds(cx, field, 1..=MAX_SECONDS));
    }),
    Member::optional("idle_timeout", INTEGER, |cx, field, http| {
        replace(&mut http.idle_timeout, seconds(cx, field, 1..=MAX_SECONDS));
    }),
];

const SIZES: &[Member<HttpSettings>] = &[
    Member::optional("large_header_buffer_size", INTEGER, |cx, field, http| {
        replace(&mut http.large_header_buffer_size, size(cx, field, 1..=INT_MAX));
    }),
    Member::optional("large_header_buffers", INTEGER, |cx, field, http| {
        replace(&mut http.large_header_buffers, size(cx, field, 0..=INT_MAX));
    }),
    Member::optional("body_buffer_size", INTEGER, |cx, field, http| {
        replace(&mut http.body_buffer_size, size(cx, field, 0..=INT_MAX));
    }),
    Member::optional("max_body_size", INTEGER, |cx, field, http| {
        let size = integer(cx, field, 0..=i64::MAX).and_then(|size| u64::try_from(size).ok());
        replace(&mut http.max_body_size, size);
    }),
    Member::optional("body_temp_path", STRING, |cx, field, http| {
        http.body_temp_path = path(cx, field);
    }),
];

const SWITCHES: &[Member<HttpSettings>] = &[
    Member::optional("discard_unsafe_fields", BOOL, |_, field, http| {
        http.discard_unsafe_fields = is_true(field);
    }),
    Member::optional("log_route", BOOL, |_, field, http| http.log_route = is_true(field)),
    Member::optional("error_format", STRING, |cx, field, http| {
        match field.value.as_bytes().map(|text| &**text) {
            Some(b"html") => http.negotiate_errors = false,
            Some(b"negotiated") => http.negotiate_errors = true,
            _ => cx.problem("The \"error_format\" can either be \"html\" or \"negotiated\"."),
        }
    }),
    Member::optional("server_version", BOOL, |_, field, http| http.server_version = is_true(field)),
    Member::optional("chunked_transform", BOOL, |_, field, http| http.chunked_transform = is_true(field)),
    Member::optional("static", OBJECT, |cx, field, http| {
        schema::read_nested(cx, field, &[STATIC], http);
    }),
    Member::optional("websocket", OBJECT, |cx, field, http| {
        schema::read_nested(cx, field, &[WEBSOCKET], &mut http.websocket);
    }),
    Member::optional("compression", OBJECT, |cx, field, http| {
        http.compression = compression::read(cx, field);
    }),
];

const WEBSOCKET: &[Member<WebSocketSettings>] = &[
    Member::optional("read_timeout", INTEGER, |cx, field, websocket| {
        replace(&mut websocket.read_timeout, seconds(cx, field, 1..=MAX_SECONDS));
    }),
    Member::optional("keepalive_interval", INTEGER, |cx, field, websocket| {
        let interval = seconds(cx, field, 0..=MAX_SECONDS);
        websocket.keepalive_interval = interval.filter(|interval| !interval.is_zero());
    }),
    Member::optional("max_frame_size", INTEGER, |cx, field, websocket| {
        let size = integer(cx, field, 1..=INT_MAX).and_then(|size| u64::try_from(size).ok());
        replace(&mut websocket.max_frame_size, size);
    }),
];

const STATIC: &[Member<HttpSettings>] = &[
    Member::optional("mime_types", OBJECT, |cx, field, http| http.mime_types = mime_types(cx, field)),
    Member::optional("cache_valid", INTEGER, |cx, field, http| {
        replace(&mut http.file_trust, seconds(cx, field, 0..=MAX_SECONDS));
    }),
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
