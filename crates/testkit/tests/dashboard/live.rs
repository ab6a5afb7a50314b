//! Figures go on after the controller was killed, and after an upgrade.

use crate::dashboard::Dashboard;

#[test]
fn figures_go_on_after_the_controller_and_the_daemon_were_replaced() {
    let mut dashboard = Dashboard::start();
    let mut scenario = dashboard.begin("live", &["over", "over"]);
    scenario.expect_line("ready");
    dashboard.daemon.kill(dashboard.daemon.expect_processes("controller", 1)[0]);
    scenario.go_on();
    scenario.expect_line("ready");
    dashboard.daemon.upgrade();
    scenario.go_on();
    scenario.expect_success();
}
