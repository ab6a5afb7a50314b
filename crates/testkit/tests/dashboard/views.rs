//! Each view in both colour schemes, on narrow screens, and by the keyboard alone.

use crate::dashboard::{APPLICATION, Dashboard};

#[test]
fn each_view_is_there_in_both_colour_schemes_and_on_a_narrow_screen() {
    Dashboard::start().run("views", &[APPLICATION]);
}

#[test]
fn the_keyboard_alone_leads_everywhere() {
    Dashboard::start().run("keyboard", &[APPLICATION]);
}
