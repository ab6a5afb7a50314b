//! Files that responses consist of, which the server sends by itself: the process is free before its client has read
//! them.

use corral_testkit::{Client, Load, MemoryFile, Request, eventually};

use crate::runtime::{Runtime, Served};

/// Far more than sockets hold.
const LARGE: u64 = 50_000_000;

fn target(file: &MemoryFile) -> String {
    format!("/file?{}", file.text())
}

/// Short ones and long ones go different ways.
pub(crate) fn of_all_sizes(runtime: &Runtime) {
    let server = runtime.serve();
    let mut client = server.connect();
    let content: Vec<u8> = (0..3_000_000_u32).map(|i| (i % 253) as u8).collect();
    for len in [0, 1, 32 * 1024 - 1, 32 * 1024, 32 * 1024 + 1, 200_000, content.len()] {
        let file = MemoryFile::of(&content[..len]);
        let response = client.get(&target(&file)).expect(200);
        assert!(response.body == content[..len], "{len} bytes come as {}", response.body.len());
        client.send(&Request::new("HEAD", &target(&file))).expect(200);
    }
    client.get("/pid").expect(200);
}

/// A client that has sent a request for a large file and reads nothing, of a server with one process.
struct Waiting {
    server: Served,
    file: MemoryFile,
    client: Client,
    router: u32,
}

impl Waiting {
    #[track_caller]
    fn new(runtime: &Runtime) -> Self {
        let server = runtime.serve();
        let file = MemoryFile::sparse(LARGE);
        let router = server.expect_processes("router", 1)[0];
        let mut client = server.connect();
        client.write(Request::get(&target(&file)).encode());
        eventually("the router has the file", || file.is_open_in(router).then_some(()));
        Self { server, file, client, router }
    }

    /// Reads the response: all of the file.
    #[track_caller]
    fn expect_all(mut self) {
        let body = self.client.read_response().expect(200).expect_field("Content-Length", "50000000").body;
        assert!(body.iter().all(|byte| *byte == 0), "something else came than the file");
        self.client.get("/pid").expect(200);
        eventually("the router has closed it", || (!self.file.is_open_in(self.router)).then_some(()));
    }
}

/// The process has nothing to do with it any more.
pub(crate) fn for_slow_clients(runtime: &Runtime) {
    let waiting = Waiting::new(runtime);
    let pid = waiting.server.get("/pid").expect(200).text();
    let others: Vec<_> = (0..20).map(|_| waiting.server.connect()).collect();
    for mut other in others {
        other.write(Request::get(&target(&waiting.file)).encode());
        other.read_until_text("HTTP/1.1 200 ");
    }
    waiting.server.get("/pid").expect(200).expect_body(pid);
    waiting.expect_all();
}

/// The name is of no matter once the file is open.
pub(crate) fn removed_meanwhile(runtime: &Runtime) {
    let waiting = Waiting::new(runtime);
    waiting.file.remove();
    waiting.expect_all();
}

/// Missing bytes cannot be made up, and the client must see that.
pub(crate) fn truncated_meanwhile(runtime: &Runtime) {
    let mut waiting = Waiting::new(runtime);
    waiting.file.set_len(1000);
    waiting.client.try_read_response_to("GET").expect_err("the end of the file is missing");
    waiting.server.expect_log("the file that it ends with has become shorter; the response is cut off");
    waiting.server.get("/pid").expect(200);
}

pub(crate) fn process_killed_meanwhile(runtime: &Runtime) {
    let waiting = Waiting::new(runtime);
    let pid = waiting.server.get("/pid").expect(200).text();
    waiting.server.kill(pid.parse().expect("a number"));
    eventually("another process answers", || (waiting.server.get("/pid").status == 200).then_some(()));
    waiting.expect_all();
}

pub(crate) fn restarted_meanwhile(runtime: &Runtime) {
    let waiting = Waiting::new(runtime);
    let pid = waiting.server.get("/pid").expect(200).text();
    waiting.server.control().get("/control/applications/app/restart").0.expect(200);
    eventually("another process answers", || {
        (waiting.server.get("/pid").expect(200).text() != pid).then_some(())
    });
    waiting.expect_all();
}

/// Others are served by a process that sends files alone: their descriptors come and go.
pub(crate) fn again_and_again(runtime: &Runtime) {
    let server = runtime.serve_with(runtime.four());
    let file = MemoryFile::sparse(100_000);
    let router = server.expect_processes("router", 1)[0];
    let load = Load::start(server.address().socket(), &target(&file), 8);
    load.await_more(500);
    let tally = load.stop();
    assert!(tally.failures.is_empty(), "{} good, but {:?}", tally.n_good, tally.failures);
    eventually("the router has closed them", || (!file.is_open_in(router)).then_some(()));
}
