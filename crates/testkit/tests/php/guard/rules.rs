//! State that is left behind and state that is not, and how often it is reported.

use corral_testkit::{Request, eventually};
use serde_json::{Value, json};

use super::{guarded, left_state, lines, lines_before};

const MARK: (&str, &str) = ("mark", "umask(umask() ^ 0111);");

#[test]
fn an_application_that_cleans_up_is_not_mentioned() {
    let clean = "
        $precision = ini_set('precision', '5'); ini_set('precision', $precision);
        ini_set('serialize_precision', '5'); ini_restore('serialize_precision');
        setlocale(LC_ALL, 'C.UTF-8'); setlocale(LC_ALL, 'C');
        date_default_timezone_set('Asia/Tokyo'); date_default_timezone_set('UTC');
        umask(umask(0)); $here = getcwd(); chdir('/'); chdir($here); putenv('LEAK=1'); putenv('LEAK');
        set_error_handler(fn() => true); restore_error_handler();
        set_exception_handler(fn() => true); restore_exception_handler();
        register_shutdown_function(function () {}); set_time_limit(5); ini_set('memory_limit', '64M');
        ob_start(); ob_end_clean(); session_id('guarded'); session_start();
        $pdo = new PDO('sqlite::memory:'); $pdo->beginTransaction(); $pdo->commit(); $pdo->beginTransaction();
        $file = tmpfile(); $f = fopen('php://temp', 'w+'); readfile(__FILE__); file_get_contents('php://input');
        setcookie('a', 'b'); error_reporting(E_ALL & ~E_NOTICE); error_reporting(E_ALL);
        mt_rand(); mt_srand(42); mt_srand(); srand(1); srand(); new Random\\Randomizer(new Random\\Engine\\Mt19937(42));
        mb_internal_encoding(mb_internal_encoding()); mb_internal_encoding('SJIS'); mb_internal_encoding('UTF-8');
        $internal = libxml_use_internal_errors(true); libxml_use_internal_errors($internal);
        libxml_set_external_entity_loader(fn() => null); libxml_set_external_entity_loader(null);
        stream_wrapper_register('own', stdClass::class); stream_wrapper_unregister('own');
        stream_wrapper_unregister('glob'); stream_wrapper_restore('glob'); stream_context_get_default();
        pcntl_alarm(60); pcntl_alarm(0); pcntl_signal(SIGUSR1, 'strlen'); pcntl_signal(SIGUSR1, SIG_DFL);
        pcntl_sigprocmask(SIG_BLOCK, [SIGUSR2], $old); pcntl_sigprocmask(SIG_SETMASK, $old);";
    let before = "setlocale(LC_ALL, 'C'); error_reporting(E_ALL);";
    let (_site, server) = guarded(&json!("report"), before, &[("clean", clean), MARK]);
    for _ in 0..5 {
        server.get("/clean?a=b").expect(200);
    }
    assert_eq!(lines_before(&server, "/mark"), Vec::<String>::new());
}

/// So is what it does between two requests.
#[test]
fn what_the_script_does_by_itself_stays() {
    let before = "
        ini_set('precision', '5'); setlocale(LC_ALL, 'C.UTF-8'); date_default_timezone_set('Asia/Tokyo'); umask(027);
        chdir('/'); putenv('OWN=1'); set_error_handler('strcmp'); set_exception_handler('strlen');
        register_shutdown_function(function () {}); $file = fopen(__FILE__, 'r');
        $handler = static function () { echo ini_get('precision'), date_default_timezone_get(), getcwd(); };
        while (corral_handle_request($handler)) { ini_set('precision', ini_get('precision') + 1); chdir('/tmp'); }";
    let (_site, server) = guarded(&json!("restore"), before, &[]);
    server.get("/").expect(200).expect_body("5Asia/Tokyo/");
    server.get("/").expect(200).expect_body("6Asia/Tokyo/tmp");
    server.get("/").expect(200).expect_body("7Asia/Tokyo/tmp");
    assert_eq!(lines(&server), Vec::<String>::new());
}

#[test]
fn what_a_request_takes_from_the_script_is_given_back() {
    let before = "ini_set('precision', '5'); putenv('OWN=1'); set_error_handler('strcmp');";
    let takes = "ini_restore('precision'); putenv('OWN'); restore_error_handler();";
    let shows = "$wrappers = stream_get_wrappers(); sort($wrappers); echo ini_get('precision'), getenv('OWN'), \
        set_error_handler(null); restore_error_handler();";
    let (_site, server) = guarded(&json!("restore"), before, &[("takes", takes), ("shows", shows)]);
    server.get("/shows").expect(200).expect_body("51strcmp");
    server.get("/takes").expect(200);
    server.get("/shows").expect(200).expect_body("51strcmp");
    server.expect_log("left another error handler: none (it was strcmp())");
}

