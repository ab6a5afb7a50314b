//! Loading an application, once for all its workers.

use corral_testkit::{daemon, eventually, site};
use serde_json::json;

use super::{app_of, serve_script};

/// A script that cannot be loaded is refused with Perl's own words.
#[track_caller]
fn refused(script: &str, reason: &str) {
    for preload in [false, true] {
        refused_if(script, preload, reason);
    }
}

#[track_caller]
fn refused_if(script: &str, preload: bool, reason: &str) {
    let site = site().file("app.psgi", script);
    let mut app = app_of(&site);
    app["preload"] = json!(preload);
    let detail = daemon().start_unconfigured().expect_refused(&app);
    assert!(detail.contains(reason), "{detail}");
}

#[test]
fn scripts_that_cannot_be_loaded_are_refused() {
    refused("my $x = ;", "syntax error at ");
    refused("die 'of thirst'", "of thirst at ");
    refused("1", "must end with the application");
    refused("use Not::There; sub {}", "Can't locate Not/There.pm in @INC");
    refused("exit 3", "the script called exit(3)");
    let site = site();
    let detail = daemon().start_unconfigured().expect_refused(&app_of(&site));
    assert!(detail.contains("cannot read the script"), "{detail}");
}

#[test]
fn workers_load_the_script_themselves_unless_they_are_to_share_it() {
    let (server, site) =
        serve_script("my $loaded_by = $$; sub { [200, [], [$loaded_by == $$ ? 'own' : 'shared']] };");
    server.get("/").expect(200).expect_body("own");
    let mut app = app_of(&site);
    app["preload"] = json!(true);
    let config = server.with_listener(json!({ "applications": { "app": app } }));
    server.control().put("/config", &config).expect_done();
    eventually("the new one answers", || (server.get("/").expect(200).text() == "shared").then_some(()));
    site.write("app.psgi", "sub { [200, [], ['anew']] };");
    server.control().get("/control/applications/app/restart").0.expect(200);
    server.get("/").expect(200).expect_body("anew");
}

#[test]
fn modules_are_found_beside_the_script() {
    let site = site()
        .file(
            "app.psgi",
            "use FindBin; use lib \"$FindBin::Bin/lib\"; use Greeting; sub { [200, [], \
            [Greeting::text()]] };",
        )
        .file("lib/Greeting.pm", "package Greeting; sub text { 'hello from ' . $0 } 1;");
    let server = daemon().config(json!({ "applications": { "app": app_of(&site) } })).start();
    server.get("/").expect(200).expect_body(format!("hello from {}", site.path("app.psgi").display()));
}

#[test]
fn an_object_that_can_be_called_is_an_application() {
    let (server, _site) = serve_script(
        "package App; use overload '&{}' => sub { sub { [200, [], ['called']] } }, fallback => 1; bless {}, 'App';",
    );
    server.get("/").expect(200).expect_body("called");
}

#[test]
fn what_is_to_be_done_at_the_end_is_done() {
    let script =
        r#"END { warn "the end of $$\n" } sub { $_[0]{'psgix.harakiri.commit'} = 1; [200, [], [$$]] };"#;
    let (server, _site) = serve_script(script);
    let worker = server.get("/").expect(200).text();
    server.expect_log(&format!("the end of {worker}"));
}

/// Workers that are ended from outside have a second for it, in all interpreters.
#[test]
fn workers_that_are_ended_leave_in_order_too() {
    let script = r#"
        sub note { open my $file, '>>', 'out/ends' or die $!; print {$file} $_[0]; close $file }
        { package Held; sub new { bless {}, shift } sub DESTROY { main::note('d') } }
        our $held = Held->new;
        my $kept = Held->new;
        END { note('e') }
        sub { my $use = $kept; [200, [], [$$]] };"#;
    for threads in [1, 3] {
        let site = site().writable_folder("out").file("app.psgi", script);
        let mut app = app_of(&site);
        app["threads"] = json!(threads);
        let mut server = daemon().config(json!({ "applications": { "app": app } })).start();
        let pid = server.get("/").expect(200).text();
        server.control().get("/control/applications/app/restart").0.expect(200);
        server.expect_log(&format!("process {pid} exited with code 0"));
        assert_eq!(site.read("out/ends"), "edd".repeat(threads));
        server.get("/").expect(200);
        assert!(server.stop().success());
        assert_eq!(site.read("out/ends"), "edd".repeat(2 * threads));
    }
}

/// The signal that tells a worker to leave is the server's, and still ends what the application has forked.
#[test]
fn termination_is_for_the_server() {
    let script = r#"
        $SIG{TERM} = sub { warn "its own handler\n"; exit 7 };
        END { warn "the end of $$\n" }
        sub {
            my $child = fork // die $!;
            if (!$child) { sleep 100; exit 0 }
            kill TERM => $child;
            waitpid $child, 0;
            [200, ['X-Pid' => $$], [$? & 127]];
        };"#;
    for threads in [1, 2] {
        let site = site().file("app.psgi", script);
        let mut app = app_of(&site);
        app["threads"] = json!(threads);
        let server = daemon().config(json!({ "applications": { "app": app } })).start();
        let response = server.get("/").expect(200).expect_body("15");
        let pid = response.field("X-Pid").expect("the application says it").to_owned();
        server.control().get("/control/applications/app/restart").0.expect(200);
        server.expect_log(&format!("process {pid} exited with code 0"));
        server.expect_log(&format!("the end of {pid}"));
        let log = server.log();
        assert!(!log.contains("its own handler"), "{log}");
    }
}
