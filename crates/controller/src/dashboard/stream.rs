//! `GET /events`: a stream for browsers (server-sent events) with all figures at first, and then once a second what has
//! changed. One task serves all viewers, and only while there is one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use corral_config::json::Value;
use hyper::header::{HeaderName, HeaderValue};
use hyper::{Method, StatusCode};
use tokio::time::{MissedTickBehavior, interval_at, timeout};

use super::attention::Trends;
use super::hub::EventHub;
use super::log_lines::LogLine;
use super::log_rank::LogRank;
use super::log_tail::LogTail;
use super::merge_patch::patch;
use super::past::Totals;
use super::snapshot::{self, Moment};
use super::usage::Usage;
use super::viewers::{JoinError, MOST_VIEWERS, Viewer, ViewerWish};
use super::workers::WorkerLists;
use crate::api_request::ApiRequest;
use crate::query;
use crate::reply::ApiReply;
use crate::state::Controller;

/// How often figures are told.
const INTERVAL: Duration = Duration::from_secs(1);

/// How long routers may take to tell theirs.
const LONGEST_STATUS: Duration = Duration::from_secs(5);

const MEDIA_TYPE: &str = "text/event-stream";

/// Answers a request for the stream.
pub(crate) fn answer(controller: &Controller, call: &ApiRequest<'_>) -> ApiReply {
    let hub = controller.event_hub();
    let wish = match wish(call.target) {
        Ok(wish) => wish,
        Err(detail) => return ApiReply::invalid_query(&detail),
    };
    if *call.method == Method::HEAD {
        return match hub.viewers.room() {
            Ok(()) => unbuffered(ApiReply::content(MEDIA_TYPE, Bytes::new())),
            Err(error) => refused(error),
        };
    }
    match hub.viewers.join(wish, call.grant.permission.clone(), Arc::clone(call.abort)) {
        Ok((body, must_start)) => {
            if must_start {
                tokio::spawn(serve(controller.clone()));
            }
            unbuffered(ApiReply::stream(MEDIA_TYPE, body))
        }
        Err(error) => refused(error),
    }
}

fn refused(error: JoinError) -> ApiReply {
    let (title, detail) = match error {
        JoinError::TooMany => ("Too many viewers.", format!("{MOST_VIEWERS} viewers look already.")),
        JoinError::Closed => ("Not now.", "This process is about to end; the next one answers.".to_owned()),
    };
    ApiReply::error_with_detail(StatusCode::SERVICE_UNAVAILABLE, title, &detail)
}

fn wish(target: &str) -> Result<ViewerWish, String> {
    let log = match query::text(target, "log")? {
        None => None,
        Some(name) => Some(LogRank::of(&name).ok_or_else(|| {
            "The \"log\" query parameter must be \"debug\", \"info\", \"notice\", \"warn\" or \"error\"."
                .to_owned()
        })?),
    };
    Ok(ViewerWish { application: query::text(target, "application")?, log })
}

/// For what stands between: neither keep it nor wait for more of it.
fn unbuffered(reply: ApiReply) -> ApiReply {
    let buffering = HeaderName::from_static("x-accel-buffering");
    reply.uncached().with_field(buffering, HeaderValue::from_static("no"))
}

/// Tells all viewers each second what has changed, until there is none.
async fn serve(controller: Controller) {
    let hub = controller.event_hub().clone();
    let _guard = PanicGuard(hub.clone());
    let mut teller = Teller::new(controller);
    // The first viewer itself brings the first look: `join` has told of it before this task began.
    let mut ticks = interval_at(tokio::time::Instant::now() + INTERVAL, INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let is_tick = tokio::select! {
            _ = ticks.tick() => true,
            () = hub.viewers.changed() => false,
        };
        let viewers = hub.viewers.all(Instant::now());
        if viewers.is_empty() {
            return;
        }
        teller.tell(&viewers, is_tick).await;
    }
}

/// An error of this program ends the streams: their clients begin anew.
struct PanicGuard(EventHub);

