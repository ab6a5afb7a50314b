//! Loading, hooks, forking, leaving.

use corral_testkit::{daemon, eventually, site};
use serde_json::json;

use super::{app_of, serve_script};

/// A script that cannot be loaded is refused with Ruby's own words.
#[track_caller]
fn refused(script: &str, preload: bool, reason: &str) {
    let site = site().file("config.ru", script);
    let mut app = app_of(&site);
    app["preload"] = json!(preload);
    let detail = daemon().start_unconfigured().expect_refused(&app);
    assert!(detail.contains(reason), "{detail}");
}

#[test]
fn scripts_that_cannot_be_loaded_are_refused() {
    for preload in [false, true] {
        refused("run ->(env) {", preload, "syntax error");
        refused("raise 'no thanks'", preload, "no thanks (RuntimeError)");
        refused("require 'not/there'", preload, "cannot load such file -- not/there");
        refused("exit 3", preload, "exit(3) was called");
    }
    let site = site();
    let detail = daemon().start_unconfigured().expect_refused(&app_of(&site));
    assert!(detail.contains("cannot read the script"), "{detail}");
}

/// Options: applications.{N}.preload
#[test]
fn workers_load_the_application_themselves_unless_they_are_to_share_it() {
    let script = "loaded_by = $$\nrun ->(_env) { [200, {}, [loaded_by == $$ ? 'own' : 'shared']] }";
    let (server, site) = serve_script(script);
    server.get("/").expect(200).expect_body("own");
    let mut app = app_of(&site);
    app["preload"] = json!(true);
    let config = server.with_listener(json!({ "applications": { "app": app } }));
    server.control().put("/config", &config).expect_done();
    eventually("the new one answers", || (server.get("/").expect(200).text() == "shared").then_some(()));
}

/// Gems keep their connections from being shared by this hook of Ruby's.
#[test]
fn a_shared_application_is_told_of_forks() {
    let site = site().file(
        "config.ru",
        "$forks = 0
         module Counts
           def _fork = super.tap { |pid| $forks += 1 if pid.zero? }
         end
         Process.singleton_class.prepend(Counts)
         Thread.new { sleep }
         run ->(_env) { [200, {}, [\"#{$forks} #{Thread.list.size}\"]] }",
    );
    let mut app = app_of(&site);
    app["preload"] = json!(true);
    let server = daemon().config(json!({ "applications": { "app": app } })).start();
    server.get("/").expect(200).expect_body("1 1");
}

/// Options: applications.{N}.hooks
#[test]
fn hooks_are_called() {
    let site = site().file("config.ru", "run ->(_env) { [200, {}, [$said.join(' ')]] }").file(
        "hooks.rb",
        "module_function
             $said = []
             on_worker_boot { $said << \"boot #{$$}\" }
             on_thread_boot { $said << 'thread' }
             on_thread_shutdown { warn 'the thread ends' }
             on_worker_shutdown { warn \"the worker #{$$} ends\" }",
    );
    let mut app = app_of(&site);
    app["hooks"] = json!(site.path("hooks.rb"));
    app["limits"] = json!({ "requests": 2 });
    let server = daemon().config(json!({ "applications": { "app": app } })).start();
    let text = server.get("/").expect(200).text();
    let pid =
        text.strip_prefix("boot ").and_then(|text| text.strip_suffix(" thread")).expect(&text).to_owned();
    server.get("/").expect(200);
    server.expect_log("the thread ends");
    server.expect_log(&format!("the worker {pid} ends"));
}

#[test]
fn a_hook_that_fails_is_a_reason_to_refuse() {
    let site = site()
        .file("config.ru", "run ->(_env) { [200, {}, []] }")
        .file("hooks.rb", "on_worker_boot { raise 'not today' }");
    let mut app = app_of(&site);
    app["hooks"] = json!(site.path("hooks.rb"));
    let detail = daemon().start_unconfigured().expect_refused(&app);
    assert!(detail.contains("not today (RuntimeError)"), "{detail}");
}

#[test]
fn what_is_to_be_done_at_exit_is_done() {
    let (server, _site) = serve_script("at_exit { warn \"the end of #{$$}\" }\nrun ->(_env) { exit }");
    server.get("/").expect(500);
    eventually("it says so", || server.log().contains("the end of ").then_some(()));
}

/// Workers that are ended from outside have a second for it.
#[test]
fn workers_that_are_replaced_leave_in_order_too() {
    for (threads, n_ends) in [(1, 1), (3, 3)] {
        let site = site()
            .file("config.ru", "at_exit { warn 'all is done' }\nrun ->(_env) { [200, {}, [$$.to_s]] }")
            .file(
                "hooks.rb",
                "on_thread_shutdown { warn 'a thread ends' }\non_worker_shutdown { warn 'the worker ends' }",
            );
        let mut app = app_of(&site);
        app["hooks"] = json!(site.path("hooks.rb"));
        app["threads"] = json!(threads);
        let server = daemon().config(json!({ "applications": { "app": app } })).start();
        let pid = server.get("/").expect(200).text();
        server.control().get("/control/applications/app/restart").0.expect(200);
        server.expect_log("all is done");
        server.expect_log("the worker ends");
        server.expect_log(&format!("process {pid} exited with code 0"));
        let log = server.log();
        assert_eq!(log.matches("a thread ends").count(), n_ends, "{log}");
        server.get("/").expect(200);
    }
}

/// The signal that tells a worker to leave is the server's, and still ends what the application has forked.
#[test]
fn termination_is_for_the_server() {
    for threads in [1, 2] {
        let site = site().file(
            "config.ru",
            "trap('TERM') { warn 'its own handler'; exit! 7 }
             at_exit { warn 'all is done' }
             run lambda { |_env|
               child = fork { sleep }
               Process.kill(:TERM, child)
               [200, { 'x-pid' => $$.to_s }, [Process.wait2(child).last.termsig.to_s]]
             }",
        );
        let mut app = app_of(&site);
        app["threads"] = json!(threads);
        let server = daemon().config(json!({ "applications": { "app": app } })).start();
        let response = server.get("/").expect(200).expect_body("15");
        let pid = response.field("x-pid").expect("the application says it").to_owned();
        server.control().get("/control/applications/app/restart").0.expect(200);
        server.expect_log(&format!("process {pid} exited with code 0"));
        server.expect_log("all is done");
        assert!(!server.log().contains("its own handler"));
    }
}

/// Children of the application are the application's: it can start them and learn how they ended.
#[test]
fn programs_can_be_run() {
    let (server, _site) = super::serve(
        "[200, {}, [`echo from a child`, $?.exitstatus.to_s, system('exit 4').inspect, $?.exitstatus.to_s]]",
    );
    server.get("/").expect(200).expect_body("from a child\n0false4");
}
