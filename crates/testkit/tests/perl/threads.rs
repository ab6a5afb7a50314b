//! Several requests at once in one process, each in an interpreter of its own.

use std::collections::BTreeSet;

use corral_testkit::{Client, Daemon, Request, Site, daemon, eventually, site};
use serde_json::{Value, json};

use super::app_of;

/// Each interpreter leaves a line in `out/loaded` when it loads this. Four requests for `/together` meet.
const APP: &str = r##"
use strict;
use warnings;
use Time::HiRes 'sleep';

sub note { open my $file, '>>', "out/$_[0]" or die $!; print {$file} "$_[1]\n"; close $file or die $! }

my $id = rand;
my $n = 0;
our $kept;
note('loaded', $$);
END { warn "the end of $id\n" if defined $id }

sub met { open my $file, '<', 'out/together' or return 0; return scalar(my @lines = <$file>) }

my %pages = (
    '/together' => sub {
        note('together', $id);
        my $round = int((met() - 1) / 4);
        sleep 0.005 while met() < 4 * ($round + 1);
        return "$$ " . ($_[0]{'psgi.multithread'} ? 'threads' : 'alone');
    },
    '/sleep' => sub { sleep 0.2; $$ },
    '/wait' => sub { sleep 0.005 until -e 'go'; $$ },
    '/compute' => sub { my $i = 0; $i++ until -e 'go'; $$ },
    '/body' => sub { my $sum = 0; while (read $_[0]{'psgi.input'}, my $piece, 60_000) { $sum += length $piece } $sum },
    '/long' => sub { my $left = 100; bless \$left, 'Long' },
    '/keep' => sub { my $respond = shift; sub { $kept = $_[0]->([200, []]); $kept->write('kept'); $kept->close } },
    '/use-kept' => sub { eval { $kept->write('x'); 1 } ? 'written' : $@ },
    '/fail' => sub { die "on purpose\n" },
    '/exit' => sub { exit 3 },
    '/leave' => sub { $_[0]{'psgix.harakiri.commit'} = 1; $$ },
    '/random' => sub { "$id " . rand },
    '/programs' => sub {
        my $said = `echo from a child`;
        my $pid = fork // die $!;
        exit 3 if !$pid;
        waitpid $pid, 0;
        return $said . ($? >> 8);
    },
);

{
    package Long;
    sub getline { my $left = shift; return $$left-- > 0 ? 'x' x 100_000 : undef }
    sub close { }
}

sub {
    my ($env) = @_;
    my $page = $pages{$env->{PATH_INFO}};
    my $answer = $page ? $page->($env) : $$;
    return $answer if ref $answer eq 'CODE';
    $n++;
    return [200, ['X-Interpreter' => $id, 'X-N' => $n], ref $answer ? $answer : [$answer]];
};
"##;

fn server(threads: u32, options: &[(&str, Value)]) -> (Daemon, Site) {
    let site = site().writable_folder("out").file("app.psgi", APP);
    let mut app = app_of(&site);
    app["threads"] = json!(threads);
    for (name, value) in options {
        app[*name] = value.clone();
    }
    (daemon().config(json!({ "applications": { "app": app } })).start(), site)
}

fn ask(server: &Daemon, path: &str, n: usize) -> Vec<Client> {
    let mut clients: Vec<_> = (0..n).map(|_| server.connect()).collect();
    clients.iter_mut().for_each(|client| client.write(Request::get(path).encode()));
    clients
}

/// A request that runs until there is a file `go`.
fn begin(server: &Daemon, path: &str) -> Client {
    let client = ask(server, path, 1).remove(0);
    eventually("it runs", || {
        let status = server.control().get("/status/applications/app").json();
        (status["requests"]["active"] == 1).then_some(())
    });
    client
}

/// Options: applications.{N}.threads, applications.{N}.thread_stack_size
#[test]
fn threads_run_requests_at_once_in_one_process() {
    for preload in [false, true] {
        let options = [("thread_stack_size", json!(1 << 20)), ("preload", json!(preload))];
        let (server, site) = server(4, &options);
        for _ in 0..5 {
            let mut interpreters = BTreeSet::new();
            let mut answers = BTreeSet::new();
            for mut client in ask(&server, "/together", 4) {
                let response = client.read_response().expect(200);
                interpreters.insert(response.field("X-Interpreter").unwrap().to_owned());
                answers.insert(response.text());
            }
            assert_eq!((interpreters.len(), answers.len()), (4, 1), "{answers:?}");
            assert!(answers.first().unwrap().ends_with(" threads"), "psgi.multithread: {answers:?}");
        }
        let loaded = std::fs::read_to_string(site.path("out/loaded")).unwrap();
        assert_eq!(loaded.lines().count(), 4, "each interpreter has loaded the script: {loaded}");
        let worker = server.get("/").expect(200).text();
        assert_eq!(loaded.lines().all(|pid| pid == worker), !preload, "{loaded} {worker}");
    }
}

/// Variables are an interpreter's own, and there for its next request.
#[test]
fn a_thread_keeps_what_is_its_own() {
    let (server, _site) = server(2, &[]);
    let n_of = |server: &Daemon| server.get("/").field("X-N").unwrap().parse::<u32>().unwrap();
    let most = (0..40).map(|_| n_of(&server)).max().unwrap();
    assert!(most >= 20, "{most}");
}