impl Drop for PanicGuard {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.viewers.end_all();
        }
    }
}

/// The state of the task that serves viewers.
struct Teller {
    controller: Controller,
    trends: Trends,
    log: LogTail,
    workers: WorkerLists,
    last: Option<Told>,
    /// The number of the last message.
    n_told: u64,
}

/// The object that viewers have.
struct Told {
    value: Value,
    /// The workers of each application that a viewer looks at.
    workers: BTreeMap<String, Arc<Value>>,
}

impl Teller {
    fn new(controller: Controller) -> Self {
        Self {
            controller,
            trends: Trends::default(),
            log: LogTail::new(),
            workers: WorkerLists::default(),
            last: None,
            n_told: 0,
        }
    }

    /// A viewer that has come between two ticks gets what others have.
    async fn tell(&mut self, viewers: &[Arc<Viewer>], is_tick: bool) {
        if is_tick || self.last.is_none() {
            self.look(viewers).await;
        }
        let now = Instant::now();
        if let Some(last) = &self.last {
            let new: Vec<_> = viewers.iter().filter(|viewer| viewer.is_new()).collect();
            if !new.is_empty() {
                self.n_told += 1;
                let past = self.controller.event_hub().past().value(snapshot::seconds(SystemTime::now()));
                let text = last.value.compact();
                let text = with_member(&text, "past", &past.compact());
                for viewer in &new {
                    viewer.send(
                        event("snapshot", Some(self.n_told), &last.for_viewer(&text, &viewer.wish)),
                        now,
                    );
                }
                self.tell_last_lines(&new, now).await;
            }
        }
        viewers.iter().for_each(|viewer| viewer.break_silence(now));
    }

    /// Takes the figures of this moment, and tells viewers how they differ from those before.
    async fn look(&mut self, viewers: &[Arc<Viewer>]) {
        let Some(value) = self.figures().await else { return };
        let wanted: BTreeSet<_> =
            viewers.iter().filter_map(|viewer| viewer.wish.application.as_deref()).collect();
        self.workers.look(&self.controller, &wanted).await;
        let next = Told { value, workers: self.workers.known() };
        let now = Instant::now();
        if let Some(last) = self.last.replace(next) {
            self.n_told += 1;
            self.tell_changes(&last, viewers, now);
        }
        self.tell_new_lines(viewers, now).await;
    }

    async fn figures(&mut self) -> Option<Value> {
        let status = timeout(LONGEST_STATUS, self.controller.figures()).await.ok()??;
        let (now, time) = (Instant::now(), SystemTime::now());
        let usage = Usage::of(&status);
        self.trends.note(&status, now);
        self.controller.event_hub().past().add(Totals::of(&status, usage, now, snapshot::seconds(time)));
        let certificates = self.controller.engine().status();
        let moment =
            Moment { status: &status, certificates: &certificates, trends: &self.trends, usage, now: time };
        Some(snapshot::value(&self.controller, &moment))
    }

    fn tell_changes(&self, last: &Told, viewers: &[Arc<Viewer>], now: Instant) {
        let Some(next) = &self.last else { return };
        let common = patch(&last.value, &next.value).map_or_else(|| b"{}".to_vec(), |patch| patch.compact());
        let mut messages: BTreeMap<Option<&str>, Bytes> = BTreeMap::new();
        for viewer in viewers.iter().filter(|viewer| !viewer.is_new()) {
            let name = viewer.wish.application.as_deref();
            let message = messages.entry(name).or_insert_with(|| {
                let text = match name.and_then(|name| workers_patch(last, next, name)) {
                    Some(patch) => with_member(&common, "workers", &patch.compact()),
                    None => common.clone(),
                };
                if text == b"{}" { Bytes::new() } else { event("change", Some(self.n_told), &text) }
            });
            if !message.is_empty() {
                viewer.send(message.clone(), now);
            }
        }
    }

