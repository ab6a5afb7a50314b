//! WSGI: the examples of PEP 3333 and what applications get away with under gunicorn and uWSGI.

mod examples;
mod liberties;

use std::net::SocketAddr;
use std::process::Command;

use corral_testkit::Site;
use serde_json::json;

use super::habit::{Difference, Habit, Language, Reference};
use super::reply::End;

const LANGUAGE: Language = Language {
    habits: &[examples::HABITS, liberties::HABITS],
    write,
    application: |site| json!({ "type": "python", "path": site.root(), "module": "app" }),
};

fn write(site: &Site, habits: &[Habit]) {
    site.write("app.py", DISPATCHER);
    for habit in habits {
        site.write(&format!("habits/{}.py", habit.name), habit.source);
    }
}

/// Gives a request to the module that its path names.
const DISPATCHER: &str = "
import importlib

def application(environ, start_response):
    name = environ['PATH_INFO'].split('/')[1]
    if not name:
        start_response('200 OK', [])
        return []
    return importlib.import_module('habits.' + name).application(environ, start_response)
";

#[test]
fn wsgi_as_gunicorn() {
    LANGUAGE.compare(&Reference {
        name: "gunicorn",
        command: gunicorn,
        is_refusal: |reply| {
            // Behind its own pages it ends the connection.
            let is_page = reply.status >= 400 && reply.fields == [("content-type".into(), "text/html".into())];
            is_page && matches!(reply.end, End::Complete { goes_on: false })
        },
        differences: &[
            Difference {
                habits: &["error_before_the_head"],
                because: "fields of the response that is replaced belong to nobody, as PEP 3333 says",
            },
            Difference { habits: &["environment"], because: "fields of one name are joined with a space, as in Unit" },
            Difference { habits: &["paths"], because: "PATH_INFO is normalised, as in Unit" },
            Difference {
                habits: &["one_bytes", "one_bytes_after_write"],
                because: "Unit and uWSGI send it, gunicorn fails behind the head",
            },
            Difference {
                habits: &["one_str", "pieces_of_str", "pieces_of_bytearray"],
                because: "gunicorn sends the head before it looks at the body and fails",
            },
            Difference {
                habits: &["status_that_breaks_the_line"],
                because: "the words of a status are not sent, as in Unit, so they break nothing",
            },
            Difference {
                habits: &["fields_of_the_connection"],
                because: "fields that speak of the connection, and that gunicorn leaves out, are left in as in Unit",
            },
        ],
    });
}

fn gunicorn(_: &Site, address: SocketAddr) -> Command {
    let mut command = Command::new("/usr/bin/gunicorn");
    command.args(["--bind", &address.to_string(), "--threads", "2", "--keep-alive", "20"]);
    command.args(["--graceful-timeout", "1", "app:application"]);
    command
}

#[test]
fn wsgi_as_uwsgi() {
    LANGUAGE.compare(&Reference {
        name: "uWSGI",
        command: uwsgi,
        // Its way to refuse is an empty response.
        is_refusal: |reply| reply.fields.is_empty() && reply.body.is_empty(),
        differences: &[
            Difference { habits: &["error_before_the_head"], because: "uWSGI loses the page of the error" },
            Difference {
                habits: &["error_behind_the_head", "raises_behind_the_head"],
                because: "whoever frames responses shows that one is cut",
            },
            Difference {
                habits: &["environment"],
                because: "fields of Cookie are joined with a semicolon, as browsers do it",
            },
            Difference { habits: &["paths"], because: "PATH_INFO is normalised, as in Unit" },
            Difference {
                habits: &["body"],
                because: "uWSGI's readline() takes no length, which PEP 3333 wants",
            },
            Difference {
                habits: &["one_str", "pieces_of_str", "pieces_of_bytearray"],
                because: "what is no bytes gets 500 and a line in the log in place of an empty page",
            },
            Difference {
                habits: &["raises_after_the_start"],
                because: "an exception gets 500, in place of an empty page",
            },
            Difference {
                habits: &[
                    "status_that_breaks_the_line",
                    "fields_that_break_the_line",
                    "fields_with_space_in_name",
                    "fields_without_name",
                ],
                because: "what would be read as another field or another response is refused",
            },
        ],
    });
}

fn uwsgi(_: &Site, address: SocketAddr) -> Command {
    let mut command = Command::new("/usr/bin/uwsgi");
    command.args(["--plugin", "python3", "--http-socket", &address.to_string(), "--die-on-term"]);
    command.args(["--need-app", "--module", "app:application"]);
    command
}