/// State without a line of its own above: each changes the second answer unless it is put back.
#[test]
fn signals_encodings_wrappers_and_seeds_are_given_back() {
    let before = "class W1 { public $context; function url_stat($p, $f) { return []; } } class W2 extends W1 {}
        pcntl_signal(SIGUSR2, 'strlen'); stream_wrapper_register('own', W1::class); mt_srand(7); mt_rand();
        stream_context_set_default(['http' => ['method' => 'PUT']]); libxml_set_external_entity_loader(fn() => 'x');";
    let shows = "$wrappers = stream_get_wrappers(); sort($wrappers); echo json_encode([pcntl_signal_get_handler(SIGUSR1), pcntl_signal_get_handler(SIGUSR2),
        preg_grep('/^Sig(Blk|Ign|Cgt)/', file('/proc/self/status')), pcntl_async_signals(), mb_substitute_character(),
        mb_detect_order(), mb_regex_encoding(), mb_regex_set_options(), textdomain(null), $wrappers,
        stream_context_get_options(stream_context_get_default()), (libxml_get_external_entity_loader())()]);";
    let cases = [
        (
            "handlers",
            "foreach ([SIGUSR1, SIGUSR2, SIGTERM, SIGPIPE, SIGPROF] as $n) pcntl_signal($n, 'strrev');",
        ),
        ("ignored", "foreach ([SIGUSR1, SIGUSR2, SIGTERM] as $n) pcntl_signal($n, SIG_IGN);"),
        (
            "taken",
            "foreach ([SIGTERM, SIGPROF] as $n) { pcntl_signal($n, 'strlen'); pcntl_signal($n, SIG_DFL); }",
        ),
        ("mask", "pcntl_sigprocmask(SIG_BLOCK, [SIGTERM, SIGUSR1]); pcntl_async_signals(true);"),
        (
            "encodings",
            "mb_substitute_character(64); mb_detect_order('SJIS'); mb_regex_encoding('SJIS');
            mb_regex_set_options('x'); textdomain('other');",
        ),
        (
            "wrappers",
            "foreach (['file', 'http', 'php'] as $w) stream_wrapper_unregister($w);
            stream_wrapper_register('http', W2::class); stream_wrapper_register('other', W2::class);",
        ),
        (
            "context",
            "stream_context_set_default(['http' => ['method' => 'GET'], 'ssl' => ['verify_peer' => false]]);",
        ),
        ("loader", "libxml_set_external_entity_loader(fn() => 'y');"),
        ("show", shows),
    ];
    let (_site, server) = guarded(&json!("restore"), before, &cases);
    server.get("/show").expect(200);
    let first = server.get("/show").expect(200).text();
    for (name, _) in &cases[..8] {
        server.get(&format!("/{name}")).expect(200);
        assert_eq!(server.get("/show").expect(200).text(), first, "after {name}");
    }
    let said = lines(&server);
    assert!(!said.iter().any(|line| line.contains("/taken") || line.contains("/show")), "{said:#?}");
}

/// The numbers go on as if the request had not been.
#[test]
fn random_numbers_are_those_of_the_script() {
    let numbers = "echo mt_rand(), ' ', mt_rand();";
    let seeds = [("seed", "mt_srand(42); srand(42); mt_rand();"), ("numbers", numbers)];
    let (_site, server) = guarded(&json!("restore"), "mt_srand(7);", &seeds);
    let (_other, unseeded) = guarded(&json!("restore"), "mt_srand(7);", &seeds);
    unseeded.get("/numbers").expect(200);
    let second = unseeded.get("/numbers").expect(200).text();
    server.get("/numbers").expect(200);
    server.get("/seed").expect(200);
    server.get("/numbers").expect(200).expect_body(&second);
}

#[test]
fn a_line_is_said_once_for_each_kind_and_route() {
    let code = "ini_set('precision', $_GET['n']); umask($_GET['n']);";
    let (_site, server) = guarded(&json!("report"), "", &[("one", code), ("two", code), MARK]);
    for n in 1..4 {
        server.get(&format!("/one?n={n}")).expect(200);
        server.get(&format!("/two?n={}", n + 4)).expect(200);
    }
    let said = lines_before(&server, "/mark");
    let of = |route: &str, kind: &str| said.iter().filter(|l| l.contains(route) && l.contains(kind)).count();
    assert_eq!(said.len(), 4, "{said:#?}");
    for (route, kind) in [("/one", "umask"), ("/two", "umask"), ("/one", "precision"), ("/two", "precision")]
    {
        assert_eq!(of(&format!("GET {route} "), kind), 1, "{said:#?}");
    }
    assert!(!said.iter().any(|line| line.contains("?n=")), "no query: {said:#?}");
}

#[test]
fn routes_that_are_remembered_are_bounded() {
    let before = "$handler = fn() => umask(umask() ^ 1); while (corral_handle_request($handler)) {}";
    let (_site, server) = guarded(&json!("report"), before, &[]);
    let mut client = server.connect();
    for n in 0..80 {
        client.get(&format!("/{n}")).expect(200);
    }
    server.expect_log("guard: GET /64 left the umask");
    let long = format!("/{}", "x".repeat(100));
    client.get(&long).expect(200);
    assert_eq!(lines(&server).len(), 65, "{:#?}", lines(&server));
}

