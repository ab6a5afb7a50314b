//! HTTPS without a configuration: `corral run --https`, `corral trust`, and `corral run --domain`.

mod browser;
mod domain;
mod home;
mod local;
mod renewal;
mod trust;
