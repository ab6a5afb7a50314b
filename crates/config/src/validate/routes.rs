//! `routes` (contract 9).

mod conditions;

use std::iter;

use super::actions;
use super::context::Context;
use super::forms;
use super::schema::{self, ARRAY, Field, Member, OBJECT, optional};
use super::strings::member_name;
use crate::json::Value;
use crate::route::{Action, Match, Route, RouteStep};
use crate::table::Table;

/// Reads the one route of an array, or the named ones of an object.
pub(super) fn read(cx: &mut Context<'_>, field: Field<'_>) -> Table<Route> {
    let Some(named) = field.value.as_object() else {
        return iter::once(Route::new(None, read_steps(cx, field))).collect();
    };
    let mut routes = Table::default();
    for (name, steps) in named {
        cx.at(name, |cx| {
            let Some(text) = member_name(cx, name) else { return };
            let steps = match steps {
                Value::Array(_) => read_steps(cx, Field { name: field.name, value: steps }),
                other => {
                    let detail = schema::wrong_type(&text, ARRAY, other);
                    return cx.problem_with_advice(detail, forms::route(&text));
                }
            };
            routes.push(Route::new(Some(text), steps));
        });
    }
    routes
}

fn read_steps(cx: &mut Context<'_>, field: Field<'_>) -> Vec<RouteStep> {
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
            steps.extend(action.map(|action| RouteStep { conditions, action }));
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
    optional("match", OBJECT)
        .default("everything")
        .means("[conditions](#conditions), which must all hold")
        .read(|cx, field, draft| conditions::read(cx, field, &mut draft.conditions)),
    optional("action", OBJECT)
        .default("required")
        .means("[what is done](#actions) with the request")
        .read(|cx, field, draft| draft.action = actions::read(cx, field)),
];