#[test]
fn more_requests_than_threads_wait_their_turn() {
    let (server, _site) = server(3, &[]);
    for mut client in ask(&server, "/sleep", 12) {
        client.read_response().expect(200);
    }
}

#[test]
fn a_request_does_not_hold_the_others() {
    for path in ["/wait", "/compute"] {
        let (server, site) = server(2, &[]);
        let mut slow = begin(&server, path);
        let pid = server.get("/").expect(200).text();
        for _ in 0..5 {
            server.get("/").expect(200).expect_body(&pid);
        }
        site.write("go", "");
        slow.read_response().expect(200).expect_body(pid);
    }
}

#[test]
fn long_responses_and_bodies_go_side_by_side() {
    let (server, _site) = server(4, &[]);
    let mut clients = ask(&server, "/long", 4);
    let post = Request::post("/body").body(vec![b'z'; 3_000_000]);
    for _ in 0..3 {
        server.send(&post).expect(200).expect_body("3000000");
    }
    for client in &mut clients {
        assert_eq!(client.read_response().expect(200).body.len(), 10_000_000);
    }
}

#[test]
fn what_one_does_is_nothing_to_the_others() {
    let (server, site) = server(2, &[]);
    let mut waiting = begin(&server, "/wait");
    let pid = server.get("/").expect(200).text();
    for _ in 0..3 {
        server.get("/fail").expect(500);
        server.get("/exit").expect(500);
        server.get("/keep").expect(200).expect_body("kept");
        server.get("/use-kept").expect(200).expect_body("the request is over\n");
        let mut client = ask(&server, "/long", 1).remove(0);
        client.read_until_text("xxxx");
        drop(client);
        server.get("/programs").expect(200).expect_body("from a child\n3");
        server.get("/").expect(200).expect_body(&pid);
    }
    site.write("go", "");
    waiting.read_response().expect(200).expect_body(pid);
}

/// What has been begun is completed, all interpreters end in order, and another process takes the place.
#[test]
fn a_process_leaves_after_all_its_requests() {
    let (server, site) = server(3, &[]);
    let mut waiting = begin(&server, "/wait");
    let pid = server.get("/leave").expect(200).text();
    assert_ne!(server.get("/").expect(200).text(), pid);
    assert!(!server.log().contains("the end of"));
    site.write("go", "");
    waiting.read_response().expect(200).expect_body(pid);
    eventually("all END blocks have run", || (server.log().matches("the end of").count() == 3).then_some(()));
}

/// Neither interpreters nor workers that were forked with them draw the same numbers.
#[test]
fn random_numbers_differ() {
    let (server, _site) = server(2, &[("preload", json!(true)), ("processes", json!(2))]);
    let mut numbers = BTreeSet::new();
    for _ in 0..40 {
        let text = server.get("/random").expect(200).text();
        assert!(numbers.insert(text.split(' ').nth(1).unwrap().to_owned()), "{text}");
    }
}

#[test]
fn a_script_that_fails_in_one_thread_is_refused() {
    for preload in [false, true] {
        let script = "open my $f, '>>', 'out/n'; print $f 'x'; close $f; die 'of loneliness' if -s 'out/n' == 3; sub {}";
        let site = site().writable_folder("out").file("app.psgi", script);
        let mut app = app_of(&site);
        app["threads"] = json!(3);
        app["preload"] = json!(preload);
        let server = daemon().start_unconfigured();
        let config = server.with_listener(json!({ "applications": { "app": app } }));
        let detail = server
            .control()
            .put("/config", &config)
            .expect_refused(500, "Failed to apply new configuration.");
        assert!(detail.contains("of loneliness at "), "{detail}");
    }
}

/// Modules in C are loaded once, and are set up in each interpreter.
#[test]
fn modules_in_c_work_in_all_threads() {
    let site = site().file(
        "app.psgi",
        "use strict; use warnings; use POSIX 'floor'; use List::Util 'sum'; use Encode; use Digest::SHA 'sha1_hex'; use Storable 'dclone';
         sub {
           my $text = '';
           for my $i (1 .. 200) {
             $text = sha1_hex(encode('UTF-8', chr(0x20ac) x $i) . sum(@{ dclone([1 .. $i]) }) . floor($i / 3) . sprintf('%.2f', $i / 7) . $text);
           }
           [200, [], [$text]];
         }",
    );
    let mut app = app_of(&site);
    app["threads"] = json!(4);
    let server = daemon().config(json!({ "applications": { "app": app } })).start();
    let expected = server.get("/").expect(200).text();
    for _ in 0..20 {
        for mut client in ask(&server, "/", 8) {
            client.read_response().expect(200).expect_body(&expected);
        }
    }
}

/// A request that runs for ever keeps nobody from stopping.
#[test]
fn a_server_stops_while_threads_run() {
    for path in ["/wait", "/compute"] {
        let (mut server, _site) = server(2, &[]);
        let client = begin(&server, path);
        assert!(server.stop().success());
        drop(client);
    }
}
