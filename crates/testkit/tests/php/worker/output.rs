//! Output, fields and statuses, and how a request ends.

use super::suite::{Case, ask, check, same};

const OUTPUT: &[Case] = &[
    same("echo", "echo 'a', 1; print 'b';", &[ask("GET", "200 a1b"), ask("GET", "200 a1b")]),
    same("nothing", "", &[ask("GET", "200 "), ask("GET", "200 ")]),
    same(
        "buffers_are_ended",
        "echo ob_get_level(); ob_start(); echo 'a'; ob_start(); echo 'b';",
        &[ask("GET", "200 1ab"), ask("GET", "200 1ab")],
    ),
    same(
        "callback",
        "ob_start(fn($text) => strtoupper($text)); echo 'abc';",
        &[ask("GET", "200 ABC"), ask("GET", "200 ABC")],
    ),
    same(
        "nested_callbacks",
        "ob_start(fn($t) => \"<$t>\"); echo 'a'; ob_start(fn($t) => \"[$t]\"); echo 'b'; ob_end_flush(); echo 'c';",
        &[ask("GET", "200 <a[b]c>"), ask("GET", "200 <a[b]c>")],
    ),
    same(
        "cleaned",
        "ob_start(); echo 'no'; ob_end_clean(); ob_start(); echo 'x'; $x = ob_get_clean(); echo $x, $x;",
        &[ask("GET", "200 xx")],
    ),
    same(
        "implicit_flush",
        "ob_implicit_flush(); echo 'a'; echo 'b';",
        &[ask("GET", "200 ab"), ask("GET", "200 ab")],
    ),
    same(
        "flushed",
        "echo 'a'; ob_flush(); flush(); echo 'b'; flush(); echo headers_sent() ? 'sent' : 'unsent';",
        &[ask("GET", "200 absent"), ask("GET", "200 absent")],
    ),
    same(
        "kept_in_a_buffer",
        "echo 'a'; flush(); echo 'b'; flush(); echo headers_sent() ? 'sent' : 'unsent';",
        &[ask("GET", "200 abunsent"), ask("GET", "200 abunsent")],
    ),
    same(
        "not_sent",
        "echo headers_sent() ? 'sent' : 'unsent';",
        &[ask("GET", "200 unsent"), ask("GET", "200 unsent")],
    ),
    same(
        "php_output",
        "file_put_contents('php://output', 'out'); fwrite(fopen('php://output', 'w'), 'put');",
        &[ask("GET", "200 output")],
    ),
    same(
        "status",
        "http_response_code((int) ($_GET['s'] ?? 200)); echo http_response_code();",
        &[
            ask("GET ?s=404", "404 404"),
            ask("GET", "200 200"),
            ask("GET ?s=503", "503 503"),
            ask("GET", "200 200"),
        ],
    ),
    same(
        "status_line",
        "header($_GET ? 'HTTP/1.1 410 Gone' : 'X: 1'); echo 'x';",
        &[ask("GET ?a", "410 x"), ask("GET", "200 x")],
    ),
    same(
        "status_field",
        "header('Status: 403 Forbidden'); echo 'x';",
        &[ask("GET", "403 x"), ask("GET", "403 x")],
    ),
    same(
        "fields_sent",
        "if ($_GET) { header('X-A: 1'); header('X-B: 2'); header('X-B: 3', false); } echo \
        json_encode(array_values(array_filter(headers_list(), fn($h) => str_starts_with($h, 'X-A') || \
        str_starts_with($h, 'X-B'))));",
        &[ask("GET ?a", "200 [\"X-A: 1\",\"X-B: 2\",\"X-B: 3\"]\n+ X-A: 1\n+ X-B: 3"), ask("GET", "200 []")],
    ),
    same(
        "fields_removed",
        "header('X-A: 1'); header('X-C: 1'); header_remove('X-A'); echo count(array_filter(headers_list(), fn($h) => \
        str_starts_with($h, 'X-A')));",
        &[ask("GET", "200 0\n+ X-C: 1")],
    ),
    same(
        "all_fields_removed",
        "header('X-A: 1'); header_remove(); echo count(headers_list());",
        &[ask("GET", "200 0"), ask("GET", "200 0")],
    ),
    same("location", "header('Location: /x');", &[ask("GET", "302 \n+ Location: /x"), ask("GET", "302 ")]),
    same(
        "content_type",
        "header('Content-Type: ' . ($_GET['t'] ?? 'text/html; charset=UTF-8')); echo 'x';",
        &[
            ask("GET ?t=text/plain", "200 x\n+ Content-Type: text/plain;charset=UTF-8"),
            ask("GET", "200 x\n+ Content-Type: text/html; charset=UTF-8"),
        ],
    ),
    same(
        "default_type",
        "echo 'x';",
        &[
            ask("GET", "200 x\n+ Content-Type: text/html; charset=UTF-8"),
            ask("GET", "200 x\n+ Content-Type: text/html; charset=UTF-8"),
        ],
    ),
    same(
        "cookies_set",
        "if ($_GET) { setcookie('a', '1'); setrawcookie('b', '2', ['httponly' => true, 'samesite' => 'Lax']); } echo \
        'x';",
        &[
            ask("GET ?a", "200 x\n+ Set-Cookie: a=1\n+ Set-Cookie: b=2; HttpOnly; SameSite=Lax"),
            ask("GET", "200 x"),
        ],
    ),
    same(
        "response_headers",
        "header('X-A: 1'); echo apache_response_headers()['X-A'], frankenphp_response_headers()['X-A'];",
        &[ask("GET", "200 11")],
    ),
    same(
        "header_callback",
        "header_register_callback(function () { header('X-Late: 1'); }); echo 'x';",
        &[ask("GET", "200 x\n+ X-Late: 1"), ask("GET", "200 x\n+ X-Late: 1")],
    ),
    same(
        "late_field",
        "echo 'a'; ob_flush(); flush(); @header('X-A: 1'); echo error_get_last() ? 'warned' : 'silent';",
        &[ask("GET", "200 awarned"), ask("GET", "200 awarned")],
    ),
    same("head", "header('X-A: 1'); echo 'body';", &[ask("HEAD", "200 \n+ X-A: 1"), ask("GET", "200 body")]),
    same("no_content", "http_response_code(204);", &[ask("GET", "204 "), ask("GET", "204 ")]),
    same(
        "rewritten",
        "output_add_rewrite_var('v', '1'); echo '<a href=\"/x\">'; output_reset_rewrite_vars(); ",
        &[ask("GET", "200 <a href=\"/x\">")],
    ),
    same("large", "echo str_repeat('x', 200000);", &[ask("HEAD", "200 "), ask("HEAD", "200 ")]),
    same(
        "compressed_by_php",
        "ob_start('ob_gzhandler'); echo 'plain';",
        &[ask("GET", "200 plain"), ask("GET", "200 plain")],
    ),
    same(
        "send_headers",
        "header('X-A: 1'); headers_send(202); echo headers_sent() ? 'sent' : 'unsent';",
        &[ask("GET", "202 sent\n+ X-A: 1"), ask("GET", "202 sent")],
    ),
];

