//! Programs that can listen on a port and nothing else.

use std::collections::HashSet;

use corral_testkit::{Load, daemon, eventually};
use serde_json::{Value, json};

use crate::{merge, number_after, program, with_app};

fn python(site: &corral_testkit::Site, members: Value) -> Value {
    let mut app = json!({
        "type": "http", "executable": "/usr/bin/python3", "arguments": [site.path("port.py")],
        "socket": "port", "concurrency": 1
    });
    merge(&mut app, members);
    app
}

/// Options: applications.{N}.socket, applications.{N}.concurrency
#[test]
fn each_process_has_a_port_of_its_own() {
    let site = program("port.py");
    let server = with_app(&python(&site, json!({ "processes": 3 }))).start();
    let load = Load::start(server.address().socket(), "/", 6);
    let pids = eventually("all processes answer", || {
        let texts = (0..20).map(|_| server.get("/").expect(200).text());
        let pids: HashSet<u32> = texts.map(|text| number_after(&text, "hello from ")).collect();
        (pids.len() == 3).then_some(pids)
    });
    assert!(load.stop().failures.is_empty());
    assert!(server.get("/").text().ends_with(" on 127.0.0.1"));
    assert_eq!(server.named("python3").into_iter().collect::<HashSet<_>>(), pids);
}

/// Options: applications.{N}.socket_variable
#[test]
fn the_variable_can_have_another_name() {
    let site = program("port.py");
    let script = format!("PORT=$HTTP_PORT exec /usr/bin/python3 {}", site.path("port.py").display());
    let app = python(
        &site,
        json!({
            "executable": "/bin/sh", "arguments": ["-c", script], "socket_variable": "HTTP_PORT",
            "environment": { "HOST": "0.0.0.0" }
        }),
    );
    let server = with_app(&app).start();
    assert!(
        server.get("/").expect(200).text().ends_with(" on 0.0.0.0"),
        "what the document says of HOST stays"
    );
}

/// The first start finds its port taken by a process that is none of its own, as if another program had been faster.
#[test]
fn a_port_that_was_taken_meanwhile_is_replaced() {
    let site = program("port.py").file(
        "taker.py",
        "import os, socket, sys, time\n\
         taken = socket.create_server(('127.0.0.1', int(os.environ['PORT'])))\n\
         open(sys.argv[1], 'w').close()\n\
         time.sleep(30)\n",
    );
    let site = site.writable_folder("out");
    let [port, taker, taken] =
        ["port.py", "taker.py", "out/taken"].map(|name| site.path(name).display().to_string());
    let script = format!(
        "[ -e {taken} ] && exec /usr/bin/python3 {port}
         setsid /usr/bin/python3 {taker} {taken} &
         while [ ! -e {taken} ]; do sleep 0.01; done
         sleep 0.2; exit 98"
    );
    let app = python(&site, json!({ "executable": "/bin/sh", "arguments": ["-c", script] }));
    let server = with_app(&app).start();
    server.expect_log("of 127.0.0.1 was taken: trying another one");
    server.get("/").expect(200);
}

#[test]
fn a_port_needs_the_network_of_the_router() {
    let site = program("port.py");
    let app = python(&site, json!({ "isolation": { "namespaces": { "network": true } } }));
    let reply =
        daemon().start_unconfigured().control().put("/config", &json!({ "applications": { "app": app } }));
    let detail = reply.expect_refused(400, "Invalid configuration.");
    assert!(detail.contains("no other process could reach the port"), "{detail}");
}
