//! A runtime under test: how its application is configured, and where it differs from the others by its nature.

use std::ops::{Deref, DerefMut};
use std::path::Path;

use corral_testkit::{Daemon, Site, daemon, site};
use serde_json::{Value, json};

/// A row of the table.
#[derive(Debug, Clone)]
pub(crate) struct Runtime {
    /// The file of the application, in `apps/`.
    pub(crate) file: &'static str,
    /// Further files of `apps/` that this one needs.
    pub(crate) beside: &'static [&'static str],
    /// The application's configuration; the working directory is added.
    pub(crate) app: fn(&Site) -> Value,
    pub(crate) at_once: AtOnce,
    /// The answer when the application fails before there is a response.
    pub(crate) failure: u16,
    pub(crate) websockets: bool,
    /// Whether it leaves files to the server.
    pub(crate) files: bool,
    /// Whether an application may put its response into chunks itself.
    pub(crate) frames: bool,
    /// Behaviours that its interface does not permit, and why.
    pub(crate) exceptions: &'static [(&'static str, &'static str)],
}

/// Requests of one process at the same time.
#[derive(Debug, Clone)]
pub(crate) enum AtOnce {
    One,
    /// One, and four, with these options of the application.
    Several {
        one: Value,
        four: Value,
    },
}

/// A daemon that serves an application of the suite.
#[derive(Debug)]
pub(crate) struct Served {
    server: Daemon,
    pub(crate) site: Site,
}

impl Deref for Served {
    type Target = Daemon;

    fn deref(&self) -> &Daemon {
        &self.server
    }
}

impl DerefMut for Served {
    fn deref_mut(&mut self) -> &mut Daemon {
        &mut self.server
    }
}

/// Options and one more.
pub(crate) fn with(mut options: Value, name: &str, value: Value) -> Value {
    options[name] = value;
    options
}

impl Runtime {
    /// The options of a process that has four requests at once.
    #[track_caller]
    pub(crate) fn four(&self) -> Value {
        match &self.at_once {
            AtOnce::Several { four, .. } => four.clone(),
            AtOnce::One => panic!("{} has one request at a time", self.file),
        }
    }

    /// Whether this behaviour can be asked for. Says why not.
    pub(crate) fn permits(&self, area: &str, behaviour: &str) -> bool {
        let reason = if area == "websockets" && !self.websockets {
            Some("its interface has requests and responses only")
        } else if area == "files" && !self.files {
            Some("its interface has no files as responses")
        } else if area == "framing" && !self.frames {
            Some("chunks are made by its server")
        } else if area == "at_once" && matches!(self.at_once, AtOnce::One) {
            Some("a process runs one request at a time")
        } else {
            self.exceptions.iter().find(|(name, _)| *name == behaviour).map(|(_, reason)| *reason)
        };
        if let Some(reason) = reason {
            eprintln!("{} is excepted: {reason}", self.file);
        }
        reason.is_none()
    }

    /// Serves it with one process.
    #[track_caller]
    pub(crate) fn serve(&self) -> Served {
        self.serve_with(json!({}))
    }

    /// Serves it with further options.
    #[track_caller]
    pub(crate) fn serve_with(&self, options: Value) -> Served {
        let site = self.site();
        let server = daemon().config(self.config(&site, options)).start();
        Served { server, site }
    }

    /// Serves it at this listener.
    #[track_caller]
    pub(crate) fn serve_at(&self, listener: &Value) -> Served {
        let site = self.site();
        let server = daemon().start_unconfigured();
        let mut config = self.config(&site, json!({}));
        config["listeners"] = json!({ server.address().to_string(): listener });
        server.control().put("/config", &config).expect_done();
        Served { server, site }
    }

    fn config(&self, site: &Site, options: Value) -> Value {
        let mut app = (self.app)(site);
        app["working_directory"] = json!(site.root());
        let Value::Object(options) = options else { panic!("options are an object") };
        app.as_object_mut().expect("an application is an object").extend(options);
        json!({
            "applications": { "app": app },
            "settings": { "http": { "max_body_size": 20_000_000, "chunked_transform": true } }
        })
    }

    fn site(&self) -> Site {
        let apps = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/languages/apps");
        let read =
            |name: &str| std::fs::read(apps.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        let site = site().writable_folder("meet").file(self.file, read(self.file));
        self.beside.iter().fold(site, |site, name| site.file(name, read(name)))
    }
}
