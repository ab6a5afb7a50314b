//! `defaults` of listeners and of named routes: what their requests are inside of.

use super::actions::options;
use super::context::Context;
use super::label::Label;
use super::schema::{self, Field, OBJECT, optional};
use crate::json::Value;
use crate::route::{Action, ActionKind, ActionOptions, Destination};

/// The row of a listener's.
pub(super) const OF_LISTENER: Label = optional("defaults", OBJECT).means(
    "[options of actions](routes.md#defaults) that hold for all requests of the listener, unless an action says \
     something else (beyond Unit)",
);

/// The member of `routes` that is not a route, if its value is an object.
pub(super) const NAME: &[u8] = b"defaults";

/// Whether a member of `routes` are the defaults of the others. An array is a route of this name, as in Unit.
pub(super) fn are_of_routes(name: &[u8], value: &Value) -> bool {
    name == NAME && value.as_object().is_some()
}

/// Reads the options of an action that passes there.
pub(super) fn read(cx: &mut Context<'_>, field: Field<'_>) -> ActionOptions {
    let mut draft = ActionOptions::default();
    schema::read_nested(cx, field, options::INSIDE, &mut draft);
    draft
}

/// The outermost action of what passes there.
pub(super) fn action(options: ActionOptions, pass: Destination) -> Box<Action> {
    Box::new(Action { kind: ActionKind::Pass(pass), options })
}
