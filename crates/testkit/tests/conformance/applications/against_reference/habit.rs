//! Languages, their habits and reference servers, and the comparison itself.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::process::Command;

use corral_testkit::{Daemon, Site, daemon, site};
use serde_json::{Value, json};

use super::reply::{End, Reply};
use super::server::Server;

/// How applications of a language are written.
pub(crate) struct Language {
    pub(crate) habits: &'static [&'static [Habit]],
    /// Writes one application that answers each path `/NAME…` as the habit of that name does.
    pub(crate) write: fn(&Site, &[Habit]),
    /// The same application in Corral's configuration.
    pub(crate) application: fn(&Site) -> Value,
}

/// A small application that takes a liberty, or does what its interface's specification shows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Habit {
    /// The first segment of the paths that it is asked for.
    pub(crate) name: &'static str,
    pub(crate) source: &'static str,
    pub(crate) asked: &'static [Asked],
    /// A part of the line that Corral logs about it, once.
    pub(crate) logged: Option<&'static str>,
}

/// A request as it is sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked {
    /// The bytes, with `{}` for the name of the habit.
    pub(crate) request: &'static str,
    /// The bytes that follow when the connection was upgraded.
    pub(crate) upgraded: &'static [u8],
}

impl Asked {
    pub(crate) const fn plainly(request: &'static str) -> Self {
        Self { request, upgraded: b"" }
    }
}

/// A server that runs applications of the language.
pub(crate) struct Reference {
    pub(crate) name: &'static str,
    /// Serves the application that `Language::write` wrote at this address.
    pub(crate) command: fn(&Site, SocketAddr) -> Command,
    /// Whether this is one of its own error pages. The body of a reply to HEAD is not there.
    pub(crate) is_refusal: fn(&Reply) -> bool,
    pub(crate) differences: &'static [Difference],
}

/// Habits that are answered in another way on purpose.
pub(crate) struct Difference {
    pub(crate) habits: &'static [&'static str],
    pub(crate) because: &'static str,
}

/// Requests for most habits.
pub(crate) const USUALLY: &[Asked] = &[
    Asked::plainly("GET /{} HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    Asked::plainly("GET /{} HTTP/1.0\r\n\r\n"),
    Asked::plainly("HEAD /{} HTTP/1.1\r\nHost: localhost\r\n\r\n"),
];

/// Requests for statuses that the query names: some have no body, and some are nobody's.
pub(crate) const STATUSES: &[Asked] = &[
    Asked::plainly("GET /{}?204 HTTP/1.1\r\nHost: a\r\n\r\n"),
    Asked::plainly("GET /{}?304 HTTP/1.1\r\nHost: a\r\n\r\n"),
    Asked::plainly("GET /{}?404 HTTP/1.1\r\nHost: a\r\n\r\n"),
    Asked::plainly("GET /{}?418 HTTP/1.1\r\nHost: a\r\n\r\n"),
    Asked::plainly("GET /{}?599 HTTP/1.1\r\nHost: a\r\n\r\n"),
];

impl Habit {
    pub(crate) const fn new(name: &'static str, source: &'static str) -> Self {
        Self { name, source, asked: USUALLY, logged: None }
    }

    pub(crate) const fn asked(self, asked: &'static [Asked]) -> Self {
        Self { asked, ..self }
    }

    /// Corral's log says this of it.
    pub(crate) const fn logged(self, line: &'static str) -> Self {
        Self { logged: Some(line), ..self }
    }

    fn request(&self, asked: &Asked) -> String {
        asked.request.replace("{}", self.name)
    }
}

impl Language {
    /// Fails where Corral and the reference server answer differently, with all that they have answered there.
    pub(crate) fn compare(&self, reference: &Reference) {
        let (site, habits) = (site(), self.habits.concat());
        (self.write)(&site, &habits);
        let mut app = (self.application)(&site);
        app["working_directory"] = json!(site.root());
        let theirs = Server::start(&site, reference);
        let ours = daemon().config(json!({ "applications": { "app": app } })).start();

        let (mut failures, mut differing) = (String::new(), BTreeSet::new());
        for habit in &habits {
            let report = habit.differences(&ours, &theirs, reference);
            if report.is_empty() {
                continue;
            }
            differing.insert(habit.name);
            if reference.difference(habit.name).is_none() {
                failures += &report;
            }
        }
        for difference in reference.differences {
            for name in difference.habits.iter().filter(|name| !differing.contains(*name)) {
                let because = difference.because;
                let _ =
                    writeln!(failures, "{name} is answered alike, so nothing is to be declared: {because}");
            }
        }
        look_at_log(&habits, &ours, &mut failures);
        assert!(failures.is_empty(), "Corral and {}:\n{failures}{}", reference.name, theirs.output());
    }
}

/// Expects each line about a habit in the log once, however often the habit was asked.
fn look_at_log(habits: &[Habit], server: &Daemon, failures: &mut String) {
    for (name, line) in habits.iter().filter_map(|habit| Some((habit.name, habit.logged?))) {
        let n = server.log().matches(line).count();
        if n != 1 {
            let _ = writeln!(failures, "{name}: the log has {line:?} {n} times, not once");
        }
    }
}

impl Habit {
    /// All that is answered in different ways.
    fn differences(&self, ours: &Daemon, theirs: &Server, reference: &Reference) -> String {
        let mut report = String::new();
        for asked in self.asked {
            let request = self.request(asked);
            let our_reply = Reply::to(ours.address().socket(), &request, asked.upgraded);
            let their_reply = Reply::to(theirs.address(), &request, asked.upgraded);
            if !are_alike(&our_reply, &their_reply, reference) {
                let _ = writeln!(
                    report,
                    "--- {request:?}\nCorral: {our_reply}\n{}: {their_reply}",
                    reference.name
                );
            }
        }
        report
    }
}

impl Reference {
    fn difference(&self, habit: &str) -> Option<&Difference> {
        self.differences.iter().find(|difference| difference.habits.contains(&habit))
    }
}

/// True if both replies agree. Where the reference server refuses, Corral may answer as it likes, if it answers.
fn are_alike(ours: &Reply, theirs: &Reply, reference: &Reference) -> bool {
    if !theirs.is_whole() || (reference.is_refusal)(theirs) {
        return ours.status > 0 && ours.end != End::Silent;
    }
    let has_ended_alike = match (ours.end, theirs.end) {
        // A connection may last longer than there.
        (End::Complete { goes_on }, End::Complete { goes_on: theirs }) => goes_on || !theirs,
        (ours, theirs) => ours == theirs,
    };
    has_ended_alike && ours.status == theirs.status && ours.content() == theirs.content()
}
