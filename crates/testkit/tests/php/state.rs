//! The state that a request finds of those that were answered before it, where PHP starts the script for each.

use std::fs;

use corral_testkit::{Daemon, Site, daemon, php_app, site};

/// Prints everything that the requests below change.
const PROBE: &str = r#"<?php
$error = set_error_handler(null); restore_error_handler();
$exception = set_exception_handler(null); restore_exception_handler();
$environment = getenv(); ksort($environment);
$wrappers = stream_get_wrappers(); sort($wrappers);
echo json_encode([
    'alarm' => pcntl_alarm(0),
    'async' => pcntl_async_signals(),
    'autoloaders' => count(spl_autoload_functions()),
    'blocked, ignored, caught' => preg_grep('/^Sig(Blk|Ign|Cgt)/', file('/proc/self/status')),
    'context' => stream_context_get_options(stream_context_get_default()),
    'directory' => getcwd(),
    'domain' => textdomain(null),
    'encodings' => [mb_internal_encoding(), mb_substitute_character(), mb_detect_order(), mb_language(),
        mb_http_output(), mb_regex_encoding(), mb_regex_set_options()],
    'environment' => $environment,
    'filters' => stream_get_filters(),
    'handlers' => [$error, $exception],
    'libxml' => [libxml_use_internal_errors(), libxml_get_external_entity_loader()],
    'limits' => posix_getrlimit(),
    'locale' => [setlocale(LC_ALL, '0'), Locale::getDefault(), strtoupper("\xe4")],
    'mysqli' => (new mysqli_driver)->report_mode,
    'output' => [ob_get_level(), ob_list_handlers()],
    'priority' => pcntl_getpriority(),
    'settings' => ini_get_all(null, false),
    'status' => [ignore_user_abort(), connection_status(), http_response_code(), headers_list()],
    'umask' => umask(),
    'user' => [posix_geteuid(), posix_getegid(), posix_getpgrp() === getmypid()],
    'wrappers' => $wrappers,
    'zone' => date_default_timezone_get(),
], JSON_PRETTY_PRINT | JSON_INVALID_UTF8_SUBSTITUTE);
"#;

/// Requests that leave something behind, by name.
const HOSTILE: &[(&str, &str)] = &[
    ("alarm", "pcntl_alarm(60);"),
    ("async", "pcntl_async_signals(true);"),
    ("autoloader", "spl_autoload_register(function ($name) { echo $name; });"),
    ("blocked", "pcntl_sigprocmask(SIG_BLOCK, [SIGTERM, SIGHUP, SIGUSR1]);"),
    ("buffers", "ob_start('strrev'); ob_start(); echo 'x';"),
    ("callback", "header_register_callback(function () { header('X-A: b'); });"),
    (
        "caught",
        "foreach ([SIGTERM, SIGPIPE, SIGPROF, SIGUSR2, SIGCHLD, SIGALRM] as $n) { pcntl_signal($n, 'strlen'); }",
    ),
    ("context", "stream_context_set_default(['http' => ['proxy' => 'tcp://127.0.0.1:1']]);"),
    ("directory", "chdir('/');"),
    ("directory_late", "register_shutdown_function(fn() => chdir('/'));"),
    ("domain", "textdomain('messages2');"),
    (
        "encodings",
        "mb_internal_encoding('EUC-JP'); mb_substitute_character(64); mb_detect_order(['SJIS']); \
        mb_language('ja'); mb_http_output('SJIS'); mb_regex_encoding('EUC-JP'); mb_regex_set_options('x');",
    ),
    ("environment", "putenv('LEAK=1'); putenv('PATH'); putenv('TZ=Asia/Tokyo');"),
    ("exit", "ob_start(); umask(0); exit(3);"),
    ("fatal", "chdir('/'); umask(0); f();"),
    ("filter", "stream_filter_register('own', php_user_filter::class);"),
    ("handlers", "set_error_handler(fn() => true); set_exception_handler(fn() => true);"),
    ("ignored", "foreach ([SIGTERM, SIGCHLD, SIGUSR1] as $n) { pcntl_signal($n, SIG_IGN); }"),
    ("libxml", "libxml_use_internal_errors(true); libxml_set_external_entity_loader(fn() => null);"),
    ("limits", "posix_setrlimit(POSIX_RLIMIT_NOFILE, 64, 128);"),
    ("locale", "setlocale(LC_ALL, 'C.UTF-8'); Locale::setDefault('de_DE');"),
    ("memory", "ini_set('memory_limit', '8M'); str_repeat('x', 9 << 20);"),
    ("mysqli", "mysqli_report(MYSQLI_REPORT_OFF);"),
    ("priority", "proc_nice(1);"),
    ("session", "session_name('OTHER'); session_save_path('/'); session_cache_limiter('public');"),
    (
        "settings",
        "ini_set('precision', 3); error_reporting(0); gc_disable(); set_include_path('/'); set_time_limit(1); \
        ignore_user_abort(true); assert_options(ASSERT_WARNING, 0);",
    ),
    (
        "streams",
        "fclose(fopen('php://stdin', 'r')); fclose(fopen('php://stdout', 'w')); fclose(fopen('php://output', 'w'));",
    ),
    ("ticks", "register_tick_function(function () { echo 'tick'; }); declare(ticks=1); $a = 1;"),
    ("timer", "set_time_limit(1); while (true) {}"),
    ("umask", "umask(0);"),
    ("wrappers", "stream_wrapper_register('own', stdClass::class); stream_wrapper_unregister('file');"),
    ("zone", "date_default_timezone_set('Asia/Tokyo');"),
];