#[test]
fn long_paths_are_cut() {
    let before = "$handler = fn() => umask(umask() ^ 1); while (corral_handle_request($handler)) {}";
    let (_site, server) = guarded(&json!("report"), before, &[]);
    server.get(&format!("/{}", "x".repeat(100))).expect(200);
    server.expect_log(&format!("guard: GET /{}... left the umask", "x".repeat(63)));
}

#[test]
fn lines_have_no_control_characters() {
    let code = "$d = sys_get_temp_dir() . \"/a\\n\\x1b[1m\" . getmypid(); mkdir($d); chdir($d); rmdir($d);
        set_error_handler(null); putenv(\"A\\tB=1\");";
    let (_site, server) = guarded(&json!("report"), "", &[("odd", code)]);
    server.get("/odd").expect(200);
    server.expect_log("left other environment variables \"A\\x09B\"");
}

/// Whatever becomes of the handler, the guard looks when the request is over.
#[test]
fn exceptions_and_shutdown_functions_are_watched_as_well() {
    let cases = [
        ("throws", "umask(0); throw new Exception('x');"),
        ("later", "register_shutdown_function(fn() => ini_set('precision', '3'));"),
        ("destructor", "$o = new class { function __destruct() { putenv('LATE=1'); } };"),
    ];
    let (_site, server) = guarded(&json!("restore"), "", &cases);
    server.get("/throws").expect(500);
    server.get("/later").expect(200);
    server.get("/destructor").expect(200);
    server.expect_log("guard: GET /throws left the umask 0000");
    server.expect_log("guard: GET /later left other values of the settings \"precision\"");
    server.expect_log("guard: GET /destructor left other environment variables \"LATE\"");
}

#[test]
fn the_end_of_the_script_is_no_leak() {
    let (_site, server) = guarded(
        &json!("report"),
        "",
        &[("exit", "umask(0); ob_start(); exit;"), ("fatal", "umask(0); f();"), MARK],
    );
    server.get("/exit").expect(200);
    assert_eq!(lines_before(&server, "/mark"), Vec::<String>::new());
}

/// Their content was sent all the same.
#[test]
fn output_buffers_are_reported_and_end_nobody() {
    let code = "echo 'a'; ob_start(); echo 'b'; ob_start(); echo 'c';";
    let (_site, server) = guarded(&json!("recycle"), "", &[("buffers", code)]);
    let first = server.get("/buffers").expect(200).expect_body("abc");
    server.expect_log("guard: GET /buffers left 2 output buffers open; what is in them was sent");
    assert_eq!(server.get("/buffers").expect(200).field("Pid"), first.field("Pid"));
}

/// Requests that are not told of in the log any more are counted all the same, and so are those whose client has left.
#[test]
fn the_status_counts_requests_that_leave_something() {
    let pages = [
        ("sets", "putenv('N=' . mt_rand());"),
        ("both", "putenv('N=' . mt_rand()); ini_set('precision', '5'); ob_start();"),
        ("long", "for ($i = 0; $i < 99; $i++) { echo str_repeat('x', 99999); } umask(0077);"),
        ("fine", "echo 'x';"),
    ];
    let (_site, server) = guarded(&json!("report"), "", &pages);
    let expect = |total: u64, kinds: Value| {
        let left = json!({ "total": total, "kinds": kinds });
        eventually("they are counted", || (left_state(&server) == left).then_some(()));
    };
    server.get("/fine").expect(200);
    assert_eq!(left_state(&server), Value::Null);
    for _ in 0..3 {
        server.get("/sets").expect(200);
        server.get("/fine").expect(200);
    }
    expect(3, json!({ "environment": 3 }));
    assert_eq!(server.log().matches("guard: GET /sets").count(), 1);
    server.get("/both").expect(200);
    expect(4, json!({ "settings": 1, "environment": 4, "output_buffers": 1 }));
    drop(server.begin(&Request::get("/long")));
    expect(5, json!({ "settings": 1, "umask": 1, "environment": 4, "output_buffers": 1 }));
}

/// The log has the counts of all kinds now and then, so that it stays short where each request leaves something.
#[test]
fn the_log_has_the_counts() {
    let pages = [
        ("umask", "umask(umask() ^ 0111);"),
        ("zone", "date_default_timezone_set('Asia/' . $_GET['city']);"),
    ];
    let (_site, server) = guarded(&json!("report"), "", &pages);
    let mut client = server.connect();
    for city in ["Tokyo", "Seoul", "Tokyo"] {
        client.get(&format!("/zone?city={city}")).expect(200);
    }
    (0..97).for_each(|_| drop(client.get("/umask").expect(200)));
    server.expect_log("\"php\": 10 requests have left state behind: time_zone 3, umask 7 (worker.guard)\n");
    server.expect_log("\"php\": 100 requests have left state behind: time_zone 3, umask 97 (worker.guard)\n");
    assert_eq!(server.log().matches("requests have left state behind").count(), 2);
}
