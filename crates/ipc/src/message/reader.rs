//! Messages between main and the reader of configuration files.

use std::path::PathBuf;

use corral_config::plan::Assets;
use serde::{Deserialize, Serialize};

use super::{Inserted, Module};
use crate::link::{Incoming, MAX_MESSAGE};

/// From main to the reader of configuration files.
#[derive(Debug, Serialize, Deserialize)]
pub enum ToReader {
    /// First message: read the files, and go on doing so.
    Start {
        /// Files and folders, merged in this order.
        paths: Vec<PathBuf>,
        /// Whether to look by itself for changes.
        watch: bool,
        /// The host executables that were found.
        modules: Vec<Module>,
        /// Names of the certificate bundles in the state directory.
        certificates: Vec<String>,
        /// Names of the JavaScript modules in the state directory.
        scripts: Vec<String>,
    },
    /// Read the files again.
    Read,
}

/// From the reader of configuration files to main.
#[derive(Debug, Serialize, Deserialize)]
pub enum FromReader {
    /// The files contain a configuration.
    Loaded {
        /// The document as compact JSON, opaque to main.
        document: Vec<u8>,
        /// The parts of it that were inserted, for the controller.
        inserted: Vec<Inserted>,
        /// The certificate bundles and JavaScript modules beside the files.
        assets: Assets,
        /// The variables of the environment that they name.
        variables: Vec<String>,
    },
    /// The files cannot be used.
    Unusable {
        /// Every reason, one line each: place and message.
        problems: Vec<String>,
    },
}

impl Incoming for FromReader {
    const LONGEST: usize = MAX_MESSAGE;
}
