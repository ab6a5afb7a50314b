//! Several requests at once in one process.

use std::collections::BTreeSet;

use corral_testkit::{daemon, eventually, python_app, site};
use serde_json::json;

const APP: &str = "
import os, threading
barrier = threading.Barrier(4)

def application(environ, start_response):
    barrier.wait(30)
    start_response('200 OK', [('X-Thread', str(threading.get_ident()))])
    return [b'%d %d' % (os.getpid(), environ['wsgi.multithread'])]
";

/// Options: applications.{N}.threads, applications.{N}.thread_stack_size
#[test]
fn threads_run_requests_at_once_in_one_process() {
    let site = site().file("app.py", APP);
    let app = python_app(&site).with("threads", json!(4)).with("thread_stack_size", json!(1 << 20));
    let server = daemon().python(app).start();
    for _ in 0..5 {
        let mut threads = BTreeSet::new();
        let mut answers = BTreeSet::new();
        for mut client in server.begin_all("/", 4) {
            let response = client.read_response().expect(200);
            threads.insert(response.field("X-Thread").unwrap().to_owned());
            answers.insert(response.text());
        }
        assert_eq!((threads.len(), answers.len()), (4, 1), "{answers:?}");
        assert!(answers.first().unwrap().ends_with(" 1"), "wsgi.multithread: {answers:?}");
    }
}

#[test]
fn a_worker_with_threads_leaves_in_order() {
    let site = site().writable_folder("out").file(
        "app.py",
        "import atexit, os
out = os.path.join(os.path.dirname(__file__), 'out')
atexit.register(lambda: open(os.path.join(out, 'left'), 'w').close())
def application(environ, start_response):
    start_response('200 OK', [])
    return [b'ok']
",
    );
    let app = python_app(&site).with("threads", json!(3)).with("limits", json!({ "requests": 1 }));
    let server = daemon().python(app).start();
    server.get("/").expect(200);
    eventually("atexit has run", || site.path("out/left").exists().then_some(()));
    server.get("/").expect(200);
}
