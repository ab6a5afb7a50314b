//! Options that every kind of action has (contract 11.3 and 11.4, and beyond it `request_headers` and
//! `errors`).

use corral_syntax::is_token;

use super::super::advice;
use super::super::authentication;
use super::super::context::Context;
use super::super::request_bounds::BoundsTable;
use super::super::responses::RESPONSES;
use super::super::scalars::is_true;
use super::super::schema::{self, BOOL, Field, Member, OBJECT, Rows, STRING, optional};
use super::super::strings::{member_name, template};
use super::super::{access_log, cors, maintenance, mirror, params, prefix, rewrite, throttle, try_files};
use crate::json::{Bytes, Object, Value};
use crate::route::{ActionOptions, ErrorActions, Errors, HeaderChange, PathChanges};
use crate::template::Template;

/// Reads the options of a kind and, beside them, those that every kind has.
pub(in super::super) fn read_kind<T>(
    cx: &mut Context<'_>,
    members: &Object,
    tables: &[&[Member<T>]],
    draft: &mut T,
    options: &mut ActionOptions,
) {
    let mut own = Rows { tables, draft };
    let mut common = Rows { tables: COMMON, draft: options };
    schema::read_parts(cx, members, &mut [&mut own, &mut common]);
}

const COMMON: &[&[Member<ActionOptions>]] =
    &[CHANGES_OF_PATH, CLOSING, GUARDS, OPTIONS, RESPONSES, BOUNDS_OF_TIME, BOUNDS_OF_SIZE];

/// Options that hold inside: an action that passes on may have them for all that it leads to.
pub(in super::super) const INSIDE: &[&[Member<ActionOptions>]] =
    &[CLOSING, OPTIONS, RESPONSES, BOUNDS_OF_TIME, BOUNDS_OF_SIZE];

const BOUNDS_OF_TIME: &[Member<ActionOptions>] = BoundsTable::<ActionOptions>::TIMEOUTS;
const BOUNDS_OF_SIZE: &[Member<ActionOptions>] = BoundsTable::<ActionOptions>::SIZES;

/// Changes of the path: each action on a request's way makes its own.
const CHANGES_OF_PATH: &[Member<ActionOptions>] = &[
    prefix::STRIP_PREFIX.read(|cx, field, options| path(options).strip_prefix = prefix::read(cx, field)),
    prefix::ADD_PREFIX.read(|cx, field, options| path(options).add_prefix = prefix::read(cx, field)),
    rewrite::REWRITE.read(|cx, field, options| path(options).rewrite = rewrite::read(cx, field)),
    try_files::TRY.read(|cx, field, options| path(options).try_files = try_files::read(cx, field)),
];

/// The outermost closed action refuses a request.
const CLOSING: &[Member<ActionOptions>] =
    &[maintenance::MAINTENANCE.read(|cx, field, options| options.maintenance = maintenance::read(cx, field))];

/// Checks that each action on a request's way makes by itself.
const GUARDS: &[Member<ActionOptions>] = &[
    throttle::REQUESTS.read(|cx, field, options| throttle::requests(cx, field, &mut options.limits)),
    throttle::CONNECTIONS.read(|cx, field, options| throttle::connections(cx, field, &mut options.limits)),
    authentication::AUTHENTICATE
        .read(|cx, field, options| options.authentication = authentication::read(cx, field)),
];

const OPTIONS: &[Member<ActionOptions>] = &[
    optional("response_headers", OBJECT)
        .means(
            "an object: headers that are set, or with `null` removed, in replies of every status, error pages \
             too (Unit: 200 to 399). What is about the content itself is not \
             said of errors: `Cache-Control`, `Content-Disposition`, `Content-Encoding`, `Content-Language`, \
             `Content-Type`, `ETag`, `Expires`, `Last-Modified` and `Pragma` change from 200 to 399 alone. \
             A value of variables that comes out empty leaves the header out, as `null` does (Unit: sends it \
             empty). Control characters that come from variables become spaces; `Connection`, `Date` and \
             `Transfer-Encoding` are the server's own",
        )
        .read(|cx, field, options| options.response_headers = header_changes(cx, field, Side::Response)),
    optional("headers", STRING)
        .default("none")
        .means(
            "`\"secure\"`: [headers that make browsers careful](#secure-headers), in replies of every status that \
             have none of the same name (beyond Unit)",
        )
        .read(|cx, field, options| options.secure = is_secure(cx, field)),
    optional("request_headers", OBJECT)
        .means(
            "an object: headers that are set or removed before an application or another server sees the \
             request; a value of variables that comes out empty removes it, too. Conditions and variables keep \
             seeing what the client has sent",
        )
        .read(|cx, field, options| options.request_headers = header_changes(cx, field, Side::Request)),
    cors::CORS.read(|cx, field, options| options.cors = Some(cors::read(cx, field))),
    params::OF_ACTION.read(|cx, field, options| options.params = params::read(cx, field)),
    access_log::OF_ACTION
        .read(|cx, field, options| options.access_log = Some(access_log::read_of_action(cx, field))),
    mirror::MIRROR.read(|cx, field, options| options.mirror = mirror::read(cx, field)),
    optional("errors", OBJECT)
        .means("an object: actions in the place of [errors](#errors)")
        .read(|cx, field, options| options.errors = Some(Box::new(errors(cx, field)))),
    optional("internal_redirect", OBJECT)
        .means(
            "an action that answers in the place of an answer with `X-Accel-Redirect` or `X-Sendfile`: see \
             [internal redirects](#internal-redirects) (beyond Unit)",
        )
        .read(|cx, field, options| {
            options.internal_redirect = cx.action(Field { name: "action", ..field }).map(Box::new);
        }),
];

