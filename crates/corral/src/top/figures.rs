//! The figures of one moment: the parts of `/status` that are shown.

use std::collections::BTreeMap;

use corral_ipc::log::clean;
use serde_json::Value;

use crate::status::{application, members, number};

/// The figures of a daemon at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Figures {
    pub(super) version: String,
    pub(super) pid: u64,
    /// Seconds since the daemon was started.
    pub(super) uptime: u64,
    /// Connections of clients that have a request.
    pub(super) active: u64,
    /// Connections of clients that wait for one.
    pub(super) idle: u64,
    /// Requests since the router was started.
    pub(super) requests: u64,
    /// By their names, as the control API has them.
    pub(super) applications: BTreeMap<String, AppFigures>,
    pub(super) upstreams: BTreeMap<String, UpstreamFigures>,
    /// Everything that does not work, a line each.
    pub(super) faults: Vec<String>,
}

/// The figures of an application.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct AppFigures {
    pub(super) running: u64,
    pub(super) starting: u64,
    pub(super) idle: u64,
    /// Requests in progress.
    pub(super) active: u64,
    /// Requests that are over.
    pub(super) total: u64,
    /// Requests that were answered with 500 or above.
    pub(super) failed: u64,
    /// Milliseconds that all requests have taken.
    pub(super) duration_ms: u64,
    /// Bytes, when they are known.
    pub(super) memory: Option<u64>,
    /// Whether the processes cannot be started.
    pub(super) is_broken: bool,
    /// Further words, those of `corral status`.
    pub(super) remarks: Vec<String>,
}

/// The figures of the servers of an upstream, all together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct UpstreamFigures {
    pub(super) servers: u64,
    /// Servers that get requests.
    pub(super) up: u64,
    /// Requests in progress.
    pub(super) active: u64,
    pub(super) total: u64,
    /// Requests that wait for a server, where they may.
    pub(super) waiting: Option<u64>,
}

impl Figures {
    /// Reads the object of the control API.
    pub(super) fn of(status: &Value) -> Self {
        let (daemon, connections) = (&status["daemon"], &status["connections"]);
        let applications = members(&status["applications"]);
        let upstreams = members(&status["upstreams"]);
        Self {
            version: shown(daemon["version"].as_str().unwrap_or("of an unknown version")),
            pid: number(&daemon["pid"]),
            uptime: number(&daemon["uptime"]),
            active: number(&connections["active"]),
            idle: number(&connections["idle"]),
            requests: number(&status["requests"]["total"]),
            applications: applications.map(|(name, app)| (name.clone(), AppFigures::of(app))).collect(),
            upstreams: upstreams.map(|(name, group)| (name.clone(), UpstreamFigures::of(group))).collect(),
            faults: faults(status).iter().map(|fault| shown(fault)).collect(),
        }
    }
}

impl AppFigures {
    fn of(app: &Value) -> Self {
        let (processes, requests) = (&app["processes"], &app["requests"]);
        Self {
            running: number(&processes["running"]),
            starting: number(&processes["starting"]),
            idle: number(&processes["idle"]),
            active: number(&requests["active"]),
            total: number(&requests["total"]),
            failed: number(&requests["failed"]),
            duration_ms: number(&requests["duration_ms"]),
            memory: app["memory"].as_u64(),
            is_broken: app["last_error"].is_string(),
            remarks: application::remarks(app).iter().map(|remark| shown(remark)).collect(),
        }
    }

    /// Processes that have something to do.
    pub(super) fn busy(&self) -> u64 {
        self.running.saturating_sub(self.idle)
    }
}

impl UpstreamFigures {
    fn of(group: &Value) -> Self {
        let mut found = Self { waiting: group["waiting"].as_u64(), ..Self::default() };
        for (_, server) in members(&group["servers"]) {
            found.servers += 1;
            found.up += u64::from(server["state"] == "up");
            found.active = found.active.saturating_add(number(&server["requests"]["active"]));
            found.total = found.total.saturating_add(number(&server["requests"]["total"]));
        }
        found
    }
}

