//! The state guard: what requests leave behind in a worker's script.

mod growth;
mod rules;
mod transactions;

use corral_testkit::{Daemon, Site, daemon, php_app, site};
use serde_json::{Value, json};

/// Something that a request leaves behind.
struct Leak {
    name: &'static str,
    code: &'static str,
    /// The log's words behind the request.
    line: &'static str,
    /// The kind that the status counts it as.
    kind: &'static str,
}

const fn leak(name: &'static str, code: &'static str, line: &'static str, kind: &'static str) -> Leak {
    Leak { name, code, line, kind }
}

const LEAKS: &[Leak] = &[
    leak(
        "setting",
        "ini_set('precision', '5');",
        "left other values of the settings \"precision\"; by ini_set() at ",
        "settings",
    ),
    leak(
        "locale",
        "setlocale(LC_NUMERIC, 'C.UTF-8');",
        "left the locale \"C.UTF-8\" (it was \"C\"); by setlocale() at ",
        "locale",
    ),
    leak(
        "zone",
        "class Clock { static function set() { date_default_timezone_set('Asia/Tokyo'); } } Clock::set();",
        "left the time zone \"Asia/Tokyo\" (it was \"UTC\"); by date_default_timezone_set() in Clock::set() at ",
        "time_zone",
    ),
    leak("umask", "umask(0077);", "left the umask 0077 (it was 0022); by umask() at ", "umask"),
    leak("directory", "chdir('/');", "left the working directory \"/\" (it was \"", "working_directory"),
    leak(
        "environment",
        "putenv('LEAK=a secret');",
        "left other environment variables \"LEAK\"; by putenv() at ",
        "environment",
    ),
    leak(
        "error_handler",
        "set_error_handler('strcmp');",
        "left another error handler: strcmp() (it was none)",
        "error_handlers",
    ),
    leak(
        "exception_handler",
        "set_exception_handler(function ($e) {});",
        "left another exception handler: a closure at ",
        "exception_handlers",
    ),
    leak(
        "transaction",
        "$GLOBALS['pdo']->beginTransaction();",
        "left a transaction of PDO open",
        "transactions",
    ),
    leak(
        "seed",
        "srand(42);",
        "left random numbers that begin with a seed of its own; by srand() at ",
        "random_seed",
    ),
    leak(
        "encoding",
        "mb_internal_encoding('EUC-JP'); mb_internal_encoding('SJIS');",
        "left another internal encoding: \"SJIS\" (it was \"UTF-8\"); by mb_internal_encoding() at ",
        "encodings",
    ),
    leak(
        "libxml",
        "libxml_use_internal_errors(true);",
        "left another libxml_use_internal_errors(): on (it was off); by libxml_use_internal_errors() at ",
        "libxml",
    ),
    leak(
        "wrapper",
        "stream_wrapper_register('own', stdClass::class); stream_wrapper_unregister('glob');",
        "left other stream wrappers of glob own; by stream_wrapper_unregister() at ",
        "stream_wrappers",
    ),
    leak(
        "context",
        "stream_context_set_default(['http' => ['header' => 'Authorization: a secret']]);",
        "left other options of the default stream context; by stream_context_set_default() at ",
        "stream_context",
    ),
    leak(
        "alarm",
        "pcntl_alarm(60);",
        "left an alarm that comes in 60 seconds; by pcntl_alarm() at ",
        "signals",
    ),
    leak(
        "process",
        "proc_nice(1);",
        "left its process changed by proc_nice(); by proc_nice() at ",
        "process",
    ),
];

/// Prints what the leaks change.
const PROBE: &str = "<?php
$error = set_error_handler(null); restore_error_handler();
$exception = set_exception_handler(null); restore_exception_handler();
echo json_encode([ini_get('precision'), setlocale(LC_NUMERIC, '0'), date_default_timezone_get(), umask(),
    getcwd(), getenv('LEAK'), $error, $exception, $GLOBALS['pdo']->inTransaction(), mt_rand() === 804318771,
    mb_internal_encoding(), libxml_use_internal_errors(), array_diff(['glob', 'own'], stream_get_wrappers()),
    stream_context_get_options(stream_context_get_default()), $alarm = pcntl_alarm(0), pcntl_alarm($alarm), pcntl_getpriority()]);";

/// Runs `before` once, and the file of the path for each request; the pid is a field of each response.
fn index(before: &str) -> String {
    format!(
        "<?php
        {before}
        $handler = static function () {{
            header('Pid: ' . getmypid());
            require __DIR__ . '/cases' . strtok($_SERVER['REQUEST_URI'], '?') . '.php';
        }};
        while (corral_handle_request($handler)) {{}}"
    )
}

