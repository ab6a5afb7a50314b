//! Each action asks first, and does what it says.

use corral_testkit::Address;

use crate::dashboard::{
    APPLICATION, CERTIFICATE, Dashboard, MARKUP, READ_TOKEN, TOKEN, base, config, program, with_tokens,
};
use crate::scenario::Scenario;

#[test]
fn applications_processes_and_certificates_are_acted_on_after_a_question() {
    let dashboard = Dashboard::start();
    let site = format!("http://{}/shop/items/1", dashboard.daemon.address());
    let listener = Address::fresh().to_string();
    dashboard.run("actions", &[APPLICATION, CERTIFICATE, &site, &listener]);
}

#[test]
fn the_configuration_is_edited_compared_put_in_force_and_undone() {
    Dashboard::start().run("configuration", &[]);
}

#[test]
fn sessions_begin_with_a_token_and_may_be_for_reading_only() {
    Dashboard::start().run("session", &[READ_TOKEN, APPLICATION]);
}

#[test]
fn a_configuration_from_files_is_changed_there() {
    let site = program();
    let file = site.path("corral.json");
    let config = config(&Address::fresh().to_string(), &site);
    site.write("corral.json", config.to_string());
    let file = file.display().to_string();
    let daemon = with_tokens(&site).argument("--config").argument(&file).start_unconfigured();
    Scenario::start("files", &[&base(&daemon), TOKEN, &file, APPLICATION]).expect_success();
}

#[test]
fn markup_of_names_paths_comments_and_log_lines_stays_text() {
    Dashboard::start().run("markup", &[MARKUP]);
}
