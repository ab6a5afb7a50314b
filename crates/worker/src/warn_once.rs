//! Habits of applications that their interface's specification forbids, and other servers accept: accepted as well, and
//! reported once, whatever number of processes the application has.
//!
//! Workers share with their prototype what has been said.

use std::io::{self, Write};
use std::sync::OnceLock;

use corral_sys::once::SharedOnce;

/// Nothing where there is no memory: remarks can be done without.
static SAID: OnceLock<Option<SharedOnce>> = OnceLock::new();

/// In the prototype: what one of its workers says, none of them says again.
pub(crate) fn begin() {
    said();
}

/// Says something about the application that it should hear once. The remark is not an error, so it goes where lines go
/// that the application prints.
pub fn warn_once(habit: &str) {
    if said().is_some_and(|said| said.is_first(habit)) {
        let _ = io::stdout().write_all(format!("{habit} (said once)\n").as_bytes());
    }
}

fn said() -> Option<&'static SharedOnce> {
    SAID.get_or_init(|| SharedOnce::new().ok()).as_ref()
}
