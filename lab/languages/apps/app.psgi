# The contest's application for PSGI.
use strict;
use warnings;

my $json = '{"text":"' . 'x' x (16384 - 11) . '"}';

sub {
    my ($env) = @_;
    my ($path, $kind, $body) = ($env->{PATH_INFO}, 'text/plain');
    if ($path eq '/hello') {
        $body = 'Hello, World!';
    } elsif ($path eq '/json') {
        ($body, $kind) = ($json, 'application/json');
    } else {
        my $n = 0;
        while (my $got = $env->{'psgi.input'}->read(my $piece, 65_536)) { $n += $got }
        $body = $n;
    }
    return [200, ['Content-Type' => $kind, 'Content-Length' => length $body], [$body]];
};
