//! Scripts of CGI in several languages: what they see, what they answer, and how they fail.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use corral_testkit::{Daemon, Load, Request, Signal, Site, daemon, eventually, is_alive, signal, site};
use serde_json::{Value, json};

use crate::{executable, is_root, merge, with_app};

/// The application that has the scripts of a site, with further members.
fn cgi(site: &Site, members: Value) -> Value {
    let mut app = json!({ "type": "cgi", "root": site.root() });
    merge(&mut app, members);
    app
}

/// A site with one executable script.
fn script(name: &str, text: &str) -> Site {
    let site = site().file(name, text).writable_folder("w");
    executable(&site, name);
    site
}

#[track_caller]
fn start(site: &Site) -> Daemon {
    with_app(&cgi(site, json!({}))).start()
}

/// A daemon with a script of the shell, called `a`.
#[track_caller]
fn shell(text: &str) -> (Daemon, Site) {
    let site = script("a", &format!("#!/bin/sh\n{text}"));
    (start(&site), site)
}

const HEAD: &str = "echo 'Content-Type: text/plain'; echo;";

#[test]
fn a_script_of_the_shell_sees_its_request() {
    let (server, site) = shell(&format!("{HEAD} env | sort; pwd; cat"));
    let request = Request::post("/a/in%20fo?x=1&y")
        .field("X-Some", "1")
        .field("Proxy", "http://evil")
        .field("Content-Type", "text/x")
        .body("the body");
    let text = server.send(&request).expect(200).expect_field("Content-Type", "text/plain").text();
    let root = site.root();
    for line in [
        "REQUEST_METHOD=POST",
        "QUERY_STRING=x=1&y",
        "SCRIPT_NAME=/a",
        "PATH_INFO=/in fo",
        "CONTENT_LENGTH=8",
        "CONTENT_TYPE=text/x",
        "HTTP_X_SOME=1",
        "GATEWAY_INTERFACE=CGI/1.1",
        "SERVER_PROTOCOL=HTTP/1.1",
        "REQUEST_URI=/a/in%20fo?x=1&y",
        &format!("SCRIPT_FILENAME={root}/a"),
        &format!("DOCUMENT_ROOT={root}"),
        &root,
        "the body",
    ] {
        assert!(text.lines().any(|found| found == line), "{line} is not in {text}");
    }
    for name in ["HTTP_PROXY", "SCGI=", "LISTEN_", "NOTIFY_SOCKET"] {
        assert!(!text.contains(name), "{name} is in {text}");
    }
    let text = server.get("/a").expect(200).text();
    assert!(!text.contains("CONTENT_LENGTH"), "there is no body: {text}");
}

/// Options: applications.{N}.environment
#[test]
fn its_environment_is_that_of_the_application() {
    let site = script("a", &format!("#!/bin/sh\n{HEAD} echo $OWN $HTTP_OLD $CONTENT_TYPE $REQUEST_METHOD"));
    let environment =
        json!({ "OWN": "mine", "HTTP_OLD": "old", "CONTENT_TYPE": "none", "REQUEST_METHOD": "none" });
    let app =
        cgi(&site, json!({ "environment": environment, "params": { "OWN": null, "FURTHER": "$host" } }));
    let server = with_app(&app).start();
    server.get("/a").expect(200).expect_body("mine GET\n");
}

#[test]
fn perl_s_cgi_module_reads_forms_and_answers() {
    let site = script(
        "form.pl",
        "#!/usr/bin/perl\nuse CGI; my $q = CGI->new;\nprint $q->header(-status => '201 Created', -type => \
        'text/plain'),join ',', map { \"$_=\" . $q->param($_) } sort $q->param;\n",
    );
    let server = start(&site);
    let form = Request::post("/form.pl")
        .field("Content-Type", "application/x-www-form-urlencoded")
        .body("a=1&b=2%203");
    server.send(&form).expect(201).expect_body("a=1,b=2 3");
    server.get("/form.pl?z=9").expect(201).expect_body("z=9");
}

