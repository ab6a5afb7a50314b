//! `corral run` as its users meet it: folders of all kinds, at a terminal and without one.

mod beside;
mod commands;
mod containers;
mod daemons;
mod django;
mod documents;
mod ending;
mod environment;
mod exec;
mod folders;
mod hanging;
mod languages;
mod newcomer;
mod octane;
mod pages;
mod ports;
mod programs;
mod recognising;
mod static_sites;
mod terminal;
mod terminals;
mod top;
mod users;
mod watching;
mod workers;

use std::time::Duration;

use corral_testkit::{Address, Client, PATIENCE, Run, Site, eventually, within};

/// Starts `corral run` on a folder and waits until it serves.
#[track_caller]
fn serve(site: &Site, more: &[&str]) -> (Run, Client) {
    serve_within(PATIENCE, site, more)
}

/// The same for what has to be compiled first.
#[track_caller]
fn serve_within(patience: Duration, site: &Site, more: &[&str]) -> (Run, Client) {
    let address = Address::fresh();
    let (root, listen) = (site.root(), address.to_string());
    let mut run = Run::start(&[&["run", &root, "--listen", &listen], more].concat());
    let url = format!("http://{listen}");
    // What it waits for in vain is told by what follows.
    let _ = within(patience, || run.stdout().contains(&url).then_some(()));
    run.expect_output(&url);
    let client = eventually("it accepts connections", || Client::try_connect(address.socket()).ok());
    (run, client)
}
