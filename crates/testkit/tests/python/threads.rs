//! Several requests at once in one process.

use std::collections::BTreeSet;

use corral_testkit::{Client, Daemon, Request, Site, daemon, eventually, python_app, site};
use serde_json::{Value, json};

const APP: &str = "
import os, threading, time
barrier = threading.Barrier(4)
local = threading.local()

def application(environ, start_response):
    path = environ['PATH_INFO']
    if path == '/together':
        barrier.wait(30)
    elif path == '/body':
        environ['wsgi.input'].read()
    elif path == '/sleep':
        time.sleep(0.2)
    local.n = getattr(local, 'n', 0) + 1
    start_response('200 OK', [('X-Thread', str(threading.get_ident()))])
    if path == '/long':
        return (b'x' * 100_000 for _ in range(100))
    return [b'%d %d %d' % (os.getpid(), local.n, environ['wsgi.multithread'])]
";

fn server(threads: u32, options: &[(&str, Value)]) -> (Site, Daemon) {
    let site = site().file("app.py", APP);
    let app = python_app(&site).with("threads", json!(threads));
    let app = options.iter().fold(app, |app, (name, value)| app.with(name, value.clone()));
    let server = daemon().python(app).start();
    (site, server)
}

fn ask(server: &Daemon, path: &str, n: usize) -> Vec<Client> {
    let mut clients: Vec<_> = (0..n).map(|_| server.connect()).collect();
    clients.iter_mut().for_each(|client| client.write(Request::get(path).encode()));
    clients
}

/// Options: applications.{N}.threads, applications.{N}.thread_stack_size
#[test]
fn threads_run_requests_at_once_in_one_process() {
    let (_site, server) = server(4, &[("thread_stack_size", json!(1 << 20))]);
    for _ in 0..5 {
        let mut threads = BTreeSet::new();
        let mut pids = BTreeSet::new();
        for mut client in ask(&server, "/together", 4) {
            let response = client.read_response().expect(200);
            threads.insert(response.field("X-Thread").unwrap().to_owned());
            pids.insert(response.text().split(' ').next().unwrap().to_owned());
            assert!(response.text().ends_with(" 1"), "wsgi.multithread: {response}");
        }
        assert_eq!((threads.len(), pids.len()), (4, 1));
    }
}

/// What an application keeps for each thread (a connection to a database) is there for the thread's next request.
#[test]
fn a_thread_keeps_what_is_its_own() {
    let (_site, server) = server(2, &[]);
    let n_of = |text: &str| text.split(' ').nth(1).unwrap().parse::<u32>().unwrap();
    let most = (0..40).map(|_| n_of(&server.get("/").expect(200).text())).max().unwrap();
    assert!(most >= 20, "{most}");
}

#[test]
fn a_slow_request_does_not_hold_the_others() {
    let (_site, server) = server(2, &[]);
    let mut slow = ask(&server, "/sleep", 1);
    for _ in 0..20 {
        server.get("/").expect(200);
    }
    slow[0].read_response().expect(200);
}

#[test]
fn more_requests_than_threads_wait_their_turn() {
    let (_site, server) = server(3, &[]);
    for mut client in ask(&server, "/sleep", 12) {
        client.read_response().expect(200);
    }
}

#[test]
fn long_responses_and_bodies_go_side_by_side() {
    let (_site, server) = server(4, &[]);
    let mut clients = ask(&server, "/long", 4);
    let post = Request::post("/body").body(vec![b'z'; 3_000_000]);
    for _ in 0..3 {
        server.send(&post).expect(200);
    }
    for client in &mut clients {
        assert_eq!(client.read_response().expect(200).body.len(), 10_000_000);
    }
}

#[test]
fn the_limit_of_requests_counts_all_threads() {
    let (_site, server) = server(3, &[("limits", json!({ "requests": 10 }))]);
    let pid = |server: &Daemon| server.get("/").expect(200).text().split(' ').next().unwrap().to_owned();
    let pids: Vec<_> = (0..25).map(|_| pid(&server)).collect();
    let different: BTreeSet<_> = pids.iter().collect();
    assert_eq!(different.len(), 3, "{pids:?}");
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
