//! HTTP/2 (RFC 9113): a connection carries any number of exchanges at a time, each on a stream of its own.
//!
//! The protocol is that of crate `h2`, which is driven by the task of the connection. Each stream has a task, too, on
//! the same event loop.
//!
//! `transport` gathers what `h2` writes, so that frames of many streams are one TLS record and one system call. `h2`
//! gets a few dozen frames in one turn. `head` writes each request as HTTP/1 would have it and the same parser reads
//! it; a body without a length is announced as chunked, a WebSocket by extended CONNECT as an upgrade. `reply` turns
//! what a handler gives in the form of HTTP/1 into frames. So routing, limits, applications and logs know no
//! difference.
//!
//! A piece of a body waits until the windows of stream and connection have room. The connection ends by GOAWAY when its
//! listener is closed, when it was idle for too long, or when the client cancels more requests than it waits for.

mod activity;
mod body;
mod carrier;
mod fuzz;
mod head;
mod limits;
mod piece;
mod reply;
mod stream;
mod switched;
mod transport;
mod turn_budget;
mod unsent;

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use corral_ipc::log::{self, ConnectionId};
use corral_ipc::message::{ConnectionProtocol, Http2Fault};
use h2::server::{Connection as Session, SendResponse};
use h2::{Reason, RecvStream};
use http::Request;

use self::activity::Activity;
pub(crate) use self::fuzz::head as fuzz_head;
use self::limits::ResetAllowance;
use self::piece::UnsentPiece;
use self::transport::{Transport, TransportHandle};
use self::unsent::UnsentBytes;
use crate::client::connection::ClientConnection;
use crate::client::linger;
use crate::client::listener_handle::ListenerHandle;
use crate::clock::deadline::{Deadline, Elapsed};
use crate::services::LoopServices;
use crate::tls::TlsPeer;

/// The beginning of a connection that speaks HTTP/2 (RFC 9113 section 3.4), up to the end of what looks like a request
/// line.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n";

/// For how long a client may go on that was told that nothing more is taken, when none of its requests is running.
const FAREWELL: Duration = Duration::from_secs(1);

/// Whether a client begins to speak HTTP/2.
pub(super) fn is_preface(input: &[u8]) -> bool {
    input.starts_with(PREFACE)
}

/// The facts and counts that the streams of a connection share.
struct StreamContext {
    id: ConnectionId,
    services: Rc<LoopServices>,
    handle: Rc<ListenerHandle>,
    peer: Option<SocketAddr>,
    local_address: Option<SocketAddr>,
    tls_peer: Option<TlsPeer<'static>>,
    activity: Activity,
    n_requests: Cell<u32>,
    resets: RefCell<ResetAllowance>,
    unsent: Rc<UnsentBytes>,
}

impl StreamContext {
    /// Notes that the client has taken a request back.
    fn note_reset(&self) {
        self.resets.borrow_mut().lose();
        self.services.counters.traffic.http2.resets.add(1);
    }

    /// Counts a request; how many there are.
    fn count_request(&self) -> u32 {
        self.n_requests.update(|n| n.saturating_add(1));
        self.n_requests.get()
    }
}

/// The next thing to do for a connection.
#[expect(clippy::large_enum_variant, reason = "it is taken apart where it is made")]
enum SessionEvent {
    Request(Request<RecvStream>, SendResponse<UnsentPiece>),
    /// The first stream has begun, or the last one has ended.
    Turned,
    /// The listener was closed.
    Closed,
    /// The client has asked for too much.
    Outrage,
    /// The connection is over.
    End,
}

/// Serves a connection to its end; `input` is what the client has sent. No async function, because its future would
/// keep the places of its arguments. The box is freed, which its owner would keep for as long as this runs.
pub(super) fn run(connection: Box<ClientConnection>, input: Vec<u8>) -> impl Future<Output = ()> {
    let ClientConnection { open, id, services, handle, stream, deadline, peer, permit, .. } = *connection;
    let shared = Rc::new(StreamContext {
        id,
        activity: Activity::new(&services),
        local_address: stream.local_address(),
        tls_peer: stream.tls().map(|session| session.peer().into_owned()),
        services,
        handle,
        peer,
        n_requests: Cell::default(),
        resets: RefCell::default(),
        unsent: Rc::default(),
    });
    let transport = Rc::new(RefCell::new(Transport::new(stream, input)));
    async move {
        let _speaking = shared.services.counters.traffic.speak(ConnectionProtocol::Http2);
        let mut serving = pin!(serve(&shared, transport, &deadline));
        poll_fn(|context| log::about(id, || serving.as_mut().poll(context))).await;
        shared.activity.end();
        drop((permit, open));
    }
}

async fn serve(shared: &Rc<StreamContext>, transport: Rc<RefCell<Transport>>, deadline: &Deadline) {
    let greeted = greet(shared, &transport, deadline).await;
    match greeted {
        Ok(Ok(session)) => converse(shared, session, &transport, deadline).await,
        Ok(Err(error)) => shared.note_end(&error),
        Err(Elapsed) => return,
    }
    let transport = Rc::into_inner(transport).expect("the session had the other one");
    let mut transport = transport.into_inner();
    let (stream, scratch) = transport.end();
    linger::run(stream, deadline, scratch).await;
}

/// A session, why there is none, or that it has not begun in time.
type Greeted = Result<Result<Box<Session<TransportHandle, UnsentPiece>>, h2::Error>, Elapsed>;

