//! The pictures of the manual, which `UPDATE_SCREENSHOTS=1` takes anew: after two minutes, as curves need some time.

use std::fs;
use std::path::{Path, PathBuf};

use crate::dashboard::{APPLICATION, Dashboard, MARKUP};

const PICTURES: [&str; 3] = ["overview", "application", "configuration"];

/// A page of the manual is for all screens.
const MOST_BYTES: usize = 250_000;

fn images() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src/images")
}

#[test]
fn the_manual_shows_the_dashboard() {
    if std::env::var_os("UPDATE_SCREENSHOTS").is_some() {
        let dashboard = Dashboard::start_with(|mut config| {
            config["applications"].as_object_mut().expect("it is an object").remove(MARKUP);
            config["routes"].as_array_mut().expect("it is an array").remove(2);
            config
        });
        dashboard.run("pictures", &[APPLICATION, &images().display().to_string()]);
    }
    let page = fs::read_to_string(images().join("../operating/dashboard.md")).expect("the page is there");
    for name in PICTURES {
        let file = format!("dashboard-{name}.png");
        let picture = fs::read(images().join(&file)).expect("UPDATE_SCREENSHOTS=1 takes the pictures");
        assert!(picture.starts_with(b"\x89PNG"), "{file}");
        assert!(picture.len() < MOST_BYTES, "{file}: {} bytes", picture.len());
        assert!(page.contains(&format!("../images/{file}")), "the manual does not show {file}");
    }
}
