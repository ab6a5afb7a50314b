//! Requests and ends of scripts.

use super::super::habit::{Asked, Habit};

pub(super) const HABITS: &[Habit] = &[
    Habit::new("nothing", "<?php"),
    Habit::new("no_script_at_all", "plain <b>text</b>\n"),
    Habit::new("output", "<?php print('a'); echo 'b', 'c'; printf('%05d', 7); ?>d<?= 'e' ?>\n\nf"),
    Habit::new("output_by_streams", "<?php file_put_contents('php://output', 'a'); fwrite(fopen('php://output', \
        'w'), 'b'); readfile(__DIR__ . '/output.php'); fpassthru(fopen(__FILE__, 'r'));"),
    Habit::new("output_elsewhere", "<?php var_dump(defined('STDIN'), defined('STDERR')); \
        file_put_contents('php://stderr', 'x'); error_log('y'); echo 'z';"),
    Habit::new("output_in_pieces", "<?php for ($n = 0; $n < 5; $n++) { echo $n; ob_flush(); flush(); }"),
    Habit::new("output_of_a_megabyte", "<?php for ($n = 0; $n < 16; $n++) echo str_repeat(chr(97 + $n), 65536);"),
    Habit::new("buffers", "<?php ob_start(fn($x) => strtoupper($x)); echo 'a'; ob_start(); echo 'b'; ob_end_clean(); \
        ob_start(fn($x) => \"[$x]\"); echo 'c';"),
    Habit::new("buffer_thrown_away", "<?php echo 'a'; ob_clean(); echo 'b'; ob_end_flush(); echo 'c'; \
        var_dump(ob_get_level());"),
    Habit::new("compressed", "<?php ob_start('ob_gzhandler'); echo str_repeat('hello ', 100);").asked(&[
        Asked::plainly("GET /{} HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\n\r\n"),
        Asked::plainly("GET /{} HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    ]),
    Habit::new("exit", "<?php echo 'a'; exit('b'); echo 'c';"),
    Habit::new("exit_with_a_number", "<?php echo 'a'; exit(3);"),
    Habit::new("exit_in_a_function_at_the_end", "<?php register_shutdown_function(function () { echo 'b'; exit; }); \
        register_shutdown_function(function () { echo 'c'; }); echo 'a';"),
    Habit::new("destructors", "<?php class D { function __destruct() { echo 'gone'; } } $d = new D; echo 'there ';"),
    Habit::new("exception", "<?php throw new Exception('x');"),
    Habit::new("exception_after_output", "<?php echo 'a'; throw new Exception('x');"),
    Habit::new("exception_after_the_head", "<?php echo 'a'; ob_flush(); flush(); throw new Exception('x');"),
    Habit::new("exception_that_is_handled", "<?php set_exception_handler(function ($e) { http_response_code(503); \
        echo 'handled ', $e->getMessage(); }); throw new Exception('x');"),
    Habit::new("error", "<?php nowhere();"),
    Habit::new("error_of_syntax", "<?php echo 'a"),
    Habit::new("error_of_memory", "<?php ini_set('memory_limit', '4M'); $x = str_repeat('x', 100000000);"),
    Habit::new("error_that_is_shown", "<?php ini_set('display_errors', 1); echo $nothing; echo 'x';"),
    Habit::new("error_by_hand", "<?php set_error_handler(function ($n, $text) { echo \"[$text]\"; return true; }); \
        echo $nothing; trigger_error('mine', E_USER_WARNING); echo 'x';"),
    Habit::new("environment", "<?php foreach (['REQUEST_METHOD', 'REQUEST_URI', 'QUERY_STRING', 'SERVER_PROTOCOL', \
        'HTTP_HOST', 'HTTP_X_A', 'CONTENT_TYPE', 'CONTENT_LENGTH', 'REMOTE_ADDR', 'HTTPS'] as $key) { echo $key, \
        '='; var_dump($_SERVER[$key] ?? null); } echo is_float($_SERVER['REQUEST_TIME_FLOAT']), \
        is_int($_SERVER['REQUEST_TIME']);").asked(&[
        Asked::plainly("GET /{}?a=1&b HTTP/1.1\r\nHost: localhost\r\nX-A: 1\r\n\r\n"),
        Asked::plainly("POST /{}/more//of%20it?a=%zz HTTP/1.1\r\nHost: localhost:81\r\nContent-Type: \
            text/plain\r\nContent-Length: 2\r\n\r\nab"),
        Asked::plainly("PATCH /{}?x=y&z HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n"),
    ]),
    Habit::new("fields", "<?php $all = array_change_key_case(getallheaders()); ksort($all); var_dump($all == \
        array_change_key_case(apache_request_headers())); print_r($all);").asked(&[
        Asked::plainly("GET /{} HTTP/1.1\r\nHost: localhost\r\nX-One: 1\r\nx-two-three: 2\r\nCookie: a=b\r\n\r\n"),
    ]),
    Habit::new("query", "<?php var_dump($_GET, $_REQUEST);").asked(&[
        Asked::plainly("GET /{}?a=1&b[]=2&b[]=3&c[x][y]=4&d.e=5&f+g=6&=7&h HTTP/1.1\r\nHost: localhost\r\n\r\n"),
        Asked::plainly("GET /{}?a=%C3%BC&b=%zz&c=%00&a=2 HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    ]),
    Habit::new("cookies_that_come", "<?php var_dump($_COOKIE);").asked(&[
        Asked::plainly("GET /{} HTTP/1.1\r\nHost: localhost\r\nCookie: a=b; c=d%20e; f; g[h]=i; a=z;j=k=l\r\n\r\n"),
    ]),
    Habit::new("form", "<?php var_dump($_POST, file_get_contents('php://input'), $_FILES);").asked(&[
        Asked::plainly("POST /{} HTTP/1.1\r\nHost: localhost\r\nContent-Type: \
            application/x-www-form-urlencoded\r\nContent-Length: 19\r\n\r\na=1&b[]=2&b[]=%C3%A"),
        Asked::plainly("POST /{} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: \
            8\r\n\r\n{\"a\": 1}"),
        Asked::plainly("POST /{} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\na=b"),
        Asked::plainly("POST /{} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n"),
        Asked::plainly("PUT /{} HTTP/1.1\r\nHost: localhost\r\nContent-Type: \
            application/x-www-form-urlencoded\r\nContent-Length: 3\r\n\r\na=b"),
        Asked::plainly("DELETE /{} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\na=b"),
    ]),
    Habit::new("upload", "<?php foreach ($_FILES as $name => $file) { echo $name, ' ', $file['name'], ' ', \
        $file['type'], ' ', $file['error'], ' ', is_uploaded_file($file['tmp_name']) ? \
        file_get_contents($file['tmp_name']) : 'none', \"\\n\"; } var_dump($_POST, \
        strlen(file_get_contents('php://input')));").asked(&[
        Asked::plainly("POST /{} HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; \
            boundary=b\r\nContent-Length: 164\r\n\r\n--b\r\nContent-Disposition: form-data; name=\"f\"; \
            filename=\"a/b.txt\"\r\nContent-Type: text/plain\r\n\r\nhello\r\n--b\r\nContent-Disposition: form-data; \
            name=\"x[y]\"\r\n\r\nz\r\n--b--\r\n"),
        Asked::plainly("POST /{} HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data\r\nContent-Length: \
            3\r\n\r\nabc"),
    ]),
    Habit::new("body_read_twice", "<?php $in = fopen('php://input', 'r'); echo fread($in, 2), '|', \
        stream_get_contents($in), '|', file_get_contents('php://input'); rewind($in); echo '|', fgets($in);").asked(&[
        Asked::plainly("POST /{} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello"),
    ]),
    Habit::new("body_not_read", "<?php echo 'x';").asked(&[
        Asked::plainly("POST /{} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello"),
    ]),
    Habit::new("settings_changed", "<?php ini_set('precision', 3); setlocale(LC_ALL, 'C'); \
        date_default_timezone_set('UTC'); putenv('A=b'); chdir('/'); mb_internal_encoding_or_not(); function \
        mb_internal_encoding_or_not() { echo 1 / 3; }"),
    Habit::new("settings_are_back", "<?php echo ini_get('precision'), date_default_timezone_get(); \
        var_dump(getenv('A'));"),
    Habit::new("what_there_is", "<?php foreach (['getallheaders', 'apache_request_headers', \
        'apache_response_headers', 'header_remove', 'headers_list', 'http_response_code', \
        'cli_set_process_title_not'] as $name) { echo $name, function_exists($name) ? ' is' : ' is not', \" \
        there\\n\"; }"),
];
