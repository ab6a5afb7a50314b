//! Heads of responses, as scripts set them.

use super::super::habit::{Asked, Habit};

pub(super) const HABITS: &[Habit] = &[
    Habit::new(
        "status_code",
        "<?php var_dump(http_response_code()); http_response_code(418); \
        var_dump(http_response_code());",
    ),
    Habit::new("status_line", "<?php header('HTTP/1.0 404 Not Found'); echo 'gone';"),
    Habit::new("status_with_another_reason", "<?php header('HTTP/1.1 299 Fine by me'); echo 'fine';"),
    Habit::new("status_line_without_a_reason", "<?php header('HTTP/1.1 204'); "),
    Habit::new("status_as_cgi_says_it", "<?php header('Status: 404 Not Found'); echo 'gone';"),
    Habit::new("status_by_the_third_argument", "<?php header('X-A: b', true, 410); echo 'gone';"),
    Habit::new("status_nobody_knows", "<?php http_response_code(799); echo 'what';"),
    Habit::new("location", "<?php header('Location: /elsewhere'); echo 'there';"),
    Habit::new("location_relative", "<?php header('Location: elsewhere?x=1#y', true, 303); exit;"),
    Habit::new(
        "location_of_what_was_made",
        "<?php http_response_code(201); header('Location: /made'); echo 'made';",
    ),
    Habit::new(
        "fields_of_one_name",
        "<?php header('X-A: 1'); header('X-A: 2', false); header('X-B: 1'); \
        header('x-b: 2'); echo 'x';",
    ),
    Habit::new(
        "fields_taken_back",
        "<?php header('X-A: 1'); header('X-B: 1'); header_remove('x-a'); \
        print_r(headers_list());",
    ),
    Habit::new("field_that_is_empty", "<?php header('X-Empty:'); header('X-Spaces:   '); echo 'x';"),
    Habit::new(
        "field_with_spaces_around_its_value",
        "<?php header('X-A:   a  b   '); header('X-B:b'); echo 'x';",
    ),
    Habit::new("field_of_two_lines", "<?php @header(\"X-A: 1\\r\\nX-B: 2\"); echo 'x';"),
    Habit::new("field_in_latin_1", "<?php header(\"X-Name: Jos\\xe9\"); echo 'x';"),
    Habit::new("field_that_is_long", "<?php header('X-Long: ' . str_repeat('x', 7000)); echo 'x';"),
    Habit::new(
        "fields_in_great_number",
        "<?php for ($n = 0; $n < 100; $n++) header(\"X-$n: $n\"); echo 'x';",
    ),
    Habit::new(
        "cookies",
        "<?php setcookie('a', 'b c'); setrawcookie('d', 'e', 0, '/', '', true, true); \
        setcookie('f', '', 1); setcookie('g', 'h', ['samesite' => 'Lax']); echo 'x';",
    ),
    Habit::new(
        "session",
        "<?php session_save_path(sys_get_temp_dir()); session_id('against-reference'); \
        session_start(['use_cookies' => 1]); echo session_id(); session_destroy();",
    ),
    Habit::new("type_of_its_own", "<?php header('Content-Type: text/plain'); echo 'x';"),
    Habit::new(
        "type_with_a_charset",
        "<?php header('Content-type: text/html; charset=iso-8859-1'); echo 'x';",
    ),
    Habit::new("type_of_pictures", "<?php header('Content-Type: image/png'); echo 'x';"),
    Habit::new("no_type", "<?php ini_set('default_mimetype', ''); echo 'x';"),
    Habit::new(
        "type_taken_back",
        "<?php header('Content-Type: text/plain'); header_remove('Content-Type'); echo 'x';",
    ),
    Habit::new("all_taken_back", "<?php header('X-A: 1'); header_remove(); echo 'x';"),
    Habit::new("length", "<?php header('Content-Length: 5'); echo 'hello';"),
    Habit::new(
        "length_and_flush",
        "<?php header('Content-Length: 5'); echo 'he'; ob_flush(); flush(); echo 'llo';",
    ),
    Habit::new("length_too_small", "<?php header('Content-Length: 2'); echo 'hello';"),
    Habit::new("length_too_large", "<?php header('Content-Length: 9'); echo 'hello';"),
    Habit::new("length_that_is_none", "<?php header('Content-Length: many'); echo 'hello';"),
    Habit::new(
        "chunks_of_its_own",
        "<?php header('Transfer-Encoding: chunked'); foreach (['hello ', 'world', ''] as $piece) { \
        printf(\"%x\\r\\n%s\\r\\n\", strlen($piece), $piece); }",
    ),
    Habit::new(
        "authenticate",
        "<?php if (!isset($_SERVER['PHP_AUTH_USER'])) { header('WWW-Authenticate: Basic \
        realm=\"x\"'); http_response_code(401); } else { echo $_SERVER['PHP_AUTH_USER'], ':', \
        $_SERVER['PHP_AUTH_PW']; }",
    )
    .asked(&[
        Asked::plainly("GET /{} HTTP/1.1\r\nHost: localhost\r\n\r\n"),
        Asked::plainly("GET /{} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Basic YTpiOmM=\r\n\r\n"),
        Asked::plainly("GET /{} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Basic !\r\n\r\n"),
        Asked::plainly("GET /{} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer x\r\n\r\n"),
    ]),
    Habit::new(
        "callback_before_the_head",
        "<?php header_register_callback(function () { header('X-Late: yes'); \
        header_remove('X-Early'); }); header('X-Early: yes'); echo 'x';",
    ),
    Habit::new(
        "field_after_output",
        "<?php echo 'x'; flush(); ob_flush(); @header('X-A: 1'); \
        @http_response_code(500); var_dump(headers_sent());",
    ),
    Habit::new("field_after_much_output", "<?php echo str_repeat('x', 10000); @header('X-A: 1'); echo 'y';"),
    Habit::new("no_content_with_a_body", "<?php http_response_code(204); echo 'x';"),
    Habit::new("not_modified_with_a_body", "<?php http_response_code(304); header('ETag: \"a\"'); echo 'x';"),
];