#[test]
fn python_takes_and_gives_bodies_of_all_sizes() {
    let site = script(
        "echo.py",
        "#!/usr/bin/python3\nimport os, sys\nn = int(os.environ.get('CONTENT_LENGTH') or 0)\nbody = \
        sys.stdin.buffer.read(n)\nsys.stdout.write('Content-Type: x/y\\r\\nContent-Length: %d\\r\\n\\r\\n' % \
        n)\nsys.stdout.flush()\nsys.stdout.buffer.write(body)\n",
    );
    let server = start(&site);
    for n in [0, 1, 65_535, 65_536, 1_000_000, 7_000_000] {
        let body: Vec<u8> = (0..n).map(|n: u32| (n % 251) as u8).collect();
        let reply = server.send(&Request::post("/echo.py").body(&body)).expect(200);
        assert!(reply.body == body, "{n} bytes came back as {}", reply.body.len());
    }
}

#[test]
fn what_a_script_says_of_its_response_counts() {
    let (server, _site) = shell(
        "case $PATH_INFO in\n/none) echo 'Status: 404 Nothing';;\n/away) echo 'Location: \
        http://example.com/x';;\n/local) echo 'Location: /other?y';;\nesac\necho 'Content-Type: text/plain'\necho \
        \"X-Own: $PATH_INFO\"\necho\necho body",
    );
    server.get("/a").expect(200).expect_body("body\n");
    server.get("/a/none").expect(404).expect_field("X-Own", "/none").expect_body("body\n");
    server.get("/a/away").expect(302).expect_field("Location", "http://example.com/x");
    // The client is told: RFC 3875 section 6.2.2 would have the server answer for that path.
    server.get("/a/local").expect(302).expect_field("Location", "/other?y");
    server.send(&Request::new("HEAD", "/a")).expect(200).expect_body("");
}

/// Options: applications.{N}.targets
#[test]
fn the_first_file_of_a_path_is_the_script_unless_it_is_named() {
    let site = site();
    for name in ["index.cgi", "bin/tool", "bin/index.cgi", "x.pl"] {
        site.write(name, format!("#!/bin/sh\n{HEAD} echo \"$SCRIPT_NAME|$PATH_INFO\""));
        executable(&site, name);
    }
    let server = start(&site);
    for (path, body) in [
        ("/", "/index.cgi|"),
        ("/bin/", "/bin/index.cgi|"),
        ("/bin/tool", "/bin/tool|"),
        ("/bin/tool/a/b", "/bin/tool|/a/b"),
        ("/x.pl/", "/x.pl|/"),
    ] {
        server.get(path).expect(200).expect_body(format!("{body}\n"));
    }
    server.get("/bin").expect(301);
    for path in
        ["/none", "/bin/none", "/none/bin/tool", "/bin/../../etc/passwd", "/bin/tool%00", "/bin/tool%0a"]
    {
        let reply = server.get(path);
        assert!(matches!(reply.status, 400 | 404), "{path}: {reply}");
    }
    let app = cgi(&site, json!({ "split_path": [".pl"], "index": "x.pl" }));
    let server = with_app(&app).start();
    server.get("/x.pl/y").expect(200).expect_body("/x.pl|/y\n");
    server.get("/").expect(200).expect_body("/x.pl|\n");
    server.get("/bin/tool").expect(404);
    let targets = json!({
        "all": { "root": site.path("bin"), "script": "tool" }, "own": { "root": site.root(),
        "params": { "PATH_INFO": "$method" } }
    });
    let app = json!({ "type": "cgi", "targets": targets });
    let routes = json!([
        { "match": { "uri": "/x*" }, "action": { "pass": "applications/app/own" } },
        { "action": { "pass": "applications/app/all" } },
    ]);
    let server = daemon().config(json!({ "applications": { "app": app }, "routes": routes })).start();
    server.get("/any/thing").expect(200).expect_body("/tool|\n");
    server.get("/x.pl").expect(200).expect_body("/x.pl|GET\n");
}

/// Links lead to scripts elsewhere, as those of FastCGI do.
#[test]
fn a_link_is_what_it_leads_to() {
    let elsewhere = script("tool", &format!("#!/bin/sh\n{HEAD} echo \"$SCRIPT_NAME\""));
    let site = site();
    std::os::unix::fs::symlink(elsewhere.path("tool"), site.path("link")).expect("make a link");
    std::os::unix::fs::symlink("loop", site.path("loop")).expect("make a link");
    let server = start(&site);
    server.get("/link").expect(200).expect_body("/link\n");
    server.get("/loop").expect(403);
}

