//! A thousand names.

use std::time::{Duration, Instant};

use corral_testkit::pebble::Options;
use corral_testkit::{eventually, within};
use serde_json::json;

use crate::ordering::Ordering;

#[test]
fn a_thousand_names_get_their_certificates() {
    let ordering = Ordering::start(Options::default());
    let names: Vec<_> = (0..1000).map(|idx| format!("n{idx}.example.org")).collect();
    let begun = Instant::now();
    ordering.order(&json!({ "names": names }));
    let all = within(Duration::from_secs(300), || {
        (ordering.records("certificate-").len() == names.len()).then_some(())
    });
    assert!(all.is_some(), "{}", ordering.server.log());
    println!("a thousand certificates in {:?}", begun.elapsed());
    for name in [&names[0], &names[999]] {
        ordering.expect_valid(name);
        ordering.expect_served(name);
    }
    eventually("all orders are over", || ordering.records("order-").is_empty().then_some(()));
}
