//! A small project with the files, the variables and the commands of one that has Octane.

use std::os::unix::fs::symlink;
use std::process::Command;

use corral_testkit::{Address, Client, Request, Response, Run, Site, eventually, executables, site};
use serde_json::Value;

/// Does what the published one does: it ends with 1 unless it is a worker, reads how many requests there may be, and
/// asks for one after the other until it is told to end.
const SCRIPT: &str = r#"<?php
if (!($_SERVER['FRANKENPHP_WORKER'] ?? false) || !function_exists('frankenphp_handle_request')) {
    echo 'a worker is needed';
    exit(1);
}
ignore_user_abort(true);
if (!is_string($_SERVER['APP_BASE_PATH'] ?? $_ENV['APP_BASE_PATH'] ?? null)) {
    echo 'no base path';
    exit(11);
}
require $_SERVER['APP_BASE_PATH'] . '/app/code.php';
$n = 0;
$most = (int) ($_ENV['MAX_REQUESTS'] ?? $_SERVER['MAX_REQUESTS'] ?? 1000);
set_time_limit((int) ($_ENV['REQUEST_MAX_EXECUTION_TIME'] ?? $_SERVER['REQUEST_MAX_EXECUTION_TIME'] ?? 0));
$handler = static function () use (&$n) {
    switch (strtok($_SERVER['REQUEST_URI'], '?')) {
        case '/fails': http_response_code(500); echo 'failed'; break;
        case '/logs': fwrite(fopen('php://stderr', 'w'), "{\"type\":\"throwable\",\"message\":\"a\\\\b\"}\n"); break;
        case '/long': header('Content-Type: text/plain'); echo str_repeat('text ', 1000); break;
        default: echo json_encode([code(), getmypid(), $n + 1, $_SERVER['REQUEST_URI'], getcwd()]);
    }
};
while ($n < $most && frankenphp_handle_request($handler)) {
    $n++;
}
"#;

/// Has the directives of the published file, in its order.
pub(super) const CADDYFILE: &str = include_str!("../../../../corral/src/frankenphp/testdata/Caddyfile");

/// The project, and where it is served.
pub(super) struct Project {
    pub(super) site: Site,
    pub(super) address: Address,
    pub(super) admin: Address,
    variables: Vec<(&'static str, String)>,
}

impl Project {
    pub(super) fn new() -> Self {
        let site = site()
            .file("public/frankenphp-worker.php", SCRIPT)
            .file("public/index.php", "<?php echo 'classic';")
            .file("public/index.html", "the page of a folder")
            .file("public/app.css", "a{}")
            .file("public/data.bin", "data")
            .file("public/.htaccess", "secret")
            .file("app/code.php", code("first"))
            .file("Caddyfile", CADDYFILE);
        symlink(&executables().corral, site.path("frankenphp")).expect("make the link");
        let (address, admin) = (Address::fresh(), Address::fresh());
        let path = |name: &str| site.path(name).display().to_string();
        let variables = vec![
            ("APP_ENV", "local".to_owned()),
            ("APP_BASE_PATH", path("")),
            ("APP_PUBLIC_PATH", path("public")),
            ("LARAVEL_OCTANE", "1".to_owned()),
            ("MAX_REQUESTS", "100000".to_owned()),
            ("REQUEST_MAX_EXECUTION_TIME", "30".to_owned()),
            ("CADDY_GLOBAL_OPTIONS", "auto_https disable_redirects".to_owned()),
            ("CADDY_SERVER_ADMIN_HOST", admin.socket().ip().to_string()),
            ("CADDY_SERVER_ADMIN_PORT", admin.socket().port().to_string()),
            ("CADDY_SERVER_LOG_LEVEL", "INFO".to_owned()),
            ("CADDY_SERVER_LOGGER", "json".to_owned()),
            ("CADDY_SERVER_SERVER_NAME", format!("http://{address}")),
            ("CADDY_SERVER_WORKER_COUNT", "2".to_owned()),
            ("CADDY_SERVER_WORKER_DIRECTIVE", "num 2".to_owned()),
            ("CADDY_SERVER_EXTRA_DIRECTIVES", String::new()),
            ("CADDY_SERVER_WATCH_DIRECTIVES", String::new()),
        ];
        Self { site, address, admin, variables }
    }

    /// One whose `address` has a port for listeners on all addresses, as names of hosts want it.
    pub(super) fn on_all_addresses() -> Self {
        Self { address: Address::on_all_addresses(), ..Self::new() }
    }

    /// Another value for a variable.
    pub(super) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.variables.retain(|(known, _)| *known != name);
        self.variables.push((name, value.into()));
        self
    }

    pub(super) fn without(mut self, name: &str) -> Self {
        self.variables.retain(|(known, _)| *known != name);
        self
    }

    pub(super) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.site.path("frankenphp"));
        let variables = self.variables.iter().map(|(name, value)| (name, value));
        command.args(arguments).current_dir(self.site.path("")).envs(variables);
        command
    }

    /// As Octane starts it, and waits until it serves.
    #[track_caller]
    pub(super) fn start(&self) -> Run {
        let mut run = self.start_silently();
        run.expect_output("serving ");
        run
    }

    /// The same where nothing is said of it.
    pub(super) fn start_silently(&self) -> Run {
        let caddyfile = self.site.path("Caddyfile").display().to_string();
        Run::spawn(&mut self.command(&["run", "-c", &caddyfile]))
    }

    pub(super) fn connect(&self) -> Client {
        eventually("it accepts connections", || Client::try_connect_http1(self.address.socket()).ok())
    }

    #[track_caller]
    pub(super) fn get(&self, path: &str) -> Response {
        self.connect().get(path)
    }

    /// A call of Octane.
    #[track_caller]
    pub(super) fn call(&self, request: &Request) -> Response {
        let mut client =
            eventually("the calls are answered", || Client::try_connect_http1(self.admin.socket()).ok());
        client.send(request)
    }

    /// The call by which Octane has the workers started anew.
    #[track_caller]
    pub(super) fn reload(&self) -> Response {
        let document = self.call(&Request::get(CONFIGURATION)).expect(200).body;
        let request = Request::new("PATCH", CONFIGURATION)
            .field("Cache-Control", "must-revalidate")
            .field("Content-Type", "application/json")
            .field("Content-Length", &document.len().to_string())
            .body(document);
        self.call(&request)
    }

    /// The worker's answer: its code, its process, its number of the request, the target, the folder.
    #[track_caller]
    pub(super) fn told(&self, path: &str) -> (String, u64, u64, String, String) {
        serde_json::from_str::<Value>(&self.get(path).expect(200).text())
            .and_then(serde_json::from_value)
            .expect("the worker answers so")
    }
}

pub(super) const CONFIGURATION: &str = "/config/apps/frankenphp";

/// A file that the worker loads when it starts.
pub(super) fn code(word: &str) -> String {
    format!("<?php function code() {{ return '{word}'; }}")
}
