//! Requests as a servlet sees them, and its responses as clients see them.

use std::thread;

use corral_testkit::{Client, Daemon, Load, Request, WebSocket, site};
use serde_json::json;

use crate::{Level, app, archive, compile, pid_of, webapp, with_app};

#[track_caller]
fn check(level: Level) {
    let site = webapp(level);
    let server = with_app(&site, json!({})).start();
    let request = Request::get("/hello/a%20b?x=1").field("Host", "example.com:8080").field("X-Own", "1");
    let text = server.send(&request.field("Corral-Client", "for=_unix")).expect(200).text();
    let local = server.address().socket();
    for line in [
        "path /a b",
        "query x=1",
        "client 127.0.0.1",
        &format!("local {} {}", local.ip(), local.port()),
        "server example.com 8080",
        "scheme http false",
        "url http://example.com:8080/hello/a%20b",
        "fields [host, x-own]",
    ] {
        assert!(text.lines().any(|found| found == line), "no {line:?} in {text}");
    }
    server.get("/page.jsp").expect(200).expect_body("1,4,9, by GET\n");
    let body: Vec<u8> = (0..700_000).map(|at| (at % 251) as u8).collect();
    assert!(server.send(&Request::post("/echo").body(&body)).expect(200).body == body);
    server.get("/fail").expect(500);
    server.expect_log("java.lang.IllegalStateException: on purpose");
    expect_session(&mut server.connect());
    chat(&server);
}

#[track_caller]
fn expect_session(client: &mut Client) {
    let first = client.get("/session").expect(200).expect_body("visit 1");
    let cookie = first.field("Set-Cookie").expect("there is a cookie");
    let cookie = cookie.split(';').next().expect("it has a value").to_owned();
    client.send(&Request::get("/session").field("Cookie", &cookie)).expect(200).expect_body("visit 2");
    client.get("/session").expect(200).expect_body("visit 1");
}

/// A connection that has proved to be an echo.
#[track_caller]
fn chat(server: &Daemon) -> WebSocket {
    let mut socket = WebSocket::open(server.connect(), &WebSocket::request("/chat"));
    socket.send_text("Hello");
    socket.expect_text("Hello");
    socket
}

#[test]
fn an_application_of_javax() {
    check(Level::Javax);
}

#[test]
fn an_application_of_jakarta() {
    check(Level::Jakarta);
}

/// Options: applications.{N}.webapp, applications.{N}.options, applications.{N}.options[], applications.{N}.unit_jars
#[test]
fn an_archive_below_a_path_of_its_own() {
    let site = webapp(Level::Javax);
    let war = archive(&site);
    let options = ["-Dnginx.unit.context.path=/shop", "-Down=set", "-Xmx256m"];
    let members = json!({ "webapp": war, "options": options, "unit_jars": "/no/such/folder" });
    let server = with_app(&site, members).start();
    let text = server.get("/shop/hello").expect(200).text();
    assert!(text.contains("context /shop\n"), "{text}");
    server.get("/shop/page.jsp").expect(200).expect_body("1,4,9, by GET\n");
    server.get("/shop/property?own").expect(200).expect_body("set");
    server.get("/hello").expect(404);
    let status = server.control().get("/status/modules/java").json();
    assert!(status["version"].as_str().is_some_and(|version| version.starts_with("9.0.")), "{status}");
}

/// Options: applications.{N}.classpath, applications.{N}.classpath[]
#[test]
fn classes_from_elsewhere() {
    let site = webapp(Level::Javax).file("sources/Extra.java", "package extra; public class Extra {}");
    compile(&site, Level::Javax, &["sources/Extra.java"], "more");
    let server = with_app(&site, json!({ "classpath": ["more"] })).start();
    server.get("/class?extra.Extra").expect(200).expect_body("extra.Extra");
    server.get("/class?no.Such").expect(200).expect_body("none");
    server.get("/class?corral.WebServer").expect(200).expect_body("none");
}

/// Options: applications.{N}.threads, applications.{N}.thread_stack_size
#[test]
fn as_many_requests_at_once_as_threads() {
    let site = webapp(Level::Javax);
    for (threads, expected) in [(json!(null), "1"), (json!(4), "4")] {
        let mut members = json!({ "thread_stack_size": 1_048_576 });
        if threads.is_number() {
            members["threads"] = threads;
        }
        let server = with_app(&site, members).start();
        server.get("/hello").expect(200);
        let clients: Vec<_> = (0..8).map(|_| server.connect()).collect();
        let asking = clients
            .into_iter()
            .map(|mut client| thread::spawn(move || client.get("/busy").expect(200).text()));
        let asking: Vec<_> = asking.collect();
        let most = asking.into_iter().map(|thread| thread.join().expect("it is answered")).max();
        assert_eq!(most.as_deref(), Some(expected));
    }
}

