//! Headers whose values come out empty.

use corral_testkit::{Http2, Origin, Request, daemon};
use serde_json::{Value, json};

/// A value that is written as nothing is sent, as Unit sends it; one that variables leave empty is not.
///
/// Options: routes[].action.response_headers
#[test]
fn a_reply_has_no_header_of_an_empty_variable() {
    let origin =
        Origin::answering("HTTP/1.1 200 OK\r\nX-A: origin\r\nX-B: origin\r\nContent-Length: 0\r\n\r\n");
    let headers = json!({ "X-A": "$arg_a", "X-B": "", "X-C": "$arg_a$arg_b", "X-D": "`${args.a ?? ''}`" });
    let server = daemon().start_unconfigured();
    let config = json!({
        "listeners": { server.address().to_string(): { "pass": "routes", "http2": "prior_knowledge" } },
        "routes": [
            { "match": { "uri": "/none" }, "action": { "share": "/nonexistent", "response_headers": headers } },
            { "action": { "proxy": origin.url(), "response_headers": headers } },
        ],
    });
    server.control().put("/config", &config).expect_done();
    let shown = |target: &str| {
        let reply = Http2::connect(server.address().socket()).get(target);
        assert_eq!(server.get(target).all("x-b").collect::<Vec<_>>(), [""], "{target}");
        ["x-a", "x-b", "x-c", "x-d"].map(|name| reply.field(name).map(str::to_owned))
    };
    let some = |text: &str| Some(text.to_owned());
    for target in ["/", "/none", "/?a=", "/?a", "/?b="] {
        assert_eq!(shown(target), [None, some(""), None, None], "{target}");
    }
    assert_eq!(shown("/?a=1"), [some("1"), some(""), some("1"), some("1")]);
    assert_eq!(shown("/none?b=2"), [None, some(""), some("2"), None]);
    // A blank is something.
    assert_eq!(shown("/?a=%20"), [some(" "), some(""), some(" "), some(" ")]);
}

/// Options: routes[].action.request_headers
#[test]
fn a_server_gets_no_header_of_an_empty_variable() {
    let origin = Origin::echo();
    let headers = json!({ "X-User": "$remote_user", "X-Own": "", "X-Arg": "$arg_a" });
    let action: Value = json!({ "proxy": origin.url(), "request_headers": headers });
    let server = daemon().routes(json!([{ "action": action }])).start();
    let request =
        Request::get("/").field("X-User", "spoofed").field("x-own", "spoofed").field("X_User", "spoofed");
    let text = server.send(&request).expect(200).text();
    assert!(!text.contains("spoofed") && text.contains("X-Own: \r\n"), "{text}");
    assert!(!text.contains("X-User:") && !text.contains("X-Arg:"), "{text}");
    assert!(server.get("/?a=b").text().contains("X-Arg: b\r\n"));
}
