//! Errors of all kinds: the client gets what it gets from any script, and the next request is served.

use super::suite::{Case, ask, but, check, differs, same};

const ERRORS: &[Case] = &[
    same(
        "exception",
        "if ($_GET) { throw new Exception('x'); } echo 'fine';",
        &[ask("GET ?a", "500 "), ask("GET", "200 fine"), ask("GET ?a", "500 "), ask("GET", "200 fine")],
    ),
    same(
        "exception_after_output",
        "echo 'a'; ob_flush(); flush(); throw new Exception('x');",
        &[ask("GET", "200 a"), ask("GET", "200 a")],
    ),
    same(
        "exception_in_a_buffer",
        "ob_start(); echo 'a'; throw new Exception('x');",
        &[ask("GET", "500 a"), ask("GET", "500 a")],
    ),
    same(
        "exception_after_a_status",
        "http_response_code(403); throw new Exception('x');",
        &[ask("GET", "403 "), ask("GET", "403 ")],
    ),
    same("type_error", "strlen([]);", &[ask("GET", "500 "), ask("GET", "500 ")]),
    same("division", "intdiv(1, 0);", &[ask("GET", "500 ")]),
    same("unknown_function", "no_such_function();", &[ask("GET", "500 "), ask("GET", "500 ")]),
    same("parse_error", "eval('this is no php');", &[ask("GET", "500 "), ask("GET", "500 ")]),
    same(
        "missing_include",
        "echo 'a'; require '/no/such/file.php';",
        &[ask("GET", "500 a"), ask("GET", "500 a")],
    ),
    same("warning", "echo $undefined, 'goes on';", &[ask("GET", "200 goes on")]),
    same(
        "user_error",
        "echo 'a'; trigger_error('x', E_USER_ERROR); echo 'b';",
        &[ask("GET", "500 a"), ask("GET", "500 a")],
    ),
    same(
        "user_warning",
        "trigger_error('x', E_USER_WARNING); echo error_get_last()['message'];",
        &[ask("GET", "200 x")],
    ),
    same(
        "last_error",
        "if ($_GET) { @trigger_error('left'); echo 'set'; } else { echo json_encode(error_get_last()); }",
        &[ask("GET ?a", "200 set"), ask("GET", "200 null")],
    ),
    same(
        "caught",
        "try { throw new Exception('in'); } catch (Exception $e) { echo $e->getMessage(); } finally { echo ' fin'; }",
        &[ask("GET", "200 in fin")],
    ),
    same(
        "error_handler_of_a_request",
        "set_error_handler(fn($no, $text) => print(\"<$text>\")); trigger_error('x'); restore_error_handler();",
        &[ask("GET", "200 <x>"), ask("GET", "200 <x>")],
    ),
    same(
        "exception_handler",
        "set_exception_handler(function ($e) { http_response_code(418); echo 'H:', $e->getMessage(); }); throw new \
        Exception('m');",
        &[ask("GET", "418 H:m"), ask("GET", "418 H:m")],
    ),
    same(
        "exception_in_a_handler",
        "set_exception_handler(function ($e) { throw new Exception('again'); }); throw new Exception('m');",
        &[ask("GET", "500 "), ask("GET", "500 ")],
    ),
    same(
        "exit_in_a_handler",
        "set_exception_handler(function ($e) { exit('left'); }); throw new Exception('m');",
        &[ask("GET", "200 left"), ask("GET", "200 left")],
    ),
    same(
        "memory",
        "ini_set('memory_limit', '16M'); $x = str_repeat('x', 32 << 20); echo 'never';",
        &[ask("GET", "500 "), ask("GET", "500 ")],
    ),
    same(
        "memory_with_shutdown",
        "register_shutdown_function(function () { http_response_code(507); echo 'no room'; }); \
        ini_set('memory_limit', '16M'); $x = str_repeat('x', 32 << 20);",
        &[ask("GET", "507 no room"), ask("GET", "507 no room")],
    ),
    same(
        "memory_after_output",
        "echo 'a'; ob_end_flush(); flush(); ini_set('memory_limit', '16M'); $x = str_repeat('x', 32 << 20);",
        &[ask("GET", "200 a"), ask("GET", "200 a")],
    ),
    same("time", "set_time_limit(1); while (true) {}", &[ask("GET", "500 "), ask("GET", "500 ")]),
    same(
        "exception_in_shutdown",
        "register_shutdown_function(function () { throw new Exception('s'); }); echo 'a';",
        &[ask("GET", "500 a"), ask("GET", "500 a")],
    ),
    same(
        "fatal_in_shutdown",
        "register_shutdown_function(function () { echo 's'; no_such(); }); echo 'a';",
        &[ask("GET", "500 as"), ask("GET", "500 as")],
    ),
    same(
        "exception_in_a_destructor",
        "class_exists('Thrower') || eval('class Thrower { function __destruct() { throw new Exception(\"d\"); } }'); \
        $x = new Thrower; unset($x); echo 'never';",
        &[ask("GET", "500 "), ask("GET", "500 ")],
    ),
    same(
        "fatal_in_a_destructor",
        "class_exists('Breaker') || eval('class Breaker { function __destruct() { ini_set(\"memory_limit\", \
        \"16M\"); str_repeat(\"x\", 32 << 20); } }'); $x = new Breaker; echo 'a'; unset($x); echo 'never';",
        &[ask("GET", "500 "), ask("GET", "500 ")],
    ),
    same(
        "exception_in_a_generator",
        "function_exists('g_throw') || eval('function g_throw() { yield 1; throw new Exception(\"g\"); }'); foreach \
        (g_throw() as $x) { echo $x; }",
        &[ask("GET", "500 1"), ask("GET", "500 1")],
    ),
    same(
        "exception_in_a_fiber",
        "$f = new Fiber(function () { throw new Exception('f'); }); echo 'a'; $f->start();",
        &[ask("GET", "500 a"), ask("GET", "500 a")],
    ),
    same(
        "fatal_in_a_fiber",
        "$f = new Fiber(function () { ini_set('memory_limit', '16M'); str_repeat('x', 32 << 20); }); echo 'a'; \
        $f->start();",
        &[ask("GET", "500 "), ask("GET", "500 ")],
    ),
    same(
        "exception_in_an_output_callback",
        "ob_start(function ($t) { throw new Exception('o'); }); echo 'a';",
        &[ask("GET", "500 "), ask("GET", "500 ")],
    ),
    same(
        "exception_with_a_session",
        "session_start(); echo 'a'; throw new Exception('x');",
        &[ask("GET", "500 a"), ask("GET", "500 a")],
    ),
    same(
        "shutdown_sees_the_error",
        "register_shutdown_function(function () { echo error_get_last()['type'] ?? 'none'; }); no_such();",
        &[ask("GET", "500 1"), ask("GET", "500 1")],
    ),
    same(
        "declared_twice",
        "eval('class Twice' . mt_rand() . ' {}'); eval('class Same' . ($_GET['n'] ?? '') . ' {} class Same' . \
        ($_GET['n'] ?? '') . ' {}');",
        &[ask("GET ?n=1", "500 "), ask("GET ?n=2", "500 ")],
    ),
    same(
        "assertion",
        "try { assert(false); echo 'off'; } catch (AssertionError $e) { echo 'on'; }",
        &[ask("GET", "200 off")],
    ),
    same(
        "recursion",
        "function_exists('deep') || eval('function deep($n) { return $n === 0 ? 0 : 1 + deep($n - 1); }'); echo \
        deep(20000);",
        &[ask("GET", "200 20000"), ask("GET", "200 20000")],
    ),
    but(
        "displayed",
        "a worker's client gets 500 for an exception also where it is shown the message",
        "ini_set('display_errors', '1'); register_shutdown_function(function () { ob_end_clean(); }); throw new \
        Exception('shown');",
        &[differs("GET", "200 ", "500 ")],
    ),
];

#[test]
fn errors_end_a_request_and_not_the_service() {
    check(ERRORS);
}