/// Greets a client. All that is large in it is over while the connection lives on, so it has a box of its own.
fn greet<'c>(
    shared: &StreamContext,
    transport: &'c Rc<RefCell<Transport>>,
    deadline: &'c Deadline,
) -> Pin<Box<impl Future<Output = Greeted> + use<'c>>> {
    let settings = shared.handle.settings();
    let rules = &settings.generation.shared.request_settings;
    let greeting = limits::builder(rules).handshake(TransportHandle(Rc::clone(transport)));
    let limit = rules.header_read_timeout;
    Box::pin(async move {
        let greeted = deadline.limit(limit, pin!(drive(transport, greeting))).await;
        greeted.map(|greeted| greeted.map(Box::new))
    })
}

/// Polls what reads and writes, and sends what it has written.
async fn drive<F: Future>(transport: &RefCell<Transport>, work: F) -> F::Output {
    let mut work = pin!(work);
    poll_fn(|context| {
        let polled = work.as_mut().poll(context);
        let mut transport = transport.borrow_mut();
        // An error shows at the next read or write.
        let _ = transport.poll_send(context);
        if polled.is_pending() {
            transport.end_turn();
        }
        polled
    })
    .await
}

/// Takes requests until the client, or the listener, has no more.
async fn converse(
    shared: &Rc<StreamContext>,
    mut session: Box<Session<TransportHandle, UnsentPiece>>,
    transport: &RefCell<Transport>,
    deadline: &Deadline,
) {
    let mut is_leaving = false;
    loop {
        let is_busy = shared.activity.is_busy();
        let mut closing = pin!(shared.handle.closed_for_streams());
        let next = poll_fn(|context| {
            if !is_leaving && closing.as_mut().poll(context).is_ready() {
                return Poll::Ready(SessionEvent::Closed);
            }
            let event = poll_event(shared, &mut session, transport, is_busy, context);
            if event.is_pending() {
                transport.borrow_mut().end_turn();
            }
            // A client that is to leave is waited for until it has: what it still sends would have the system throw
            // away what it has not read.
            if !is_leaving && event.is_pending() && transport.borrow().is_sent() {
                shared.activity.rest_if_done();
            }
            event
        });
        let event = match (is_busy, is_leaving) {
            (true, _) => Ok(next.await),
            (false, true) => deadline.limit(FAREWELL, pin!(next)).await,
            (false, false) => deadline.limit_idle(shared.idle_limit(), pin!(next)).await,
        };
        match event {
            Ok(SessionEvent::Request(request, respond)) => shared.begin(request, respond),
            Ok(SessionEvent::Turned) => {}
            Ok(SessionEvent::Outrage) => {
                tracing::info!("HTTP/2: the client resets too many requests; the connection is closed");
                shared.services.counters.traffic.http2.note_fault(Http2Fault::Flood);
                session.abrupt_shutdown(Reason::ENHANCE_YOUR_CALM);
                is_leaving = true;
            }
            Ok(SessionEvent::End) => return,
            // It was told before, or has waited for too long.
            Err(_) if is_leaving => return,
            Ok(SessionEvent::Closed) | Err(_) => {
                session.graceful_shutdown();
                is_leaving = true;
            }
        }
    }
}

fn poll_event(
    shared: &StreamContext,
    session: &mut Session<TransportHandle, UnsentPiece>,
    transport: &RefCell<Transport>,
    was_busy: bool,
    context: &mut Context<'_>,
) -> Poll<SessionEvent> {
    let accepted = session.poll_accept(context);
    if let Poll::Ready(Err(_)) = transport.borrow_mut().poll_send(context) {
        return Poll::Ready(SessionEvent::End);
    }
    match accepted {
        Poll::Ready(Some(Ok((request, respond)))) => {
            return Poll::Ready(SessionEvent::Request(request, respond));
        }
        Poll::Ready(Some(Err(error))) => {
            shared.note_end(&error);
            return Poll::Ready(SessionEvent::End);
        }
        Poll::Ready(None) => return Poll::Ready(SessionEvent::End),
        Poll::Pending => {}
    }
    if shared.resets.borrow_mut().is_at_end() {
        return Poll::Ready(SessionEvent::Outrage);
    }
    shared.activity.note_poll(context);
    if was_busy == shared.activity.is_busy() { Poll::Pending } else { Poll::Ready(SessionEvent::Turned) }
}

impl StreamContext {
    /// Says why a connection ends, unless the client has just gone.
    fn note_end(&self, error: &h2::Error) {
        if !error.is_io() {
            tracing::info!("HTTP/2: the connection ends: {error}");
        }
        if let Some(fault) = limits::fault_of(error) {
            self.services.counters.traffic.http2.note_fault(fault);
        }
    }

    /// Answers a request in a task of its own, unless the client has taken it back already.
    fn begin(self: &Rc<Self>, request: Request<RecvStream>, mut respond: SendResponse<UnsentPiece>) {
        self.services.counters.traffic.http2.streams.add(1);
        if respond.poll_reset(&mut Context::from_waker(Waker::noop())).is_ready() {
            self.note_reset();
            return;
        }
        self.activity.begin_one();
        let answering = stream::run(RunningStream(Rc::clone(self)), request, respond);
        // Written where it stays: it would be copied on its way into the task.
        tokio::task::spawn_local(Box::into_pin(Box::write(Box::new_uninit(), answering)));
    }

    /// For how long the connection may wait for a request.
    fn idle_limit(&self) -> Duration {
        let settings = self.handle.settings();
        let limit = settings.generation.shared.request_settings.idle_timeout;
        self.handle.keep_idle().map_or(limit, |keep_idle| limit.min(keep_idle))
    }
}

/// A stream that is answered.
struct RunningStream(Rc<StreamContext>);

impl Drop for RunningStream {
    fn drop(&mut self) {
        self.0.activity.end_one();
    }
}
