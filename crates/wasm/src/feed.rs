//! The body of a request: the component asks for it, and the worker's thread reads it when it is asked.

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use corral_channel::message::RequestView;
use corral_worker::Exchange;
use http_body_util::BodyExt as _;
use http_body_util::Full;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::{Body, Frame};
use wasmtime_wasi_http::Error;

/// Read at once.
const CHUNK: usize = 64 << 10;

/// Gets the body from the exchange, as far as the component wants it.
pub(crate) struct Feed(Arc<Mutex<FeedState>>);

/// State that feed and body share. One thread uses it, which the types cannot show.
#[derive(Default)]
struct FeedState {
    wanted: bool,
    chunk: Option<Result<Bytes, Error>>,
    ended: bool,
    waker: Option<Waker>,
}

/// The body of a request, and the feed that asks for it, unless it has come with the request.
pub(crate) fn body(view: &RequestView<'_>) -> (UnsyncBoxBody<Bytes, Error>, Option<Feed>) {
    if view.head.body_complete {
        let all = Full::new(Bytes::copy_from_slice(view.body));
        return (all.map_err(|never: Infallible| match never {}).boxed_unsync(), None);
    }
    let shared = Arc::<Mutex<FeedState>>::default();
    (Fed(Arc::clone(&shared)).boxed_unsync(), Some(Feed(shared)))
}

impl Feed {
    /// Reads what the component has asked for; whether it had.
    pub(crate) fn give(&self, exchange: &mut dyn Exchange) -> bool {
        if !self.lock().wanted {
            return false;
        }
        let read = read(exchange);
        let mut shared = self.lock();
        shared.wanted = false;
        shared.ended = !matches!(&read, Some(Ok(_)));
        shared.chunk = read;
        if let Some(waker) = shared.waker.take() {
            waker.wake();
        }
        true
    }

    fn lock(&self) -> MutexGuard<'_, FeedState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The next piece; `None` is the end.
fn read(exchange: &mut dyn Exchange) -> Option<Result<Bytes, Error>> {
    let mut chunk = vec![0; CHUNK];
    match exchange.read_body(&mut chunk) {
        Ok(0) => None,
        Ok(n) => {
            chunk.truncate(n);
            Some(Ok(chunk.into()))
        }
        Err(error) => Some(Err(failed(&error))),
    }
}

fn failed(error: &io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::ConnectionAborted => Error::ConnectionTerminated,
        _ => Error::InternalError(Some(error.to_string())),
    }
}

/// The body as the component sees it.
struct Fed(Arc<Mutex<FeedState>>);

impl Body for Fed {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let mut shared = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(chunk) = shared.chunk.take() {
            return Poll::Ready(Some(chunk.map(Frame::data)));
        }
        if shared.ended {
            return Poll::Ready(None);
        }
        shared.wanted = true;
        shared.waker = Some(cx.waker().clone());
        Poll::Pending
    }
}
