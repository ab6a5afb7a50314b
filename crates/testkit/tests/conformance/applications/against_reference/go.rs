//! The package `unit.nginx.org/go`: what applications do with `net/http`, compiled once and served both ways.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use corral_testkit::Site;
use serde_json::json;

use super::habit::{Asked, Difference, Habit, Language, Reference};

const LANGUAGE: Language = Language {
    habits: &[HABITS],
    write,
    application: |site| json!({ "type": "go", "executable": "./app", "working_directory": site.root() }),
};

/// Each habit is the body of a handler.
fn write(site: &Site, habits: &[Habit]) {
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sdk/go");
    let package = package.canonicalize().expect("the package is there");
    site.write(
        "go.mod",
        format!(
            "module habits\n\ngo 1.21\n\nrequire unit.nginx.org/go v0.0.0\n\nreplace unit.nginx.org/go => {}\n",
            package.display()
        ),
    );
    let handlers = habits.iter().map(|Habit { name, source, .. }| {
        format!("\thandle(\"{name}\", func(w http.ResponseWriter, r *http.Request) {{\n{source}\n\t}})\n")
    });
    site.write("app.go", MAIN.replace("HANDLERS", &handlers.collect::<String>()));
    let mut go = Command::new("go");
    go.args(["build", "-o", "app"]).current_dir(site.path("")).env("CGO_ENABLED", "0");
    let output = go.output().expect("go is installed: scripts/setup test");
    assert!(output.status.success(), "go build: {}", String::from_utf8_lossy(&output.stderr));
}

/// With a port `net/http` serves, else Corral's package.
const MAIN: &str = r#"package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sort"
	"strings"
	"time"

	"unit.nginx.org/go"
)

var _ = []any{bufio.ErrBufferFull, errors.ErrUnsupported, io.EOF, sort.Strings, strings.Repeat, time.Now}

func handle(name string, handler http.HandlerFunc) {
	http.HandleFunc("/"+name, handler)
	http.HandleFunc("/"+name+"/", handler)
}

func main() {
HANDLERS
	if len(os.Args) > 1 {
		fmt.Println(http.ListenAndServe(os.Args[1], nil))
		return
	}
	fmt.Println(unit.ListenAndServe("", nil))
}
"#;

#[test]
fn go_as_net_http() {
    LANGUAGE.compare(&Reference {
        name: "net/http",
        command: |site, address: SocketAddr| {
            let mut command = Command::new(site.path("app"));
            command.arg(address.to_string());
            command
        },
        is_refusal: |_| false,
        differences: &[
            Difference { habits: &["nothing_said"], because: "a type that is not said is Unit's" },
            Difference { habits: &["the_host_among_fields"], because: "it is Unit's package" },
        ],
    });
}

