//! PSGI: the examples of its specification and what applications get away with under Starman.

mod examples;
mod liberties;

use std::net::SocketAddr;
use std::process::Command;

use corral_testkit::Site;
use serde_json::json;

use super::habit::{Difference, Habit, Language, Reference};

const LANGUAGE: Language = Language {
    habits: &[examples::HABITS, liberties::HABITS],
    write,
    application: |site| json!({ "type": "perl", "script": site.path("app.psgi") }),
};

fn write(site: &Site, habits: &[Habit]) {
    site.write("app.psgi", DISPATCHER);
    for habit in habits {
        site.write(&format!("habits/{}.pl", habit.name), habit.source);
    }
}

/// Gives a request to the application that a file ends with, the one that its path names.
const DISPATCHER: &str = r"
my %loaded;
sub {
    my ($env) = @_;
    my ($name) = $env->{PATH_INFO} =~ m{^/(\w+)} or return [200, [], []];
    $loaded{$name} //= do qq{./habits/$name.pl} || die qq{$name: $@ $!};
    return $loaded{$name}->($env);
};
";

#[test]
fn psgi_as_starman() {
    LANGUAGE.compare(&Reference {
        name: "starman",
        command: starman,
        is_refusal: |reply| {
            let is_page = reply.body.is_empty() || reply.body == b"Internal Server Error";
            reply.status == 500 && is_page && reply.fields == [("content-type".into(), "text/plain".into())]
        },
        differences: &[
            Difference {
                habits: &["chunked", "chunks"],
                because: "Starman puts into chunks what is in chunks, so that the sizes are seen",
            },
            Difference {
                habits: &["wide_characters"],
                because: "what cannot be sent is an error, and not an empty response",
            },
            Difference { habits: &["own_fields"], because: "Status is for CGI, and left out as by Unit" },
            Difference { habits: &["environment"], because: "PATH_INFO is normalised, as in Unit" },
        ],
    });
}

fn starman(_: &Site, address: SocketAddr) -> Command {
    let mut command = Command::new("/usr/bin/starman");
    command.args(["--listen", &address.to_string(), "--workers", "1", "--keepalive-timeout", "20"]);
    command.args(["--env", "deployment", "app.psgi"]);
    command
}
