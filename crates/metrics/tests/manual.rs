//! The manual's pages of series and alerts are what the tables have. `UPDATE_MANUAL=1 cargo test -p corral-metrics`
//! writes them anew.

use std::path::Path;
use std::{env, fs};

use corral_metrics::{Section, manual};

/// A page below `docs/src/operating` has this text between its two comments about `what`.
#[track_caller]
fn check(page: &str, what: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src/operating").join(page);
    let written = fs::read_to_string(&path).expect("the page is text");
    let (begin, end) = (format!("<!-- {what} -->\n"), format!("<!-- end of {what} -->"));
    let (before, rest) = written.split_once(&begin).expect("the part has a beginning");
    let (_, behind) = rest.split_once(&end).expect("the part has an end");
    let renewed = format!("{before}{begin}{text}\n{end}{behind}");
    if env::var_os("UPDATE_MANUAL").is_some() {
        return fs::write(&path, renewed).expect("the page can be written");
    }
    assert!(written == renewed, "`UPDATE_MANUAL=1 cargo test -p corral-metrics` writes {page} anew");
}

#[test]
fn the_manual_shows_all_series() {
    let parts =
        Section::ALL.map(|section| format!("\n### {}\n\n{}", section.title(), manual::table(section)));
    check("metrics.md", "series", &parts.concat());
}

#[test]
fn the_manual_shows_all_alerts() {
    check("alerts.md", "alerts", &manual::alerts());
}
