//! `routes` (contract 9).

mod captures;
mod conditions;
mod files;

use std::iter;

use super::actions;
use super::context::Context;
use super::defaults;
use super::forms;
use super::schema::{self, ARRAY, Field, Member, OBJECT, optional};
use super::strings::member_name;
use crate::json::{Bytes, Object, Value};
use crate::route::{Action, Captures, Destination, Match, Route, RouteStep};
use crate::table::{Key, Table};

/// The member `routes`, as far as it was read.
#[derive(Default)]
pub(super) struct RouteDrafts {
    pub(super) routes: Table<Route>,
    /// The action that all of them are inside of.
    pub(super) defaults: Option<Box<Action>>,
}

/// Reads the one route of an array, or the named ones of an object.
pub(super) fn read(cx: &mut Context<'_>, field: Field<'_>) -> RouteDrafts {
    let Some(named) = field.value.as_object() else {
        let routes = iter::once(Route::new(None, read_steps(cx, field))).collect();
        return RouteDrafts { routes, defaults: None };
    };
    let mut draft = RouteDrafts::default();
    let are_defaults = |member: &(&Bytes, &Value)| defaults::are_of_routes(member.0, member.1);
    let own: Object =
        named.iter().filter(are_defaults).map(|(name, value)| (name.clone(), value.clone())).collect();
    schema::read_object(cx, &own, &[ROUTES], &mut draft);
    for (name, steps) in named.iter().filter(|member| !are_defaults(member)) {
        cx.at(name, |cx| {
            let Some(text) = member_name(cx, name) else { return };
            let steps = match steps {
                Value::Array(_) => read_steps(cx, Field { name: field.name, value: steps }),
                other => {
                    let detail = schema::wrong_type(&text, ARRAY, other);
                    return cx.problem_with_advice(detail, forms::route(&text));
                }
            };
            draft.routes.push(Route::new(Some(text), steps));
        });
    }
    draft
}

const ROUTES: &[Member<RouteDrafts>] = &[optional("defaults", OBJECT.or(ARRAY))
    .means(
        "beside named routes, an object: [options of actions](#defaults) that hold for all requests that come to a \
         route, unless an action says something else (beyond Unit). An array is a route of this name",
    )
    .read(|cx, field, draft| {
        if field.value.as_object().is_some() {
            let options = defaults::read(cx, field);
            draft.defaults = Some(defaults::action(options, Destination::Route(Key::nth(0))));
        }
    })];

fn read_steps(cx: &mut Context<'_>, field: Field<'_>) -> Vec<RouteStep> {
    let mut steps = Vec::new();
    for (idx, element) in field.value.as_array().unwrap_or_default().iter().enumerate() {
        cx.at_index(idx, |cx| {
            let Some(members) = element.as_object() else {
                return cx.problem(format!("The \"{}\" array must contain only object values.", field.name));
            };
            let captures = captures::of_step(cx, members);
            let mut draft = StepDraft { captures, ..StepDraft::default() };
            schema::read_object(cx, members, &[STEP], &mut draft);
            if !members.contains_key(b"action".as_slice()) {
                cx.late_problem("The route step must have the \"action\" option set.");
            }
            let StepDraft { conditions, action, captures, names_groups } = draft;
            let captures = captures.filter(|_| names_groups).map(Box::new);
            if let Some(action) = action {
                let place = cx.pointer().to_owned();
                let key = cx.tables.steps.push(place);
                steps.push(RouteStep { conditions, action, captures, key });
            }
        });
    }
    steps
}

#[derive(Default)]
struct StepDraft {
    conditions: Match,
    action: Option<Action>,
    captures: Option<Captures>,
    /// Whether templates of the action name groups.
    names_groups: bool,
}

const STEP: &[Member<StepDraft>] = &[
    optional("match", OBJECT)
        .default("everything")
        .means("[conditions](#conditions), which must all hold")
        .read(|cx, field, draft| conditions::read(cx, field, &mut draft.conditions)),
    optional("action", OBJECT).default("required").means("[what is done](#actions) with the request").read(
        |cx, field, draft| {
            let groups = draft.captures.as_ref().map(|captures| captures.groups.clone());
            (draft.action, draft.names_groups) = cx.with_groups(groups, |cx| actions::read(cx, field));
        },
    ),
];