#[test]
fn a_script_that_cannot_be_run_says_why_in_the_log() {
    let site = site()
        .file("plain", "#!/bin/sh\nsecret")
        .file("lost", "#!/no/interpreter\n")
        .file("headless", "echo no first line\n")
        .file("folder/x", "");
    executable(&site, "lost");
    executable(&site, "headless");
    let server = start(&site);
    let reply = server.get("/plain").expect(403);
    assert!(!reply.text().contains("secret"), "{reply}");
    server.expect_log("/plain: run the executable: Permission denied");
    server.expect_log("chmod +x");
    server.get("/lost").expect(500);
    server.expect_log("the interpreter in its first line does not exist");
    server.get("/headless").expect(500);
    server.expect_log("its first line does not name an interpreter");
    server.get("/folder/").expect(404);
}

#[test]
fn output_that_is_no_response_is_refused() {
    let (server, _site) = shell(
        "case $PATH_INFO in\n/words) echo just words; echo;;\n/nothing) :;;\n/half) echo 'Content-Type: x'; esac",
    );
    for path in ["/a/words", "/a/nothing", "/a/half"] {
        server.get(path).expect(502);
        server.expect_log(&format!("request \"{path}\""));
    }
    server.expect_log("a line of the response's head is not a header");
}

#[test]
fn a_script_that_ends_badly_is_named() {
    let (server, _site) =
        shell(&format!("{HEAD} echo began; case $PATH_INFO in\n/kill) kill -9 $$;;\n*) exit 7;; esac"));
    server.get("/a").expect(200).expect_body("began\n");
    server.expect_log("/a exited with code 7");
    server.get("/a/kill").expect(200).expect_body("began\n");
    server.expect_log("/a exited on signal 9");
}

/// Nothing is lost of a response whose script has not read the request.
#[test]
fn a_script_that_reads_no_body_answers_all_the_same() {
    let (server, _site) = shell(&format!("{HEAD} echo done"));
    for n in [1, 100_000, 7_000_000] {
        for _ in 0..5 {
            server.send(&Request::post("/a").body(vec![b'x'; n])).expect(200).expect_body("done\n");
        }
    }
}

/// Options: applications.{N}.limits.timeout
#[test]
fn a_script_that_hangs_is_ended_with_what_it_has_started() {
    let site = script(
        "a",
        "#!/bin/sh\ntrap '' TERM\nsleep 500 & echo $! > w/child\necho $$ > w/pid\nwait\nsleep 500",
    );
    let server = with_app(&cgi(&site, json!({ "limits": { "timeout": 1 } }))).start();
    server.get("/a").expect(503);
    server.expect_log("the application was silent for 1 s (limits.timeout)");
    for name in ["w/pid", "w/child"] {
        let pid: u32 = site.read(name).trim().parse().expect("a number");
        eventually("it is gone", || (!is_alive(pid)).then_some(()));
    }
}

#[test]
fn a_client_that_leaves_ends_its_script() {
    let (server, site) = shell("echo $$ > w/pid\nexec sleep 500");
    let client = server.begin(&Request::get("/a"));
    let pid: u32 =
        eventually("it runs", || std::fs::read_to_string(site.path("w/pid")).ok()?.trim().parse().ok());
    drop(client);
    eventually("it is gone", || (!is_alive(pid)).then_some(()));
}

/// The response ends with the script, even if another process still has its standard output.
#[test]
fn what_a_script_leaves_behind_holds_up_no_response() {
    let (server, site) = shell(&format!("{HEAD} sleep 500 & echo $! > w/pid; echo done"));
    let began = Instant::now();
    server.get("/a").expect(200).expect_body("done\n");
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    let pid: u32 = site.read("w/pid").trim().parse().expect("a number");
    assert!(is_alive(pid), "it may go on");
    signal(pid, Signal::KILL);
}

#[test]
fn a_flood_of_errors_goes_to_the_log_and_harms_nobody() {
    let flood = "i=0; while [ $i -lt 20000 ]; do echo \"a line of no use $i\" >&2; i=$((i + 1)); done";
    let (server, _site) = shell(&format!("{HEAD} {flood}; echo done"));
    server.get("/a").expect(200).expect_body("done\n");
    server.expect_log("a line of no use");
}