/// Everything that does not work, a line each.
fn faults(status: &Value) -> Vec<String> {
    let error = |of: &Value| of["last_error"].as_str().map(str::to_owned);
    let mut found = Vec::new();
    found.extend(error(&status["daemon"]).map(|error| format!("the last upgrade has failed: {error}")));
    found.extend(error(&status["config"]).map(|error| format!("configuration: {error}")));
    for (address, listener) in members(&status["listeners"]) {
        found.extend(error(listener).map(|error| format!("listener {address} does not listen: {error}")));
    }
    for (name, app) in members(&status["applications"]) {
        found.extend(error(app).map(|error| format!("application \"{name}\": {error}")));
        found.extend(error(&app["queue"]).map(|error| format!("the queue of \"{name}\": {error}")));
    }
    for (name, group) in members(&status["upstreams"]) {
        for (address, server) in members(&group["servers"]) {
            let state = match server["state"].as_str() {
                Some("down") => "is down",
                Some("avoided") => "is avoided after failures",
                _ => continue,
            };
            found.push(format!("server {address} of upstream \"{name}\" {state}"));
        }
    }
    for (name, certificate) in members(&status["certificates"]) {
        let state = certificate["state"].as_str().unwrap_or("unknown");
        match error(certificate) {
            Some(error) => found.push(format!("certificate {name} is {state}: {error}")),
            None if ["failed", "expired"].contains(&state) => {
                found.push(format!("certificate {name} is {state}"));
            }
            None => {}
        }
    }
    found
}

/// A text in one line, without what moves the cursor or changes colours.
pub(super) fn shown(text: &str) -> String {
    clean(text).replace('\t', " ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn figures_are_read() {
        let status = json!({
            "daemon": {"version": "1.2.3", "pid": 7, "uptime": 66},
            "connections": {"active": 1, "idle": 2},
            "requests": {"total": 33},
            "applications": {"shop": {
                "processes": {"running": 8, "starting": 1, "idle": 5},
                "requests": {"active": 4, "total": 20, "failed": 2, "duration_ms": 100},
                "memory": 1024,
                "last_error": "it does not\u{1b}[2J load"
            }, "idle": {}},
            "upstreams": {"backend": {"waiting": 3, "servers": {
                "127.0.0.1:1": {"state": "up", "requests": {"active": 1, "total": 5}},
                "127.0.0.1:2": {"state": "down", "requests": {"active": 0, "total": 6}}
            }}}
        });
        let figures = Figures::of(&status);
        assert_eq!((&*figures.version, figures.pid, figures.uptime, figures.requests), ("1.2.3", 7, 66, 33));
        let shop = &figures.applications["shop"];
        assert_eq!((shop.busy(), shop.active, shop.total, shop.memory), (3, 4, 20, Some(1024)));
        assert!(
            shop.is_broken && shop.remarks.contains(&"last error: it does not\\u{1b}[2J load".to_owned())
        );
        assert_eq!(figures.applications["idle"], AppFigures::default());
        let backend = UpstreamFigures { servers: 2, up: 1, active: 1, total: 11, waiting: Some(3) };
        assert_eq!(figures.upstreams["backend"], backend);
    }

    #[test]
    fn faults_are_in_words() {
        let status = json!({
            "daemon": {"last_error": "no executable"},
            "config": {"last_error": "a disk is full"},
            "listeners": {"*:80": {"state": "up"}, "*:81": {"state": "down", "last_error": "it is in use"}},
            "applications": {"shop": {"last_error": "it\ndies", "queue": {"last_error": "no server"}}},
            "upstreams": {"a": {"servers": {
                "b": {"state": "up"}, "c": {"state": "down"}, "d": {"state": "avoided"}
            }}},
            "certificates": {
                "e.example": {"state": "valid"},
                "f.example": {"state": "failed", "last_error": "it cannot connect"},
                "g.example": {"state": "expired"},
                "h.example": {"state": "valid", "last_error": "a limit"}
            }
        });
        let expected = [
            "the last upgrade has failed: no executable",
            "configuration: a disk is full",
            "listener *:81 does not listen: it is in use",
            "application \"shop\": it\\ndies",
            "the queue of \"shop\": no server",
            "server c of upstream \"a\" is down",
            "server d of upstream \"a\" is avoided after failures",
            "certificate f.example is failed: it cannot connect",
            "certificate g.example is expired",
            "certificate h.example is valid: a limit",
        ];
        assert_eq!(Figures::of(&status).faults, expected);
        assert!(Figures::of(&json!({})).faults.is_empty());
    }
}
