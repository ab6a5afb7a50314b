//! The package `unit-http`: what applications of Node.js do with its own `http`, and the liberties that Unit's left
//! them.

use std::net::SocketAddr;
use std::process::Command;

use corral_testkit::Site;
use serde_json::json;

use super::habit::{Asked, Difference, Habit, Language, Reference, STATUSES};

const LANGUAGE: Language = Language {
    habits: &[HABITS],
    write,
    application: |site| {
        json!({
            "type": "external", "executable": "/usr/bin/env", "arguments": ["node", "app.js"],
            "working_directory": site.root()
        })
    },
};

fn write(site: &Site, habits: &[Habit]) {
    site.write("app.js", DISPATCHER);
    for habit in habits {
        site.write(&format!("habits/{}.js", habit.name), habit.source);
    }
    site.write_node_package();
}

/// Gives a request to the module that its path names; one that throws costs its request alone.
const DISPATCHER: &str = "
const http = require(process.argv[2] ? 'http' : 'unit-http')

http.createServer(async (request, response) => {
  const name = request.url.split(/[/?]/)[1]
  if (!name) return response.end()
  try {
    await require('./habits/' + name)(request, response)
  } catch (error) {
    console.error(error)
    response.destroy()
  }
}).listen(Number(process.argv[2] ?? 0), process.argv[3])
";

#[test]
fn node_as_its_own_http() {
    LANGUAGE.compare(&Reference {
        name: "node",
        command: |site, address: SocketAddr| {
            let mut command = Command::new("node");
            command.arg(site.path("app.js")).args([address.port().to_string(), address.ip().to_string()]);
            command
        },
        is_refusal: |_| false,
        differences: &[Difference {
            habits: &["the_last_word_before_the_body"],
            because: "Unit's package hears it, where Node.js throws",
        }],
    });
}

const HABITS: &[Habit] = &[
    Habit::new(
        "head_and_end",
        "module.exports = (request, response) => { response.writeHead(200, { 'Content-Type': 'text/plain' }); \
        response.end('hello') }",
    ),
    Habit::new(
        "nothing_said",
        "module.exports = (request, response) => response.end('hello')",
    ),
    Habit::new(
        "pieces",
        "module.exports = (request, response) => {
           response.setHeader('X-Own', ['1', '2'])
           for (const piece of ['one ', '', Buffer.from('two '), new Uint8Array([51])]) response.write(piece)
           response.end(' four', 'utf8')
         }",
    ),
    Habit::new(
        "late_pieces",
        "const wait = () => new Promise(resolve => setImmediate(resolve))
         module.exports = async (request, response) => {
           response.writeHead(201, 'Made')
           await wait()
           response.write('one ')
           await wait()
           response.end('two')
         }",
    ),
    Habit::new(
        "fields_in_a_list",
        "module.exports = (request, response) => response.writeHead(200, ['Set-Cookie', 'a=1', 'X-Own', '1', \
        'Set-Cookie', 'b=2']).end()",
    ),
    Habit::new(
        "fields_in_two_ways",
        "module.exports = (request, response) => {
           response.setHeader('X-First', 'a').setHeader('X-Second', 'b')
           response.writeHead(200, { 'x-second': 'c', 'X-Third': 3 })
           response.end(JSON.stringify([response.getHeader('X-Second'), response.hasHeader('x-third')]))
         }",
    ),
    Habit::new(
        "statuses",
        "module.exports = (request, response) => { response.statusCode = Number(request.url.split('?')[1]); \
        response.end() }",
    )
    .asked(STATUSES),
    Habit::new(
        "a_length_that_is_said",
        "module.exports = (request, response) => { response.setHeader('Content-Length', 5); response.write('hel'); \
        response.end('lo') }",
    ),
    Habit::new(
        "head_alone",
        "module.exports = (request, response) => { response.writeHead(200, { 'X-Own': '1' }); \
        response.flushHeaders(); response.end() }",
    ),
    Habit::new(
        "early_hints",
        "module.exports = (request, response) => {
           response.writeEarlyHints({ link: '</style.css>; rel=preload' })
           response.end('hello')
         }",
    )
    .asked(&[Asked::plainly("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n")]),
    Habit::new(
        "bodies",
        "module.exports = (request, response) => request.pipe(response)",
    )
    .asked(&[
        Asked::plainly("POST /{} HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello"),
        Asked::plainly("POST /{} HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n"),
        Asked::plainly("POST /{} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \
            chunked\r\n\r\n5\r\nhello\r\n1;x=y\r\n!\r\n0\r\n\r\n"),
        Asked::plainly("POST /{} HTTP/1.0\r\nContent-Length: 5\r\n\r\nhello"),
    ]),
    Habit::new(
        "a_body_that_nobody_reads",
        "module.exports = (request, response) => response.end('not of interest')",
    )
    .asked(&[Asked::plainly("POST /{} HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello")]),
    Habit::new(
        "a_request",
        "module.exports = (request, response) => {
           const { method, url, headers, socket, httpVersion } = request
           response.end(JSON.stringify([method, url, httpVersion, Object.entries(headers).sort(), socket.remoteAddress, request.complete]))
         }",
    )
    .asked(&[
        Asked::plainly("GET /{}/a%20b//c/../d?e=%41&f HTTP/1.1\r\nHost: Example.org:80\r\nX-One: 1\r\nx-two: \
            \u{fc}\r\n\r\n"),
        Asked::plainly("DELETE /{} HTTP/1.1\r\nHost: a\r\nX-Twice: 1\r\nX-Twice: 2\r\nCookie: a=1\r\nCookie: \
            b=2\r\nX-Empty:\r\n\r\n"),
    ]),
    Habit::new(
        "an_exception",
        "module.exports = () => { throw new Error('of the application') }",
    )
    .asked(&[Asked::plainly("GET /{} HTTP/1.0\r\n\r\n")]),
    Habit::new(
        "head_behind_the_body",
        "module.exports = (request, response) => { response.write('hello'); response.writeHead(404, { 'X-Late': '1' \
        }); response.end() }",
    )
    .logged("unit-http: the head of a response was sent before"),
    Habit::new(
        "the_last_word_before_the_body",
        "module.exports = (request, response) => {
           response.writeHead(200)
           if (!response.headersSent) response.writeHead(202)
           response.end()
         }",
    ),
    Habit::new(
        "nothing_as_a_piece",
        "module.exports = (request, response) => { response.setHeader('X-Own', undefined); response.write(null); \
        response.end('hello') }",
    ),
];
