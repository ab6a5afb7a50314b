//! A request's variables and its body, and that nothing of them is left for the next one.

use super::suite::{Case, ask, but, check, differs, same};

const VARIABLES: &[Case] = &[
    same(
        "get",
        "echo json_encode($_GET);",
        &[ask("GET ?a=1&b[]=2&b[]=3", r#"200 {"a":"1","b":["2","3"]}"#), ask("GET", "200 []")],
    ),
    same(
        "post",
        "echo json_encode($_POST);",
        &[
            ask(
                "POST\nContent-Type: application/x-www-form-urlencoded\n\na=1&b[x]=2",
                r#"200 {"a":"1","b":{"x":"2"}}"#,
            ),
            ask("POST\nContent-Type: application/json\n\n{}", "200 []"),
            ask("GET", "200 []"),
        ],
    ),
    same(
        "cookie",
        "echo json_encode($_COOKIE);",
        &[ask("GET\nCookie: a=1; b=x%20y", r#"200 {"a":"1","b":"x y"}"#), ask("GET", "200 []")],
    ),
    same(
        "request",
        "echo json_encode($_REQUEST);",
        &[
            ask(
                "POST ?a=1\nContent-Type: application/x-www-form-urlencoded\nCookie: c=3\n\nb=2&a=4",
                r#"200 {"a":"4","b":"2"}"#,
            ),
            ask("GET ?z=1", r#"200 {"z":"1"}"#),
        ],
    ),
    same(
        "method",
        "echo $_SERVER['REQUEST_METHOD'];",
        &[
            ask("GET", "200 GET"),
            ask("DELETE", "200 DELETE"),
            ask("PUT\n\nx", "200 PUT"),
            ask("PURGE", "200 PURGE"),
            ask("GET", "200 GET"),
        ],
    ),
    same(
        "target",
        "echo $_SERVER['REQUEST_URI'], ' ', $_SERVER['QUERY_STRING'];",
        &[ask("GET ?a=%20", "200 /target?a=%20 a=%20"), ask("GET", "200 /target ")],
    ),
    same(
        "script",
        "echo $_SERVER['SCRIPT_NAME'], ' ', $_SERVER['PHP_SELF'], ' ', basename($_SERVER['SCRIPT_FILENAME']), ' ', \
        basename($_SERVER['DOCUMENT_ROOT']) === basename(dirname(__DIR__)) ? 'root' : 'elsewhere', ' ', \
        isset($_SERVER['PATH_INFO']) ? 'info' : 'none';",
        &[ask("GET", "200 /index.php /index.php index.php root none")],
    ),
    same(
        "fields",
        "echo $_SERVER['HTTP_X_A'] ?? 'none', ' ', $_SERVER['HTTP_X_B'] ?? 'none';",
        &[ask("GET\nX-A: 1", "200 1 none"), ask("GET\nX-B: 2", "200 none 2"), ask("GET", "200 none none")],
    ),
    same("repeated_fields", "echo $_SERVER['HTTP_X_A'];", &[ask("GET\nX-A: 1\nX-A: 2", "200 1, 2")]),
    same(
        "content",
        "echo $_SERVER['CONTENT_TYPE'] ?? 'none', ' ', $_SERVER['CONTENT_LENGTH'] ?? 'none';",
        &[ask("POST\nContent-Type: text/plain\n\nabc", "200 text/plain 3"), ask("GET", "200 none none")],
    ),
    same(
        "basic",
        "echo $_SERVER['PHP_AUTH_USER'] ?? 'none', ' ', $_SERVER['PHP_AUTH_PW'] ?? 'none';",
        &[
            ask("GET\nAuthorization: Basic dTpw", "200 u p"),
            ask("GET", "200 none none"),
            ask("GET\nAuthorization: Basic YTpi", "200 a b"),
        ],
    ),
    same(
        "digest",
        "echo $_SERVER['PHP_AUTH_DIGEST'] ?? 'none';",
        &[ask("GET\nAuthorization: Digest username=\"u\"", "200 username=\"u\""), ask("GET", "200 none")],
    ),
    same(
        "bearer",
        "echo $_SERVER['HTTP_AUTHORIZATION'] ?? 'none', ' ', $_SERVER['PHP_AUTH_USER'] ?? 'none';",
        &[ask("GET\nAuthorization: Bearer t", "200 Bearer t none"), ask("GET", "200 none none")],
    ),
    same(
        "time",
        "static $last; $now = $_SERVER['REQUEST_TIME_FLOAT']; echo abs(microtime(true) - $now) < 2 ? 'now' : 'then', \
        $last === $now ? ' again' : ''; $last = $now;",
        &[ask("GET", "200 now"), ask("GET", "200 now")],
    ),
    same(
        "address",
        "echo $_SERVER['REMOTE_ADDR'], ' ', $_SERVER['SERVER_PROTOCOL'], ' ', $_SERVER['SERVER_NAME'];",
        &[ask("GET\nHost: example.com", "200 127.0.0.1 HTTP/1.1 example.com")],
    ),
    same(
        "written_to",
        "$_SERVER['X'] = ($_SERVER['X'] ?? 0) + 1; $_GET['y'] = ($_GET['y'] ?? 0) + 1; echo $_SERVER['X'], $_GET['y'];",
        &[ask("GET", "200 11"), ask("GET", "200 11")],
    ),
    same(
        "unset",
        "echo count($_GET); unset($_GET, $_SERVER['HTTP_X']);",
        &[ask("GET ?a=1", "200 1"), ask("GET ?a=1&b=2", "200 2")],
    ),
    same(
        "in_functions",
        "function_exists('get_a') || eval('function get_a() { return $_GET[\"a\"] . $GLOBALS[\"_GET\"][\"a\"]; }'); \
        echo get_a();",
        &[ask("GET ?a=1", "200 11"), ask("GET ?a=2", "200 22")],
    ),
    same(
        "getallheaders",
        "echo json_encode(array_intersect_key(getallheaders(), ['X-A' => 1, 'Cookie' => 1]));",
        &[ask("GET\nX-A: 1\nCookie: c=1", r#"200 {"X-A":"1","Cookie":"c=1"}"#), ask("GET", "200 []")],
    ),
    same(
        "frankenphp_request_headers",
        "echo frankenphp_request_headers()['X-A'] ?? 'none';",
        &[ask("GET\nX-A: 1", "200 1"), ask("GET", "200 none")],
    ),
    same(
        "apache_request_headers",
        "echo apache_request_headers()['X-A'] ?? 'none';",
        &[ask("GET\nX-A: 1", "200 1"), ask("GET", "200 none")],
    ),
    same(
        "filter_get",
        "echo json_encode(filter_input(INPUT_GET, 'a', FILTER_VALIDATE_INT));",
        &[ask("GET ?a=1", "200 1"), ask("GET", "200 null"), ask("GET ?a=x", "200 false")],
    ),
    same(
        "filter_server",
        "echo filter_input(INPUT_SERVER, 'HTTP_X_A') ?? 'none';",
        &[ask("GET\nX-A: 1", "200 1"), ask("GET", "200 none")],
    ),
    same(
        "filter_cookie_post",
        "echo filter_input(INPUT_COOKIE, 'c') ?? 'none', filter_has_var(INPUT_POST, 'p') ? 'p' : '-';",
        &[
            ask("POST\nCookie: c=1\nContent-Type: application/x-www-form-urlencoded\n\np=1", "200 1p"),
            ask("GET", "200 none-"),
        ],
    ),
    but(
        "mark",
        "a worker's requests are marked as FrankenPHP's are",
        "echo $_SERVER['FRANKENPHP_WORKER'] ?? 'none';",
        &[differs("GET", "200 none", "200 1")],
    ),
    same("too_many_variables", "echo count($_GET);", &[ask("GET ?a[b][c][d]=1&&&=&x", "200 2")]),
    same(
        "names_are_made_safe",
        "echo implode(',', array_keys($_GET));",
        &[ask("GET ?a.b=1&c%20d=2&e[f=3", "200 a_b,c_d,e_f")],
    ),
    same(
        "extract",
        "extract($_GET); echo $a ?? 'none';",
        &[ask("GET ?a=1", "200 1"), ask("GET", "200 none")],
    ),
    same(
        "references",
        "$x = &$_GET['a']; echo $x ?? 'none'; $x = 'changed';",
        &[ask("GET ?a=1", "200 1"), ask("GET", "200 none"), ask("GET ?a=2", "200 2")],
    ),
];

const BODIES: &[Case] = &[
    same(
        "input",
        "echo file_get_contents('php://input');",
        &[
            ask("POST\nContent-Type: application/json\n\n{\"a\":1}", r#"200 {"a":1}"#),
            ask("PUT\n\nput", "200 put"),
            ask("GET", "200 "),
            ask("PATCH\n\nxyz", "200 xyz"),
        ],
    ),
    same(
        "input_twice",
        "echo file_get_contents('php://input'), file_get_contents('php://input');",
        &[
            ask("POST\nContent-Type: text/plain\n\nab", "200 abab"),
            ask("POST\nContent-Type: text/plain\n\nc", "200 cc"),
        ],
    ),
    same(
        "input_of_a_form",
        "echo file_get_contents('php://input'), count($_POST);",
        &[
            ask("POST\nContent-Type: application/x-www-form-urlencoded\n\na=1", "200 a=11"),
            ask("POST\nContent-Type: application/x-www-form-urlencoded\n\nb=2&c=3", "200 b=2&c=32"),
        ],
    ),
    same(
        "input_in_part",
        "$f = fopen('php://input', 'r'); echo fread($f, 2);",
        &[
            ask("POST\nContent-Type: text/plain\n\nabcdef", "200 ab"),
            ask("POST\nContent-Type: text/plain\n\nghi", "200 gh"),
        ],
    ),
    same(
        "input_that_is_kept",
        "echo is_resource($GLOBALS['f'] ?? null) ? 'open ' : 'none '; $GLOBALS['f'] = fopen('php://input', 'r'); \
        echo fread($GLOBALS['f'], 10);",
        &[
            ask("POST\nContent-Type: text/plain\n\none", "200 none one"),
            ask("POST\nContent-Type: text/plain\n\ntwo", "200 none two"),
            ask("GET", "200 none "),
        ],
    ),
    same(
        "input_unread",
        "echo 'unread';",
        &[ask("POST\nContent-Type: text/plain\n\nabcdef", "200 unread"), ask("GET", "200 unread")],
    ),
    same(
        "form",
        "echo json_encode([$_POST, array_map(fn($f) => [$f['name'], $f['type'], $f['error'], $f['size']], $_FILES)]);",
        &[
            ask(
                "POST\nContent-Type: multipart/form-data; boundary=b\n\n--b\r\nContent-Disposition: form-data; \
                name=\"t\"\r\n\r\nv\r\n--b\r\nContent-Disposition: form-data; name=\"f\"; \
                filename=\"a.txt\"\r\nContent-Type: text/plain\r\n\r\nhello\r\n--b--\r\n",
                r#"200 [{"t":"v"},{"f":["a.txt","text\/plain",0,5]}]"#,
            ),
            ask("GET", "200 [[],[]]"),
        ],
    ),
    same(
        "upload",
        "if (isset($_FILES['f'])) { $t = $_FILES['f']['tmp_name']; echo is_uploaded_file($t) ? 'up ' : 'no ', \
        file_get_contents($t); file_put_contents('/tmp/corral-upload-' . getmypid(), $t); } else { $l = \
        '/tmp/corral-upload-' . getmypid(); echo is_file($l) && !file_exists(file_get_contents($l)) ? 'gone' : \
        'there'; @unlink($l); }",
        &[
            ask(
                "POST\nContent-Type: multipart/form-data; boundary=b\n\n--b\r\nContent-Disposition: form-data; \
                name=\"f\"; filename=\"a\"\r\n\r\nxyz\r\n--b--\r\n",
                "200 up xyz",
            ),
            ask("GET", "200 gone"),
        ],
    ),
    same(
        "upload_moved",
        "if (isset($_FILES['f'])) { $to = '/tmp/corral-moved-' . getmypid(); echo \
        move_uploaded_file($_FILES['f']['tmp_name'], $to) ? file_get_contents($to) : 'not'; unlink($to); } else { \
        echo move_uploaded_file('/etc/passwd', '/tmp/x') ? 'moved' : 'refused'; }",
        &[
            ask(
                "POST\nContent-Type: multipart/form-data; boundary=b\n\n--b\r\nContent-Disposition: form-data; \
                name=\"f\"; filename=\"a\"\r\n\r\nxyz\r\n--b--\r\n",
                "200 xyz",
            ),
            ask("GET", "200 refused"),
        ],
    ),
    same(
        "uploads",
        "echo json_encode($_FILES['f']['name'] ?? null);",
        &[
            ask(
                "POST\nContent-Type: multipart/form-data; boundary=b\n\n--b\r\nContent-Disposition: form-data; \
                name=\"f[]\"; filename=\"a\"\r\n\r\n1\r\n--b\r\nContent-Disposition: form-data; name=\"f[]\"; \
                filename=\"c\"\r\n\r\n2\r\n--b--\r\n",
                r#"200 ["a","c"]"#,
            ),
            ask("GET", "200 null"),
        ],
    ),
    same(
        "broken_form",
        "echo count($_POST), count($_FILES);",
        &[
            ask("POST\nContent-Type: multipart/form-data; boundary=b\n\n--b\r\nContent-Dispo", "200 00"),
            ask("POST\nContent-Type: multipart/form-data\n\nx", "200 00"),
            ask("GET", "200 00"),
        ],
    ),
    same(
        "chunked",
        "echo file_get_contents('php://input'), $_SERVER['CONTENT_LENGTH'] ?? '-';",
        &[ask("POST\nContent-Type: text/plain\n\nabc", "200 abc3")],
    ),
    same(
        "stdin_is_no_body",
        "echo strlen(stream_get_contents(fopen('php://stdin', 'r')));",
        &[ask("POST\nContent-Type: text/plain\n\nabc", "200 0")],
    ),
];

#[test]
fn variables_are_those_of_the_request() {
    check(VARIABLES);
}

#[test]
fn bodies_are_those_of_the_request() {
    check(BODIES);
}
