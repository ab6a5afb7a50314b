//! The table of runtimes: a function for each, which the list in `main.rs` names.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use corral_testkit::{component, executables, site};
use serde_json::json;

use crate::runtime::{AtOnce, Runtime};

/// Why some have nothing to say before the response.
const ONE_RESPONSE: &str = "its interface has one response to a request";

/// Why some wait for a request that computes.
const ONE_THREAD: &str = "its requests take turns in one thread";

/// Why ASGI cannot say what it was asked for.
const QUESTION_MARK: &str = "path and query are told apart, so that nobody sees a `?` with nothing behind it";

/// Why some cannot say nothing.
const NO_PIECES: &str = "its server keeps empty pieces to itself";

/// Why some have one level for all that they say.
const ONE_LEVEL: &str = "a program may say anything to standard error";

pub(crate) fn php() -> Runtime {
    Runtime {
        file: "index.php",
        beside: &[],
        app: |site| {
            // Its errors belong in the log.
            let admin = json!({ "display_errors": "0", "log_errors": "1" });
            json!({ "type": "php", "root": site.root(), "script": "index.php", "options": { "admin": admin } })
        },
        at_once: AtOnce::One,
        failure: 500,
        websockets: false,
        files: false,
        frames: true,
        exceptions: &[
            ("early_hints", ONE_RESPONSE),
            ("decoded_path", "there is the URI as sent, and a path of files for scripts"),
            ("working_directory", "a script runs in its own folder"),
            ("after_the_head", "PHP ends what a script has begun in order, in every server"),
        ],
    }
}

pub(crate) fn python() -> Runtime {
    Runtime {
        file: "wsgi.py",
        beside: &[],
        app: |site| json!({ "type": "python", "path": site.root(), "module": "wsgi" }),
        at_once: AtOnce::Several { one: json!({}), four: json!({ "threads": 4 }) },
        failure: 500,
        websockets: false,
        files: true,
        frames: true,
        exceptions: &[("early_hints", ONE_RESPONSE)],
    }
}

/// Python by ASGI.
pub(crate) fn asgi() -> Runtime {
    Runtime {
        file: "asgi.py",
        beside: &[],
        app: |site| json!({ "type": "python", "path": site.root(), "module": "asgi" }),
        at_once: AtOnce::Several { one: json!({}), four: json!({}) },
        failure: 500,
        websockets: true,
        files: true,
        frames: false,
        exceptions: &[("target", QUESTION_MARK), ("computing_beside_others", ONE_THREAD)],
    }
}

/// The same with an event loop in each of four threads.
pub(crate) fn asgi_threads() -> Runtime {
    Runtime {
        app: |site| json!({ "type": "python", "path": site.root(), "module": "asgi", "threads": 4 }),
        exceptions: &[("target", QUESTION_MARK)],
        ..asgi()
    }
}

pub(crate) fn ruby() -> Runtime {
    Runtime {
        file: "config.ru",
        beside: &[],
        app: |site| json!({ "type": "ruby", "script": site.path("config.ru") }),
        at_once: AtOnce::Several { one: json!({}), four: json!({ "threads": 4 }) },
        failure: 500,
        websockets: false,
        files: true,
        frames: true,
        exceptions: &[],
    }
}

pub(crate) fn perl() -> Runtime {
    Runtime {
        file: "app.psgi",
        beside: &[],
        app: |site| json!({ "type": "perl", "script": site.path("app.psgi") }),
        at_once: AtOnce::Several { one: json!({}), four: json!({ "threads": 4 }) },
        failure: 500,
        websockets: false,
        files: true,
        frames: true,
        exceptions: &[("early_hints", ONE_RESPONSE)],
    }
}

/// A component, which is built with those of its own tests.
pub(crate) fn wasm() -> Runtime {
    const NO_ADDRESS: &str = "wasi:http has no addresses";
    Runtime {
        file: "component.rs",
        beside: &[],
        app: |site| {
            let access = json!({ "filesystem": [site.root()] });
            json!({ "type": "wasm-wasi-component", "component": component("suite"), "access": access })
        },
        at_once: AtOnce::One,
        failure: 500,
        websockets: false,
        files: false,
        frames: false,
        exceptions: &[
            ("early_hints", ONE_RESPONSE),
            ("decoded_path", "it gets the target as sent"),
            ("addresses", NO_ADDRESS),
            ("ports", NO_ADDRESS),
            ("forwarded_address", NO_ADDRESS),
            ("killed", "a component cannot kill its process"),
            ("working_directory", "WASI has folders by name, and none to be in"),
            ("user", "WASI has no users"),
            ("gone_from_nothing", NO_PIECES),
        ],
    }
}

/// Node.js without any package, as a program that serves HTTP.
pub(crate) fn node() -> Runtime {
    Runtime {
        file: "server.js",
        beside: &["websocket.js"],
        app: |site| json!({ "type": "http", "executable": "node", "arguments": [site.path("server.js")] }),
        at_once: AtOnce::Several { one: json!({ "concurrency": 1 }), four: json!({}) },
        // What is not caught ends the program.
        failure: 503,
        websockets: true,
        files: false,
        frames: false,
        exceptions: &[
            ("made_up_methods", "its parser knows a list of methods"),
            ("decoded_path", "it gets the target as sent"),
            ("failures_beside_others", "what is not caught ends the program"),
            ("computing_beside_others", ONE_THREAD),
            ("gone_from_nothing", NO_PIECES),
            ("log_level", ONE_LEVEL),
        ],
    }
}