const HABITS: &[Habit] = &[
    Habit::new("hello", r#"w.Header().Set("Content-Type", "text/plain"); io.WriteString(w, "hello")"#),
    Habit::new("nothing_said", r#"fmt.Fprint(w, "hello")"#),
    Habit::new("nothing", ""),
    Habit::new(
        "pieces",
        r#"w.Header().Set("Content-Type", "text/plain")
		w.Header().Add("X-Own", "1")
		w.Header().Add("X-Own", "2")
		for _, piece := range []string{"one ", "", "two ", "three"} {
			w.Write([]byte(piece))
			w.(http.Flusher).Flush()
		}"#,
    ),
    Habit::new(
        "statuses",
        r#"var status int
		fmt.Sscan(r.URL.RawQuery, &status)
		w.Header().Set("X-Status", "mine")
		w.WriteHeader(status)"#,
    )
    .asked(&[
        Asked::plainly("GET /{}?204 HTTP/1.1\r\nHost: a\r\n\r\n"),
        Asked::plainly("GET /{}?304 HTTP/1.1\r\nHost: a\r\n\r\n"),
    ]),
    Habit::new("an_error", r#"http.Error(w, "words", http.StatusTeapot)"#),
    Habit::new("a_redirection", r#"http.Redirect(w, r, "/elsewhere?a=b", http.StatusFound)"#),
    Habit::new("twice", r#"w.Header().Set("Content-Type", "text/plain"); w.WriteHeader(201); w.WriteHeader(404)"#),
    Habit::new("a_length", r#"w.Header().Set("Content-Type", "text/plain"); w.Header().Set("Content-Length", "5"); io.WriteString(w, "hello")"#),
    Habit::new(
        "early_hints",
        r#"w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("Link", "</style.css>; rel=preload")
		w.WriteHeader(http.StatusEarlyHints)
		io.WriteString(w, "hello")"#,
    )
    .asked(&[Asked::plainly("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n")]),
    Habit::new("a_file", r#"http.ServeContent(w, r, "none", time.Unix(0, 0), strings.NewReader("0123456789"))"#).asked(&[
        Asked::plainly("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n"),
        Asked::plainly("GET /{} HTTP/1.1\r\nHost: a\r\nRange: bytes=2-3\r\n\r\n"),
    ]),
    Habit::new("a_panic", r#"panic(http.ErrAbortHandler)"#).asked(&[Asked::plainly("GET /{} HTTP/1.0\r\n\r\n")]),
    Habit::new(
        "bodies",
        r#"w.Header().Set("Content-Type", "text/plain"); body, err := io.ReadAll(r.Body); fmt.Fprintf(w, "%q %v", body, err)"#,
    )
    .asked(&[
        Asked::plainly("POST /{} HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello"),
        Asked::plainly("POST /{} HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n"),
        Asked::plainly("POST /{} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"),
        Asked::plainly("POST /{} HTTP/1.0\r\nContent-Length: 5\r\n\r\nhello"),
        Asked::plainly("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n"),
    ]),
    Habit::new(
        "lines_of_a_body",
        r#"w.Header().Set("Content-Type", "text/plain")
		for lines := bufio.NewScanner(r.Body); lines.Scan(); {
			fmt.Fprintf(w, "%q\n", lines.Text())
		}"#,
    )
    .asked(&[Asked::plainly("POST /{} HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\none\ntwo\n3")]),
    Habit::new(
        "too_large_a_body",
        r#"w.Header().Set("Content-Type", "text/plain")
		_, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 3))
		var tooLarge *http.MaxBytesError
		fmt.Fprint(w, errors.As(err, &tooLarge))"#,
    )
    .asked(&[Asked::plainly("POST /{} HTTP/1.0\r\nContent-Length: 5\r\n\r\nhello")]),
    Habit::new(
        "a_form",
        r#"w.Header().Set("Content-Type", "text/plain"); r.ParseForm(); fmt.Fprint(w, r.Form["a"], r.PostForm["a"])"#,
    )
    .asked(&[Asked::plainly(
        "POST /{}?a=1 HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: \
        7\r\n\r\na=2&a=3",
    )]),
    Habit::new("a_body_that_nobody_reads", r#"w.Header().Set("Content-Type", "text/plain"); io.WriteString(w, "not of interest")"#)
        .asked(&[Asked::plainly("POST /{} HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello")]),
    Habit::new(
        "a_request",
        r#"w.Header().Set("Content-Type", "text/plain")
		names := []string{}
		for name, values := range r.Header {
			if name != "Host" {
				names = append(names, fmt.Sprintf("%s=%q", name, values))
			}
		}
		sort.Strings(names)
		fmt.Fprint(w, r.Method, r.RequestURI, r.URL.Path, r.URL.RawQuery, r.Proto, r.Host, r.ContentLength, r.TLS == nil, names)"#,
    )
    .asked(&[
        Asked::plainly("GET /{}/a%20b?e=%41&f HTTP/1.1\r\nHost: Example.org:80\r\nX-One: 1\r\nx-two: \u{fc}\r\n\r\n"),
        Asked::plainly("DELETE /{} HTTP/1.1\r\nHost: a\r\nX-Twice: 1\r\nX-Twice: 2\r\nCookie: a=1\r\nCookie: \
            b=2\r\nX-Empty:\r\n\r\n"),
    ]),
    Habit::new(
        "the_host_among_fields",
        r#"w.Header().Set("Content-Type", "text/plain"); fmt.Fprintf(w, "%q", r.Header["Host"])"#,
    ),
];
