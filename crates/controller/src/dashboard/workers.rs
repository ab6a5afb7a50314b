//! The workers of one application, for viewers that look at it.

use corral_config::json::Value;

use crate::state::Controller;

/// The list as `/control/applications/NAME/workers` answers it; none where there is no such application, or nothing is
/// known.
pub(super) async fn workers_of(_controller: &Controller, _name: &str) -> Option<Value> {
    None
}
