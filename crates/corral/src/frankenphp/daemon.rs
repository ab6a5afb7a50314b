//! The daemon behind `frankenphp run`, a child of it that reads on standard input what to serve.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use corral_supervisor::{ConsoleOptions, DaemonOptions, ModuleSource};
use corral_sys::process::set_parent_death_signal;
use corral_sys::signal::Signal;
use serde_json::{Value, json};

use super::document::CERTIFICATE;
use crate::foreground::Foreground;
use crate::log::{self, Style};
use crate::serve::{self, Owner};

/// The child's orders.
pub(super) struct DaemonOrder<'a> {
    pub(super) document: &'a Value,
    /// The folder of what browsers may reach, whose owner runs the application.
    pub(super) root: &'a Path,
    pub(super) control: &'a Path,
    pub(super) temp: &'a Path,
    /// The state folder, with the certificate, where there is one.
    pub(super) state: Option<&'a Path>,
    /// A notice about the certificate.
    pub(super) notice: Option<&'a str>,
    /// Files and folders whose changes are served from the next request on.
    pub(super) watch: &'a [PathBuf],
}

impl DaemonOrder<'_> {
    pub(super) fn to_text(&self) -> String {
        let Self { document, root, control, temp, state, notice, watch } = self;
        let paths = json!({ "root": root, "control": control, "temp": temp, "state": state });
        json!({ "document": document, "paths": paths, "notice": notice, "watch": watch }).to_string()
    }
}

/// The child.
pub(crate) fn run() -> anyhow::Result<ExitCode> {
    // No other process would end this one.
    set_parent_death_signal(Signal::TERM).context("end with the parent")?;
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).context("read what to serve")?;
    let order: Value = serde_json::from_str(&text).context("this command is for `frankenphp run`")?;
    let path_if_any = |name: &str| order["paths"][name].as_str().map(PathBuf::from);
    let path = |name: &str| path_if_any(name).context("the order lacks a path");
    let (root, control, temp) = (path("root")?, path("control")?, path("temp")?);
    let owner = Owner::of(&root, None)?;
    let modules = serve::find_module("php", &owner)?;
    let document = order["document"].to_string();
    let state = path_if_any("state");
    serve::check(&document, &modules, state.iter().map(|_| CERTIFICATE.to_owned()).collect())?;
    let watch = order["watch"].as_array().into_iter().flatten();
    log::init(Style::File);
    order["notice"].as_str().inspect(|notice| tracing::warn!("{notice}"));
    owner.notice().inspect(|(notice, _)| tracing::warn!("{notice}"));
    let foreground = Foreground {
        control,
        temp_dir: temp,
        users: owner.users(&root),
        modules: ModuleSource::Known(modules),
        title: format!("frankenphp {}", root.display()),
    };
    corral_supervisor::run(DaemonOptions {
        state_dir: state,
        console: Some(ConsoleOptions {
            document: document.into_bytes(),
            announcement: format!("serving {}", root.display()),
            once_served: None,
            watch: watch.filter_map(Value::as_str).map(PathBuf::from).collect(),
            shows_requests: false,
            explains: false,
        }),
        ..foreground.options()
    })
}
