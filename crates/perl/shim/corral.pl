# line 1 "corral.pl"
# The PSGI handler (PSGI 1.102): calls the application, and turns what it returns into the calls that corral_perl.c offers.

# Without the lexical variables of this file, and with the names of its own package.
sub Corral::PSGI::in_main { return do $_[0] }

package Corral::PSGI;

use strict;
use warnings;

use IO::Handle   ();
use Scalar::Util ();

# Bytes of a request's body that are kept in memory; a longer one goes to a file.
use constant LARGEST_IN_MEMORY => 1 << 20;

# Bytes that are read of a handle at once.
use constant PIECE => 1 << 16;

# Whether this is one interpreter of several.
our $multithread;

# The application, the process that this is, how far the response is, and which request it belongs to.
my ($app, $process, $phase, $serial);

# Where the application says what is wrong.
my $errors = \do { local *ERRORS };
tie *$errors, 'Corral::PSGI::Errors';

# The state of the response.
use constant {SILENT => 0, OPEN => 1, ENDED => 2};

BEGIN {
    # An application that exits ends its request, not its worker. In a process that it forked, exit is what it says.
    *CORE::GLOBAL::exit = sub (;$) {
        my $code = @_ ? $_[0] : 0;
        CORE::exit($code) if $$ != $process;
        die Corral::PSGI::Exit->new($code);
    };
}

sub load {
    my ($path) = @_;
    $process = $$;
    # FindBin and modules of the application look there.
    $0 = $path;
    # Frameworks ask it whether they are served by PSGI.
    $ENV{PLACK_ENV} //= 'deployment';
    my $found = in_main($path);
    if (ref $found ne 'CODE') {
        die is_exit($@) ? "the script called exit(${$@})\n" : "$@" if $@;
        die "cannot read the script \"$path\": $!\n" if !defined $found && $!;
        die "the script \"$path\" must end with the application, which is a reference to a function\n"
            unless eval { $found->can('(&{}') || $found->can('call') };
    }
    $app = $found;
    return 1;
}

# Returns whether the worker leaves.
sub serve {
    my ($env) = @_;
    $process = $$;
    $phase   = SILENT;
    $serial++;
    my $cleanup = [];
    my $ok = eval {
        complete($env, $cleanup);
        my $response = $app->($env);
        ref $response eq 'CODE' ? $response->(\&respond) : respond($response);
        die "the application returned before it responded\n" if $phase == SILENT;
        1;
    };
    report($env, $@) if !$ok;
    cleanup($env, $cleanup) if @$cleanup;
    return $env->{'psgix.harakiri.commit'};
}

sub complete {
    my ($env, $cleanup) = @_;
    $env->{SCRIPT_NAME}              = '';
    $env->{'psgi.version'}           = [1, 1];
    $env->{'psgi.input'}             = body_handle($env->{'psgi.input'});
    $env->{'psgi.errors'}            = $errors;
    $env->{'psgi.multithread'}       = $multithread;
    $env->{'psgi.multiprocess'}      = !!1;
    $env->{'psgi.run_once'}          = !!0;
    $env->{'psgi.nonblocking'}       = !!0;
    $env->{'psgi.streaming'}         = !!1;
    $env->{'psgix.input.buffered'}   = !!1;
    $env->{'psgix.cleanup'}          = !!1;
    $env->{'psgix.cleanup.handlers'} = $cleanup;
    $env->{'psgix.harakiri'}         = !!1;
    return;
}

# The request's body as a handle that can be read again.
sub body_handle {
    my ($length) = @_;
    my $handle;
    if ($length <= LARGEST_IN_MEMORY) {
        my $body = $length ? input($length) : '';
        open $handle, '<', \$body or die "cannot read the request's body: $!\n";
        return $handle;
    }
    open $handle, '+>', undef or die "cannot store the request's body: $!\n";
    binmode $handle;
    while (length(my $piece = input(PIECE))) {
        print {$handle} $piece or die "cannot store the request's body: $!\n";
    }
    seek $handle, 0, 0 or die "cannot store the request's body: $!\n";
    return $handle;
}

