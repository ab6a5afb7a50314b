//! A worker's life: background threads, several processes, limits, leaving in order.

use corral_testkit::{daemon, eventually, python_app, site};
use serde_json::json;

use crate::answering;

/// Threads of the application run also while there is nothing to serve.
#[test]
fn background_threads_go_on_between_requests() {
    let (_site, server) = answering(
        "global n, thread
if 'thread' not in globals():
    n = 0
    def count():
        global n
        while True:
            time.sleep(0.001)
            n += 1
    thread = threading.Thread(target=count, daemon=True)
    thread.start()
return n",
    );
    server.get("/").expect(200);
    let first = server.get("/").json().as_u64().unwrap();
    eventually("the thread goes on", || {
        (server.get("/").json().as_u64().unwrap() > first + 20).then_some(())
    });
}

/// Writes a file when its process ends in order.
const LEAVING: &str = "import atexit, os
out = os.path.join(os.path.dirname(__file__), 'out')
atexit.register(lambda: open(os.path.join(out, 'left-%d' % os.getpid()), 'w').close())
def application(environ, start_response):
    start_response('200 OK', [])
    return [b'%d' % os.getpid()]
";

#[test]
fn a_worker_leaves_in_order_after_its_requests() {
    let site = site().writable_folder("out").file("app.py", LEAVING);
    let server = daemon().python(python_app(&site).with("limits", json!({ "requests": 2 }))).start();
    let first = server.get("/").expect(200).text();
    server.get("/").expect(200).expect_body(&first);
    let left = site.path(&format!("out/left-{first}"));
    eventually("atexit has run", || left.exists().then_some(()));
    let second = server.get("/").expect(200).text();
    assert_ne!(first, second);
}

/// Workers that are ended from outside have a second for it.
#[test]
fn workers_that_are_replaced_leave_in_order_too() {
    for threads in [1, 3] {
        let site = site().writable_folder("out").file("app.py", LEAVING);
        let server = daemon().python(python_app(&site).with("threads", json!(threads))).start();
        let pid = server.get("/").expect(200).text();
        server.control().get("/control/applications/python/restart").0.expect(200);
        let left = site.path(&format!("out/left-{pid}"));
        eventually("atexit has run", || left.exists().then_some(()));
        server.get("/").expect(200);
    }
}

/// An application's own processes know nothing of that.
#[test]
fn children_of_the_application_are_ended_by_signals() {
    let (_site, server) = answering(
        "pid = os.fork()
if pid == 0:
    time.sleep(60)
    os._exit(1)
os.kill(pid, 15)
return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])",
    );
    assert_eq!(server.get("/").expect(200).json(), json!(-15));
}

#[test]
fn a_change_starts_the_new_code() {
    let code = |text: &str| {
        format!(
            "def application(environ, start_response):\n    start_response('200 OK', [])\n    return [b'{text}']\n"
        )
    };
    let site = site().file("app.py", code("old"));
    let server = daemon().python(python_app(&site)).start();
    server.get("/").expect_body("old");
    site.write("app.py", code("new"));
    server.control().get("/control/applications/python/restart").0.expect(200);
    server.get("/").expect_body("new");
    // What is broken does not take the place of what works.
    site.write("app.py", "raise ValueError('broken')");
    server.control().get("/control/applications/python/restart");
    server.get("/").expect(200).expect_body("new");
    server.expect_log("ValueError: broken");
}

#[test]
fn children_of_the_application_are_its_own() {
    let (_site, server) = answering(
        "import subprocess, multiprocessing
return [subprocess.check_output(['echo', 'hi']).decode(), subprocess.check_output([sys.executable, '-c', 'print(1 + 1)']).decode()]",
    );
    assert_eq!(server.get("/").expect(200).json(), json!(["hi\n", "2\n"]));
}
