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
    '/wait' => sub { note('waits', $$); sleep 0.005 until -e 'go'; $$ },
    '/keep' => sub { my $respond = shift; sub { $kept = $_[0]->([200, []]); $kept->write('kept'); $kept->close } },
    '/use-kept' => sub { eval { $kept->write('x'); 1 } ? 'written' : $@ },
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

sub {
    my ($env) = @_;
    my $page = $pages{$env->{PATH_INFO}};
    my $answer = $page ? $page->($env) : $$;
    return $answer if ref $answer eq 'CODE';
    return [200, ['X-Interpreter' => $id], ref $answer ? $answer : [$answer]];
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

/// A request that runs until there is a file `go`. It is with the worker before an interpreter has it: one that leaves
/// would hand it to another process.
fn begin_waiting(server: &Daemon, site: &Site) -> Client {
    let client = server.begin(&Request::get("/wait"));
    eventually("it waits", || site.path("out/waits").exists().then_some(()));
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
            for mut client in server.begin_all("/together", 4) {
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

#[test]
fn what_one_does_is_nothing_to_the_others() {
    let (server, site) = server(2, &[]);
    let mut waiting = begin_waiting(&server, &site);
    let pid = server.get("/").expect(200).text();
    for _ in 0..3 {
        server.get("/exit").expect(500);
        server.get("/keep").expect(200).expect_body("kept");
        server.get("/use-kept").expect(200).expect_body("the request is over\n");
        server.get("/programs").expect(200).expect_body("from a child\n3");
        server.get("/").expect(200).expect_body(&pid);
    }
    site.write("go", "");
    waiting.read_response().expect(200).expect_body(pid);
}

/// Requests that have begun are completed, all interpreters end in order, and another process takes the place.
#[test]
fn a_process_leaves_after_all_its_requests() {
    let (server, site) = server(3, &[]);
    let mut waiting = begin_waiting(&server, &site);
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
        let script = "open my $f, '>>', 'out/n'; print $f 'x'; close $f; die 'of loneliness' if -s 'out/n' == 3; sub \
            {}";
        let site = site().writable_folder("out").file("app.psgi", script);
        let mut app = app_of(&site);
        app["threads"] = json!(3);
        app["preload"] = json!(preload);
        let detail = daemon().start_unconfigured().expect_refused(&app);
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
        for mut client in server.begin_all("/", 8) {
            client.read_response().expect(200).expect_body(&expected);
        }
    }
}
