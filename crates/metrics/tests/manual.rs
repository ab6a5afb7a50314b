//! The manual's page of series is what the table has. `UPDATE_MANUAL=1 cargo test -p corral-metrics` writes it anew.

use std::path::Path;
use std::{env, fs};

use corral_metrics::{Section, manual};

const PAGE: &str = "../../docs/src/operating/metrics.md";
const BEGIN: &str = "<!-- series -->\n";
const END: &str = "<!-- end of series -->";

#[test]
fn the_manual_shows_all_series() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE);
    let page = fs::read_to_string(&path).expect("the page is text");
    let (before, rest) = page.split_once(BEGIN).expect("the series have a beginning");
    let (_, behind) = rest.split_once(END).expect("the series have an end");
    let parts =
        Section::ALL.map(|section| format!("\n### {}\n\n{}", section.title(), manual::table(section)));
    let renewed = format!("{before}{BEGIN}{}\n{END}{behind}", parts.concat());
    if env::var_os("UPDATE_MANUAL").is_some() {
        return fs::write(&path, renewed).expect("the page can be written");
    }
    assert!(page == renewed, "`UPDATE_MANUAL=1 cargo test -p corral-metrics` writes {PAGE} anew");
}