/// A script that has done `before`, its cases, and the guard that watches over it.
fn guarded(guard: &Value, before: &str, cases: &[(&str, &str)]) -> (Site, Daemon) {
    let site = cases.iter().fold(site().file("index.php", index(before)), |site, (name, code)| {
        site.file(&format!("cases/{name}.php"), format!("<?php {code}"))
    });
    let worker = json!({ "script": "index.php", "guard": guard });
    let app = php_app(&site).admin("opcache.file_update_protection", "0").with("worker", worker);
    let server = daemon().application(app).start();
    (site, server)
}

fn with_leaks(guard: &Value) -> (Site, Daemon) {
    let (site, server) = guarded(guard, "umask(022); $pdo = new PDO('sqlite::memory:');", &[]);
    for leak in LEAKS {
        site.write(&format!("cases/{}.php", leak.name), format!("<?php {}", leak.code));
    }
    site.write("cases/probe.php", PROBE);
    (site, server)
}

/// The counts of the application. Those of the last request may come after its response.
fn left_state(server: &Daemon) -> Value {
    server.control().get("/status/applications/php/requests").json()["left_state"].clone()
}

fn lines(server: &Daemon) -> Vec<String> {
    server.log().lines().filter(|line| line.contains("guard: ")).map(str::to_owned).collect()
}

/// The guard's lines up to that of a leak which comes last.
#[track_caller]
fn lines_before(server: &Daemon, leak: &str) -> Vec<String> {
    server.get(leak).expect(200);
    server.expect_log(&format!("guard: GET {leak} left"));
    lines(server).into_iter().take_while(|line| !line.contains(&format!("guard: GET {leak} left"))).collect()
}

/// Options: applications.{N}.worker.guard
#[test]
fn each_kind_is_reported_once_and_stays() {
    let (_site, server) = with_leaks(&json!("report"));
    let before = server.get("/probe").expect(200).text();
    for leak in LEAKS {
        server.get(&format!("/{}", leak.name)).expect(200);
        server.expect_log(&format!("guard: GET /{} {}", leak.name, leak.line));
    }
    assert_ne!(server.get("/probe").expect(200).text(), before);
    assert_eq!(lines(&server).len(), LEAKS.len(), "{:#?}", lines(&server));
    let kinds: serde_json::Map<_, _> = LEAKS.iter().map(|leak| (leak.kind.to_owned(), json!(1))).collect();
    assert_eq!(left_state(&server), json!({ "total": LEAKS.len(), "kinds": kinds }));
    assert!(!server.log().contains("a secret"), "values of variables are nobody's business");
}

/// Options: applications.{N}.worker.guard
#[test]
fn each_kind_is_restored() {
    let (_site, server) = with_leaks(&json!("restore"));
    let before = server.get("/probe").expect(200).text();
    for leak in LEAKS.iter().filter(|leak| leak.name != "zone") {
        for _ in 0..2 {
            server.get(&format!("/{}", leak.name)).expect(200);
            assert_eq!(server.get("/probe").expect(200).text(), before, "after {}", leak.name);
        }
        server.expect_log(&format!("guard: GET /{} {}", leak.name, leak.line));
    }
    server.get("/zone").expect(200);
    assert_eq!(server.get("/probe").expect(200).text(), before, "after a change of the time zone");
    server.expect_log("guard: GET /zone left ");
    assert_eq!(lines(&server).len(), LEAKS.len(), "{:#?}", lines(&server));
    server.expect_log("; it was restored");
    server
        .expect_log("left a transaction of PDO open, which was rolled back; by PDO::beginTransaction() at ");
}

/// Options: applications.{N}.worker.guard
#[test]
fn each_kind_ends_the_worker() {
    let (_site, server) = with_leaks(&json!("recycle"));
    let before = server.get("/probe").expect(200).text();
    for leak in LEAKS {
        let first = server.get("/probe").expect(200);
        let leaky = server.get(&format!("/{}", leak.name)).expect(200);
        let next = server.get("/probe").expect(200);
        assert_eq!(first.field("Pid"), leaky.field("Pid"), "{}", leak.name);
        assert_ne!(leaky.field("Pid"), next.field("Pid"), "{}", leak.name);
        assert_eq!(next.text(), before, "after {}", leak.name);
        server.expect_log(&format!("guard: GET /{} {}", leak.name, leak.line));
    }
    server.expect_log("; the worker is replaced");
}

/// Options: applications.{N}.worker.guard
#[test]
fn nobody_looks_where_it_is_off() {
    let (_site, server) = with_leaks(&json!("off"));
    for leak in LEAKS {
        server.get(&format!("/{}", leak.name)).expect(200);
    }
    server.get("/probe").expect(200);
    assert_eq!(lines(&server), Vec::<String>::new());
}

#[test]
fn it_reports_unless_it_is_told_otherwise() {
    let site = site().file("index.php", index("")).file("cases/leak.php", "<?php umask(0);");
    let app = php_app(&site).with("worker", json!({ "script": "index.php" }));
    let server = daemon().application(app).start();
    server.get("/leak").expect(200);
    server.expect_log("guard: GET /leak left the umask 0000");
}
