//! Web applications in Java: a virtual machine that runs Corral's launcher, which serves them by Tomcat.

use std::env;
use std::ffi::OsString;
use std::fs::File;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use anyhow::Context;
use corral_config::plan::JavaSpec;

use crate::command::{find_in_path, may_run};

/// The virtual machine: that of `JAVA_HOME`, or the first in `PATH`.
pub(crate) fn find() -> anyhow::Result<PathBuf> {
    match env::var_os("JAVA_HOME").filter(|home| !home.is_empty()) {
        Some(home) => {
            let path = Path::new(&home).join("bin/java");
            may_run(&path).with_context(|| format!("the Java of JAVA_HOME, \"{}\"", path.display()))?;
            Ok(path)
        }
        None => find_in_path(Path::new("java"))
            .context("Java 17 or newer is needed, in JAVA_HOME or PATH (Debian: default-jre-headless)"),
    }
}

/// Behind its own name.
pub(crate) fn arguments(
    java: &JavaSpec,
    launcher: &Path,
    threads: NonZeroU32,
) -> anyhow::Result<Vec<OsString>> {
    File::open(&java.webapp).with_context(|| format!("the web application \"{}\"", java.webapp.display()))?;
    let stack = java.thread_stack_size.map(|size| format!("-Xss{size}"));
    let options = java.options.iter().cloned().chain(stack).map(OsString::from);
    let launch = ["-jar".into(), launcher.into(), java.webapp.clone().into(), threads.to_string().into()];
    Ok(options.chain(launch).chain(java.classpath.iter().map(OsString::from)).collect())
}
