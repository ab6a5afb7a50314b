//! Messages between main and an image: an interpreter without an application, whose copies become prototypes.

use std::ffi::CString;
use std::path::PathBuf;

use corral_config::plan::AppSpec;
use corral_sys::limits::Limit;
use serde::{Deserialize, Serialize};

use super::UserNumbers;
use crate::link::{Incoming, MAX_INLINE};

/// From main to an image.
#[derive(Debug, Serialize, Deserialize)]
#[expect(clippy::large_enum_variant, reason = "the first message is the large one, and comes once")]
pub enum ToImage {
    /// First message: load the interpreter, then answer `Ready` or `Unfit`.
    Load {
        /// All that the image's applications have in common ([`AppSpec::image`]).
        spec: AppSpec,
    },
    /// Make a copy, which becomes the prototype of an application. Comes with that prototype's end of its link to main,
    /// standard output and standard error. Answered by `Forked` or `ForkFailed`. All else the copy hears from main
    /// itself ([`Identity`]), so that nothing of one application passes through the memory of another's parent.
    Fork,
}

/// From an image to main.
#[derive(Debug, Serialize, Deserialize)]
pub enum FromImage {
    /// The interpreter is loaded.
    Ready {
        /// Files that it was loaded from: a change of one asks for another image.
        files: Vec<PathBuf>,
    },
    /// Applications have to load the interpreter by themselves. The image exits.
    Unfit {
        /// Why.
        reason: String,
    },
    /// A copy was made, which is main's child by now.
    Forked {
        /// The number of the copy.
        pid: u32,
    },
    /// No copy was made.
    ForkFailed {
        /// Why.
        reason: String,
    },
}

impl Incoming for FromImage {
    const LONGEST: usize = MAX_INLINE;
}

/// First message to a copy of an image, before those to any prototype: what it is to become. Comes with the file by
/// which its control group is joined, and with the wall, as far as there are any.
#[derive(Debug, Serialize, Deserialize)]
pub struct Identity {
    /// Environment variables, `NAME=value` each.
    pub environment: Vec<CString>,
    /// Limits of resources: main's, which may have changed since the image was started.
    pub limits: Vec<Limit>,
    /// Whether there is a control group.
    pub has_cgroup: bool,
    /// The user to run as, if it is another one.
    pub credentials: Option<UserNumbers>,
    /// Whether programs that it starts can never gain privileges.
    pub no_new_privileges: bool,
    /// Whether there is a wall between it and other processes of its user.
    pub has_wall: bool,
    /// The directory to change to.
    pub working_directory: Option<PathBuf>,
}
