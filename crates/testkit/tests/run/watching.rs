//! Changed code is served from the next request on, in every language; broken code leaves the old one in place.

use std::process::Command;
use std::time::Duration;

use corral_testkit::{Client, Run, Site, component, eventually, site};

use crate::{serve, serve_within};

/// A language's application, as a file whose text `WORD` stands for what it answers.
struct Kind {
    file: &'static str,
    code: &'static str,
    others: &'static [(&'static str, &'static str)],
    broken: &'static str,
    /// A part of the words about the broken version.
    problem: &'static str,
}

const PYTHON: Kind = Kind {
    file: "app.py",
    code: "import words\ndef app(environ, start_response):\n    start_response('200 OK', [])\n    return [b'WORD ' + \
           words.WORD]\n",
    others: &[("words.py", "WORD = b'one'\n")],
    broken: "def app(environ, start_response:\n",
    problem: "SyntaxError",
};
const RACK: Kind = Kind {
    file: "config.ru",
    code: "run ->(env) { [200, {}, ['WORD']] }\n",
    others: &[],
    broken: "run ->(env) {\n",
    problem: "syntax error",
};
const PSGI: Kind = Kind {
    file: "app.psgi",
    code: "my $app = sub { [200, [], ['WORD']] };\n",
    others: &[],
    broken: "my $app = sub {\n",
    problem: "Missing right curly",
};
const NODE: Kind = Kind {
    file: "server.js",
    code: "require('http').createServer((q, r) => r.end('WORD')).listen(process.env.PORT)\n",
    others: &[("package.json", r#"{"scripts": {"start": "node server.js"}}"#)],
    broken: "require('http'.createServer(\n",
    problem: "SyntaxError",
};

const GO: Kind = Kind {
    file: "main.go",
    code: "package main\n\nimport (\n\t\"fmt\"\n\t\"net/http\"\n\t\"os\"\n)\n\nfunc main() {\n\t\
           answer := func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, \"WORD \") }\n\t\
           http.ListenAndServe(\"127.0.0.1:\"+os.Getenv(\"PORT\"), http.HandlerFunc(answer))\n}\n",
    others: &[("go.mod", "module app\n\ngo 1.19\n")],
    broken: "package main\n\nfunc main() {\n",
    problem: "syntax error",
};

/// Time for Go to compile its library, which it does once for each user.
const COMPILING: Duration = Duration::from_secs(240);

impl Kind {
    fn site(&self) -> Site {
        let site = site().file(self.file, self.with("first"));
        self.others.iter().fold(site, |site, (name, text)| site.file(name, text))
    }

    fn with(&self, word: &str) -> String {
        self.code.replace("WORD ", &format!("{word} ")).replace("'WORD'", &format!("'{word}'"))
    }
}

/// The answer to the next request, on a connection that may have ended with the old process.
#[track_caller]
fn next(client: &mut Client) -> String {
    client.get("/").expect(200).text()
}

#[track_caller]
fn check(kind: &Kind) {
    let site = kind.site();
    let (mut run, mut client) = serve_within(COMPILING, &site, &["--watch", "--workers", "1"]);
    assert!(next(&mut client).starts_with("first"), "{}", kind.file);
    for word in ["second", "third"] {
        site.write(kind.file, kind.with(word));
        let text = next(&mut client);
        assert!(text.starts_with(word), "{}: {text}\n{}{}", kind.file, run.stdout(), run.stderr());
    }
    site.write(kind.file, kind.broken);
    assert!(next(&mut client).starts_with("third"), "the old one goes on");
    run.expect_output(kind.problem);
    run.expect_output("could not be restarted and goes on as it was");
    assert!(status(&run).contains("could not be restarted and goes on as it was: "), "{}", status(&run));
    site.write(kind.file, kind.with("mended"));
    assert!(next(&mut client).starts_with("mended"), "{}{}", run.stdout(), run.stderr());
    assert!(!status(&run).contains("could not be restarted"), "{}", status(&run));
    assert!(run.interrupt().status.success());
}

/// The output of `corral status`.
#[track_caller]
fn status(run: &Run) -> String {
    let stdout = run.stdout();
    let control = stdout.lines().find_map(|line| line.strip_prefix("control socket: ")).expect("it is told");
    Run::to_end(&["status", "--control", control]).expect_success().stdout
}

#[test]
fn python_is_loaded_anew() {
    check(&PYTHON);
}

#[test]
fn ruby_is_loaded_anew() {
    check(&RACK);
}

#[test]
fn perl_is_loaded_anew() {
    check(&PSGI);
}

#[test]
fn programs_are_started_anew() {
    check(&NODE);
}

#[test]
fn go_is_compiled_anew() {
    check(&GO);
}

/// A component is replaced by renaming, as its page says.
#[test]
fn a_component_is_replaced() {
    let read = |name: &str| std::fs::read(component(name)).expect("the component");
    let (older, manual) = (("older", "Hello from WASI 0.2.0\n"), ("manual", "Hello from /\n"));
    let site = site().file("app.wasm", read(older.0));
    let replace = |content: &[u8]| {
        site.write("app.new", content);
        std::fs::rename(site.path("app.new"), site.path("app.wasm")).expect("rename the component");
    };
    let (mut run, mut client) = serve(&site, &["--watch", "--workers", "1"]);
    assert_eq!(next(&mut client), older.1);
    for (name, text) in [manual, older] {
        replace(&read(name));
        assert_eq!(next(&mut client), text, "{}{}", run.stdout(), run.stderr());
    }
    replace(b"no component");
    assert_eq!(next(&mut client), older.1, "the old one goes on");
    run.expect_output("could not be restarted and goes on as it was");
    replace(&read(manual.0));
    assert_eq!(next(&mut client), manual.1, "{}{}", run.stdout(), run.stderr());
    assert!(run.interrupt().status.success());
}

/// Pages, classes, and the description of the application, without which it does not start.
#[test]
fn java_is_loaded_anew() {
    let page = |word: &str| format!("{word} <%= words.Word.get() %>");
    let site = site().file("WEB-INF/web.xml", "<web-app/>").file("index.jsp", page("first"));
    compile_word(&site, "one");
    let (mut run, mut client) = serve(&site, &["--watch", "--workers", "1"]);
    assert_eq!(next(&mut client), "first one");
    compile_word(&site, "two");
    assert_eq!(next(&mut client), "first two", "{}{}", run.stdout(), run.stderr());
    site.write("index.jsp", page("second"));
    assert_eq!(next(&mut client), "second two", "{}{}", run.stdout(), run.stderr());
    site.write("WEB-INF/web.xml", "<web-app>");
    assert_eq!(next(&mut client), "second two", "the old one goes on");
    run.expect_output("could not be restarted and goes on as it was");
    site.write("WEB-INF/web.xml", "<web-app/>");
    compile_word(&site, "three");
    assert_eq!(next(&mut client), "second three", "{}{}", run.stdout(), run.stderr());
    assert!(run.interrupt().status.success());
}

/// Compiles a class whose method `get` returns this word.
fn compile_word(site: &Site, word: &str) {
    let method = format!("public static String get() {{ return \"{word}\"; }}");
    let sources = corral_testkit::site()
        .file("Word.java", format!("package words;\npublic class Word {{ {method} }}\n"));
    let mut javac = Command::new("javac");
    javac.arg("-d").arg(site.path("WEB-INF/classes")).arg(sources.path("Word.java"));
    let status = javac.status().expect("a JDK is installed: scripts/setup test");
    assert!(status.success(), "{status}");
}

/// Modules and folders that came later count, too.
#[test]
fn every_file_of_the_project_counts() {
    let site = PYTHON.site();
    let (_run, mut client) = serve(&site, &["--watch", "--workers", "1"]);
    assert_eq!(next(&mut client), "first one");
    site.write("words.py", "WORD = b'two'\n");
    assert_eq!(next(&mut client), "first two");
    std::fs::create_dir_all(site.path("lib/deep")).expect("make the folder");
    site.write("lib/deep/more.py", "WORD = b'three'\n");
    site.write("words.py", "from lib.deep.more import WORD\n");
    assert_eq!(next(&mut client), "first three");
    site.write("lib/deep/more.py", "WORD = b'four'\n");
    assert_eq!(next(&mut client), "first four");
}

/// Files that the application writes itself, and files other than code, restart nothing.
#[test]
fn files_that_are_no_code_restart_nothing() {
    let site = PYTHON.site();
    let (run, mut client) = serve(&site, &["--watch", "--workers", "1"]);
    next(&mut client);
    site.write("db.sqlite3", "data");
    site.write("data/cache.py", "x = 1");
    site.write("node_modules/a/index.js", "1");
    site.write(".git/HEAD", "1");
    site.write("app.py", PYTHON.with("first"));
    next(&mut client);
    // The last one changed nothing but could not be known before.
    site.write("app.py", PYTHON.with("first"));
    // A worker that was replaced ends when no request waits for it.
    let only = |workers: Vec<u32>| (workers.len() == 1).then_some(workers);
    let once = eventually("one worker", || only(workers(&run)));
    next(&mut client);
    assert_eq!(workers(&run), once);
    assert!(run.stdout().matches("has changed").count() <= 1, "{}", run.stdout());
}

fn workers(run: &Run) -> Vec<u32> {
    let processes = run.processes();
    processes.iter().filter(|process| process.name.ends_with("worker")).map(|process| process.pid).collect()
}

#[test]
fn without_a_terminal_nothing_is_watched_unless_it_is_asked_for() {
    for more in [&["--workers", "1"][..], &["--workers", "1", "--no-watch"]] {
        let site = PYTHON.site();
        let (_run, mut client) = serve(&site, more);
        site.write("app.py", PYTHON.with("second"));
        for _ in 0..20 {
            assert_eq!(next(&mut client), "first one");
        }
    }
    let both = Run::to_end(&["run", "--watch", "--no-watch"]);
    assert!(!both.status.success() && both.stderr.contains("--no-watch"), "{both:?}");
}

#[test]
fn php_is_compiled_anew() {
    let site = site().file("index.php", "<?php require 'word.php';").file("word.php", "<?php echo 'first';");
    let (_run, mut client) = serve(&site, &["--watch", "--workers", "1"]);
    for word in ["second", "third", "fourth"] {
        next(&mut client);
        site.write("word.php", format!("<?php echo '{word}';"));
        assert_eq!(next(&mut client), word);
    }
}

/// Two of it cannot run beside each other: it ends before it is started anew.
#[test]
fn a_program_with_a_port_of_its_own_choice_is_started_anew() {
    let port = corral_testkit::port_of_all_addresses();
    let code =
        |word: &str| format!("require('http').createServer((q, r) => r.end('{word}')).listen({port})\n");
    let site = site().file("server.js", code("first")).file("package.json", NODE.others[0].1);
    let (run, mut client) = serve(&site, &["--watch"]);
    for word in ["first", "second", "third"] {
        site.write("server.js", code(word));
        assert_eq!(next(&mut client), word, "{}{}", run.stdout(), run.stderr());
    }
}