/// As below Tomcat's own web.xml: the application's servlets are asked where Tomcat's of that name would be.
#[test]
fn servlets_may_have_the_names_of_tomcat_s() {
    for level in [Level::Javax, Level::Jakarta] {
        let source = "import javax.servlet.http.*;
public class Own extends HttpServlet {
    protected void doGet(HttpServletRequest request, HttpServletResponse response) throws java.io.IOException {
        response.getWriter().print(getServletName() + \" \" + request.getServletPath());
    }
}"
        .replace("javax", level.prefix());
        let servlet = |name: &str| {
            format!(
                "<servlet><servlet-name>{name}</servlet-name><servlet-class>Own</servlet-class></servlet>"
            )
        };
        let mapping = "<servlet-mapping><servlet-name>default</servlet-name><url-pattern>/</url-pattern></servlet-mapping>";
        let site = site().file("Own.java", source);
        compile(&site, level, &["Own.java"], "app/WEB-INF/classes");
        for mapping in ["", mapping] {
            let servlets = [servlet("default"), servlet("jsp"), mapping.to_owned()].concat();
            site.write("app/WEB-INF/web.xml", format!("<web-app>{servlets}</web-app>"));
            let server = with_app(&site, json!({})).start();
            server.get("/any/path").expect(200).expect_body("default /any/path");
            server.get("/page.jsp").expect(200).expect_body("jsp /page.jsp");
        }
    }
}

#[test]
fn a_request_may_have_any_number_of_headers() {
    let site = webapp(Level::Javax);
    let server = with_app(&site, json!({})).start();
    let request =
        (0..1000).fold(Request::get("/hello"), |request, at| request.field(&format!("X-{at}"), "1"));
    let text = server.send(&request).expect(200).text();
    assert!(text.contains("x-999"), "{text}");
}

/// A WebSocket is not a request: it leaves the only thread to others.
#[test]
fn a_web_socket_takes_no_thread() {
    let site = webapp(Level::Javax);
    let server = with_app(&site, json!({})).start();
    let _chat = chat(&server);
    server.get("/hello").expect(200);
}

#[test]
fn the_client_of_a_trusted_proxy_is_the_client() {
    let site = webapp(Level::Javax);
    let server = with_app(&site, json!({})).start();
    let forwarded =
        json!({ "source": "127.0.0.0/8", "client_ip": "X-Forwarded-For", "protocol": "X-Forwarded-Proto" });
    let listener = json!({ "pass": "applications/app", "forwarded": forwarded });
    server
        .control()
        .put("/config/listeners", &json!({ server.address().to_string(): listener }))
        .expect_done();
    let request =
        Request::get("/hello").field("Host", "shop.example").field("X-Forwarded-For", "2001:db8::7");
    let text = server.send(&request.field("X-Forwarded-Proto", "https")).expect(200).text();
    for line in [
        "client 2001:db8::7",
        "scheme https true",
        "url https://shop.example/hello",
        "server shop.example 443",
    ] {
        assert!(text.lines().any(|found| found == line), "no {line:?} in {text}");
    }
}

#[test]
fn a_restart_loses_no_request() {
    let site = webapp(Level::Javax);
    let config = json!({ "applications": { "app": app(&site, json!({ "threads": 4 })) } });
    let server = corral_testkit::daemon().config(config).start();
    let before = pid_of(&server);
    let load = Load::start(server.address().socket(), "/hello", 4);
    load.await_more(50);
    server.control().get("/control/applications/app/restart").0.expect(200);
    load.await_more(50);
    let tally = load.stop();
    assert!(tally.failures.is_empty(), "{} good, but {:?}", tally.n_good, tally.failures);
    assert_ne!(pid_of(&server), before);
}

/// The virtual machine is there with the settings that links in its folder lead to.
///
/// Options: applications.{N}.isolation.rootfs, applications.{N}.isolation.automount.language_deps
#[test]
fn a_root_of_its_own_has_the_virtual_machine() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let built = webapp(Level::Javax);
    let root = site();
    let copied =
        std::process::Command::new("cp").arg("-r").arg(built.path("app")).arg(root.path("")).status();
    assert!(copied.expect("cp is there").success());
    let isolation = json!({ "rootfs": root.root(), "namespaces": { "mount": true } });
    let app = json!({ "type": "java", "webapp": "/app", "isolation": isolation });
    let server = corral_testkit::daemon().config(json!({ "applications": { "app": app } })).start();
    let text = server.get("/hello").expect(200).text();
    assert!(text.contains("client 127.0.0.1\n"), "{text}");
    // Its certificates of authorities are elsewhere, too.
    let authorities = server.get("/authorities").expect(200).text();
    assert!(authorities.parse::<u32>().is_ok_and(|n| n > 0), "{authorities}");
}
