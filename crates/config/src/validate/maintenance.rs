//! `maintenance` of actions (beyond Unit).

use std::path::PathBuf;

use super::context::Context;
use super::label::Label;
use super::scalars::{MAX_SECONDS, integer};
use super::schema::{self, ARRAY, BOOL, Field, INTEGER, Member, OBJECT, STRING, optional};
use super::share::draft;
use super::strings::{address_patterns, path, template};
use crate::json::Value;
use crate::pattern::address::AddressPatternSet;
use crate::route::{
    Action, ActionKind, ActionOptions, ErrorActions, Errors, HeaderChange, Maintenance, Pages, Return,
};
use crate::template::Template;

/// The row of `maintenance`.
pub(super) const MAINTENANCE: Label = optional("maintenance", BOOL.or(OBJECT)).default("`false`").means(
    "[closes](maintenance.md) the action to all clients but a few; the rest get 503 and a page (beyond Unit)",
);

/// Reads `maintenance`; none if it is off.
pub(super) fn read(cx: &mut Context<'_>, field: Field<'_>) -> Option<Box<Maintenance>> {
    let mut draft = MaintenanceDraft::default();
    if *field.value == Value::Bool(false) {
        return None;
    }
    schema::read_nested(cx, field, &[OPTIONS], &mut draft);
    let MaintenanceDraft { file, page, allow, retry_after, status } = draft;
    let status = status.unwrap_or(STATUS);
    let pages = page.map(|page| Box::new(pages(cx, page, status)));
    Some(Box::new(Maintenance { file, allow, status, retry_after, pages }))
}

#[derive(Default)]
struct MaintenanceDraft {
    file: Option<PathBuf>,
    page: Option<Page>,
    allow: AddressPatternSet,
    retry_after: Option<u32>,
    status: Option<u16>,
}

enum Page {
    File(Template),
    Text(Template),
}

const OPTIONS: &[Member<MaintenanceDraft>] = &[
    optional("file", STRING)
        .default("always closed")
        .means("closed while there is something at this path, which every request looks for")
        .read(|cx, field, draft| {
            draft.file = path(cx, field);
            if draft.file.as_ref().is_some_and(|file| !file.is_absolute()) {
                cx.problem("The \"file\" must be an absolute path.");
            }
        }),
    optional("page", STRING)
        .default("an [error page](routes.md#errors)")
        .means("the page as HTML, or the path of a file with it, which begins with `/`; may hold variables")
        .read(|cx, field, draft| {
            let is_path = field.value.as_bytes().is_some_and(|text| text.starts_with(b"/"));
            draft.page = template(cx, field).map(if is_path { Page::File } else { Page::Text });
        }),
    optional("allow", STRING.or(ARRAY))
        .default("none")
        .means("clients that get through, as in [`match.source`](routes.md#conditions)")
        .read(|cx, field, draft| draft.allow = address_patterns(cx, field).unwrap_or_default()),
    optional("retry_after", INTEGER)
        .default("none")
        .means("seconds after which clients may try again, for `Retry-After`")
        .read(|cx, field, draft| {
            let seconds = integer(cx, field, 0..=MAX_SECONDS);
            draft.retry_after = seconds.and_then(|seconds| u32::try_from(seconds).ok());
        }),
    optional("status", INTEGER).default("503").means("the status of a refusal, from 400 to 599").read(
        |cx, field, draft| {
            let status = integer(cx, field, 400..=599);
            draft.status = status.and_then(|status| u16::try_from(status).ok());
        },
    ),
];

/// Search engines keep what they know of a site that answers with it (RFC 9110 section 15.6.4).
const STATUS: u16 = 503;

fn pages(cx: &mut Context<'_>, page: Page, status: u16) -> Pages {
    let html = match page {
        Page::File(path) => ActionKind::Share(draft::of_file(cx, path)),
        Page::Text(text) => text_in_place(status, text, "text/html; charset=utf-8"),
    };
    let problem = format!("{{\"status\":{status},\"title\":\"Under maintenance\"}}");
    let json = text_in_place(status, literal(&problem), "application/problem+json");
    Pages { html: in_place(status, html), json: in_place(status, json) }
}

fn text_in_place(status: u16, body: Template, content_type: &str) -> ActionKind {
    ActionKind::Return(Return {
        status,
        location: None,
        body: Some(body),
        content_type: Some(content_type.to_owned()),
    })
}

/// The action in the place of the error; which one that is, depends on the client's `Accept`.
fn in_place(status: u16, kind: ActionKind) -> ErrorActions {
    let vary = HeaderChange { name: "Vary".to_owned(), value: Some(literal("Accept")) };
    let options = ActionOptions { response_headers: vec![vary], ..ActionOptions::default() };
    let action = Action { kind, options };
    ErrorActions { intercept: false, actions: vec![(Errors::Status(status), action)] }
}

/// A text without variables.
fn literal(text: &str) -> Template {
    Template::parse(text.as_bytes()).expect("it has no variables")
}
