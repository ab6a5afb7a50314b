//! The options of an application, and what workers share.

use crate::host::{App, Host, app};
use crate::messages::get;

#[track_caller]
fn check(app: App, expected: &str) {
    let mut host = app.start();
    let response = host.worker().ask(&host, &get("/"));
    assert_eq!(response.text(), expected, "{}", host.log());
}

fn script(expression: &str) -> App {
    app(&[("index.php", &format!("<?php echo json_encode({expression});"))])
}

#[test]
fn admin_settings_cannot_be_changed_and_user_settings_can() {
    let both = script(
        "[ini_get('memory_limit'), @ini_set('memory_limit', '99M'), ini_get('memory_limit'),
          ini_get('precision'), ini_set('precision', '5'), ini_get('precision')]",
    );
    let app = both.admin("memory_limit", "64M").user("precision", "9");
    let mut host = app.start();
    let mut worker = host.worker();
    for _ in 0..2 {
        let response = worker.ask(&host, &get("/"));
        assert_eq!(response.text(), r#"["64M",false,"64M","9","9","5"]"#);
    }
    assert!(!host.log().contains("failed"), "{}", host.log());
}

#[test]
fn values_arrive_as_they_are() {
    let value = "a'b \"c\" ${HOME} ; [x] = \\";
    check(script("ini_get('user_agent')").admin("user_agent", value), &serde_json::to_string(value).unwrap());
    check(script("ini_get('user_agent')").user("user_agent", "it's"), "\"it's\"");
    check(script("ini_get('display_errors')").admin("display_errors", "On"), "\"On\"");
}

#[test]
fn settings_that_php_refuses_are_logged_and_ignored() {
    let mut host = script("1")
        .admin("no.such.setting", "x")
        .user("memory_limit", "64M")
        .admin("date.timezone", "No/Where")
        .start();
    assert_eq!(host.worker().ask(&host, &get("/")).text(), "1");
    let log = host.log();
    assert!(log.contains("setting PHP option \"no.such.setting: x\" failed"), "{log}");
    assert!(log.contains("setting PHP option \"date.timezone: No/Where\" failed"), "{log}");
    assert!(!log.contains("memory_limit"), "{log}");
}

#[test]
fn settings_that_count_at_the_start_only() {
    check(
        script("opcache_get_configuration()['directives']['opcache.memory_consumption']")
            .admin("opcache.memory_consumption", "32"),
        "33554432",
    );
    check(script("function_exists('exec')").admin("disable_functions", "exec,passthru"), "false");
    check(script("function_exists('exec')").user("disable_functions", "exec"), "false");
    check(
        script("(new ReflectionClass('SplStack'))->newInstanceWithoutConstructor() instanceof SplStack"),
        "true",
    );
}

#[test]
fn another_php_ini() {
    check(
        script("[ini_get('precision'), extension_loaded('Zend OPcache')]").ini_file("precision = 7\n"),
        r#"["7",true]"#,
    );
    check(script("ini_get('precision')").ini_file("precision = 7\n").admin("precision", "8"), r#""8""#);
}

#[test]
fn the_default_php_ini_and_its_folder_are_read() {
    check(
        script(
            "[php_ini_loaded_file() === sprintf('/etc/php/%d.%d/embed/php.ini', PHP_MAJOR_VERSION, PHP_MINOR_VERSION), \
             extension_loaded('pdo_sqlite'), extension_loaded('mysqli')]",
        ),
        "[true,true,true]",
    );
}

#[test]
fn the_sapi_has_a_name() {
    let both = "[php_sapi_name(), PHP_SAPI, opcache_get_status()['opcache_enabled']]";
    check(script(both), r#"["cli-server","cli-server",true]"#);
    check(script(both).sapi_name("fpm-fcgi"), r#"["fpm-fcgi","fpm-fcgi",true]"#);
    check(script(both).sapi_name("corral"), r#"["corral","corral",true]"#);
}

#[test]
fn open_basedir_holds_for_scripts_and_files() {
    let app = app(&[
        ("in/a.php", "<?php echo @file_get_contents('../out/x') ?: 'denied';"),
        ("out/x", "x"),
        ("out/b.php", "<?php echo 'b';"),
    ]);
    let basedir = app.root().join("in");
    let mut host = app.admin("open_basedir", basedir.to_str().unwrap()).start();
    let mut worker = host.worker();
    assert_eq!(worker.ask(&host, &get("/in/a.php")).text(), "denied");
    let response = worker.ask(&host, &get("/out/b.php"));
    assert_eq!((response.status, response.text()), (403, ""));
    assert_eq!(worker.ask(&host, &get("/in/a.php")).text(), "denied");
}

fn status_script() -> App {
    app(&[
        ("index.php", "<?php $s = opcache_get_status(); echo $s['scripts'][__FILE__]['hits'] ?? 'none';"),
        ("shared.php", "<?php echo 'shared';"),
        (
            "look.php",
            "<?php echo opcache_is_script_cached(__DIR__ . '/shared.php') ? 'cached' : 'not', ' ', getmypid();",
        ),
    ])
}

fn two_workers(host: &mut Host) -> [crate::host::Worker; 2] {
    [host.worker(), host.worker()]
}

#[test]
fn workers_share_compiled_scripts() {
    let mut host = status_script().start();
    let [mut first, mut second] = two_workers(&mut host);
    let pid = |pid: u32, state: &str| format!("{state} {pid}");
    assert_eq!(second.ask(&host, &get("/look.php")).text(), pid(second.pid, "not"));
    assert_eq!(first.ask(&host, &get("/shared.php")).text(), "shared");
    assert_eq!(second.ask(&host, &get("/look.php")).text(), pid(second.pid, "cached"));
}

#[test]
fn preloading_happens_once_and_for_all() {
    let app = app(&[
        (
            "preload.php",
            "<?php function preloaded() { return PHP_SAPI; } file_put_contents(__DIR__ . '/n', 'x', FILE_APPEND);",
        ),
        ("index.php", "<?php echo preloaded(), filesize(__DIR__ . '/n');"),
    ]);
    let preload = app.root().join("preload.php");
    let app = app
        .admin("opcache.preload", preload.to_str().unwrap())
        .admin("opcache.preload_user", "root")
        .sapi_name("named");
    let mut host = app.start();
    for mut worker in two_workers(&mut host) {
        assert_eq!(worker.ask(&host, &get("/")).text(), "named1", "{}", host.log());
    }
}

#[test]
fn a_php_that_cannot_start_says_why() {
    let reason =
        app(&[]).admin("opcache.preload", "/no/such/file.php").admin("opcache.preload_user", "root").fail();
    assert!(reason.contains("refused to start"), "{reason}");
}

#[test]
fn random_numbers_differ_between_workers() {
    let mut host =
        app(&[("index.php", "<?php echo mt_rand(), ' ', lcg_value(), ' ', bin2hex(random_bytes(8));")])
            .start();
    let [mut first, mut second] = two_workers(&mut host);
    let (a, b) = (first.ask(&host, &get("/")), second.ask(&host, &get("/")));
    for (a, b) in a.text().split(' ').zip(b.text().split(' ')) {
        assert_ne!(a, b);
    }
}
