//! Whether this is a container: there root owns what an image has brought, and has few rights beyond it.

use std::fs;
use std::path::Path;

/// Files that Docker and Podman put into each of theirs.
const MARKS: [&str; 2] = ["/.dockerenv", "/run/.containerenv"];

/// Variables that Podman, systemd-nspawn and LXC set, and Kubernetes.
const VARIABLES: [&str; 2] = ["container", "KUBERNETES_SERVICE_HOST"];

/// The first namespace of process ids of a machine (`PROC_PID_INIT_INO` of the kernel).
const FIRST_NAMESPACE: &str = "pid:[4026531836]";

/// Whether this process runs in a container.
pub(super) fn is_one() -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let namespace = fs::read_link("/proc/self/ns/pid");
    MARKS.iter().any(|path| Path::new(path).exists())
        || VARIABLES.iter().any(|name| is_set(name))
        || namespace.is_ok_and(|namespace| namespace != Path::new(FIRST_NAMESPACE))
}
