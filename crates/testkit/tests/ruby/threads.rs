//! Several requests at once in one process, in threads of Ruby.

use std::collections::BTreeSet;

use corral_testkit::{Client, Daemon, Request, Site, daemon, eventually, site};
use serde_json::{Value, json};

use super::app_of;

/// Four requests for `/together` meet; pages of tests come before the others.
const APP: &str = "
require 'timeout'
LOCK = Mutex.new
ALL_HERE = ConditionVariable.new
$here = 0

def meet
  LOCK.synchronize do
    $here += 1
    ALL_HERE.broadcast if $here % 4 == 0
    round = ($here - 1) / 4
    ALL_HERE.wait(LOCK) while $here < 4 * (round + 1)
  end
end

def answer(text)
  [200, { 'x-thread' => Thread.current.object_id.to_s }, [text.to_s]]
end

PAGES = {
  '/together' => ->(env) { meet; answer(\"#{$$} #{env['rack.multithread']}\") },
  '/wait' => ->(_) { $waiting = Thread.current; File.write('out/waits', ''); sleep 0.005 until File.exist?('go'); answer($$) },
  '/hijack' => ->(env) { [200, { 'rack.hijack' => ->(stream) { Thread.new { 20.times { stream << env['QUERY_STRING']; sleep 0.002 }; stream.close } } }, []] },
  '/timeout' => ->(_) { answer(begin Timeout.timeout(0.02) { sleep } rescue $!.class end) },
  '/kill' => ->(_) { $waiting.kill; answer('killed') },
  '/raise' => ->(_) { $waiting.raise('from elsewhere'); answer('raised') },
  '/raise-later' => ->(_) { me = Thread.current; Thread.new { sleep 0.05; me.raise('too late'); File.write('out/raised', '') }; answer('left') },
  '/kill-later' => ->(_) { me = Thread.current; Thread.new { sleep 0.05; me.kill }; answer('left') },
  '/main' => ->(_) { Thread.main.raise('in vain'); answer(Thread.current == Thread.main) },
  '/exit' => ->(_) { exit },
  '/thread-exit' => ->(_) { Thread.exit },
  '/fail' => ->(_) { raise 'on purpose' },
  '/programs' => ->(_) { answer(`echo from a child` + Process.wait2(fork { exit! 3 }).last.exitstatus.to_s) },
  '/signal' => ->(_) { trap('USR1') { $signalled = true; raise 'in a handler' }; Process.kill(:USR1, $$); sleep 0.005 until $signalled; answer($signalled) },
  '/keep' => ->(_) { [200, {}, ->(stream) { $kept = stream; stream << 'kept'; stream.close }] },
  '/use-kept' => ->(_) { answer(begin $kept.write('x') rescue $!.message end) },
}
run ->(env) { (PAGES[env['PATH_INFO']] || ->(_) { answer($$) }).call(env) }
";

fn server(threads: u32, options: &[(&str, Value)]) -> (Daemon, Site) {
    let site = site().writable_folder("out").file("config.ru", APP);
    let mut app = app_of(&site);
    app["threads"] = json!(threads);
    for (name, value) in options {
        app[*name] = value.clone();
    }
    (daemon().config(json!({ "applications": { "app": app } })).start(), site)
}

/// A request that runs until there is a file `go`. It is with the worker before a thread of Ruby has it: what asks for
/// that thread must not come before.
fn begin_waiting(server: &Daemon, site: &Site) -> Client {
    let client = server.begin(&Request::get("/wait"));
    eventually("it waits", || site.path("out/waits").exists().then_some(()));
    client
}

/// Options: applications.{N}.threads
#[test]
fn threads_run_requests_at_once_in_one_process() {
    let (server, _site) = server(4, &[]);
    for _ in 0..5 {
        let mut threads = BTreeSet::new();
        let mut answers = BTreeSet::new();
        for mut client in server.begin_all("/together", 4) {
            let response = client.read_response().expect(200);
            threads.insert(response.field("x-thread").unwrap().to_owned());
            answers.insert(response.text());
        }
        assert_eq!((threads.len(), answers.len()), (4, 1), "{answers:?}");
        assert!(answers.first().unwrap().ends_with(" true"), "rack.multithread: {answers:?}");
    }
}

/// Other threads may write to a stream: each writes to its own.
#[test]
fn streams_belong_to_their_requests() {
    let (server, _site) = server(4, &[]);
    let begin = |name| (name, server.begin(&Request::get(&format!("/hijack?{name}"))));
    for (name, mut client) in ["a", "b", "c", "d"].map(begin) {
        client.read_response().expect(200).expect_body(name.repeat(20));
    }
    server.get("/keep").expect(200).expect_body("kept");
    server.get("/use-kept").expect(200).expect_body("the response is closed");
}

#[test]
fn what_is_raised_in_a_request_is_for_that_request() {
    let (server, site) = server(2, &[]);
    for _ in 0..10 {
        server.get("/timeout").expect(200).expect_body("Timeout::Error");
    }
    server.get("/fail").expect(500);
    let pid = server.get("/").expect(200).text();
    let mut waiting = begin_waiting(&server, &site);
    server.get("/raise").expect(200).expect_body("raised");
    waiting.read_response().expect(500);
    server.expect_log("from elsewhere");
    for _ in 0..4 {
        let _ = std::fs::remove_file(site.path("out/raised"));
        server.get("/raise-later").expect(200);
        eventually("it is raised", || site.path("out/raised").exists().then_some(()));
    }
    server.get("/main").expect(200).expect_body("false");
    site.write("go", "");
    for mut client in server.begin_all("/wait", 2) {
        client.read_response().expect(200).expect_body(&pid);
    }
}

/// Threads that were killed are replaced with their process.
#[test]
fn killed_threads_end_with_their_request() {
    for path in ["/kill", "/kill-later"] {
        let (server, site) = server(2, &[]);
        let first = server.get("/").expect(200).text();
        let mut waiting = (path == "/kill").then(|| begin_waiting(&server, &site));
        server.get(path).expect(200);
        if let Some(client) = &mut waiting {
            client.read_response().expect(500);
        }
        eventually("another process answers", || {
            let response = server.get("/");
            (response.status == 200 && response.text() != first).then_some(())
        });
    }
}

/// Requests that have begun are completed, then the process is replaced.
#[test]
fn exit_ends_the_process_after_all_requests() {
    for path in ["/exit", "/thread-exit"] {
        let (server, site) = server(3, &[]);
        let pid = server.get("/").expect(200).text();
        let mut waiting = begin_waiting(&server, &site);
        server.get(path).expect(500);
        let next = server.get("/").expect(200).text();
        assert_ne!(next, pid);
        site.write("go", "");
        waiting.read_response().expect(200).expect_body(pid);
    }
}

#[test]
fn programs_can_be_run_and_signals_handled() {
    let (server, _site) = server(2, &[]);
    for mut client in server.begin_all("/programs", 4) {
        client.read_response().expect(200).expect_body("from a child\n3");
    }
    let pid = server.get("/").expect(200).text();
    for _ in 0..3 {
        server.get("/signal").expect(200).expect_body("true");
    }
    server.get("/").expect(200).expect_body(pid);
}

/// Options: applications.{N}.hooks
#[test]
fn each_thread_has_its_hooks() {
    let site = site().file(
        "config.ru",
        "run ->(_env) { sleep 0.1; [200, {}, [\"#{Thread.current[:booted].inspect} #{$boots.size} #{$workers}\"]] }",
    );
    let site = site.file(
        "hooks.rb",
        "module_function
         $boots = Thread::Queue.new
         on_worker_boot { $workers = $workers.to_i + 1 }
         on_thread_boot { $boots << Thread.current; Thread.current[:booted] = Thread.current[:booted].to_i + 1 }
         on_thread_shutdown { warn \"thread #{Thread.current[:booted]} ends\"; raise 'never mind' }
         on_worker_shutdown { warn \"the worker ends\" }",
    );
    let mut app = app_of(&site);
    app["hooks"] = json!(site.path("hooks.rb"));
    app["threads"] = json!(3);
    app["limits"] = json!({ "requests": 6 });
    let server = daemon().config(json!({ "applications": { "app": app } })).start();
    for mut client in server.begin_all("/", 6) {
        client.read_response().expect(200).expect_body("1 3 1");
    }
    server.expect_log("the worker ends");
    let log = server.log();
    assert_eq!(log.matches("thread 1 ends").count(), 3, "{log}");
    assert_eq!(log.matches("a hook failed: ").count(), 3, "{log}");
    assert!(log.rfind("thread 1 ends") < log.find("the worker ends"), "{log}");
}

#[test]
fn a_hook_of_a_thread_that_fails_is_a_reason_to_refuse() {
    for hook in ["raise 'not today' if $n == 2", "sleep 0.1; raise 'not today'", "exit 3"] {
        let hooks = format!("on_thread_boot {{ $n = $n.to_i + 1; {hook} }}");
        let site = site().file("config.ru", "run ->(_env) { [200, {}, []] }").file("hooks.rb", hooks);
        let mut app = app_of(&site);
        app["hooks"] = json!(site.path("hooks.rb"));
        app["threads"] = json!(3);
        let detail = daemon().start_unconfigured().expect_refused(&app);
        assert!(detail.contains("not today (RuntimeError)") || detail.contains("exit(3)"), "{detail}");
    }
}