# Takes [status, fields, body], or [status, fields] and returns a writer.
sub respond {
    my ($response) = @_;
    die "the application's response is not an array of two or three items\n"
        if (Scalar::Util::reftype($response) // '') ne 'ARRAY' || @$response < 2;
    remark('a response is a blessed array')          if ref $response ne 'ARRAY';
    remark('a response has more than three items') if @$response > 3;
    die "the application responds twice\n" if $phase != SILENT;
    my ($status, $fields, $body) = @$response;
    if (ref $body eq 'ARRAY') {
        # Before the head is sent: the client still gets a clean error.
        defined && !utf8::downgrade(my $copy = $_, 1) && die "the response's body has characters that are no bytes: encode it\n" for @$body;
    }
    head($status, $fields);
    $phase = OPEN;
    return bless {serial => $serial}, 'Corral::PSGI::Writer' if @$response == 2;
    if (ref $body eq 'ARRAY') {
        for my $piece (@$body) {
            last unless body($piece);
        }
    } else {
        copy($body);
    }
    $phase = ENDED;
    return;
}

# Sends what a handle, or any object with getline, has to say.
sub copy {
    my ($from) = @_;
    die "the body of the response is neither an array nor a handle\n" if !ref $from && ref \$from ne 'GLOB';
    if (!leave($from)) {
        # PSGI promises a reference to a number.
        local $/ = \(PIECE);
        while (defined(my $piece = $from->getline)) {
            last unless body($piece);
            # An application that writes an object of its own wants its pieces to arrive as they come.
            flush() if length $piece < PIECE;
        }
    }
    # The client has everything, whatever happens here.
    return if eval { $from->close; 1 };
    my $error = $@;
    return remark('the body of a response has no method "close"') if !eval { $from->can('close') };
    complain("close the body of a response: $error");
    return;
}

# Leaves the rest of a file to the server, if this is a handle of one, no layer changes how it is read, and it is long.
sub leave {
    my ($from) = @_;
    return if (Scalar::Util::reftype($from) // '') ne 'GLOB' || tied *$from || !defined *$from{IO};
    return if Scalar::Util::blessed($from) && $from->can('getline') != IO::Handle->can('getline');
    return if grep { !/\A(?:unix|perlio|stdio)\z/ } PerlIO::get_layers($from);
    return file($from);
}

# The application died: the client gets 500, or a response that is cut off.
sub report {
    my ($env, $error) = @_;
    if (is_exit($error)) {
        return if $phase != SILENT;
        $error = "the application called exit($$error) before it responded\n";
    }
    complain("$env->{REQUEST_METHOD} $env->{REQUEST_URI}: $error");
    CORE::exit(255) if $$ != $process;
    head(500, []) if $phase == SILENT;
    abort()       if $phase == OPEN;
    $phase = ENDED;
    return;
}

sub is_exit {
    my ($error) = @_;
    return ref $error eq 'Corral::PSGI::Exit';
}

# The state of a writer; one that was kept must not write into another response.
sub add {
    my ($writer, $piece) = @_;
    die "the request is over\n"   if $writer->{serial} != $serial;
    die "the response is closed\n" if $phase != OPEN;
    body($piece) or die "the client is gone\n";
    flush();
    return;
}

sub end {
    my ($writer) = @_;
    $phase = ENDED if $writer->{serial} == $serial;
    return;
}

sub cleanup {
    my ($env, $handlers) = @_;
    if ($phase == SILENT) {
        head(500, []);
        $phase = ENDED;
    }
    finish();
    for my $handler (@$handlers) {
        eval { $handler->($env); 1 } or complain("$env->{REQUEST_METHOD} $env->{REQUEST_URI}: cleanup: $@");
    }
    return;
}

# A line of the log, of whatever ends like one or not.
sub complain {
    my ($text) = @_;
    local ($,, $\);
    $text .= "\n" if $text !~ /\n\z/;
    return print STDERR $text;
}

package Corral::PSGI::Writer;

sub write {
    return Corral::PSGI::add(@_);
}

sub close {
    return Corral::PSGI::end(@_);
}

# psgi.errors: each text becomes a line.
package Corral::PSGI::Errors;

sub TIEHANDLE {
    my ($class) = @_;
    return bless [], $class;
}

sub PRINT {
    my (undef, @texts) = @_;
    return Corral::PSGI::complain(join($, // '', @texts) . ($\ // ''));
}

sub PRINTF {
    my (undef, $format, @values) = @_;
    return Corral::PSGI::complain(sprintf $format, @values);
}

sub WRITE {
    my (undef, $text, $length, $offset) = @_;
    my $piece = substr $text, $offset // 0, $length // length $text;
    return Corral::PSGI::complain($piece) && length $piece;
}

sub FILENO  { return fileno STDERR }
sub BINMODE { return 1 }
sub CLOSE   { return 1 }

package Corral::PSGI::Exit;

sub new {
    my ($class, $code) = @_;
    return bless \$code, $class;
}

1;
