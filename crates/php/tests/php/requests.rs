//! The request as a script sees it.

use corral_channel::{Flags, FrameKind};

use crate::host::{Host, Worker, app};
use crate::messages::{Request, Response, get, post};

/// Runs one script for one request.
#[track_caller]
fn ask(script: &str, request: &Request) -> Response {
    let mut host = app(&[("index.php", script)]).start();
    let mut worker = host.worker();
    worker.ask(&host, request)
}

/// Checks what one expression is worth during a request, as JSON.
#[track_caller]
fn check(expression: &str, request: &Request, expected: &str) {
    let response = ask(&format!("<?php echo json_encode({expression}, JSON_UNESCAPED_SLASHES);"), request);
    assert_eq!(response.text(), expected, "{expression}");
}

fn start(files: &[(&str, &str)]) -> (Host, Worker) {
    let mut host = app(files).start();
    let worker = host.worker();
    (host, worker)
}

#[test]
fn server_variables_are_exactly_these() {
    let script = "<?php unset($_SERVER['REQUEST_TIME'], $_SERVER['REQUEST_TIME_FLOAT']);
        foreach (getenv() as $name => $_) unset($_SERVER[$name]);
        ksort($_SERVER); foreach ($_SERVER as $k => $v) echo \"$k=$v\\n\";";
    let mut host = app(&[("sub/a.php", script)]).start();
    let root = host.app().root();
    let root = root.to_str().unwrap();
    let request = post("/sub/a.php/x/y?q=1&r=%20", "application/json", "{}").field("X-One.two", "3");
    let response = host.worker().ask(&host, &request);
    let expected = format!(
        "CONTENT_LENGTH=2\nCONTENT_TYPE=application/json\nDOCUMENT_ROOT={root}\nDOCUMENT_URI=/sub/a.php/x/y\n\
        GATEWAY_INTERFACE=CGI/1.1\nHTTP_CONTENT_LENGTH=2\nHTTP_CONTENT_TYPE=application/json\n\
        HTTP_HOST=example.com:8080\nHTTP_X_ONE_TWO=3\nPATH_INFO=/x/y\nPATH_TRANSLATED={root}/x/y\n\
        PHP_SELF=/sub/a.php/x/y\nQUERY_STRING=q=1&r=%20\nREMOTE_ADDR=192.0.2.7\nREQUEST_METHOD=POST\n\
        REQUEST_SCHEME=http\nREQUEST_URI=/sub/a.php/x/y?q=1&r=%20\nSCRIPT_FILENAME={root}/sub/a.php\n\
        SCRIPT_NAME=/sub/a.php\nSERVER_ADDR=192.0.2.1\nSERVER_NAME=example.com\nSERVER_PORT=8080\n\
        SERVER_PROTOCOL=HTTP/1.1\nSERVER_SOFTWARE=Corral/{}\n",
        env!("CARGO_PKG_VERSION")
    );
    assert_eq!(response.text(), expected);
}

#[test]
fn server_variables_that_depend() {
    let root = get("/");
    check("$_SERVER['HTTPS']", &root.clone().tls(), "\"on\"");
    check("isset($_SERVER['HTTPS'], $_SERVER['PATH_INFO'], $_SERVER['CONTENT_LENGTH'])", &root, "false");
    check("isset($_SERVER['REMOTE_PORT'])", &root, "false");
    check("$_SERVER['QUERY_STRING']", &root, "\"\"");
    check("$_SERVER['SERVER_NAME']", &root.clone().without_fields(), "\"localhost\"");
    check("$_SERVER['SERVER_PROTOCOL']", &root.clone().http_10(), "\"HTTP/1.0\"");
    check("$_SERVER['SERVER_PORT']", &root.clone().port(0), "\"80\"");
    check("$_SERVER['SERVER_PORT']", &root.clone().port(0).tls(), "\"443\"");
    check("abs($_SERVER['REQUEST_TIME'] - time()) < 2", &root, "true");
    check("is_float($_SERVER['REQUEST_TIME_FLOAT'])", &root, "true");
}

