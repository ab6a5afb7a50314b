//! Flask from Debian's package.

use corral_testkit::{Browser, Request, daemon, python_app, site};
use serde_json::json;

const SITE: &str = "
from flask import Flask, Response, abort, flash, get_flashed_messages, jsonify, redirect, render_template, request, session

app = Flask(__name__)
app.secret_key = 'known to everybody'

@app.route('/hello/<name>')
def hello(name):
    return render_template('hello.html', name=name)

@app.route('/count')
def count():
    session['n'] = session.get('n', 0) + 1
    return str(session['n'])

@app.post('/form')
def form():
    flash(f\"Thank you, {request.form['name']}\")
    return redirect('/messages')

@app.route('/messages')
def messages():
    return '|'.join(get_flashed_messages())

@app.post('/upload')
def upload():
    file = request.files['file']
    return f'{file.filename} {len(file.read())}'

@app.post('/json')
def sum_up():
    return jsonify(total=sum(request.get_json()['prices']), by=request.remote_addr)

@app.route('/stream')
def stream():
    return Response((f'{n},' for n in range(1000)), mimetype='text/plain')

@app.route('/teapot')
def teapot():
    abort(418)

@app.route('/fail')
def fail():
    raise RuntimeError('an error of the page')
";

#[test]
fn flask_serves_as_it_is() {
    let site = site()
        .file("app.py", SITE)
        .file("templates/hello.html", "<h1>Hello {{ name }}</h1>")
        .file("static/note.txt", "a note");
    let app = python_app(&site).with("callable", json!("app")).with("processes", json!(2));
    let server = daemon().python(app).start();
    let mut visitor = Browser::new(server.address().socket());
    visitor.open("/hello/A%20%3Cb%3E").expect(200).expect_body("<h1>Hello A &lt;b&gt;</h1>");
    for n in 1..=4 {
        visitor.open("/count").expect(200).expect_body(n.to_string());
    }
    visitor.submit("/form", &[("name", "Ü & Ann")]).expect(200).expect_body("Thank you, Ü & Ann");
    let content = vec![b'x'; 700_000];
    let part = corral_testkit::Part::File {
        name: "file",
        file_name: "a.bin",
        media_type: "application/octet-stream",
        content: &content,
    };
    visitor.upload("/upload", &[part]).expect(200).expect_body("a.bin 700000");
    let order =
        Request::post("/json").field("Content-Type", "application/json").body(r#"{"prices": [1, 2]}"#);
    let found = server.send(&order).expect(200).json();
    assert_eq!(found, json!({ "total": 3, "by": "127.0.0.1" }));
    let all: String = (0..1000).map(|n| format!("{n},")).collect();
    server.get("/stream").expect(200).expect_body(all);
    server.get("/static/note.txt").expect(200).expect_body("a note");
    server.get("/teapot").expect(418);
    server.get("/missing").expect(404);
    server.get("/fail").expect(500).expect_text("Internal Server Error");
    server.expect_log("RuntimeError: an error of the page");
}
