//! Hundreds of applications, and one with many processes: how fast the page is then, in figures that are printed.

use serde_json::json;

use crate::dashboard::{APPLICATION, Dashboard, application, program};

/// Applications whose processes are not started.
const OTHERS: usize = 499;

#[test]
fn five_hundred_applications_and_sixty_four_processes_are_drawn() {
    let site = program();
    let dashboard = Dashboard::start_with(|mut config| {
        config["applications"][APPLICATION]["processes"] = json!(64);
        for number in 0..OTHERS {
            config["applications"][format!("site-{number:03}")] =
                application(&site, &json!({ "max": 64, "spare": 0 }));
        }
        config
    });
    let view = format!("applications/{APPLICATION}");
    dashboard.run("speed", &["overview", "applications", &view]);
}
