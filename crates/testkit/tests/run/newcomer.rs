//! The first hour of a newcomer: lines that are typed and words that are read, one after the other. Other tests look at
//! each of them in depth; here they can be read in one place.

use std::net::TcpListener;
use std::os::unix::fs::chown;
use std::process::Command;

use corral_testkit::{Address, Request, Run, Site, daemon, eventually, executables, site};

use crate::serve;
use crate::terminal::Terminal;

/// A line of the shell or a configuration, the exit code, and a part of the answer. In all texts, `$PWD` stands for the
/// newcomer's folder, and `$TAKEN` for an address that another program listens on.
type Line = (&'static str, i32, &'static str);

/// The answer to a configuration in which nothing is wrong.
const VALID: &str = "site.json: the configuration is valid";

/// A folder with several sites in it, and the port of another program.
struct Newcomer {
    home: Site,
    taken: TcpListener,
}

impl Newcomer {
    fn new() -> Self {
        let application = "def application(environ, start_response):\n    return []\n";
        let home = site()
            .file("page/index.html", "page")
            .file("shop/wsgi.py", application)
            .file("active/pyvenv.cfg", "")
            .file("active/bin/python3", "")
            .file("pipes/index.html", "page")
            .file("cart/app.py", "import installed\n")
            .file("cart/venv/pyvenv.cfg", "")
            .file("cart/venv/lib/python3.99/site-packages/installed.py", "")
            .file("closed/site/page.php", "")
            .file("site.json", r#"{"listeners": {}}"#);
        Self { home, taken: TcpListener::bind("127.0.0.1:0").expect("bind a port") }
    }

    /// A text with the folder and the address in it.
    fn meant(&self, text: &str) -> String {
        let folder = self.home.path("").canonicalize().expect("it is there");
        let taken = self.taken.local_addr().expect("it is bound");
        text.replace("$PWD", &folder.display().to_string()).replace("$TAKEN", &taken.to_string())
    }

    /// A shell in the folder that is given this line.
    fn shell(&self, line: &str) -> Command {
        let path = std::env::var("PATH").expect("it is set");
        let path = format!("{}:{path}", executables().dir.display());
        let mut command = Command::new("sh");
        command.args(["-c", &self.meant(line)]).current_dir(self.home.path(""));
        command.env("PATH", path).env("CORRAL_CONTROL", self.meant("unix:$PWD/control.sock"));
        command
    }

    /// Types lines, one after the other.
    #[track_caller]
    fn types(&self, lines: &[Line]) {
        for (line, code, words) in lines {
            let outcome = Run::spawn(&mut self.shell(line)).ended();
            let answer = format!("{}{}", outcome.stdout, outcome.stderr);
            let is_right = outcome.status.code() == Some(*code) && answer.contains(&self.meant(words));
            assert!(is_right, "{line}: not {code} and {words:?} but {outcome:#?}");
        }
    }

    /// Writes configurations, and has each checked.
    #[track_caller]
    fn checks(&self, documents: &[Line]) {
        for (document, code, words) in documents {
            self.home.write("site.json", self.meant(document));
            self.types(&[("corral check --strict site.json", *code, *words)]);
        }
    }
}

#[test]
fn root_reads_as_whom_an_application_runs() {
    if !rustix::process::geteuid().is_root() {
        return eprintln!("skipped: only root can start applications as other users");
    }
    let site = site().file("page.php", "<?php echo posix_geteuid();");
    for (more, words) in [
        (&["--workers", "1"][..], "note: root owns this folder"),
        (&["--user", "root"], "note: the application has the rights of root"),
    ] {
        let (run, _client) = serve(&site, more);
        let note = run.stdout().lines().find(|line| line.starts_with(words)).map(str::to_owned);
        assert!(note.is_some_and(|note| note.contains("--user")), "{}", run.stdout());
    }
    chown(site.root(), Some(4001), Some(4001)).expect("root may do that");
    serve(&site, &["--workers", "1"]).1.get("/page.php").expect(200).expect_body("4001");
}

const SHELL: &[Line] = &[
    ("VIRTUAL_ENV=$PWD/active corral run shop --print-config", 0, r#""home": "$PWD/active""#),
    (
        "unset VIRTUAL_ENV; PATH=$PWD/active/bin:$PATH corral run shop --print-config",
        0,
        r#""home": "$PWD/active""#,
    ),
];

#[test]
fn the_shell_s_python_is_used() {
    Newcomer::new().types(SHELL);
}

#[test]
fn a_procfile_and_a_command_come_before_what_is_found() {
    let server = "require('http').createServer((q, r) => r.end(process.argv[2])).listen(process.env.PORT)";
    let site = site()
        .file("page.php", "<?php echo 'found';")
        .file("web.js", server)
        .file("Procfile", "web: node web.js procfile\n");
    for (more, words) in [(&["--command", "node web.js command"][..], "command"), (&[], "procfile")] {
        serve(&site, more).1.get("/").expect(200).expect_body(words);
    }
}

const FOLDERS: &[Line] = &[
    ("corral run /", 1, r#""/" holds the whole machine"#),
    ("mkfifo pipes/wsgi.py && corral run pipes --print-config", 0, "/pipes$uri"),
    ("corral run page --listen $TAKEN", 1, "$TAKEN is in use by "),
];

#[test]
fn folders_are_looked_at_and_ports_tried() {
    Newcomer::new().types(FOLDERS);
}

#[test]
fn at_a_terminal_another_port_is_taken() {
    let (site, address) = (site().file("index.html", "page"), Address::fresh());
    let _taken = TcpListener::bind(address.socket()).expect("bind the port");
    let listen = address.to_string();
    let mut terminal = Terminal::command(address, &["run", &site.root(), "--listen", &listen]);
    terminal.expect(&format!("(process {})", std::process::id()));
    terminal.expect("; the site is served at port ");
}

const PAGES: &[Line] = &[
    (r#"{"routes": [{"action": {"share": "$PWD$uri", "spa": true}}]}"#, 0, VALID),
    (r#"{"routes": [{"action": {"share": "$PWD$uri", "clean_urls": true}}]}"#, 0, VALID),
];

#[test]
fn pages_stand_for_other_addresses() {
    let site = site().file("index.html", "page").file("about.html", "about").file("404.html", "own 404");
    let (_run, mut client) = serve(&site, &[]);
    client.get("/about").expect(200).expect_body("about");
    client.get("/none").expect(404).expect_body("own 404");
    let (_run, mut client) = serve(&site, &["--spa"]);
    client.get("/users/1").expect(200).expect_body("page");
    Newcomer::new().checks(PAGES);
}

const COMMON_WORDS: &[Line] = &[
    ("corral run page --port 9000 --print-config", 0, r#""127.0.0.1:9000""#),
    ("corral run page -p 9000 --print-config", 0, r#""127.0.0.1:9000""#),
    ("corral run page --host 0.0.0.0 --print-config", 0, r#""*:8080""#),
    ("corral run page --bind '*:9000' --print-config", 0, r#""*:9000""#),
    ("corral run page --reload --print-config", 0, r#""127.0.0.1:8080""#),
    ("corral -p 8080", 1, "corral run FOLDER --port 8080"),
    ("corral --port 8080", 1, "corral run FOLDER --port 8080"),
    ("corral serve page --print-config", 0, r#""127.0.0.1:8080""#),
    ("corral validate site.json", 0, VALID),
    ("corral version", 0, concat!("corral ", env!("CARGO_PKG_VERSION"), "\n")),
    ("corral stop", 1, "start one with `corral daemon`"),
    ("corral reload", 1, "start one with `corral daemon`"),
    ("corral logs", 1, "start one with `corral daemon`"),
    // Three lines of examples are behind the first one.
    ("corral --help | head -n 1", 0, "Examples:\n"),
    ("corral --help | head -n 4 | grep -c 'corral '", 0, "3\n"),
];

#[test]
fn words_of_other_servers_are_understood() {
    Newcomer::new().types(COMMON_WORDS);
}

/// The folder for temporary files is made, and is root's where root starts it.
const DAEMON: &str = "corral daemon --control unix:$PWD/control.sock --pid $PWD/pid --log $PWD/log \
    --statedir $PWD/state --tmpdir $PWD/tmp";

#[test]
fn a_daemon_says_where_it_is() {
    let newcomer = Newcomer::new();
    let mut terminal = Terminal::running(Address::fresh(), &newcomer.shell(DAEMON));
    terminal.expect("corral daemon: process ");
    terminal.expect(&newcomer.meant(", control unix:$PWD/control.sock, log $PWD/log"));
    newcomer.types(&[("corral stop", 0, " has stopped\n")]);
}

const BESIDE_A_DAEMON: &[Line] = &[
    ("corral status", 0, "daemon        corral "),
    (r#"echo '{"listeners": {}}' | corral config set /dev/stdin"#, 0, "Reconfiguration done."),
    // The module is installed for another Python.
    (
        r#"echo '{"cart": {"type": "python", "path": "$PWD/cart", "module": "app"}}' |
            corral config set applications /dev/stdin"#,
        1,
        r#"write "home": "$PWD/cart/venv""#,
    ),
    ("corral reload", 0, "site.json is in force"),
    ("corral logs", 0, "router started"),
    ("corral logs --app cart", 1, r#"there is no application "cart""#),
];

#[test]
fn a_daemon_is_asked_and_stopped() {
    let newcomer = Newcomer::new();
    let (control, file) = (newcomer.home.path("control.sock"), newcomer.meant("$PWD/site.json"));
    let writable = daemon().argument("--config").argument(&file).argument("--config-writable");
    let mut server = writable.control_at(&control).start_unconfigured();
    newcomer.types(BESIDE_A_DAEMON);
    let mut follower = Run::spawn(&mut newcomer.shell("exec corral logs -f"));
    follower.expect_output("router started");
    newcomer.types(&[("corral stop", 0, " has stopped\n")]);
    assert!(server.wait_for_end().success());
}

const MISTAKEN_OPTIONS: &[Line] = &[
    ("corral run page --workers 0", 2, "name 1 or more"),
    ("corral run page --domain localhost", 1, "use --https, which has a local certificate"),
];

const MISTAKES: &[Line] = &[
    (
        r#"{"listeners": {"*:443": {"pass": "routes", "tls": true}}, "routes": []}"#,
        1,
        r#"or {"acme": true} for automatic certificates."#,
    ),
    (
        r#"{"listeners": {"*:443": {"pass": "routes", "tls": {"key": "/k"}}}, "routes": []}"#,
        1,
        "corral certificate put",
    ),
    (r#"{"routes": [{"action": {"share": "/a$uri", "headers": {"X-A": "b"}}}]}"#, 1, "response_headers"),
    (
        r#"{"routes": [{"action": {"share": "/a$uri", "expires": "30 days"}}]}"#,
        1,
        r#"A time is a number with "s""#,
    ),
    // Both are options of a share.
    (
        r#"{"routes": [{"action": {"share": "$PWD$uri", "index": ["a.html", "b.html"], "expires": "30d"}}]}"#,
        0,
        VALID,
    ),
    (
        r#"{"applications": {"a": {"type": "php", "root": "/", "index": ["a.php", "b.php"]}}}"#,
        1,
        r#"are tried by the action that passes to it: "try": ["#,
    ),
    (
        r#"{"applications": {"a": {"type": "php", "root": "/", "options": {"memory_limit": "1G"}}}}"#,
        1,
        r#""options": {"admin": {"memory_limit": "…"}}"#,
    ),
    (
        r#"{"routes": [{"action": {"share": "/srv/$request_method$uri"}}]}"#,
        1,
        r#"Corral's name of it is "$method"."#,
    ),
    (
        r#"{"routes": [{"match": {"uri": "/a%b"}, "action": {"return": 200}}]}"#,
        1,
        r#"the sign itself is "%25""#,
    ),
];

#[test]
fn mistakes_are_answered_with_the_remedy() {
    let newcomer = Newcomer::new();
    newcomer.types(MISTAKEN_OPTIONS);
    newcomer.checks(MISTAKES);
}

const CLOSED: &[Line] = &[(
    "chmod 700 closed && corral run closed/site --user nobody",
    1,
    r#"the user "nobody", which cannot enter "$PWD/closed""#,
)];

const CHECKED_CLOSED: &[Line] = &[(
    r#"{"listeners": {"unix:@newcomer": {"pass": "applications/a"}},
        "applications": {"a": {"type": "php", "root": "$PWD/closed/site", "user": "nobody"}}}"#,
    3,
    r#"The user "nobody" may not enter "$PWD/closed""#,
)];

#[test]
fn the_folder_that_a_user_cannot_enter_is_named() {
    if !rustix::process::geteuid().is_root() {
        return eprintln!("skipped: only root can start applications as other users");
    }
    let newcomer = Newcomer::new();
    newcomer.types(CLOSED);
    newcomer.checks(CHECKED_CLOSED);
}

const DOUBTS: &[Line] = &[
    (
        r#"{"routes": [{"action": {"return": 200}}, {"match": {"uri": "/b"}, "action": {"return": 404}}]}"#,
        3,
        "/routes/1: No request gets to this step: /routes/0 takes all",
    ),
    (
        r#"{"listeners": {"unix:@newcomer": {"pass": "applications/a"}},
            "applications": {"a": {"type": "python", "path": "$PWD/shop", "module": "missing.wsgi"}}}"#,
        3,
        r#"There is no module "missing.wsgi" in "$PWD/shop""#,
    ),
    (
        r#"{"routes": [{"action": {"proxy": "http://no-such-host.invalid:80"}}]}"#,
        3,
        r#"The name "no-such-host.invalid" has no address"#,
    ),
    (r#"{"listeners": {"$TAKEN": {"pass": "routes"}}, "routes": []}"#, 3, r#""$TAKEN" is in use by "#),
];

#[test]
fn a_check_finds_what_a_machine_lacks() {
    Newcomer::new().checks(DOUBTS);
}

#[test]
fn errors_without_a_body_have_a_page() {
    let site = site().file("page.php", "<?php http_response_code((int) $_GET['s']);");
    let (_run, mut client) = serve(&site, &["--workers", "1"]);
    for (target, status) in [("/none.php", 404), ("/page.php?s=404", 404), ("/page.php?s=500", 500)] {
        let page = client.send(&Request::get(target).field("Accept", "text/html")).expect(status);
        page.expect_text(&format!("Error {status}"));
    }
}

#[test]
fn at_a_terminal_a_page_shows_the_errors_of_its_request() {
    let site = site()
        .file("page.php", "<?php no_such_function();")
        .file("silent.php", "<?php http_response_code(500);");
    let mut terminal = Terminal::start(&site, &["--workers", "1"]);
    let mut client = terminal.client();
    client.get("/page.php").expect(500).expect_text("no_such_function");
    let page = client.get("/silent.php").expect(500).text();
    assert!(!page.contains("no_such_function"), "{page}");
}

#[test]
fn a_program_in_go_is_compiled_before_it_serves() {
    let site = site().file("go.mod", "module shop\n").file("main.go", "package main\n\nfunc main() {}\n");
    let mut run = Run::start(&["run", &site.root(), "--listen", &Address::fresh().to_string()]);
    run.expect_output("compiling the program");
}

#[test]
fn a_program_that_takes_the_server_s_port_is_told_so() {
    let address = Address::fresh();
    let (port, ip) = (address.port(), address.socket().ip());
    let code = format!("require('http').createServer().listen({port}, '{ip}')");
    let site = site().file("server.js", code);
    let (root, listen) = (site.root(), address.to_string());
    let outcome = Run::to_end(&["run", &root, "--listen", &listen, "--command", "node server.js"]);
    let words = format!("Corral itself listens on port {port}");
    assert!(!outcome.status.success() && outcome.stderr.contains(&words), "{outcome:#?}");
}

const SCHEMA: &[Line] = &[
    ("corral schema", 0, "draft-07"),
    (
        r"printf '# yaml-language-server: $schema=./corral.schema.json\nlisteners: {}\n' >site.yaml &&
            corral check --strict site.yaml",
        0,
        "site.yaml: the configuration is valid",
    ),
];

const WITH_SCHEMA: &[Line] = &[
    (r#"{"$schema": "", "listeners": {}}"#, 0, VALID),
    (r#"{"$schema": "./corral.schema.json", "listeners": {}}"#, 0, VALID),
];

#[test]
fn editors_are_told_the_schema() {
    let newcomer = Newcomer::new();
    newcomer.types(SCHEMA);
    newcomer.checks(WITH_SCHEMA);
}

#[test]
fn words_of_the_status_agree_in_number() {
    let site = site().file("page.php", "<?php echo 'page';");
    let (run, mut client) = serve(&site, &["--workers", "1"]);
    let stdout = run.stdout();
    let control = stdout.lines().find_map(|line| line.strip_prefix("control socket: ")).expect("it is told");
    for requests in ["1 request, 0 failed, ", "2 requests, 0 failed, "] {
        client.get("/page.php").expect(200).expect_body("page");
        let status = eventually(requests, || {
            let status = Run::to_end(&["status", "--control", control]).expect_success().stdout;
            status.contains(requests).then_some(status)
        });
        for words in ["application   site: 1 process running", " ms on average; ", " MiB of memory\n"] {
            assert!(status.contains(words), "{words:?} is not in {status}");
        }
    }
}