    async fn tell_new_lines(&mut self, viewers: &[Arc<Viewer>], now: Instant) {
        if !viewers.iter().any(|viewer| viewer.wish.log.is_some()) {
            // Lines that came meanwhile would be missing.
            self.log = LogTail::new();
            return;
        }
        let lines = self.log.read(self.controller.main(), now).await;
        for viewer in viewers.iter().filter(|viewer| !viewer.is_new()) {
            let Some(least) = viewer.wish.log else { continue };
            send_lines(viewer, lines.iter().filter(|line| line.is_for(least)), now);
        }
    }

    async fn tell_last_lines(&mut self, new: &[&Arc<Viewer>], now: Instant) {
        if !new.iter().any(|viewer| viewer.wish.log.is_some()) {
            return;
        }
        if !self.log.is_open() {
            self.log.read(self.controller.main(), now).await;
        }
        for viewer in new {
            if let Some(least) = viewer.wish.log {
                send_lines(viewer, self.log.last(least).into_iter(), now);
            }
        }
    }
}

impl Told {
    /// The object for a viewer, as text.
    fn for_viewer(&self, text: &[u8], wish: &ViewerWish) -> Vec<u8> {
        let workers = wish.application.as_ref().and_then(|name| self.workers.get(name));
        workers.map_or_else(|| text.to_vec(), |workers| with_member(text, "workers", &workers.compact()))
    }
}

/// The patch of the member `workers` for those that look at an application.
fn workers_patch(last: &Told, next: &Told, name: &str) -> Option<Value> {
    match (last.workers.get(name), next.workers.get(name)) {
        (Some(last), Some(next)) => patch(last, next),
        (None, next) => next.map(|next| Value::clone(next)),
        (Some(_), None) => Some(Value::Null),
    }
}

fn send_lines<'a>(viewer: &Viewer, lines: impl Iterator<Item = &'a LogLine>, now: Instant) {
    let lines: Vec<_> = lines.map(LogLine::value).collect();
    if !lines.is_empty() {
        viewer.send(event("log", None, &Value::Array(lines).compact()), now);
    }
}

/// One message. JSON in one line has no ends of lines in it.
fn event(name: &str, id: Option<u64>, data: &[u8]) -> Bytes {
    let id = id.map_or_else(String::new, |id| format!("id: {id}\n"));
    [format!("event: {name}\n{id}data: ").as_bytes(), data, b"\n\n"].concat().into()
}

/// The text of an object with one more member.
fn with_member(text: &[u8], name: &str, value: &[u8]) -> Vec<u8> {
    let begin = text.strip_suffix(b"}").unwrap_or(text);
    let comma = if begin.ends_with(b"{") { "" } else { "," };
    [begin, format!("{comma}\"{name}\":").as_bytes(), value, b"}"].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_those_of_the_standard() {
        assert_eq!(event("change", Some(7), b"{}"), "event: change\nid: 7\ndata: {}\n\n");
        assert_eq!(event("log", None, b"[]"), "event: log\ndata: []\n\n");
        let text = Value::from("a\nb\rc\u{2028}d").compact();
        assert!(!event("log", None, &text)[..].trim_ascii_end().ends_with(b"\n"));
        assert_eq!(event("log", None, &text).iter().filter(|byte| **byte == b'\n').count(), 3);
    }

    #[test]
    fn members_are_added_to_texts() {
        assert_eq!(with_member(b"{}", "a", b"1"), b"{\"a\":1}");
        assert_eq!(with_member(b"{\"b\":{}}", "a", b"null"), b"{\"b\":{},\"a\":null}");
    }

    #[test]
    fn wishes_are_read_from_the_query() {
        assert_eq!(wish("/events"), Ok(ViewerWish::default()));
        let all = wish("/events?application=a%20b&log=warn").unwrap();
        assert_eq!(all, ViewerWish { application: Some("a b".to_owned()), log: Some(LogRank::Warn) });
        assert!(wish("/events?log=loud").unwrap_err().contains("\"log\""));
        assert!(wish("/events?application=%ff").is_err());
    }
}
