//! `routes` and `match` (UNIT-COMPAT 9).

use super::actions;
use super::context::Context;
use super::schema::{self, ARRAY, Field, Member, OBJECT, STRING};
use super::strings::{member_name, patterns};
use crate::json::Value;
use crate::pattern::Flavor;
use crate::route::{Action, Match, Route, Step};

/// Reads the one route of an array, or the named ones of an object.
pub(super) fn read(cx: &mut Context<'_>, field: Field<'_>) -> Vec<Route> {
    let Some(named) = field.value.as_object() else {
        return vec![Route { name: None, steps: read_steps(cx, field) }];
    };
    let mut routes = Vec::new();
    for (name, steps) in named {
        cx.at(name, |cx| {
            let Some(text) = member_name(cx, name) else { return };
            let steps = match steps {
                Value::Array(_) => read_steps(cx, Field { name: field.name, value: steps }),
                other => return cx.problem(schema::wrong_type(&text, ARRAY, other)),
            };
            routes.push(Route { name: Some(text), steps });
        });
    }
    routes
}

fn read_steps(cx: &mut Context<'_>, field: Field<'_>) -> Vec<Step> {
    let mut steps = Vec::new();
    for (idx, element) in field.value.as_array().unwrap_or_default().iter().enumerate() {
        cx.at_index(idx, |cx| {
            let Some(members) = element.as_object() else {
                return cx.problem(format!("The \"{}\" array must contain only object values.", field.name));
            };
            let mut draft = StepDraft::default();
            schema::read_object(cx, members, &[STEP], &mut draft);
            if !members.contains_key(b"action".as_slice()) {
                cx.late_problem("The route step must have the \"action\" option set.");
            }
            let StepDraft { conditions, action } = draft;
            steps.extend(action.map(|action| Step { conditions, action }));
        });
    }
    steps
}

#[derive(Default)]
struct StepDraft {
    conditions: Match,
    action: Option<Action>,
}

const STEP: &[Member<StepDraft>] = &[
    Member::optional("match", OBJECT, |cx, field, draft| {
        schema::read_nested(cx, field, &[MATCH], &mut draft.conditions);
    }),
    Member::optional("action", OBJECT, |cx, field, draft| draft.action = actions::read(cx, field)),
];

const MATCH: &[Member<Match>] = &[
    Member::optional("method", STRING.or(ARRAY), |cx, field, conditions| {
        conditions.method = patterns(cx, field, Flavor::UpperCased);
    }),
    Member::optional("host", STRING.or(ARRAY), |cx, field, conditions| {
        conditions.host = patterns(cx, field, Flavor::CaseInsensitive);
    }),
    Member::optional("uri", STRING.or(ARRAY), |cx, field, conditions| {
        conditions.uri = patterns(cx, field, Flavor::PercentEncoded);
    }),
    Member::not_yet("query"),
    Member::not_yet("arguments"),
    Member::not_yet("headers"),
    Member::not_yet("cookies"),
    Member::not_yet("scheme"),
    Member::not_yet("source"),
    Member::not_yet("destination"),
    Member::not_yet("if"),
];
