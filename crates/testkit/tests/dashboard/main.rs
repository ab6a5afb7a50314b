//! The dashboard in a real browser: the scenarios of `ui/tests`, against daemons under load.

mod actions;
mod dashboard;
mod live;
mod many;
mod pictures;
mod safety;
mod scenario;
mod views;
