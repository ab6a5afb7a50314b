//! Habits that Rack's specification forbids, or does not mention, and that Puma accepts.

use super::super::habit::{Asked, Habit};

pub(super) const HABITS: &[Habit] = &[
    Habit::new("status_as_text", "->(_) { ['201', {}, ['x']] }")
        .logged("the status of a response is no Integer"),
    Habit::new("status_with_words", "->(_) { ['202 Accepted', {}, ['x']] }"),
    Habit::new("status_as_float", "->(_) { [203.9, {}, ['x']] }"),
    Habit::new("symbols_as_names", "->(_) { [200, { 'X-A': 'b', x_c: 'd' }, ['x']] }"),
    Habit::new(
        "values_that_are_no_text",
        "->(_) { [200, { 'X-Number' => 7, 'X-Symbol' => :yes, 'X-Nil' => nil, 'X-True' => true }, ['x']] }",
    ),
    Habit::new("fields_in_pairs", "->(_) { [200, [['X-A', '1'], ['X-A', '2'], ['X-B', '3']], ['x']] }"),
    Habit::new(
        "names_that_are_none",
        "->(_) { [200, { 'X A' => '1', 'X:B' => '2', \"X-C\\r\\n\" => '4', 'X-D' => '5' }, ['x']] }",
    )
    .logged("a name or a value that none can have"),
    Habit::new(
        "values_that_end_the_line",
        "->(_) { [200, { 'X-A' => \"1\\rX-B: 2\", 'X-C' => \"3\\0\", 'X-D' => \"4\\r\\nX-E: 5\", 'X-F' => \"6\\t7\" \
        }, ['x']] }",
    ),
    Habit::new("value_with_empty_lines", "->(_) { [200, { 'X-A' => \"\\n1\\n\\n2\\n\" }, ['x']] }"),
    Habit::new("more_than_three", "->(_) { [200, {}, ['x'], 'more'] }"),
    Habit::new("response_itself", "->(_) { Rack::Response.new(['body'], 202) }"),
    Habit::new("body_of_bodies", "->(_) { [200, {}, ['x'].each_slice(1).map(&:first).lazy] }"),
    Habit::new("string_io", "->(_) { [200, {}, StringIO.new(\"one\\ntwo\\n\")] }"),
    Habit::new(
        "body_without_a_body",
        "->(env) { [env['QUERY_STRING'].to_i, { 'Content-Length' => '4' }, ['text']] }",
    )
    .asked(&[
        Asked::plainly("GET /{}?204 HTTP/1.1\r\nHost: a\r\n\r\n"),
        Asked::plainly("GET /{}?304 HTTP/1.1\r\nHost: a\r\n\r\n"),
        Asked::plainly("HEAD /{}?200 HTTP/1.1\r\nHost: a\r\n\r\n"),
    ]),
    Habit::new("length_as_number", "->(_) { [200, { 'Content-Length' => 5 }, ['hello']] }"),
    Habit::new("length_too_small", "->(_) { [200, { 'Content-Length' => '3' }, ['hello']] }"),
    Habit::new("length_that_is_none", "->(_) { [200, { 'Content-Length' => 'many' }, ['hello']] }"),
    Habit::new(
        "own_fields",
        "->(_) { [200, { 'Date' => 'now', 'Server' => 'mine', 'Status' => '404', 'Connection' => 'keep-alive' }, \
        ['x']] }",
    ),
    Habit::new("raises", "->(_) { raise 'on purpose' }"),
    Habit::new(
        "raises_late",
        "->(_) { [200, {}, Enumerator.new { |out| out << 'begun'; raise 'on purpose' }] }",
    ),
    Habit::new(
        "closes_badly",
        "->(_) { [200, {}, Class.new { def each = yield('x'); def close = raise('on purpose') }.new] }",
    ),
    Habit::new("throws", "->(_) { throw :nothing }"),
    Habit::new("nothing", "->(_) { nil }"),
    Habit::new("writes_to_standard_error", "->(_) { warn 'warned'; [200, {}, ['x']] }")
        .asked(&[Asked::plainly("GET /{} HTTP/1.0\r\n\r\n")])
        .logged("warned"),
    Habit::new("encodings", "->(_) { [200, {}, [\"\\u00fc\", \"\\xfc\".b, 'x'.encode('UTF-16LE')]] }"),
    Habit::new("late_status", "status = 200\n->(_) { [status += 1, {}, [status.to_s]] }"),
];