fn hostile() -> (Site, Daemon) {
    let site = HOSTILE.iter().fold(site().file("probe.php", PROBE), |site, (name, code)| {
        site.file(&format!("{name}.php"), format!("<?php {code}"))
    });
    let server = daemon().application(php_app(&site).admin("display_errors", "0")).start();
    (site, server)
}

/// One process answers them all, but where nothing else helps.
#[test]
fn nothing_is_left_of_the_request_before() {
    let (_site, server) = hostile();
    server.get("/probe.php").expect(200);
    let before = server.get("/probe.php").expect(200).text();
    for (name, _) in HOSTILE {
        server.get(&format!("/{name}.php"));
        server.get("/probe.php").expect(200);
        let after = server.get(&format!("/probe.php?after={name}")).expect(200).text();
        let changed: Vec<_> = before.lines().zip(after.lines()).filter(|(a, b)| a != b).collect();
        assert!(before == after, "after {name}: {changed:#?}");
    }
}

/// So is a process that no function of PHP's makes as it was.
#[test]
fn a_process_that_cannot_be_put_back_is_replaced() {
    let pid = "echo getmypid();";
    let site = site()
        .file("pid.php", format!("<?php {pid}"))
        .file("alarm.php", format!("<?php pcntl_alarm(60); {pid}"))
        .file("nice.php", format!("<?php proc_nice(1); {pid}"));
    let server = daemon().application(php_app(&site)).start();
    let first = server.get("/pid.php").expect(200).text();
    server.get("/alarm.php").expect(200).expect_body(&first);
    server.get("/nice.php").expect(200).expect_body(&first);
    assert_ne!(server.get("/pid.php").expect(200).text(), first);
    server.expect_log("proc_nice(): nothing takes this back, so the process is replaced after the request");
}

#[test]
fn an_alarm_reaches_no_other_request() {
    let site = site().file("alarm.php", "<?php pcntl_alarm(1); echo getmypid();").file(
        "wait.php",
        "<?php $end = microtime(true) + 1.2; while (microtime(true) < $end) { usleep(1000); } echo \
            getmypid();",
    );
    let server = daemon().application(php_app(&site)).start();
    let first = server.get("/alarm.php").expect(200).text();
    server.get("/wait.php").expect(200).expect_body(&first);
}

#[test]
fn random_numbers_do_not_follow_from_a_seed_of_the_request_before() {
    let site = site()
        .file("seed.php", "<?php mt_srand(42); mt_rand();")
        .file("seed2.php", "<?php srand(42); rand();")
        .file("rand.php", "<?php echo mt_rand(), ' ', rand(), ' ', mt_rand();");
    let server = daemon().application(php_app(&site)).start();
    let mut seen = Vec::new();
    for seed in ["/seed.php", "/seed2.php", "/seed.php"] {
        server.get(seed).expect(200);
        seen.push(server.get("/rand.php").expect(200).text());
    }
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 3, "{seen:?}");
}

/// A deployment puts another folder at the path: the process is still in the old one.
#[test]
fn a_folder_that_took_the_place_of_another_is_entered() {
    let site = site()
        .file("live/part.php", "<?php echo file_get_contents('part.txt');")
        .file("live/part.txt", "old")
        .file("next/part.php", "<?php echo file_get_contents('part.txt');")
        .file("next/part.txt", "new");
    let server = daemon().application(php_app(&site)).start();
    server.get("/live/part.php").expect(200).expect_body("old");
    fs::rename(site.path("live"), site.path("old")).expect("move the folder");
    fs::rename(site.path("next"), site.path("live")).expect("move the folder");
    server.get("/live/part.php").expect(200).expect_body("new");
}

#[test]
fn a_relative_open_basedir_is_that_of_the_script() {
    let site = site()
        .file("a/leaves.php", "<?php chdir('sub'); echo 'left';")
        .file("a/late.php", "<?php register_shutdown_function(fn() => chdir('sub')); echo 'left';")
        .file(
            "a/own.php",
            "<?php echo @file_get_contents('part.txt'), '-', @file_get_contents('../b/part.txt');",
        )
        .file("a/part.txt", "a")
        .file("a/sub/part.txt", "sub")
        .file(
            "b/own.php",
            "<?php echo @file_get_contents('part.txt'), '-', @file_get_contents('../a/part.txt');",
        )
        .file("b/part.txt", "b");
    let server = daemon().application(php_app(&site).admin("open_basedir", ".")).start();
    for leaves in ["/a/leaves.php", "/a/late.php"] {
        server.get(leaves).expect(200).expect_body("left");
        server.get("/a/own.php").expect(200).expect_body("a-");
        server.get(leaves).expect(200).expect_body("left");
        server.get("/b/own.php").expect(200).expect_body("b-");
    }
}

/// Streams that a script leaves open are closed when it has ended.
#[test]
fn open_basedir_holds_until_the_last_stream_is_closed() {
    let code = "<?php class Late {
            public $context;
            function stream_open($path, $mode, $options, &$opened) { return true; }
            function stream_close() {
                $above = dirname(getcwd());
                @file_put_contents($above . '/plain', 'x');
                $document = new DOMDocument;
                $document->appendChild($document->createTextNode('x'));
                @$document->save($above . '/document');
                file_put_contents('own', 'x');
            }
        }
        chdir('base'); stream_wrapper_register('late', 'Late'); $open = fopen('late://', 'r'); echo 'open';";
    let site = site().file("a/late.php", code).writable_folder("a").writable_folder("a/base");
    let server = daemon().application(php_app(&site).admin("open_basedir", ".")).start();
    server.get("/a/late.php").expect(200).expect_body("open");
    server.get("/a/late.php").expect(200).expect_body("open");
    assert_eq!(site.read("a/base/own"), "x");
    assert!(!site.path("a/plain").exists() && !site.path("a/document").exists());
}