/// The changes of the path.
fn path(options: &mut ActionOptions) -> &mut PathChanges {
    options.path.get_or_insert_default()
}

/// Whether it is the one word that is known.
fn is_secure(cx: &mut Context<'_>, field: Field<'_>) -> bool {
    let is_secure = field.value.as_bytes().is_some_and(|text| **text == *b"secure");
    if !is_secure {
        let advice = "Headers of your own are set by \"response_headers\".";
        cx.problem_with_advice("The \"headers\" value must be \"secure\".", advice);
    }
    is_secure
}

/// The side whose headers are changed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Request,
    Response,
}

impl Side {
    fn name(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Response => "response",
        }
    }

    /// Whether a change of this field is refused: it would contradict how the body is framed.
    fn forbids(self, name: &str) -> bool {
        name.eq_ignore_ascii_case("content-length") || self == Self::Request && is_of_the_server(name)
    }
}

fn header_changes(cx: &mut Context<'_>, field: Field<'_>, side: Side) -> Vec<HeaderChange> {
    let members = field.value.as_object().into_iter().flatten();
    let changes = members.filter_map(|(name, value)| cx.at(name, |cx| header_change(cx, name, value, side)));
    changes.filter(|change| !is_of_the_server(&change.name)).collect()
}

fn header_change(cx: &mut Context<'_>, name: &Bytes, value: &Value, side: Side) -> Option<HeaderChange> {
    let value = match value {
        Value::Null => Some(None),
        Value::String(text) => header_value(cx, name, text, value, side).map(Some),
        _ => {
            let side = side.name();
            let advice = advice::for_type(STRING, value);
            cx.problem_with_advice(
                format!("The \"{name}\" {side} header value must either be a string or a null"),
                advice,
            );
            None
        }
    };
    let name = header_name(cx, name, side)?;
    Some(HeaderChange { name, value: value? })
}

fn header_name(cx: &mut Context<'_>, name: &Bytes, side: Side) -> Option<String> {
    let kind = side.name();
    if name.is_empty() {
        cx.problem(format!("The {kind} header name must not be empty."));
    } else if side.forbids(&name.to_string_lossy()) {
        cx.problem(format!("The \"{name}\" {kind} header value is not supported"));
    } else if !is_token(name) {
        cx.problem(format!(
            "The {kind} header name \"{name}\" contains characters that no header name may have."
        ));
    } else {
        return member_name(cx, name);
    }
    None
}

fn header_value(
    cx: &mut Context<'_>,
    name: &Bytes,
    text: &Bytes,
    value: &Value,
    side: Side,
) -> Option<Template> {
    let name = name.to_string_lossy();
    if text.iter().any(|&byte| is_control(byte)) {
        let side = side.name();
        cx.problem(format!("The \"{name}\" {side} header value must not contain control characters."));
        return None;
    }
    template(cx, Field { name: &name, value })
}

/// Actions by the errors that they stand in for.
fn errors(cx: &mut Context<'_>, field: Field<'_>) -> ErrorActions {
    let mut draft = ErrorActions::default();
    schema::read_open(cx, field, ERRORS, &mut draft, |cx, field, draft| {
        if !matches!(field.value, Value::Object(_)) {
            return schema::report_wrong_type(cx, field.name, OBJECT, field.value);
        }
        let errors = error_name(cx, field.name);
        let action = cx.action(Field { name: "action", value: field.value });
        draft.actions.extend(errors.zip(action));
    });
    draft
}

const ERRORS: &[Member<ErrorActions>] = &[optional("intercept", BOOL)
    .default("`false`")
    .means("whether errors that applications and proxied servers answer with are replaced, too")
    .read(|_, field, draft| draft.intercept = is_true(field))];

fn error_name(cx: &mut Context<'_>, name: &str) -> Option<Errors> {
    let errors = match name.as_bytes() {
        b"4xx" => Some(Errors::Class(4)),
        b"5xx" => Some(Errors::Class(5)),
        [b'4' | b'5', b'0'..=b'9', b'0'..=b'9'] => name.parse().ok().map(Errors::Status),
        _ => None,
    };
    if errors.is_none() {
        cx.problem(format!(
            "The name \"{name}\" must be an error status from 400 to 599, or \"4xx\" or \"5xx\"."
        ));
    }
    errors
}

/// Fields that the server adds behind those of `response_headers`, which therefore has no effect on them.
fn is_of_the_server(name: &str) -> bool {
    ["connection", "date", "transfer-encoding"].iter().any(|ours| name.eq_ignore_ascii_case(ours))
}

/// Whether this byte may not be part of a field's value.
fn is_control(byte: u8) -> bool {
    byte.is_ascii_control() && byte != b'\t'
}
