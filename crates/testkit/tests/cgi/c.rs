//! Programs in C with libfcgi, of which one has threads.

use std::collections::HashSet;
use std::process::Command;

use corral_testkit::{Daemon, Load, Request, Site, site};
use serde_json::{Value, json};

use crate::with_app;

/// Each thread takes requests of its own.
const THREADS: &str = r#"
#include <fcgiapp.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static void *serve(void *number) {
    FCGX_Request request;
    FCGX_InitRequest(&request, 0, 0);
    while (FCGX_Accept_r(&request) == 0) {
        const char *path = FCGX_GetParam("PATH_INFO", request.envp);
        long n = 0;
        char piece[4096];
        for (int got; (got = FCGX_GetStr(piece, sizeof piece, request.in)) > 0;)
            n += got;
        if (path[1] == 's')
            usleep(300000);
        if (path[1] == 'a')
            abort();
        FCGX_FPrintF(request.out, "Content-Type: text/plain\r\n\r\nthread %d, %s, %d bytes", (int)(long)number, path, (int)n);
        if (path[1] == 'l')
            for (int i = 0; i < 200000; i++)
                FCGX_FPrintF(request.out, "0123456789");
        FCGX_FPrintF(request.err, path[1] == 'e' ? "an error\n" : "");
        FCGX_Finish_r(&request);
    }
    return NULL;
}

int main(int argc, char **argv) {
    FCGX_Init();
    for (long n = 1; n < atoi(argv[1]); n++) {
        pthread_t thread;
        pthread_create(&thread, NULL, serve, (void *)n);
    }
    serve(0);
    return 0;
}
"#;

fn start(n_threads: u32, members: Value) -> (Daemon, Site) {
    let site = site().file("app.c", THREADS);
    let compiled = Command::new("cc")
        .arg(site.path("app.c"))
        .args(["-lfcgi", "-lpthread", "-o"])
        .arg(site.path("app"))
        .status()
        .expect("there is a compiler: scripts/setup test");
    assert!(compiled.success());
    let mut app = json!({
        "type": "fastcgi", "executable": "./app", "working_directory": site.root(),
        "arguments": [n_threads.to_string()], "concurrency": n_threads,
    });
    crate::merge(&mut app, members);
    (with_app(&app).start(), site)
}

#[test]
fn a_program_with_libfcgi_answers() {
    let (server, _site) = start(1, json!({}));
    server.get("/x/y").expect(200).expect_body("thread 0, /x/y, 0 bytes");
    server.send(&Request::post("/x").body(vec![0; 3_000_000])).expect(200).expect_text("3000000 bytes");
    assert!(server.get("/large").expect(200).body.len() > 2_000_000);
    server.get("/error").expect(200);
    server.expect_log("an error, request \"/error\"");
}

#[test]
fn threads_have_requests_at_the_same_time() {
    let (server, _site) = start(4, json!({}));
    for _ in 0..3 {
        let mut clients = server.begin_all("/slow", 4);
        let all: HashSet<_> =
            clients.iter_mut().map(|client| client.read_response().expect(200).text()).collect();
        assert_eq!(all.len(), 4, "{all:?}");
    }
    let load = Load::start(server.address().socket(), "/", 8);
    load.await_more(500);
    let tally = load.stop();
    assert!(tally.failures.is_empty(), "{tally:?}");
}

#[test]
fn a_program_that_aborts_is_replaced() {
    let (server, _site) = start(2, json!({ "processes": 2 }));
    server.send(&Request::post("/abort")).expect(503);
    server.expect_log("exited on signal 6");
    for _ in 0..10 {
        server.get("/").expect(200);
    }
}
