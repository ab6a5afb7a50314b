//! `settings` (UNIT-COMPAT 15). Numbers are range-checked, which Unit does not do.

use super::context::Context;
use super::scalars::{INT_MAX, count, integer, seconds, size};
use super::schema::{self, ARRAY, BOOL, INTEGER, Member, OBJECT, STRING};
use super::strings::{member_name, path};
use crate::json::Value;
use crate::settings::{HttpSettings, Settings};

/// Reads settings over the defaults.
pub(super) fn read(cx: &mut Context<'_>, value: &Value, settings: &mut Settings) {
    let Some(members) = value.as_object() else { return };
    schema::read_object(cx, members, &[SETTINGS], settings);
}

const SETTINGS: &[Member<Settings>] = &[
    Member::optional("listen_threads", INTEGER, |cx, value, settings| {
        settings.listen_threads = count(cx, "listen_threads", value);
    }),
    Member::optional("http", OBJECT, |cx, value, settings| {
        let Some(members) = value.as_object() else { return };
        schema::read_object(cx, members, &[TIMEOUTS, SIZES, SWITCHES], &mut settings.http);
    }),
    Member::not_yet("js_module"),
    Member::not_yet("telemetry"),
];

const TIMEOUTS: &[Member<HttpSettings>] = &[
    Member::optional("header_read_timeout", INTEGER, |cx, value, http| {
        let seconds = seconds(cx, "header_read_timeout", value, 1..=MAX_SECONDS);
        http.header_read_timeout = seconds.unwrap_or(http.header_read_timeout);
    }),
    Member::optional("body_read_timeout", INTEGER, |cx, value, http| {
        let seconds = seconds(cx, "body_read_timeout", value, 1..=MAX_SECONDS);
        http.body_read_timeout = seconds.unwrap_or(http.body_read_timeout);
    }),
    Member::optional("send_timeout", INTEGER, |cx, value, http| {
        let seconds = seconds(cx, "send_timeout", value, 1..=MAX_SECONDS);
        http.send_timeout = seconds.unwrap_or(http.send_timeout);
    }),
    Member::optional("idle_timeout", INTEGER, |cx, value, http| {
        let seconds = seconds(cx, "idle_timeout", value, 1..=MAX_SECONDS);
        http.idle_timeout = seconds.unwrap_or(http.idle_timeout);
    }),
];

const SIZES: &[Member<HttpSettings>] = &[
    Member::optional("large_header_buffer_size", INTEGER, |cx, value, http| {
        let size = size(cx, "large_header_buffer_size", value, 1..=INT_MAX);
        http.large_header_buffer_size = size.unwrap_or(http.large_header_buffer_size);
    }),
    Member::optional("large_header_buffers", INTEGER, |cx, value, http| {
        let buffers = size(cx, "large_header_buffers", value, 0..=INT_MAX);
        http.large_header_buffers = buffers.unwrap_or(http.large_header_buffers);
    }),
    Member::optional("body_buffer_size", INTEGER, |cx, value, http| {
        let size = size(cx, "body_buffer_size", value, 0..=INT_MAX);
        http.body_buffer_size = size.unwrap_or(http.body_buffer_size);
    }),
    Member::optional("max_body_size", INTEGER, |cx, value, http| {
        let size = integer(cx, "max_body_size", value, 0..=i64::MAX);
        http.max_body_size = size.and_then(|size| u64::try_from(size).ok()).unwrap_or(http.max_body_size);
    }),
    Member::optional("body_temp_path", STRING, |cx, value, http| {
        http.body_temp_path = path(cx, "body_temp_path", value);
    }),
];

const SWITCHES: &[Member<HttpSettings>] = &[
    Member::optional("discard_unsafe_fields", BOOL, |_, value, http| {
        http.discard_unsafe_fields = is_true(value);
    }),
    Member::optional("log_route", BOOL, |_, value, http| http.log_route = is_true(value)),
    Member::optional("server_version", BOOL, |_, value, http| http.server_version = is_true(value)),
    Member::optional("chunked_transform", BOOL, |_, value, http| http.chunked_transform = is_true(value)),
    Member::optional("static", OBJECT, |cx, value, http| {
        let Some(members) = value.as_object() else { return };
        schema::read_object(cx, members, &[STATIC], http);
    }),
    Member::not_yet("websocket"),
    Member::not_yet("compression"),
];

const STATIC: &[Member<HttpSettings>] =
    &[Member::optional("mime_types", OBJECT, |cx, value, http| http.mime_types = mime_types(cx, value))];

fn mime_types(cx: &mut Context<'_>, value: &Value) -> Vec<(String, Vec<String>)> {
    let mut types: Vec<(String, Vec<String>)> = Vec::new();
    for (name, value) in value.as_object().into_iter().flatten() {
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
            cx.problem(schema::wrong_type(mime_type, STRING.or(ARRAY), other));
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

fn is_true(value: &Value) -> bool {
    *value == Value::Bool(true)
}

/// Longest time-out in seconds, so that its milliseconds fit a C `int`.
const MAX_SECONDS: i64 = 2_147_483;
