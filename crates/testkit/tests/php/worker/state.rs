//! State that a request leaves behind: nothing of its own; and state that a script keeps, for which it stays in memory.

use super::suite::{Case, ask, but, check, differs, same};

const STATE: &[Case] = &[
    but(
        "static_variables",
        "a worker's script keeps its variables",
        "function_exists('up') || eval('function up() { static $n = 0; return ++$n; }'); echo up();",
        &[ask("GET", "200 1"), differs("GET", "200 1", "200 2")],
    ),
    same(
        "static_variables_of_an_included_file",
        "static $n = 0; echo ++$n;",
        &[ask("GET", "200 1"), ask("GET", "200 1")],
    ),
    but(
        "globals",
        "a worker's script keeps its variables",
        "$GLOBALS['n'] = ($GLOBALS['n'] ?? 0) + 1; echo $GLOBALS['n'];",
        &[ask("GET", "200 1"), differs("GET", "200 1", "200 2")],
    ),
    but(
        "static_properties",
        "a worker's script keeps its classes",
        "class_exists('Counter') || eval('class Counter { static $n = 0; }'); echo ++Counter::$n;",
        &[ask("GET", "200 1"), differs("GET", "200 1", "200 2")],
    ),
    but(
        "constants",
        "a worker's script keeps its constants",
        "echo defined('ONCE') ? 'again' : 'first'; define('ONCE', 1);",
        &[ask("GET", "200 first"), differs("GET", "200 first", "200 again")],
    ),
    but(
        "functions",
        "a worker's script keeps its functions",
        "echo function_exists('mine') ? 'again' : 'first'; function_exists('mine') || eval('function mine() {}');",
        &[ask("GET", "200 first"), differs("GET", "200 first", "200 again")],
    ),
    but(
        "settings",
        "settings of a worker's script stay, unless \"guard\" restores them",
        "echo ini_get('precision'); ini_set('precision', '5');",
        &[ask("GET", "200 14"), differs("GET", "200 14", "200 5")],
    ),
    but(
        "time_zone",
        "settings of a worker's script stay, unless \"guard\" restores them",
        "echo date_default_timezone_get(); date_default_timezone_set('Asia/Tokyo');",
        &[ask("GET", "200 UTC"), differs("GET", "200 UTC", "200 Asia/Tokyo")],
    ),
    but(
        "directory",
        "the working directory of a worker's script stays, unless \"guard\" restores it",
        "echo basename(getcwd()) === 'tmp' ? 'tmp' : 'own'; chdir('/tmp');",
        &[ask("GET", "200 own"), differs("GET", "200 own", "200 tmp")],
    ),
    but(
        "aborts",
        "a worker's script goes on when a client has gone",
        "echo ignore_user_abort();",
        &[differs("GET", "200 0", "200 1")],
    ),
    same(
        "memory_limit",
        "echo ini_get('memory_limit'); ini_set('memory_limit', '256M'); echo ' ', ini_get('memory_limit');",
        &[ask("GET", "200 128M 256M"), ask("GET", "200 128M 256M")],
    ),
    same(
        "time_limit",
        "echo ini_get('max_execution_time'); set_time_limit(7); echo ' ', ini_get('max_execution_time');",
        &[ask("GET", "200 30 7"), ask("GET", "200 30 7")],
    ),
    same(
        "included_once",
        "echo count(array_filter(get_included_files(), fn($f) => str_ends_with($f, 'included_once.php')));",
        &[ask("GET", "200 1"), ask("GET", "200 1")],
    ),
    same(
        "connection_status",
        "echo connection_status(), connection_aborted();",
        &[ask("GET", "200 00"), ask("GET", "200 00")],
    ),
    same(
        "stat_cache",
        "$f = '/tmp/corral-stat-' . getmypid(); if ($_GET) { file_put_contents($f, 'xy'); echo filesize($f); \
        exec('printf abc > ' . escapeshellarg($f)); } else { echo filesize($f); unlink($f); }",
        &[ask("GET ?a", "200 2"), ask("GET", "200 3")],
    ),
    same(
        "temporary_stream",
        "$f = fopen('php://temp', 'w+'); fwrite($f, 'abc'); rewind($f); echo fread($f, 9);",
        &[ask("GET", "200 abc"), ask("GET", "200 abc")],
    ),
    same(
        "temporary_file",
        "$before = count(get_resources('stream')); $f = tmpfile(); fwrite($f, 'abc'); fseek($f, 0); echo fread($f, \
        9), count(get_resources('stream')) - $before;",
        &[ask("GET", "200 abc1"), ask("GET", "200 abc1")],
    ),
    same(
        "resources",
        "$x = fopen('/dev/null', 'r'); $n = count(get_resources('stream')); $GLOBALS['streams'] ??= $n; echo $_POST \
        ? 'form' : $n - $GLOBALS['streams'];",
        &[
            ask("GET", "200 0"),
            ask("GET", "200 0"),
            ask("POST\nContent-Type: application/x-www-form-urlencoded\n\na=b", "200 form"),
            ask("GET", "200 0"),
        ],
    ),
    same(
        "level_of_calls",
        "echo count(debug_backtrace()) <= 3 ? 'shallow' : 'deep';",
        &[ask("GET", "200 shallow"), ask("GET", "200 shallow")],
    ),
    same(
        "random",
        "static $seen = []; $x = random_int(0, PHP_INT_MAX); echo in_array($x, $seen) ? 'again' : 'new'; $seen[] = $x;",
        &[ask("GET", "200 new"), ask("GET", "200 new")],
    ),
    same(
        "environment",
        "echo getenv('PATH') !== false ? 'path' : 'none';",
        &[ask("GET", "200 path"), ask("GET", "200 path")],
    ),
    same("sapi", "echo php_sapi_name(), PHP_SAPI;", &[ask("GET", "200 cli-servercli-server")]),
    same(
        "json",
        "echo json_encode(['é' => 1.5, 'x' => null]), json_last_error();",
        &[ask("GET", "200 {\"\\u00e9\":1.5,\"x\":null}0")],
    ),
    same(
        "regular_expressions",
        "preg_match('/(a)(b)?/', 'ab', $m); echo implode(',', $m), preg_last_error();",
        &[ask("GET", "200 ab,a,b0")],
    ),
    same(
        "objects",
        "$o = new ArrayObject([3, 1, 2]); $o->uasort(fn($a, $b) => $a <=> $b); echo implode(',', (array) $o);",
        &[ask("GET", "200 1,2,3")],
    ),
    same(
        "closures",
        "$n = 1; $f = fn($x) => $x + $n; echo $f(1); echo (new class { function __invoke() { return 'i'; } })();",
        &[ask("GET", "200 2i")],
    ),
    same(
        "generators",
        "$g = (function () { $x = yield 1; echo $x; yield from [2, 3]; return 4; })(); echo $g->current(); \
        $g->send('s'); for (; $g->valid(); $g->next()) { echo $g->current(); } echo $g->getReturn();",
        &[ask("GET", "200 1s234"), ask("GET", "200 1s234")],
    ),
    same(
        "fibers",
        "$f = new Fiber(fn($x) => print(Fiber::suspend($x) . 'e')); echo $f->start('a'); $f->resume('b');",
        &[ask("GET", "200 abe"), ask("GET", "200 abe")],
    ),
    same(
        "weak_maps",
        "static $map; $map ??= new WeakMap; $o = new stdClass; $map[$o] = 1; echo count($map);",
        &[ask("GET", "200 1"), ask("GET", "200 1")],
    ),
    same(
        "cycles",
        "for ($i = 0; $i < 20000; $i++) { $a = new stdClass; $a->a = $a; } echo gc_status()['runs'] > 0 ? \
        'collected' : 'left';",
        &[ask("GET", "200 collected"), ask("GET", "200 collected")],
    ),
];

