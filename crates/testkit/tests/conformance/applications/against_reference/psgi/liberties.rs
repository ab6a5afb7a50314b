//! Habits that PSGI's specification forbids, or does not mention, and that Starman accepts.

use super::super::habit::{Asked, Habit};

pub(super) const HABITS: &[Habit] = &[
    Habit::new("status_with_words", "sub { ['202 Accepted', [], ['x']] }"),
    Habit::new("status_as_float", "sub { [203.9, [], ['x']] }"),
    Habit::new("undefined_pieces", "no warnings; sub { [200, [], ['a', 'b']] }"),
    Habit::new("undefined_value", "no warnings; sub { [200, ['X-A' => undef, 'X-B' => 'c'], ['x']] }"),
    Habit::new("more_than_three", "sub { [200, [], ['x'], 'more'] }").logged("more than three items"),
    Habit::new("blessed_response", "sub { bless [200, ['X-A' => 'b'], ['x']], 'Mine' }")
        .logged("a blessed array"),
    Habit::new("blessed_fields", "sub { [200, bless(['X-A' => 'b'], 'Mine'), ['x']] }"),
    Habit::new(
        "blessed_body",
        "package Pieces { sub new { bless ['one', 'two'], shift } sub getline { shift @{$_[0]} } sub close {} } sub \
        { [200, [], Pieces->new] }",
    ),
    Habit::new("glob", "sub { open FH, '<', 'app.psgi' or die; [200, [], *FH] }"),
    Habit::new("reference_to_a_glob", "sub { open FH, '<', 'app.psgi' or die; [200, [], \\*FH] }"),
    Habit::new("odd_fields", "sub { [200, ['X-A' => 'b', 'X-C'], ['x']] }")
        .logged("header of a response has no value"),
    Habit::new("text", "sub { [200, [], 'text'] }"),
    Habit::new("wide_characters", "sub { [200, [], [\"\\x{263a}\"]] }"),
    Habit::new(
        "latin_characters",
        "sub { my $text = \"\\xfc\"; utf8::upgrade($text); [200, ['X-A' => $text], [$text]] }",
    ),
    Habit::new("body_without_a_body", "sub { [$_[0]{QUERY_STRING}, ['X-A' => 'b'], ['text']] }")
        .asked(&[Asked::plainly("HEAD /{}?200 HTTP/1.1\r\nHost: a\r\n\r\n")]),
    Habit::new("length_too_small", "sub { [200, ['Content-Length' => 3], ['hello']] }"),
    Habit::new("length_that_is_none", "sub { [200, ['Content-Length' => 'many'], ['hello']] }"),
    Habit::new(
        "own_fields",
        "sub { [200, ['Date' => 'now', 'Server' => 'mine', 'Status' => '404', 'Connection' => 'keep-alive'], ['x']] }",
    ),
    Habit::new("dies", "sub { die 'on purpose' }"),
    Habit::new(
        "dies_late",
        "sub { sub { my $writer = $_[0]->([200, []]); $writer->write('begun'); die 'on purpose' } }",
    ),
    Habit::new("never_closes", "sub { sub { $_[0]->([200, []])->write('said') } }"),
    Habit::new(
        "closes_twice",
        "sub { sub { my $writer = $_[0]->([200, []]); $writer->write('said'); $writer->close; $writer->close } }",
    ),
    // Whether Starman's connection survives a body that cannot be closed is a matter of time.
    Habit::new(
        "asks_for_the_separator",
        "package Asks { sub new { bless [1], shift } sub getline { shift(@{$_[0]}) ? ref $/ : undef } sub close {} } \
        sub { [200, [], Asks->new] }",
    ),
    Habit::new("nothing", "sub { undef }"),
    Habit::new("list", "sub { (200, [], ['x']) }"),
    Habit::new(
        "chunks",
        "sub { [200, ['Transfer-Encoding' => 'chunked'], [\"5\\r\\nhello\\r\\n\", \"0\\r\\n\\r\\n\"]] }",
    ),
    Habit::new("chunks_that_are_none", "sub { [200, ['Transfer-Encoding' => 'chunked'], ['hello']] }")
        .logged("has no chunks"),
    Habit::new("writes_to_standard_error", "sub { warn \"warned\\n\"; [200, [], ['x']] }")
        .asked(&[Asked::plainly("GET /{} HTTP/1.0\r\n\r\n")])
        .logged("warned"),
];
