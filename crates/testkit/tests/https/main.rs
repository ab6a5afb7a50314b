//! HTTPS for whoever has not configured anything: `corral run --https`, `corral trust`, and `corral run --domain`.

mod browser;
mod domain;
mod home;
mod local;
mod renewal;
mod trust;