#[test]
fn repeated_fields_are_joined() {
    let request = get("/").field("X-A", "1").field("x-a", "2").field("Cookie", "a=1").field("cookie", "b=2");
    check("$_SERVER['HTTP_X_A']", &request, "\"1, 2\"");
    check("$_SERVER['HTTP_COOKIE']", &request, "\"a=1; b=2\"");
    check("$_COOKIE", &request, r#"{"a":"1","b":"2"}"#);
    check(
        "getallheaders()",
        &request,
        r#"{"Host":"example.com:8080","X-A":"1","x-a":"2","Cookie":"a=1","cookie":"b=2"}"#,
    );
    check("apache_request_headers() === getallheaders()", &request, "true");
}

#[test]
fn a_filter_sees_server_variables_too() {
    check("filter_input(INPUT_SERVER, 'REMOTE_ADDR')", &get("/"), "\"192.0.2.7\"");
    check("filter_input(INPUT_SERVER, 'HTTP_X_A', FILTER_VALIDATE_INT)", &get("/").field("X-A", "12"), "12");
    check("[$_SERVER['x'] = 1, filter_has_var(INPUT_SERVER, 'x')]", &get("/"), "[1,false]");
    check("filter_has_var(INPUT_SERVER, 'SCRIPT_NAME')", &get("/"), "true");
    check(
        "filter_input_array(INPUT_SERVER, ['SERVER_PORT' => FILTER_VALIDATE_INT])",
        &get("/"),
        r#"{"SERVER_PORT":8080}"#,
    );
    check("filter_input(INPUT_GET, 'a')", &get("/?a=1"), "\"1\"");
    let script = "<?php echo $_SERVER['HTTP_X_A'], '|', $_GET['q'];";
    let mut host = app(&[("index.php", script)]).admin("filter.default", "special_chars").start();
    let response = host.worker().ask(&host, &get("/?q=<b>").field("X-A", "<a>"));
    assert_eq!(response.text(), "&#60;a&#62;|&#60;b&#62;");
}

#[test]
fn variables_are_made_without_jit_as_well() {
    let script = "<?php echo count($_SERVER) > 15 ? 'all' : 'few', $_SERVER['REMOTE_ADDR'];";
    let mut host = app(&[("index.php", script)]).admin("auto_globals_jit", "0").start();
    assert_eq!(host.worker().ask(&host, &get("/")).text(), "all192.0.2.7");
    let mut host =
        app(&[("index.php", "<?php echo count($_SERVER);")]).admin("variables_order", "GPC").start();
    assert_eq!(host.worker().ask(&host, &get("/")).text(), "0");
}

#[test]
fn queries_and_forms() {
    check("$_GET", &get("/?a[]=1&a[]=2&b=%C3%A9+x"), r#"{"a":["1","2"],"b":"\u00e9 x"}"#);
    let form = post("/?a=1", "application/x-www-form-urlencoded", "b=2&c=3");
    check("[$_GET, $_POST, $_REQUEST]", &form, r#"[{"a":"1"},{"b":"2","c":"3"},{"a":"1","b":"2","c":"3"}]"#);
    check("file_get_contents('php://input')", &form, "\"b=2&c=3\"");
    check("$_POST", &post("/", "application/json", "{}"), "[]");
    check("file_get_contents('php://input')", &post("/", "application/json", "{}").method("PUT"), "\"{}\"");
}

#[test]
fn credentials() {
    let basic = get("/").field("Authorization", "Basic dXNlcjpwYXNzOndvcmQ=");
    check("[$_SERVER['PHP_AUTH_USER'], $_SERVER['PHP_AUTH_PW']]", &basic, r#"["user","pass:word"]"#);
    check("$_SERVER['HTTP_AUTHORIZATION']", &basic, "\"Basic dXNlcjpwYXNzOndvcmQ=\"");
    let digest = get("/").field("Authorization", "Digest username=\"x\"");
    check("$_SERVER['PHP_AUTH_DIGEST']", &digest, r#""username=\"x\"""#);
    for nonsense in ["Basic", "Basic !!!", "Bearer x", ""] {
        let request = get("/").field("Authorization", nonsense);
        check("isset($_SERVER['PHP_AUTH_USER'], $_SERVER['PHP_AUTH_DIGEST'])", &request, "false");
    }
}

#[test]
fn credentials_of_one_request_are_unknown_to_the_next() {
    let (host, mut worker) =
        start(&[("index.php", "<?php echo $_SERVER['PHP_AUTH_USER'] ?? 'nobody', count($_COOKIE);")]);
    let request = get("/").field("Authorization", "Basic dTpw").field("Cookie", "a=1");
    assert_eq!(worker.ask(&host, &request).text(), "u1");
    assert_eq!(worker.ask(&host, &get("/")).text(), "nobody0");
}

fn upload(size: usize) -> Request {
    let mut body = b"--X\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a.bin\"\r\n\
        Content-Type: application/x-y\r\n\r\n"
        .to_vec();
    body.extend((0..size).map(|n| n as u8));
    body.extend_from_slice(b"\r\n--X\r\nContent-Disposition: form-data; name=\"t\"\r\n\r\nv\r\n--X--\r\n");
    post("/", "multipart/form-data; boundary=X", body)
}

#[test]
fn uploads_of_any_size() {
    let script = "<?php $f = $_FILES['f'] ?? null;
        echo $f['name'] ?? '-', ' ', $f['error'] ?? '-', ' ', $f['size'] ?? '-', ' ', $_POST['t'] ?? '-', ' ',
        ($f['error'] ?? 1) ? '' : md5_file($f['tmp_name']);";
    let limits = |upload, post| {
        app(&[("index.php", script)]).admin("upload_max_filesize", upload).admin("post_max_size", post)
    };
    let mut host = limits("10M", "16M").start();
    let mut worker = host.worker();
    assert_eq!(worker.ask(&host, &upload(5)).text(), "a.bin 0 5 v d05374dc381d9b52806446a71c8e79b1");
    assert_eq!(
        worker.ask(&host, &upload(3 << 20)).text(),
        "a.bin 0 3145728 v e2015a9c50906c76046ae626fb9f16b9"
    );

    let mut host = limits("1M", "16M").start();
    assert_eq!(host.worker().ask(&host, &upload(3 << 20)).text(), "a.bin 1 0 v ");
    let mut host = limits("1M", "2M").start();
    let mut worker = host.worker();
    assert_eq!(worker.ask(&host, &upload(3 << 20)).text(), "- - - - ");
    assert!(host.log().contains("exceeds the limit of 2097152 bytes"), "{}", host.log());
    assert_eq!(worker.ask(&host, &upload(5)).text(), "a.bin 0 5 v d05374dc381d9b52806446a71c8e79b1");
}

#[test]
fn bodies_are_streamed() {
    let script = "<?php $in = fopen('php://input', 'r'); $h = hash_init('crc32b'); $n = 0;
        while (!feof($in)) { $s = fread($in, 8192); $n += strlen($s); hash_update($h, $s); }
        echo $n, ' ', hash_final($h), ' ', memory_get_peak_usage() < 4e6 ? 'small' : memory_get_peak_usage();";
    let (host, mut worker) = start(&[("index.php", script)]);
    let body: Vec<u8> = (0..10 << 20).map(|n: u32| (n * 7) as u8).collect();
    let response = worker.ask(&host, &post("/", "application/octet-stream", body).method("PUT"));
    assert_eq!(response.text(), "10485760 6d6da596 small");
}

#[test]
fn a_body_that_nobody_reads_stays_where_it_is() {
    let (host, mut worker) = start(&[("index.php", "<?php echo 'ok';")]);
    let large = post("/", "text/plain", vec![b'x'; 100_000]).method("PUT");
    for _ in 0..2 {
        worker.submit(&large);
        let (head, _) = worker.frame(&host);
        assert_eq!((head.kind, head.flags), (FrameKind::Response, Flags::END | Flags::DONE));
    }
    assert_eq!(worker.ask(&host, &get("/")).text(), "ok");
}

#[test]
fn a_body_can_be_read_until_the_very_end() {
    let script =
        "<?php register_shutdown_function(function () { echo strlen(file_get_contents('php://input')); });";
    let request = post("/", "text/plain", vec![b'x'; 100_000]).method("PUT");
    assert_eq!(ask(script, &request).text(), "100000");
}

#[test]
fn the_environment_is_visible_and_fields_are_not_in_it() {
    let script = "<?php echo getenv('COLOUR'), $_ENV['COLOUR'] ?? '-', getenv('HTTP_PROXY') ?: 'none', \
        getenv('REMOTE_ADDR') ?: 'none';";
    let mut host =
        app(&[("index.php", script)]).variable("COLOUR=blue").admin("variables_order", "EGPCS").start();
    let response = host.worker().ask(&host, &get("/").field("Proxy", "evil"));
    assert_eq!(response.text(), "bluebluenonenone");
}
