# The suite's application for PSGI: README.md says what is at which path.
use strict;
use warnings;
use Cwd        ();
use File::Temp ();
use IO::Handle;
use JSON::PP;
use Time::HiRes ();

my $n_kept = 0;
my $block = join('', map { chr } 0 .. 250) x 100;

sub plain {
    my ($body, $status, @fields) = @_;
    return [$status // 200, ['Content-Type' => 'text/plain', @fields], [$body]];
}

sub wait_for {
    my ($condition) = @_;
    Time::HiRes::sleep(0.005) until $condition->();
}

sub told {
    my ($env) = @_;
    my %headers;
    for my $name (grep { /^HTTP_/ || /^CONTENT_(TYPE|LENGTH)$/ } keys %$env) {
        my $field = lc $name =~ s/^HTTP_//r;
        $headers{ $field =~ tr/_/-/r } = $env->{$name};
    }
    my $path = $env->{PATH_INFO};
    utf8::decode($path);
    return {
        method  => $env->{REQUEST_METHOD},
        target  => $env->{REQUEST_URI},
        path    => $path,
        query   => $env->{QUERY_STRING},
        scheme  => $env->{'psgi.url_scheme'},
        client  => $env->{REMOTE_ADDR},
        port    => ($env->{REMOTE_PORT} // 0) + 0,
        headers => \%headers,
    };
}

sub body_of {
    my ($env) = @_;
    my $body = '';
    1 while $env->{'psgi.input'}->read($body, 65_536, length $body);
    return $body;
}

# A response that is written by `$code`, which gets the writer.
sub streamed {
    my ($code) = @_;
    return sub {
        my $writer = $_[0]->([200, []]);
        $code->($writer);
        $writer->close;
    };
}

{
    package Endless;
    sub new     { return bless {}, shift }
    sub getline { return 'x' x 65_536 }
    sub close   { warn "the client is gone\n" }
}

# Has nothing to say, for as long as the client listens.
{
    package Nothing;
    sub new     { warn "it has begun\n"; return bless {}, shift }
    sub getline { return '' }
    sub close   { warn "the client is gone\n" }
}

my %pages = (
    '/request' => sub { plain(JSON::PP->new->utf8->encode(told($_[0]))) },
    '/a%20b/%C3%BC' => sub { plain(JSON::PP->new->utf8->encode(told($_[0]))) },
    '/echo'    => sub { plain(body_of($_[0])) },
    '/length'  => sub { plain(length body_of($_[0])) },
    '/ignored' => sub { plain('ignored') },
    '/large'   => sub { my $n = $_[1]; streamed(sub { $_[0]->write($block) for 1 .. $n }) },
    '/status'  => sub { plain("status $_[1]", $_[1]) },
    '/fields'  => sub {
        plain('fields', 200, 'X-Twice' => 1, 'X-Twice' => 2, 'Set-Cookie' => 'a=1', 'Set-Cookie' => 'b=2', 'X-Empty' => '');
    },
    '/many'   => sub { plain('many', 200, map { ("X-Field-$_" => "value $_") } 1 .. $_[1]) },
    '/stream' => sub {
        streamed(sub {
            my ($writer) = @_;
            $writer->write('first');
            wait_for(sub { -e 'go' });
            $writer->write('second');
        });
    },
    '/framed' => sub {
        my @pieces = split /~/, $_[1];
        s/%(..)/chr hex $1/ge for @pieces;
        return sub {
            my $writer = $_[0]->([200, ['Transfer-Encoding' => 'chunked']]);
            $writer->write($_) for @pieces;
            $writer->close;
        };
    },
    '/nothing'   => sub { [200, [], Nothing->new] },
    '/file'      => sub { open my $file, '<:raw', $_[1] or die $!; [200, [], $file] },
    '/fail'      => sub { die "failed on purpose\n" },
    '/fail-late' => sub { streamed(sub { $_[0]->write('begun'); die "failed too late\n" }) },
    '/die'       => sub { kill KILL => $$ },
    '/endless'   => sub { [200, [], Endless->new] },
    '/meet'      => sub {
        my ($env, $n) = @_;
        File::Temp->new(DIR => 'meet', UNLINK => 0);
        wait_for(sub { my @met = glob 'meet/*'; @met >= $n });
        plain($$);
    },
    '/slow'        => sub { Time::HiRes::sleep($_[1] / 1000); plain($$) },
    '/compute'     => sub { 1 until -e 'go'; plain($$) },
    '/kept'        => sub { plain(++$n_kept) },
    '/pid'         => sub { plain($$) },
    '/cwd'         => sub { plain(Cwd::getcwd()) },
    '/environment' => sub { plain($ENV{ $_[1] } // '') },
    '/user'        => sub { plain("$> " . ($) =~ s/ .*//r)) },
    '/log'         => sub {
        STDOUT->autoflush(1);
        print STDOUT "said to standard output\n";
        print STDERR "said to standard error\n";
        plain('');
    },
);

sub {
    my ($env) = @_;
    my ($path, $argument) = split /\?/, $env->{REQUEST_URI}, 2;
    my $page = $pages{$path} // return plain('missing', 404);
    return $page->($env, $argument // '');
};
