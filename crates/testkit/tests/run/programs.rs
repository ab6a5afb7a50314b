//! Programs that do not listen where they are told to, and programs that take long to start.

use std::time::{Duration, Instant};

use corral_testkit::{Address, Run, Site, eventually, is_alive, port_of_all_addresses, site};

use crate::serve;
use crate::terminal::Terminal;

/// Time that starting takes beyond that on a busy machine.
const LOADED: Duration = Duration::from_secs(5);

/// A program that listens at `LISTEN` with `code` before that.
fn program(before: &str, listen: &str) -> Site {
    let code = format!(
        "const server = require('http').createServer((q, r) => r.end('own \
        port'));\n{before}\nserver.listen({listen});\n"
    );
    site().file("server.js", code).file("package.json", r#"{"scripts": {"start": "node server.js"}}"#)
}

#[test]
fn a_program_that_listens_elsewhere_is_served_there() {
    for host in ["'127.0.0.1'", "'::'", "'::1'", "'localhost'"] {
        let port = port_of_all_addresses();
        let site = program("", &format!("{port}, {host}"));
        let begin = Instant::now();
        let (mut run, mut client) = serve(&site, &[]);
        client.get("/").expect(200).expect_body("own port");
        let limit = Duration::from_secs(3) + LOADED;
        assert!(begin.elapsed() < limit, "{host}: {:?}\n{}", begin.elapsed(), run.stderr());
        run.expect_output(&format!("notice: the program listens on port {port} of "));
        assert!(run.interrupt().status.success());
    }
}

/// A port for other purposes is not taken for the one that was asked for.
#[test]
fn a_program_that_listens_where_it_is_told_may_listen_elsewhere_too() {
    let metrics = format!(
        "require('http').createServer((q, r) => r.end('metrics')).listen({});",
        port_of_all_addresses()
    );
    let site = program(&metrics, "process.env.PORT, later");
    let code = std::fs::read_to_string(site.path("server.js")).expect("it is there");
    site.write(
        "server.js",
        code.replace(
            "server.listen(process.env.PORT, later)",
            "setTimeout(() => server.listen(process.env.PORT), 500)",
        ),
    );
    let (run, mut client) = serve(&site, &[]);
    client.get("/").expect(200).expect_body("own port");
    assert!(!(run.stdout() + &run.stderr()).contains("notice: the program listens"), "{}", run.stderr());
}

#[test]
fn a_slow_start_shows_that_it_goes_on() {
    let before = "console.log('compiling a thing');";
    let site = program(before, "process.env.PORT");
    let code = std::fs::read_to_string(site.path("server.js")).expect("it is there");
    site.write(
        "server.js",
        code.replace("server.listen(", "setTimeout(() => server.listen(").replace("PORT);", "PORT), 4000);"),
    );
    let (run, mut client) = serve(&site, &[]);
    client.get("/").expect(200).expect_body("own port");
    let stdout = run.stdout();
    assert_eq!(
        stdout.matches("still starting after 3 s; its last line: compiling a thing").count(),
        1,
        "{stdout}"
    );
    let (said, url) = (stdout.find("still starting").expect("it is there"), stdout.find("http://"));
    assert!(url.is_some_and(|url| said < url), "{stdout}");
}

/// Ctrl-C reaches every process of the terminal's group.
#[test]
fn a_slow_start_that_is_interrupted_is_no_failure() {
    let code = "console.log('compiling a thing'); setInterval(() => {}, 1000);";
    let package = r#"{"scripts": {"start": "node server.js"}, "dependencies": {"unit-http": "*"}}"#;
    let site = site().file("server.js", code).file("package.json", package);
    let mut terminal = Terminal::start(&site, &[]);
    terminal.expect("still starting after 3 s; its last line: compiling a thing");
    let processes = terminal.processes();
    terminal.interrupt();
    eventually("no process is left", || processes.iter().all(|pid| !is_alive(*pid)).then_some(()));
    let shown = terminal.shown();
    assert!(!shown.contains("error") && !shown.contains("unit-http"), "{shown}");
}

/// A program with a fixed port may have the one that is known best.
#[test]
fn a_program_that_wants_corral_s_own_port_is_told_so() {
    let address = Address::fresh();
    let site = program("", &format!("{}, '{}'", address.port(), address.socket().ip()));
    let outcome = Run::to_end(&["run", &site.root(), "--listen", &address.to_string()]);
    assert!(!outcome.status.success(), "{outcome:#?}");
    let advice =
        format!("Corral itself listens on port {}: have the program listen on the port", address.port());
    assert!(outcome.stderr.contains(&advice), "{outcome:#?}");
}

#[test]
fn a_program_in_go_is_said_to_be_compiled() {
    let code = "package main\n\nimport (\n\t\"net/http\"\n\t\"os\"\n)\n\nfunc main() {\n\thttp.ListenAndServe(\":\" + \
                os.Getenv(\"PORT\"), http.NotFoundHandler())\n}\n";
    let site = site().file("go.mod", "module shop\n").file("main.go", code);
    let mut run = Run::start(&["run", &site.root(), "--listen", &Address::fresh().to_string()]);
    run.expect_output("\"site\": compiling the program");
}

/// One that listens nowhere is told to say so, with its last words.
#[test]
fn a_program_that_ends_says_why() {
    let site = program("console.error('no such database'); process.exit(3);", "0");
    let outcome = Run::to_end(&["run", &site.root(), "--listen", &Address::fresh().to_string()]);
    assert!(!outcome.status.success(), "{outcome:#?}");
    assert!(outcome.stderr.contains("exited with code 3 before it was ready; it said: "), "{outcome:#?}");
    assert!(outcome.stderr.contains("no such database"), "{outcome:#?}");
}
