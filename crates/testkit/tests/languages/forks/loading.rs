//! Applications that fork while they are loaded, by the prototype or by a worker: their children end, and are not taken
//! for what has forked them.

use corral_testkit::{Site, eventually};
use serde_json::{Value, json};

use super::serve;

/// The application is ready, though one child has exited and another has gone on as if it were to serve.
fn check(file: &str, text: &str, app: impl FnOnce(&Site) -> Value) {
    let (server, _site) = serve(file, text, app);
    for _ in 0..3 {
        server.get("/").expect(200).expect_body("parent: 7 0");
    }
    for mode in ["exit", "return"] {
        eventually("what runs at the child's exit has run", || {
            server.log().contains(&format!("ended: {mode}")).then_some(())
        });
    }
    let log = server.log();
    for complaint in ["cannot tell the daemon", "exited on signal", "channel is damaged"] {
        assert!(!log.contains(complaint), "{log}");
    }
}

const PYTHON: &str = r"
import atexit, os, sys

def of_child(mode):
    child = os.fork()
    if child == 0:
        atexit.register(lambda: print('ended:', mode))
    return child and os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

def application(environ, start_response):
    start_response('200 OK', [])
    return [f'parent: {exited} {returned}'.encode()]

exited = of_child('exit')
if exited == 0:
    sys.exit(7)
returned = of_child('return')
";

#[test]
fn python() {
    check("wsgi.py", PYTHON, |site| json!({ "type": "python", "path": site.root(), "module": "wsgi" }));
}

const RUBY: &str = r##"
def child(mode)
  child = fork
  at_exit { puts "ended: #{mode}" } unless child
  child && Process.wait2(child)[1].exitstatus
end

exited = child('exit') or exit 7
returned = child('return')
run ->(_) { [200, {}, ["parent: #{exited} #{returned}"]] }
"##;

fn check_ruby(preload: bool) {
    check(
        "config.ru",
        RUBY,
        |site| json!({ "type": "ruby", "script": site.path("config.ru"), "preload": preload }),
    );
}

#[test]
fn ruby_in_workers() {
    check_ruby(false);
}

#[test]
fn ruby_in_the_prototype() {
    check_ruby(true);
}

const PERL: &str = r#"
my $told;
END { print "ended: $told\n" if $told }
sub of_child {
    my $child = fork;
    if (!$child) {
        $told = $_[0];
        return;
    }
    waitpid $child, 0;
    return $? >> 8;
}
my $exited = of_child('exit') // exit 7;
my $returned = of_child('return');
sub { return [200, [], ["parent: $exited $returned"]] }
"#;

fn check_perl(preload: bool) {
    check(
        "app.psgi",
        PERL,
        |site| json!({ "type": "perl", "script": site.path("app.psgi"), "preload": preload }),
    );
}

#[test]
fn perl_in_workers() {
    check_perl(false);
}

#[test]
fn perl_in_the_prototype() {
    check_perl(true);
}
