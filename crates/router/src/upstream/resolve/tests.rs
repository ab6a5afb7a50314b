//! Names are looked up with a name server of the test's own.

use std::net::{Ipv4Addr, UdpSocket};
use std::sync::atomic::{AtomicUsize, Ordering};

use hickory_resolver::config::{ConnectionConfig, NameServerConfig, ResolverConfig};
use hickory_resolver::net::runtime::TokioRuntimeProvider;

use super::*;

/// A name server that knows one address for every name, and for one second only; or fails.
struct NameServer {
    port: u16,
    answer: Mutex<Option<Ipv4Addr>>,
    n_questions: AtomicUsize,
}

impl NameServer {
    fn start(answer: Ipv4Addr) -> Arc<Self> {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let port = socket.local_addr().unwrap().port();
        let server =
            Arc::new(Self { port, answer: Mutex::new(Some(answer)), n_questions: AtomicUsize::new(0) });
        let theirs = Arc::downgrade(&server);
        std::thread::spawn(move || {
            let mut question = [0; 512];
            while let Ok((n, client)) = socket.recv_from(&mut question) {
                let Some(server) = theirs.upgrade() else { return };
                socket.send_to(&server.reply(&question[..n]), client).unwrap();
            }
        });
        server
    }

    fn set(&self, answer: Option<Ipv4Addr>) {
        *self.answer.lock().unwrap() = answer;
    }

    /// RFC 1035 section 4.
    fn reply(&self, message: &[u8]) -> Vec<u8> {
        self.n_questions.fetch_add(1, Ordering::SeqCst);
        let end = 12 + message[12..].iter().position(|&byte| byte == 0).unwrap() + 5;
        let wants_v4 = message[end - 4..end - 2] == [0, 1];
        let answer = *self.answer.lock().unwrap();
        let (code, answer) = (if answer.is_some() { 0 } else { 2 }, answer.filter(|_| wants_v4));
        let mut reply = message[..2].to_vec();
        reply.extend([0x81, 0x80 | code, 0, 1, 0, u8::from(answer.is_some()), 0, 0, 0, 0]);
        reply.extend(&message[12..end]);
        if let Some(address) = answer {
            reply.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 1, 0, 4]);
            reply.extend(address.octets());
        }
        reply
    }

    fn resolver(&self) -> Result<TokioResolver, NetError> {
        let mut connection = ConnectionConfig::udp();
        connection.port = self.port;
        let server = NameServerConfig::new(Ipv4Addr::LOCALHOST.into(), true, vec![connection]);
        let config = ResolverConfig::from_name_servers(vec![server]);
        TokioResolver::builder_with_config(config, TokioRuntimeProvider::default()).build()
    }
}

/// Waits until a condition holds.
async fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !holds() {
        assert!(Instant::now() < deadline, "{what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn names_are_looked_up_again_and_kept_when_that_fails() {
    let [first, second, third] = [1, 2, 3].map(|last| Ipv4Addr::new(127, 0, 0, last));
    let server = NameServer::start(first);
    let name = Arc::new(ResolvedName {
        host: "app.example".to_owned(),
        known: watch::Sender::new(KnownAddresses::default()),
    });
    let mut addresses = name.addresses();
    let theirs = Arc::clone(&server);
    let task = tokio::spawn(keep_up(Arc::downgrade(&name), move || theirs.resolver()));
    // A waiting request has seen the change; requests wait with a copy as well.
    addresses.clone().wait().await;
    assert_eq!(addresses.current(), [IpAddr::from(first)]);
    server.set(Some(second));
    eventually("the time to live ends", || addresses.current() == [IpAddr::from(second)]).await;
    server.set(None);
    let n_questions = server.n_questions.load(Ordering::SeqCst);
    let asked_again = || server.n_questions.load(Ordering::SeqCst) > n_questions + 4;
    eventually("the server is asked again", asked_again).await;
    assert_eq!(addresses.current(), [IpAddr::from(second)], "what is known is kept");
    server.set(Some(third));
    eventually("the server has recovered", || addresses.current() == [IpAddr::from(third)]).await;
    drop(name);
    eventually("the name is not needed any more", || task.is_finished()).await;
}
