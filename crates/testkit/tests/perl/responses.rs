//! All forms that a response can have.

use corral_testkit::{Request, eventually};

use super::serve;

#[test]
fn an_array() {
    let (server, _site) =
        serve("[200, ['Content-Type' => 'text/plain', 'X-A' => 1, 'X-A' => 2], ['a', undef, 'b', '', 'c']]");
    let response = server.get("/").expect(200).expect_body("abc").expect_field("Content-Type", "text/plain");
    assert_eq!(response.all("X-A").collect::<Vec<_>>(), ["1", "2"]);
    server.send(&Request::new("HEAD", "/")).expect(200).expect_body("");
}

#[test]
fn a_handle() {
    let (server, site) = serve("open my $fh, '<', 'large.bin' or die $!; [200, [], $fh]");
    let content: Vec<u8> = (0..3_000_000_u32).map(|i| (i % 253) as u8).collect();
    site.write("large.bin", &content);
    server.get("/").expect(200).expect_body(content);
}

#[test]
fn a_handle_that_was_never_opened_is_an_empty_body() {
    let (server, _site) = serve("[200, ['X-A' => 1], IO::Handle->new]");
    server.get("/").expect(200).expect_field("X-A", "1").expect_body("");
}

#[test]
fn an_object_with_getline_is_closed() {
    let (server, _site) = serve(
        r"{ package Lines;
            sub new { my ($class, @lines) = @_; bless \@lines, $class }
            sub getline { shift @{$_[0]} }
            sub close { warn 'it was closed' } }
          [200, [], Lines->new('one ', 'two ', 'three')]",
    );
    server.get("/").expect(200).expect_body("one two three");
    server.expect_log("it was closed");
}

#[test]
fn a_delayed_response() {
    let (server, _site) =
        serve("sub { my ($respond) = @_; $respond->([202, ['X-Late' => 'yes'], ['later']]) }");
    server.get("/").expect(202).expect_field("X-Late", "yes").expect_body("later");
}

/// Four times what may be on the way: the worker waits for its client.
#[test]
fn a_large_body_of_many_pieces() {
    let (server, _site) = serve("[200, [], [map { chr(65 + $_ % 26) x 1000 } 1 .. 4000]]");
    let body = server.get("/").expect(200).text();
    assert_eq!(body.len(), 4_000_000);
    assert!(body.starts_with("BBB") && body.ends_with("WWW"), "{}", &body[body.len() - 10..]);
}

#[test]
fn what_is_to_be_done_afterwards_does_not_keep_the_client() {
    let (server, site) = serve(
        r"push @{$env->{'psgix.cleanup.handlers'}}, sub { select undef, undef, undef, 0.01 until -e 'go on'; warn 'cleaned up' };
          [200, [], ['done']]",
    );
    server.get("/").expect(200).expect_body("done");
    site.write("go on", "");
    server.expect_log("cleaned up");
}

#[test]
fn an_application_can_have_its_worker_replaced() {
    let (server, _site) =
        serve("$env->{'psgix.harakiri.commit'} = 1 if $env->{PATH_INFO} eq '/end'; [200, [], [$$]]");
    let first = server.get("/end").expect(200).text();
    eventually("another worker answers", || (server.get("/").expect(200).text() != first).then_some(()));
}

/// A body that has nothing to say is an empty one, whether or not it can be closed. PSGI promises what `$/` is.
#[test]
fn bodies_that_are_like_handles() {
    let (server, _site) = super::serve_script(
        r#"package Fake;
           sub new { my ($class, @pieces) = @_; return bless [@pieces], $class }
           sub getline { my ($self) = @_; return shift @$self if @$self; return }
           package Told; our @ISA = 'Fake';
           sub getline { my ($self) = @_; return $self->[0]++ ? undef : 'read by ' . ref($/) . ' ' . (${$/} >= 8192 ? 'large' : 'small') }
           sub close { die "cannot be closed\n" }
           sub {
               my ($env) = @_;
               my ($path) = $env->{PATH_INFO} =~ m{(\w*)$};
               return [200, [], Told->new(0)] if $path eq 'told';
               return [200, [], Fake->new(map { $_ eq '-' ? '' : $_ } split //, $env->{QUERY_STRING})];
           };"#,
    );
    let mut client = server.connect();
    client.get("/fake").expect(200).expect_body("");
    client.get("/fake?ab-c").expect(200).expect_body("abc");
    client.get("/told").expect(200).expect_body("read by SCALAR large");
    server.expect_log("cannot be closed");
    client.get("/fake").expect(200).expect_body("");
}
