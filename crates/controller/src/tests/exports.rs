//! Figures for a collector of OpenTelemetry, as main gets them to pass on.

use std::time::Duration;

use corral_ipc::message::{ChangeOrigin, DaemonStatus, Status};

use super::fake_main::Event;
use super::{Server, Setup};

const TELEMETRY: &str = r#"{"settings":{"telemetry":{"endpoint":"http://h/v1/traces","protocol":"http",
    "service_name":"shop","metrics":{"interval":1}}}}"#;

#[track_caller]
fn expect_export(server: &Server) {
    let Event::Export(request) = server.event() else { panic!("figures are missing") };
    for text in ["shop", "corral_requests", "corral_build_info", "service.instance.id"] {
        let found = request.windows(text.len()).any(|window| window == text.as_bytes());
        assert!(found, "{text} is missing in {}", String::from_utf8_lossy(&request));
    }
}

#[test]
fn figures_are_exported_while_the_configuration_wants_it() {
    let server = Server::start(Setup::default());
    let put = server.request("PUT", "/config", TELEMETRY);
    assert_eq!(put.status(), "200 OK", "{put:?}");
    assert!(matches!(server.event(), Event::Apply { .. }));
    expect_export(&server);
    expect_export(&server);
}

/// Main knows both times; what a controller works out would differ from one controller to the next.
#[test]
fn main_says_when_it_began_and_counts() {
    let began = Duration::from_millis(1_764_205_000_250);
    let since = Duration::from_millis(1_764_000_000_125);
    let daemon = DaemonStatus { started: began, counting_since: since, ..DaemonStatus::default() };
    let status = Some(Status { daemon, ..Status::default() });
    let server = Server::start(Setup { status, document: Some(TELEMETRY), ..Setup::default() });
    let metrics = server.get("/metrics").body;
    assert!(metrics.contains("\ncorral_start_time_seconds 1764205000.25\n"), "{metrics}");
    let Event::Export(request) = server.event() else { panic!("figures are missing") };
    let nanos = u64::try_from(since.as_nanos()).unwrap().to_le_bytes();
    assert!(request.windows(nanos.len()).any(|window| window == nanos));
}

#[test]
fn a_controller_that_takes_the_place_of_another_goes_on_with_it() {
    let (document, origin) = (Some(TELEMETRY), ChangeOrigin::InForce);
    expect_export(&Server::start(Setup { document, origin, ..Setup::default() }));
}

#[test]
fn a_router_that_does_not_answer_is_not_waited_for() {
    let server = Server::start(Setup { status: None, document: Some(TELEMETRY), ..Setup::default() });
    server.check("GET", "/config/settings/telemetry/metrics", "", "200 OK", r#"{"interval": 1}"#);
    let known = Server::start(Setup {
        status: Some(Status::default()),
        document: Some(TELEMETRY),
        ..Setup::default()
    });
    expect_export(&known);
    assert!(server.heard.events.try_recv().is_err(), "nothing is exported without figures");
}
