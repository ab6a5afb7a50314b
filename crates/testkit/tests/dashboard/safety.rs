//! Pages of other origins in the same browser can neither show the dashboard nor act by its session.

use crate::dashboard::{APPLICATION, Dashboard};

#[test]
fn other_pages_cannot_frame_call_or_rebind_the_dashboard() {
    Dashboard::start().run("attacks", &[APPLICATION]);
}