#[test]
fn a_large_response_comes_whole() {
    let (server, _site) = shell(&format!("{HEAD} head -c 209715200 /dev/zero"));
    assert_eq!(server.get("/a").expect(200).body.len(), 200 << 20);
}

#[test]
fn output_is_passed_on_as_it_comes() {
    let (server, site) =
        shell(&format!("{HEAD} echo one; while [ ! -e w/go ]; do sleep 0.01; done; echo two"));
    let mut client = server.begin(&Request::get("/a"));
    client.read_until_text("one");
    site.write("w/go", "");
    client.read_until_text("two");
}

/// Options: applications.{N}.concurrency
#[test]
fn no_more_scripts_run_at_once_than_are_permitted() {
    let site = script(
        "a",
        &format!("#!/bin/sh\necho $$ > w/$$; sleep 0.2; ls w | grep -c . > w.$$; rm w/$$; {HEAD} cat w.$$"),
    );
    std::fs::set_permissions(site.path(""), std::os::unix::fs::PermissionsExt::from_mode(0o777))
        .expect("it is ours");
    let server = with_app(&cgi(&site, json!({ "concurrency": 3 }))).start();
    let mut clients = server.begin_all("/a", 12);
    let counts: Vec<u32> = clients
        .iter_mut()
        .map(|client| client.read_response().expect(200).text().trim().parse().expect("a number"))
        .collect();
    assert!(counts.iter().all(|n| (1..=3).contains(n)) && counts.contains(&3), "{counts:?}");
}

#[test]
fn a_restart_under_load_fails_no_request() {
    let (server, _site) = shell(&format!("{HEAD} echo $PPID"));
    let load = Load::start(server.address().socket(), "/a", 4);
    let mut parents = HashSet::new();
    for _ in 0..3 {
        load.await_more(20);
        parents.insert(server.get("/a").expect(200).text());
        server.control().get("/control/applications/app/restart").0.expect(200);
    }
    load.await_more(20);
    let tally = load.stop();
    assert!(tally.failures.is_empty(), "{:?}\n{}", tally.failures, server.log());
    assert!(parents.len() >= 2, "{parents:?}");
}

#[test]
fn what_starts_scripts_is_replaced_when_it_dies() {
    let (server, _site) = shell(&format!("{HEAD} echo $PPID"));
    let parent = || server.get("/a").expect(200).text().trim().parse::<u32>().expect("a number");
    let before = parent();
    server.kill(before);
    eventually("another one starts them", || (server.get("/a").status == 200).then_some(()));
    assert_ne!(parent(), before);
}

#[test]
fn scripts_end_with_the_daemon() {
    let (mut server, site) = shell("echo $$ > w/pid\nexec sleep 500");
    let _client = server.begin(&Request::get("/a"));
    let pid: u32 =
        eventually("it runs", || std::fs::read_to_string(site.path("w/pid")).ok()?.trim().parse().ok());
    server.stop();
    eventually("it is gone", || (!is_alive(pid)).then_some(()));
}

#[test]
fn scripts_run_as_the_application_s_user() {
    if !is_root() {
        return;
    }
    let site = script("a", &format!("#!/bin/sh\n{HEAD} id -u; id -g"));
    let namespaces = json!({ "pid": true, "network": true });
    let app =
        cgi(&site, json!({ "user": "daemon", "group": "bin", "isolation": { "namespaces": namespaces } }));
    with_app(&app).start().get("/a").expect(200).expect_body("1\n2\n");
}

/// A root of its own that has nothing but a shell that needs nothing else.
#[test]
fn scripts_run_in_another_root() {
    let shell = std::path::Path::new("/bin/busybox");
    if !is_root() || !shell.exists() {
        return eprintln!("skipped: this needs busybox and root");
    }
    let root = site().file("bin/sh", std::fs::read(shell).expect("read it"));
    executable(&root, "bin/sh");
    root.write("srv/a", "#!/bin/sh\necho 'Content-Type: text/plain'; echo; echo /*");
    executable(&root, "srv/a");
    let app = json!({ "type": "cgi", "root": "/srv", "isolation": { "rootfs": root.root() } });
    let server = with_app(&app).start();
    server.get("/a").expect(200).expect_text("/srv");
    server.get("/none").expect(404);
}
