//! Questions and expectations that many tests have of a daemon.

use serde_json::{Value, json};

use crate::client::Client;
use crate::daemon::Daemon;
use crate::request::Request;
use crate::wait::{PATIENCE, within};

impl Daemon {
    /// Sends a request on a connection of its own, and does not wait for the response.
    #[must_use]
    #[track_caller]
    pub fn begin(&self, request: &Request) -> Client {
        let mut client = self.connect();
        client.write(request.encode());
        client
    }

    /// Sends GETs on connections of their own, and does not wait for the responses.
    #[must_use]
    #[track_caller]
    pub fn begin_all(&self, target: &str, n: usize) -> Vec<Client> {
        let request = Request::get(target);
        (0..n).map(|_| self.begin(&request)).collect()
    }

    /// Sends a GET, and waits until the application `app`, which has nothing else to do, has to do with it.
    #[must_use]
    #[track_caller]
    pub fn begin_running(&self, target: &str) -> Client {
        let client = self.begin(&Request::get(target));
        let is_active = || {
            let status = self.control().get("/status/applications/app").json();
            (status["requests"]["active"] == 1).then_some(())
        };
        assert!(within(PATIENCE, is_active).is_some(), "{target} is not active\n{}", self.log());
        client
    }

    /// Asks for `/bad?x`, which fails with this status, and is logged with its target as this text unless that is
    /// empty. The same process says so at `/ok` before and after.
    #[track_caller]
    pub fn expect_failure(&self, status: u16, logged: &str) {
        let before = self.get("/ok").expect(200).text();
        self.get("/bad?x").expect(status);
        self.get("/ok").expect(200).expect_body(&before);
        if !logged.is_empty() {
            self.expect_log(logged);
            self.expect_log("GET /bad?x: ");
        }
    }

    /// Asks for this application, called `app`, which cannot be started; returns why.
    #[track_caller]
    pub fn expect_refused(&self, app: &Value) -> String {
        let config = self.with_listener(json!({ "applications": { "app": app } }));
        self.control().put("/config", &config).expect_refused(500, "Failed to apply new configuration.")
    }
}
