//! Processes that an application forks by itself: they are strangers to the channel, end as their language ends, and
//! what they print is in the log.

mod children;
mod loading;

use corral_testkit::{Daemon, Site, daemon, eventually, site};
use serde_json::{Value, json};

/// The tasks of a child: to exit with 7, or to return from the application as if it were the parent.
const MODES: [(&str, &str); 2] = [("exit", "7"), ("return", "0")];

fn serve(file: &str, text: &str, app: impl FnOnce(&Site) -> Value) -> (Daemon, Site) {
    let site = site();
    site.write(file, text);
    let mut app = app(&site);
    app["processes"] = json!(1);
    app["working_directory"] = json!(site.root());
    let config = json!({ "applications": { "app": app } });
    (daemon().config(config).start(), site)
}

/// Children that end are not heard, and their parent answers with their status; the process goes on.
fn check(file: &str, text: &str, app: impl FnOnce(&Site) -> Value) {
    let (server, _site) = serve(file, text, app);
    let pid = server.get("/?pid").expect(200).text();
    for n in 1..=3 {
        for (mode, status) in MODES {
            server.get(&format!("/?{mode}")).expect(200).expect_body(format!("child {status}"));
            let has_run = || (server.log().matches(&format!("ended: {mode}")).count() == n).then_some(());
            eventually("what runs at the child's exit has run", has_run);
        }
    }
    server.expect_log("printed by the child");
    server.get("/?pid").expect(200).expect_body(pid);
    assert!(!server.log().contains("channel is damaged"), "{}", server.log());
}

const PHP: &str = r#"<?php
function answer() {
    $mode = $_SERVER['QUERY_STRING'];
    if ($mode === 'pid') { echo getmypid(); return; }
    $child = pcntl_fork();
    if ($child === 0) {
        register_shutdown_function(function () use ($mode) { echo "ended: $mode\n"; });
        echo "printed by the child\n";
        flush();
        if ($mode === 'exit') exit(7);
        return;
    }
    pcntl_waitpid($child, $status);
    echo 'child ', pcntl_wexitstatus($status);
}
"#;

#[test]
fn php() {
    check(
        "index.php",
        &format!("{PHP}answer();"),
        |site| json!({ "type": "php", "root": site.root(), "script": "index.php" }),
    );
}

#[test]
fn php_that_stays_in_memory() {
    check(
        "index.php",
        &format!("{PHP}while (corral_handle_request('answer'));"),
        |site| json!({ "type": "php", "root": site.root(), "worker": { "script": "index.php" } }),
    );
}

const PYTHON: &str = r#"
import atexit, os, sys

def forked(mode):
    child = os.fork()
    if child == 0:
        atexit.register(lambda: print('ended:', mode))
        print('printed by the child')
        if mode == 'exit':
            sys.exit(7)
        return b'of the child'
    return b'child %d' % os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

def answer(mode):
    return str(os.getpid()).encode() if mode == 'pid' else forked(mode)
"#;

const WSGI: &str = "
def application(environ, start_response):
    body = answer(environ['QUERY_STRING'])
    start_response('200 OK', [])
    return [body]
";

const ASGI: &str = "
async def application(scope, receive, send):
    if scope['type'] == 'lifespan':
        raise RuntimeError
    body = answer(scope['query_string'].decode())
    await send({'type': 'http.response.start', 'status': 200})
    await send({'type': 'http.response.body', 'body': body})
";

fn check_python(text: &str, options: &Value) {
    check("wsgi.py", &format!("{PYTHON}{text}"), |site| {
        let mut app = json!({ "type": "python", "path": site.root(), "module": "wsgi" });
        app["threads"] = options.clone();
        app
    });
}

#[test]
fn wsgi() {
    check_python(WSGI, &json!(1));
}

#[test]
fn wsgi_in_threads() {
    check_python(WSGI, &json!(3));
}

#[test]
fn asgi() {
    check_python(ASGI, &json!(1));
}

#[test]
fn asgi_in_threads() {
    check_python(ASGI, &json!(2));
}

const RUBY: &str = r#"
run lambda { |env|
  mode = env['QUERY_STRING']
  next [200, {}, [Process.pid.to_s]] if mode == 'pid'
  child = fork
  unless child
    at_exit { puts "ended: #{mode}" }
    puts 'printed by the child'
    exit 7 if mode == 'exit'
    next [200, {}, ['of the child']]
  end
  Process.wait child
  [200, {}, ["child #{$?.exitstatus}"]]
}
"#;

fn check_ruby(threads: u32) {
    check(
        "config.ru",
        RUBY,
        |site| json!({ "type": "ruby", "script": site.path("config.ru"), "threads": threads }),
    );
}

#[test]
fn ruby() {
    check_ruby(1);
}

#[test]
fn ruby_in_threads() {
    check_ruby(3);
}

const PERL: &str = r#"
my $told;
END { print "ended: $told\n" if $told }
sub {
    my $mode = $_[0]{QUERY_STRING};
    return [200, [], [$$]] if $mode eq 'pid';
    my $child = fork;
    if (!$child) {
        $told = $mode;
        print "printed by the child\n";
        eval { exit 7 } if $mode eq 'exit';
        return [200, [], ['of the child']];
    }
    waitpid $child, 0;
    return [200, [], ['child ' . ($? >> 8)]];
}
"#;

fn check_perl(threads: u32) {
    check(
        "app.psgi",
        PERL,
        |site| json!({ "type": "perl", "script": site.path("app.psgi"), "threads": threads }),
    );
}

#[test]
fn perl() {
    check_perl(1);
}

#[test]
fn perl_in_threads() {
    check_perl(3);
}
