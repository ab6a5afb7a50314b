//! Startup and shutdown of an application: the lifespan protocol.

use corral_testkit::{daemon, python_app, site};
use serde_json::json;

use super::handling;
use crate::app;

/// Knows the lifespan protocol, and writes what it goes through to the log.
pub(crate) const LIVING: &str = "
async def application(scope, receive, send):
    if scope['type'] == 'lifespan':
        while True:
            event = await receive()
            print('told ' + event['type'], flush=True)
            if event['type'] == 'lifespan.startup':
                scope['state']['database'] = ['open']
                await send({'type': 'lifespan.startup.complete'})
            else:
                await send({'type': 'lifespan.shutdown.complete'})
                return
    scope['state']['own'] = True
    scope['state']['database'].append('used')
    body = ','.join(scope['state']['database']) + str(sorted(scope['state']))
    await send({'type': 'http.response.start', 'status': 200, 'headers': []})
    await send({'type': 'http.response.body', 'body': body.encode()})
";

#[test]
fn an_application_starts_before_its_first_request_and_ends_after_its_last() {
    let site = site().file("app.py", LIVING);
    let server = daemon().python(python_app(&site).with("limits", json!({ "requests": 2 }))).start();
    server.expect_log("told lifespan.startup");
    // Each request has a copy of the state, not of what is in it.
    server.get("/").expect(200).expect_body("open,used['database', 'own']");
    server.get("/").expect(200).expect_body("open,used,used['database', 'own']");
    server.expect_log("told lifespan.shutdown");
    server.get("/").expect(200).expect_body("open,used['database', 'own']");
}

#[test]
fn an_application_shuts_down_when_it_is_replaced() {
    let (_site, server) = app(LIVING);
    server.get("/").expect(200);
    server.control().get("/control/applications/python/restart").0.expect(200);
    server.expect_log("told lifespan.shutdown");
    server.get("/").expect(200).expect_body("open,used['database', 'own']");
}

#[test]
fn a_startup_that_fails_is_told_as_the_reason() {
    let failing = "
async def application(scope, receive, send):
    await receive()
    await send({'type': 'lifespan.startup.failed', 'message': 'there is no database'})
";
    let site = site().file("app.py", failing);
    let server = daemon().start_unconfigured();
    let config = json!({
        "listeners": { server.address().to_string(): { "pass": "applications/python" } },
        "applications": { "python": python_app(&site).value() }
    });
    let reason =
        server.control().put("/config", &config).expect_refused(500, "Failed to apply new configuration.");
    assert!(reason.contains("there is no database"), "{reason}");
}

/// An application that has asked for an event knows the protocol; if it raises then, its startup has failed.
#[test]
fn an_exception_at_startup_is_an_error_in_the_log_and_the_application_is_served() {
    let (_site, server) = app("
async def application(scope, receive, send):
    if scope['type'] == 'lifespan':
        await receive()
        raise RuntimeError('no database at startup')
    await send({'type': 'http.response.start', 'status': 200})
    await send({'type': 'http.response.body', 'body': str('state' in scope).encode()})
");
    server.get("/").expect(200).expect_body("False");
    server.expect_log("RuntimeError: no database at startup");
    let log = server.log();
    let line = log.lines().find(|line| line.contains("no database at startup")).expect("it was just there");
    assert!(line.contains(" [error] "), "{line}");
}

/// One target's startup is not another's.
#[test]
fn targets_start_by_themselves_and_a_startup_that_fails_is_that_of_all() {
    let code = "
async def answer(send, text):
    await send({'type': 'http.response.start', 'status': 200})
    await send({'type': 'http.response.body', 'body': text.encode()})

async def knowing(scope, receive, send):
    if scope['type'] == 'lifespan':
        await receive()
        scope['state']['mine'] = 'yes'
        await send({'type': 'lifespan.startup.complete'})
        await receive()
        return await send({'type': 'lifespan.shutdown.complete'})
    await answer(send, scope['state']['mine'])

async def ignorant(scope, receive, send):
    assert scope['type'] == 'http', 'knows requests only'
    await answer(send, str('state' in scope))

async def silent(scope, receive, send):
    if scope['type'] == 'http':
        await answer(send, str(scope.get('state')))

async def failing(scope, receive, send):
    await receive()
    await send({'type': 'lifespan.startup.failed', 'message': 'this target has no database'})
";
    let site = site().file("app.py", code);
    let target = |name: &str| json!({ "module": "app", "callable": name });
    let targets = json!({ "a": target("knowing"), "b": target("ignorant"), "c": target("silent") });
    let route = |name: &str| {
        json!({ "match": { "uri": format!("/{name}") },
        "action": { "pass": format!("applications/python/{name}") } })
    };
    let server = daemon().start_unconfigured();
    let config = |targets| {
        json!({
            "listeners": { server.address().to_string(): { "pass": "routes" } },
            "routes": [route("a"), route("b"), route("c")],
            "applications": { "python": python_app(&site).without("module").with("targets", targets).value() }
        })
    };
    server.control().put("/config", &config(targets.clone())).expect_done();
    server.get("/a").expect(200).expect_body("yes");
    server.get("/b").expect(200).expect_body("False");
    server.get("/c").expect(200).expect_body("{}");
    assert!(!server.log().contains("knows requests only"), "{}", server.log());
    let mut failing = targets;
    failing["d"] = target("failing");
    let reason = server.control().put("/config", &config(failing));
    let reason = reason.expect_refused(500, "Failed to apply new configuration.");
    assert!(reason.contains("this target has no database"), "{reason}");
    let log = server.log();
    let line = log.lines().find(|line| line.contains("application \"python\": Traceback"));
    assert!(line.is_some_and(|line| line.contains(" [error] ")), "{log}");
    server.get("/a").expect(200).expect_body("yes");
}

#[test]
fn who_does_not_know_the_lifespan_protocol_is_served_without() {
    let (_site, server) = app(&handling("await answer(send, 'state' in scope)"));
    server.get("/").expect(200).expect_body("False");
}
