//! Examples of PSGI's specification, and each thing that it lets applications do.

use super::super::habit::{Asked, Habit, STATUSES};

pub(super) const HABITS: &[Habit] = &[
    Habit::new("function", "sub { [200, ['Content-Type' => 'text/plain'], ['Hello World', '', \"\\n\", 7]] }"),
    Habit::new("no_body", "sub { [200, ['Content-Type' => 'text/plain'], []] }"),
    Habit::new("handle", "sub { open my $fh, '<', 'app.psgi' or die; [200, ['Content-Type' => 'text/plain'], $fh] }"),
    Habit::new("handle_in_memory", "sub { open my $fh, '<', \\\"one\\ntwo\\n\" or die; [200, [], $fh] }"),
    Habit::new(
        "object",
        "
package Object;
sub new { bless [@_], shift }
sub getline { my $self = shift; shift @$self }
sub close { $closed++ }
package main;
sub { [200, [], Object->new(\"closed before: \", '', $Object::closed // 0)] }
",
    ),
    Habit::new("delayed", "sub { my $env = shift; sub { my $respond = shift; $respond->([201, ['X-A' => 'b'], \
        ['delayed']]) } }"),
    Habit::new(
        "streaming",
        "
sub {
    return sub {
        my $writer = $_[0]->([200, ['Content-Type' => 'application/json']]);
        $writer->write($_) for 'one ', '', 'two';
        $writer->close;
    };
};
",
    ),
    Habit::new("fields", "sub { [200, ['Set-Cookie' => 'a=1', 'set-cookie' => 'b=2', 'X-Empty' => '', 'Vary' => 'A', \
        'Vary' => 'B', 'Location' => '/elsewhere'], ['x']] }"),
    Habit::new("length", "sub { [200, ['Content-Length' => 11], ['hello ', 'world']] }"),
    Habit::new("statuses", "sub { [$_[0]{QUERY_STRING}, ['X-Status' => 'mine'], []] }").asked(STATUSES),
    Habit::new(
        "input",
        "
sub {
    my $input = $_[0]{'psgi.input'};
    $input->read(my $first, 4);
    $input->read($first, 3, 4);
    my $rest = $input->read(my $all, 1000);
    $input->seek(0, 0);
    $input->read(my $again, 1000);
    [200, [], [join '|', $first, $rest, $all, $again, $input->read(my $end, 10)]];
};
",
    )
    .asked(&[
        Asked::plainly("POST /{} HTTP/1.1\r\nHost: a\r\nContent-Length: 22\r\n\r\nline\nanother\nand\nmore\n"),
        Asked::plainly("POST /{} HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n"),
        Asked::plainly("POST /{} HTTP/1.0\r\nContent-Length: 4\r\n\r\nabcd"),
    ]),
    Habit::new(
        "environment",
        "
sub {
    my $env = shift;
    my @names = qw(REQUEST_METHOD SCRIPT_NAME PATH_INFO REQUEST_URI QUERY_STRING CONTENT_TYPE CONTENT_LENGTH SERVER_PROTOCOL
                   psgi.url_scheme psgi.run_once psgi.streaming psgi.nonblocking);
    push @names, sort grep /^HTTP_/, keys %$env;
    [200, [], [map { \"$_=\" . ($env->{$_} // 'undef') . \"\\n\" } @names]];
};
",
    )
    .asked(&[
        Asked::plainly("GET /{}?c=%41&d HTTP/1.1\r\nHost: example.org:80\r\nX-One: 1\r\nx-two: b\r\n\r\n"),
        Asked::plainly("GET /{}/a%20b/../c HTTP/1.1\r\nHost: a\r\nX-Twice: 1\r\nX-Twice: 2\r\n\r\n"),
        Asked::plainly("PUT /{}/ HTTP/1.1\r\nHost: a\r\nContent-Type: x/y\r\nContent-Length: 3\r\n\r\nabc"),
    ]),
    Habit::new("errors", "sub { $_[0]{'psgi.errors'}->print(\"printed into the log\\n\"); [200, [], ['said']] }")
        .asked(&[Asked::plainly("GET /{} HTTP/1.0\r\n\r\n")])
        .logged("printed into the log"),
    Habit::new("response", "use Plack::Response; sub { my $r = Plack::Response->new(202, ['X-A' => 'b'], 'text'); \
        $r->cookies->{a} = 'b'; $r->finalize }"),
    Habit::new("middleware", "use Plack::Builder; builder { enable 'Head'; enable 'ContentLength'; enable \
        'XFramework', framework => 'none'; sub { [200, [], ['12345']] } }"),
    Habit::new("chunked", "use Plack::Builder; builder { enable 'Chunked'; sub { [200, [], ['one', 'two']] } }"),
];
