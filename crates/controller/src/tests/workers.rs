//! Workers one by one, and the end of one.

use corral_ipc::message::{ChangeOrigin, WorkerEnding};

use super::fake_main::Event;
use super::{Server, Setup};

fn server() -> Server {
    let document =
        r#"{"applications": {"a/b": {"type": "php", "root": "/"}, "broken": {"type": "php", "root": "/"}}}"#;
    Server::start(Setup { document: Some(document), origin: ChangeOrigin::InForce, ..Setup::default() })
}

const MISSING: &str = r#"{"error": "Value doesn't exist."}"#;

#[test]
fn workers_are_told_of_by_the_name_of_their_application() {
    let server = server();
    server.check("GET", "/control/applications/a%2Fb/workers", "", "200 OK", r#"{"7": {"state": "idle"}}"#);
    let failed = r#"{"error": "Failed to get workers."}"#;
    server.check("GET", "/control/applications/broken/workers", "", "500 Internal Server Error", failed);
    server.check("GET", "/control/applications/other/workers", "", "404 Not Found", MISSING);
    let not_allowed = r#"{"error": "Method isn't allowed."}"#;
    for method in ["POST", "PUT", "DELETE"] {
        let path = "/control/applications/a%2Fb/workers";
        server.check(method, path, "", "405 Method Not Allowed", not_allowed);
    }
}

#[test]
fn a_worker_is_ended_by_the_number_of_its_process() {
    let server = server();
    for (word, ending) in [("drain", WorkerEnding::Drain), ("end", WorkerEnding::Now)] {
        let path = format!("/control/applications/a%2Fb/workers/7/{word}");
        server.check("POST", &path, "", "200 OK", r#"{"success": "Ok"}"#);
        assert_eq!(server.event(), Event::EndWorker { name: "a/b".to_owned(), pid: 7, ending });
        for method in ["GET", "PUT", "DELETE"] {
            assert_eq!(server.request(method, &path, "").status(), "405 Method Not Allowed");
        }
        let path = format!("/control/applications/a%2Fb/workers/8/{word}");
        server.check("POST", &path, "", "404 Not Found", MISSING);
        assert_eq!(server.event(), Event::EndWorker { name: "a/b".to_owned(), pid: 8, ending });
        let path = format!("/control/applications/other/workers/7/{word}");
        server.check("POST", &path, "", "404 Not Found", MISSING);
    }
}

#[test]
fn what_is_no_number_of_a_process_is_not_there() {
    let server = server();
    for pid in ["0", "-7", "7.0", "x", "%20", "4294967296", "99999999999999999999", "%00", "\u{e9}"] {
        let path = format!("/control/applications/a%2Fb/workers/{pid}/end");
        assert_eq!(server.request("POST", &path, "").status(), "404 Not Found", "{pid}");
    }
    for path in ["workers/7", "workers/7/stop", "workers//end", "workers/7/end/x"] {
        let path = format!("/control/applications/a%2Fb/{path}");
        assert_eq!(server.request("POST", &path, "").status(), "404 Not Found", "{path}");
    }
    let path = "/control/applications/a%2Fb/workers/7/end";
    server.check("POST", path, "", "200 OK", r#"{"success": "Ok"}"#);
    assert!(matches!(server.event(), Event::EndWorker { pid: 7, .. }), "main has heard of nothing else");
}