const ENDS: &[Case] = &[
    same(
        "finish",
        "echo 'a'; var_dump(fastcgi_finish_request()); echo 'b';",
        &[ask("GET", "200 a"), ask("GET", "200 a")],
    ),
    same(
        "finish_twice",
        "echo 'a'; $first = frankenphp_finish_request(); $second = frankenphp_finish_request(); \
        file_put_contents('/tmp/corral-finish-' . getmypid(), json_encode([$first, $second]));",
        &[ask("GET", "200 a")],
    ),
    same(
        "shutdown",
        "register_shutdown_function(function () { echo 'c'; }); register_shutdown_function(function ($x) { echo $x; \
        }, 'd'); echo 'b';",
        &[ask("GET", "200 bcd"), ask("GET", "200 bcd")],
    ),
    same(
        "shutdown_in_shutdown",
        "register_shutdown_function(function () { echo '1'; register_shutdown_function(function () { echo '2'; }); });",
        &[ask("GET", "200 12"), ask("GET", "200 12")],
    ),
    same(
        "shutdown_sets_fields",
        "register_shutdown_function(function () { http_response_code(418); header('X-A: 1'); });",
        &[ask("GET", "418 \n+ X-A: 1"), ask("GET", "418 ")],
    ),
    same(
        "shutdown_sees_buffers",
        "ob_start(); echo 'x'; register_shutdown_function(function () { echo ob_get_level(), \
        strtoupper(ob_get_clean()); });",
        &[ask("GET", "200 X2"), ask("GET", "200 X2")],
    ),
    same(
        "shutdown_sees_the_request",
        "register_shutdown_function(function () { echo $_GET['a']; });",
        &[ask("GET ?a=1", "200 1"), ask("GET ?a=2", "200 2")],
    ),
    same(
        "destructors_of_locals",
        "class_exists('Loud') || eval('class Loud { function __destruct() { echo \"gone\"; } }'); $x = new Loud; \
        echo 'here ';",
        &[ask("GET", "200 here gone"), ask("GET", "200 here gone")],
    ),
    same(
        "exit",
        "echo 'a'; exit; echo 'b';",
        &[ask("GET", "200 a"), ask("GET", "200 a"), ask("GET", "200 a")],
    ),
    same("exit_with_text", "echo 'a'; exit('bye');", &[ask("GET", "200 abye"), ask("GET", "200 abye")]),
    same("exit_with_status", "echo 'a'; exit(3);", &[ask("GET", "200 a"), ask("GET", "200 a")]),
    same(
        "exit_after_a_status",
        "http_response_code(404); header('X-A: 1'); exit('none');",
        &[ask("GET", "404 none\n+ X-A: 1"), ask("GET", "404 none")],
    ),
    same(
        "exit_in_a_function",
        "(function () { try { exit('deep'); } finally { echo 'never'; } })();",
        &[ask("GET", "200 deep"), ask("GET", "200 deep")],
    ),
    same(
        "exit_in_a_buffer",
        "ob_start(); echo 'a'; exit('b');",
        &[ask("GET", "200 ab"), ask("GET", "200 ab")],
    ),
    same(
        "exit_in_a_generator",
        "function_exists('g_exit') || eval('function g_exit() { yield 1; exit(\"gen\"); }'); foreach (g_exit() as \
        $x) { echo $x; }",
        &[ask("GET", "200 1gen"), ask("GET", "200 1gen")],
    ),
    same(
        "exit_in_a_fiber",
        "$f = new Fiber(function () { echo 'f'; exit('!'); }); $f->start(); echo 'never';",
        &[ask("GET", "200 f!"), ask("GET", "200 f!")],
    ),
    same(
        "exit_in_shutdown",
        "register_shutdown_function(function () { exit('s'); }); register_shutdown_function(function () { echo 't'; \
        }); echo 'r';",
        &[ask("GET", "200 rs"), ask("GET", "200 rs")],
    ),
    same(
        "exit_in_a_destructor",
        "class_exists('Leaver') || eval('class Leaver { function __destruct() { exit(\"d\"); } }'); $x = new Leaver; \
        echo 'c'; unset($x); echo 'never';",
        &[ask("GET", "200 cd"), ask("GET", "200 cd")],
    ),
    same(
        "exit_in_a_callback",
        "array_map(function () { exit('cb'); }, [1]); echo 'never';",
        &[ask("GET", "200 cb"), ask("GET", "200 cb")],
    ),
    same(
        "exit_in_an_error_handler",
        "set_error_handler(function () { exit('eh'); }); trigger_error('x'); echo 'never';",
        &[ask("GET", "200 eh"), ask("GET", "200 eh")],
    ),
    same(
        "exit_with_shutdown",
        "register_shutdown_function(function () { echo 's'; }); exit('e');",
        &[ask("GET", "200 es"), ask("GET", "200 es")],
    ),
    same(
        "exit_in_a_session",
        "session_start(); $_SESSION['n'] = 1; exit('saved');",
        &[ask("GET", "200 saved")],
    ),
    same(
        "stopped_generator",
        "function_exists('g_stop') || eval('function g_stop() { try { yield 1; yield 2; } finally { echo \"f\"; } \
        }'); foreach (g_stop() as $x) { echo $x; break; }",
        &[ask("GET", "200 1f"), ask("GET", "200 1f")],
    ),
    same(
        "suspended_fiber",
        "$f = new Fiber(function () { try { Fiber::suspend(1); } finally { echo 'f'; } }); echo $f->start(); \
        unset($f); echo 'e';",
        &[ask("GET", "200 1fe"), ask("GET", "200 1fe")],
    ),
];

#[test]
fn output_is_that_of_the_request() {
    check(OUTPUT);
}

#[test]
fn requests_end_in_every_way() {
    check(ENDS);
}
