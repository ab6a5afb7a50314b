//! `settings.http.request_id` (beyond Unit).

use crate::json::Value;
use crate::settings::{KeptIds, RequestIdSettings};
use crate::validate::context::Context;
use crate::validate::scalars::is_true;
use crate::validate::schema::{self, BOOL, Field, Member, STRING, optional};
use crate::validate::strings::header_name;

/// Reads `true`, or an object with options.
pub(super) fn read(cx: &mut Context<'_>, field: Field<'_>) -> Option<RequestIdSettings> {
    if *field.value == Value::Bool(false) {
        return None;
    }
    let mut settings = RequestIdSettings::default();
    schema::read_nested(cx, field, &[REQUEST_ID], &mut settings);
    Some(settings)
}

const REQUEST_ID: &[Member<RequestIdSettings>] = &[
    optional("header", STRING)
        .default("`\"X-Request-Id\"`")
        .means("the header's name, in requests and in responses")
        .read(|cx, field, settings| {
            if let Some(header) = header_name(cx, field) {
                settings.header = header;
            }
        }),
    optional("keep", STRING)
        .default("`\"trusted\"`")
        .means(
            "which requests keep the value that they come with: those of peers that \
             [`forwarded`](clients.md) trusts, `\"always\"` or `\"never\"`",
        )
        .read(|cx, field, settings| match field.value.as_bytes().map(|text| &**text) {
            Some(b"trusted") => settings.keep = KeptIds::Trusted,
            Some(b"always") => settings.keep = KeptIds::Always,
            Some(b"never") => settings.keep = KeptIds::Never,
            _ => cx.problem("The \"keep\" value must be \"trusted\", \"always\" or \"never\"."),
        }),
    optional("respond", BOOL)
        .default("`true`")
        .means("whether clients get the header, too")
        .read(|_, field, settings| settings.respond = is_true(field)),
];
