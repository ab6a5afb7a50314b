//! `corral run` as its users meet it: folders of all kinds, at a terminal and without one.

mod django;
mod documents;
mod ending;
mod environment;
mod folders;
mod pages;
mod programs;
mod recognising;
mod terminal;
mod watching;

use corral_testkit::{Address, Client, Run, Site, eventually};

/// Starts `corral run` on a folder and waits until it serves.
#[track_caller]
fn serve(site: &Site, more: &[&str]) -> (Run, Client) {
    let address = Address::fresh();
    let (root, listen) = (site.root(), address.to_string());
    let mut run = Run::start(&[&["run", &root, "--listen", &listen], more].concat());
    run.expect_output(&format!("http://{listen}"));
    let client = eventually("it accepts connections", || Client::try_connect(address.socket()).ok());
    (run, client)
}
