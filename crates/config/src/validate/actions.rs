//! `action` (contract 11) and the text of `pass`.

mod body;
pub(super) mod options;

use self::options::read_kind;
use super::context::Context;
use super::destination::request_destination;
use super::gateway;
use super::proxy::{PROXY, ProxyDraft};
use super::scalars::is_true;
use super::schema::{self, BOOL, Field, INTEGER, Member, STRING, optional};
use super::share;
use super::strings::template;
use super::try_files;
use crate::control_service::ControlDestination;
use crate::json::{Object, Value};
use crate::route::{Action, ActionKind, ActionOptions, Destination, Return};

/// Reads an action: exactly one kind of it, with the options of that kind.
pub(super) fn read(cx: &mut Context<'_>, field: Field<'_>) -> Option<Action> {
    let members = field.value.as_object()?;
    let mut kinds = KINDS.iter().filter(|(name, _)| members.contains_key(name.as_bytes()));
    match (kinds.next(), kinds.next()) {
        (Some((_, read)), None) => {
            let mut options = ActionOptions::default();
            let kind = read(cx, members, &mut options)?;
            if let Some(key) = options.path.as_ref().and_then(|path| path.try_files) {
                try_files::finish(cx, members, key, &kind);
            }
            Some(Action { kind, options })
        }
        (None, _) => {
            cx.problem_with_advice(
                "The \"action\" object must have either \"pass\", \"return\", \"share\", or \"proxy\" option set.",
                FURTHER,
            );
            schema::report_misspelt(cx, members, &KINDS.map(|(name, _)| name));
            None
        }
        (Some(_), Some(_)) => {
            cx.problem_with_advice(
                "The \"action\" object must have just one of \"pass\", \"return\", \"share\", or \"proxy\" options \
                set.",
                FURTHER,
            );
            None
        }
    }
}

type ReadKind = fn(&mut Context<'_>, &Object, &mut ActionOptions) -> Option<ActionKind>;

const KINDS: [(&str, ReadKind); 8] = [
    ("pass", read_pass),
    ("return", read_return),
    ("share", share::read),
    ("proxy", read_proxy),
    ("fastcgi", gateway::read_fastcgi),
    ("scgi", gateway::read_scgi),
    ("uwsgi", gateway::read_uwsgi),
    ("metrics", read_metrics),
];

/// The kinds that Unit's words leave out.
const FURTHER: &str = "\"fastcgi\", \"scgi\", \"uwsgi\" and \"metrics\" are such options too.";

fn read_pass(cx: &mut Context<'_>, members: &Object, options: &mut ActionOptions) -> Option<ActionKind> {
    let mut draft = None;
    read_kind(cx, members, &[PASS], &mut draft, options);
    draft.map(ActionKind::Pass)
}

const PASS: &[Member<Option<Destination>>] = &[optional("pass", STRING)
    .means(
        "on to `routes`, `routes/NAME`, `applications/NAME`, `applications/NAME/TARGET` or \
         `upstreams/NAME`; a `/` in a name is written `%2F`. It does not come back",
    )
    .read(|cx, field, draft| *draft = request_destination(cx, field))];

fn read_metrics(cx: &mut Context<'_>, members: &Object, options: &mut ActionOptions) -> Option<ActionKind> {
    let mut draft = false;
    read_kind(cx, members, &[METRICS], &mut draft, options);
    draft.then_some(ActionKind::Pass(Destination::Control(ControlDestination::Metrics)))
}

const METRICS: &[Member<bool>] = &[optional("metrics", BOOL)
    .means(
        "`true`: the [metrics](../operating/metrics.md) of the server, whatever the path is; guard them by \
         `authenticate` or `match.source` (beyond Unit)",
    )
    .read(|cx, field, draft| {
        *draft = is_true(field);
        if !*draft {
            cx.problem("The \"metrics\" option of an action can only be true.");
        }
    })];

fn read_return(cx: &mut Context<'_>, members: &Object, options: &mut ActionOptions) -> Option<ActionKind> {
    let mut draft = Return::default();
    read_kind(cx, members, &[RETURN, body::BODY], &mut draft, options);
    if members.get(b"return".as_slice()).is_some_and(|value| value.as_bytes().is_some()) {
        body::check_absent(cx, members);
        return Some(ActionKind::Close);
    }
    body::check(cx, members, &draft);
    Some(ActionKind::Return(draft))
}

const RETURN: &[Member<Return>] = &[
    optional("return", INTEGER)
        .or_beyond_unit(STRING)
        .means(
            "a status from 0 to 999; from 400 to 599 an error page. Behind 1xx, which no client takes for a \
             reply, the connection is closed. `\"close\"`: no reply at all, [the connection is \
             closed](#no-answer) (beyond Unit)",
        )
        .read(|cx, field, draft| {
            match field.value {
                Value::String(word) if **word == *b"close" => return,
                // In Unit's words.
                Value::String(_) => return schema::report_wrong_type(cx, field.name, INTEGER, field.value),
                _ => {}
            }
            let number = field.value.as_number().map_or(-1, |number| number.as_i64());
            match u16::try_from(number) {
                Ok(status @ 0..=999) => draft.status = status,
                _ => cx.problem("The \"return\" value is out of allowed HTTP status code range 0-999."),
            }
        }),
    optional("location", STRING)
        .means("beside `return`: where a redirection leads, as a text with variables")
        .read(|cx, field, draft| draft.location = template(cx, field)),
];

fn read_proxy(cx: &mut Context<'_>, members: &Object, options: &mut ActionOptions) -> Option<ActionKind> {
    let mut draft = ProxyDraft::default();
    read_kind(cx, members, &[PROXY], &mut draft, options);
    draft.into_action(cx)
}