const SESSIONS: &[Case] = &[
    same(
        "counted",
        "session_id('corralcounted' . ($_GET['id'] ?? '')); session_start(); if (isset($_GET['end'])) { \
        session_destroy(); echo 'ended'; } else { $_SESSION['n'] = ($_SESSION['n'] ?? 0) + 1; echo $_SESSION['n']; }",
        &[
            ask("GET ?id=a", "200 1"),
            ask("GET ?id=a", "200 2"),
            ask("GET ?id=b", "200 1"),
            ask("GET ?id=a", "200 3"),
            ask("GET ?id=a&end", "200 ended"),
            ask("GET ?id=b&end", "200 ended"),
            ask("GET ?id=a", "200 1"),
            ask("GET ?id=a&end", "200 ended"),
        ],
    ),
    same(
        "not_shown",
        "if ($_GET) { session_id('corralnotshown'); session_start(); $_SESSION['secret'] = 1; echo 'set'; } else { \
        echo json_encode([$_SESSION ?? null, session_id(), session_status()]); }",
        &[ask("GET ?a", "200 set"), ask("GET", "200 [null,\"\",1]"), ask("GET", "200 [null,\"\",1]")],
    ),
    same(
        "cookie_names_it",
        "session_name('S'); session_start(); echo session_id();",
        &[
            ask("GET\nCookie: S=abcdefabcdefabcdefabcdef11", "200 abcdefabcdefabcdefabcdef11"),
            ask("GET\nCookie: S=abcdefabcdefabcdefabcdef22", "200 abcdefabcdefabcdefabcdef22"),
        ],
    ),
    same(
        "written_early",
        "session_id('corralearly'); session_start(); $_SESSION['n'] = 1; session_write_close(); $_SESSION['n'] = 2; \
        session_start(); echo $_SESSION['n']; session_destroy();",
        &[ask("GET", "200 1"), ask("GET", "200 1")],
    ),
    same(
        "read_only",
        "session_id('corralreadonly'); session_start(['read_and_close' => true]); echo session_status();",
        &[ask("GET", "200 1"), ask("GET", "200 1")],
    ),
    same(
        "new_number",
        "session_id('corralnew'); session_start(); $old = session_id(); session_regenerate_id(true); echo $old === \
        session_id() ? 'same' : 'other'; session_destroy();",
        &[ask("GET", "200 other"), ask("GET", "200 other")],
    ),
    same(
        "handler_of_a_request",
        "class_exists('Memory') || eval('class Memory implements SessionHandlerInterface { static $d = []; function \
        open($p, $n): bool { return true; } function close(): bool { return true; } function read($i): string|false \
        { return self::$d[$i] ?? \"\"; } function write($i, $d): bool { self::$d[$i] = $d; echo \"[w]\"; return \
        true; } function destroy($i): bool { return true; } function gc($m): int|false { return 0; } }'); \
        session_set_save_handler(new Memory, true); session_id('corralmem'); session_start(); echo \
        isset($_SESSION['x']) ? 'kept' : 'new'; unset($_SESSION['x']); $_SESSION['y'] = 1;",
        &[ask("GET", "200 new[w]"), ask("GET", "200 new[w]")],
    ),
    same(
        "unwritten_variable",
        "$_SESSION['x'] = ($_SESSION['x'] ?? 0) + 1; echo $_SESSION['x'];",
        &[ask("GET", "200 1"), ask("GET", "200 1")],
    ),
    same(
        "cookie_is_sent",
        "session_name('T'); session_id('corralsent'); session_start(); echo 'x'; session_destroy();",
        &[
            ask("GET", "200 x\n+ Set-Cookie: T=corralsent; path=/"),
            ask("GET", "200 x\n+ Set-Cookie: T=corralsent; path=/"),
        ],
    ),
];

#[test]
fn state_is_kept_by_scripts_and_not_by_requests() {
    check(STATE);
}

#[test]
fn sessions_are_those_of_their_clients() {
    check(SESSIONS);
}
