//! Rack: the examples of its specification and what applications get away with under Puma.

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
    application: |site| json!({ "type": "ruby", "script": site.path("config.ru") }),
};

fn write(site: &Site, habits: &[Habit]) {
    site.write("config.ru", DISPATCHER);
    for habit in habits {
        site.write(&format!("habits/{}.rb", habit.name), habit.source);
    }
}

/// Gives a request to the application that a file ends with, the one that its path names.
const DISPATCHER: &str = "
LOADED = Hash.new do |loaded, name|
  path = File.join(__dir__, 'habits', \"#{name}.rb\")
  loaded[name] = eval(File.read(path), TOPLEVEL_BINDING.dup, path)
end

run lambda { |env|
  name = env['PATH_INFO'].split('/')[1]
  name ? LOADED[name].call(env) : [200, {}, []]
}
";

#[test]
fn rack_as_puma() {
    LANGUAGE.compare(&Reference {
        name: "puma",
        command: puma,
        is_refusal: |reply| reply.status == 500 && reply.fields.is_empty(),
        differences: &[
            Difference {
                habits: &["raises_late"],
                because: "what has begun is cut off, and no other response put behind it",
            },
            Difference {
                habits: &["closes_badly"],
                because: "a response that is there stays whole when its body cannot be closed",
            },
            Difference {
                habits: &["environment"],
                because: "PATH_INFO is decoded and normalised, and a port that is the scheme's is no part of Host, \
                    as in Unit",
            },
        ],
    });
}

fn puma(_: &Site, address: SocketAddr) -> Command {
    let mut command = Command::new("/usr/bin/puma");
    command.args(["--bind", &format!("tcp://{address}"), "--threads", "2:2", "--environment", "production"]);
    command.arg("config.ru");
    command
}