/// The same with the package that takes the place of NGINX Unit's.
pub(crate) fn node_unit() -> Runtime {
    Runtime {
        app: |site| {
            site.write_node_package();
            let arguments = json!(["node", site.path("server.js"), "unit-http"]);
            json!({ "type": "external", "executable": "/usr/bin/env", "arguments": arguments })
        },
        ..node()
    }
}

/// Go's `net/http`, as a program that serves HTTP.
pub(crate) fn go() -> Runtime {
    Runtime {
        file: "server.go",
        beside: &[],
        app: |site| {
            let path = site.path("server");
            fs::copy(compiled_go("serve_http.go"), &path).expect("copy the executable");
            json!({ "type": "http", "executable": path })
        },
        at_once: AtOnce::Several { one: json!({ "concurrency": 1 }), four: json!({}) },
        // It closes the connection of a request that panicked.
        failure: 503,
        websockets: false,
        files: false,
        frames: false,
        exceptions: &[
            ("own_variables", "goroutines have no variables that outlive them"),
            ("gone_from_nothing", NO_PIECES),
            ("log_level", ONE_LEVEL),
        ],
    }
}

/// The same with the module that takes the place of NGINX Unit's.
pub(crate) fn go_unit() -> Runtime {
    Runtime {
        app: |site| {
            let path = site.path("server");
            fs::copy(compiled_go("serve_unit.go"), &path).expect("copy the executable");
            json!({ "type": "external", "executable": path })
        },
        ..go()
    }
}

/// Servlets, with all that makes a virtual machine start soon.
pub(crate) fn java() -> Runtime {
    Runtime {
        file: "Suite.java",
        beside: &["Echo.java"],
        app: |site| {
            let copied = Command::new("cp").arg("-r").arg(compiled_java()).arg(site.path("app")).status();
            assert!(copied.expect("cp(1) is there").success(), "copy the classes");
            let options = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto"];
            // A client that reads slowly holds a thread.
            json!({ "type": "java", "webapp": site.path("app"), "options": options, "threads": 4 })
        },
        at_once: AtOnce::Several { one: json!({ "threads": 1 }), four: json!({}) },
        failure: 500,
        websockets: true,
        files: false,
        frames: false,
        exceptions: &[
            ("early_hints", ONE_RESPONSE),
            ("gone_from_nothing", NO_PIECES),
            ("log_level", ONE_LEVEL),
        ],
    }
}

/// A folder with the application's classes.
fn compiled_java() -> PathBuf {
    let sources = ["Suite.java", "Echo.java"].map(app_file);
    compiled("java", &sources, |built| {
        let archives = executables().dir.join("corral-java/ee10/*");
        let mut javac = Command::new("javac");
        javac.arg("-classpath").arg(archives).arg("-d").arg(built.join("WEB-INF/classes")).args(&sources);
        let status = javac.status().expect("a JDK is installed: scripts/setup test");
        assert!(status.success(), "javac: {status}");
    })
}

/// The executable of the application in Go with this file.
fn compiled_go(main: &str) -> PathBuf {
    let sdk = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sdk/go");
    let package = ["unit.go", "body.go", "client.go", "response.go"].map(|name| sdk.join(name));
    let sources = [[app_file("server.go"), app_file(main)].as_slice(), &package].concat();
    compiled("go", &sources, |built| {
        let own = site()
            .file("go.mod", format!("{GO_MODULE}replace unit.nginx.org/go => {}\n", sdk.display()))
            .file("server.go", fs::read(app_file("server.go")).expect("it is there"))
            .file("main.go", fs::read(app_file(main)).expect("it is there"));
        let mut go = Command::new("go");
        go.args(["build", "-mod=mod", "-o"]).arg(built).arg(".").env("CGO_ENABLED", "0");
        let status = go.current_dir(own.path("")).status().expect("go is installed: scripts/setup test");
        assert!(status.success(), "go build: {status}");
    })
}

fn app_file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/languages/apps").join(name)
}

/// The folder that `build` has filled, made once for these sources. Tests run at the same time: each sees all
/// of it or nothing.
fn compiled(kind: &str, sources: &[PathBuf], build: impl FnOnce(&Path)) -> PathBuf {
    let mut hasher = DefaultHasher::new();
    sources.iter().for_each(|source| fs::read(source).expect("it is there").hash(&mut hasher));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let path = folder.join(format!("suite-{kind}-{:x}", hasher.finish()));
    if !path.exists() {
        let built = folder.join(format!("suite-{kind}-{}", std::process::id()));
        build(&built);
        // Another test may have been first, which is as good.
        assert!(fs::rename(&built, &path).is_ok() || path.exists(), "give {} its name", built.display());
    }
    path
}

const GO_MODULE: &str = "module suite\n\ngo 1.21\n\nrequire unit.nginx.org/go v0.0.0\n\n";
