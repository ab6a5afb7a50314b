//! Moves what a component says to the exchange, and what a client has sent to the component.

use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use corral_worker::{ClientGone, Exchange};
use hyper::Response;
use hyper::body::Body as _;
use tokio::sync::oneshot;
use wasmtime_wasi_http::p2::bindings::http::types::ErrorCode;
use wasmtime_wasi_http::p2::body::HyperOutgoingBody;

use crate::feed::Feed;

/// The first result of a component: a head with a body to come, or the reason why it cannot answer.
pub(crate) type RelayedHead = Result<Response<HyperOutgoingBody>, ErrorCode>;

/// One request on its way through a component.
pub(crate) struct ResponseRelay<'a> {
    exchange: &'a mut dyn Exchange,
    feed: Option<Feed>,
    state: RelayState,
}

enum RelayState {
    /// The component has not answered.
    Silent(oneshot::Receiver<RelayedHead>),
    /// The head is there, and more of the body may come.
    Body(HyperOutgoingBody),
    /// The component has said all that it will say.
    Complete,
    /// No response will come, for this reason.
    Unanswered(String),
    /// The response ends early, for this reason.
    Broken(String),
    /// The client has left.
    ClientGone,
}

impl<'a> ResponseRelay<'a> {
    pub(crate) fn new(
        exchange: &'a mut dyn Exchange,
        feed: Option<Feed>,
        head: oneshot::Receiver<RelayedHead>,
    ) -> Self {
        Self { exchange, feed, state: RelayState::Silent(head) }
    }

    pub(crate) fn exchange(&mut self) -> &mut dyn Exchange {
        self.exchange
    }

    /// Moves all that can be moved now; whether that was anything.
    pub(crate) fn advance(&mut self, cx: &mut Context<'_>) -> bool {
        let mut moved = self.feed.as_ref().is_some_and(|feed| feed.give(self.exchange));
        while self.step(cx) {
            moved = true;
        }
        moved
    }

    fn step(&mut self, cx: &mut Context<'_>) -> bool {
        let next = match &mut self.state {
            RelayState::Silent(head) => match Pin::new(head).poll(cx) {
                Poll::Ready(Ok(Ok(response))) => RelayState::Body(respond(self.exchange, response)),
                Poll::Ready(Ok(Err(code))) => RelayState::Unanswered(format!("{code:?}")),
                Poll::Ready(Err(_)) => RelayState::Unanswered("it has ended without a response".to_owned()),
                Poll::Pending => return false,
            },
            RelayState::Body(body) => match Pin::new(body).poll_frame(cx) {
                Poll::Ready(Some(Ok(frame))) => {
                    // Trailers have no way to the client.
                    let Ok(data) = frame.into_data() else { return true };
                    match self.exchange.write(&data) {
                        Ok(()) => return true,
                        Err(ClientGone) => RelayState::ClientGone,
                    }
                }
                Poll::Ready(Some(Err(error))) => RelayState::Broken(error.to_string()),
                Poll::Ready(None) => RelayState::Complete,
                Poll::Pending => return false,
            },
            _ => return false,
        };
        self.state = next;
        true
    }

    /// Nothing moves at the moment: what there is goes to the client, and a response that is complete as a whole.
    pub(crate) fn pause(&mut self) {
        match self.state {
            RelayState::Body(_) => self.exchange.flush(),
            RelayState::Complete => self.exchange.finish(),
            _ => {}
        }
    }

    /// The component has ended in order.
    ///
    /// # Errors
    /// Why the client has no complete response nevertheless.
    pub(crate) fn conclude(mut self) -> Result<(), String> {
        self.move_rest();
        self.give_up(500);
        match self.state {
            RelayState::Complete | RelayState::ClientGone => Ok(()),
            RelayState::Unanswered(reason) | RelayState::Broken(reason) => Err(reason),
            RelayState::Silent(_) | RelayState::Body(_) => Err("it has ended before its response".to_owned()),
        }
    }

    /// The component has failed, or was ended. A response that is complete stays so.
    pub(crate) fn abort(&mut self, status: u16) {
        self.move_rest();
        self.give_up(status);
    }

    /// Nothing more will come.
    fn give_up(&mut self, status: u16) {
        match self.state {
            RelayState::Complete | RelayState::ClientGone => {}
            RelayState::Silent(_) | RelayState::Unanswered(_) => self.exchange.refuse(status),
            RelayState::Body(_) | RelayState::Broken(_) => self.exchange.abort(),
        }
    }

    /// Moves the last output of the component, which asks for nothing more.
    fn move_rest(&mut self) {
        self.feed = None;
        self.advance(&mut Context::from_waker(Waker::noop()));
    }
}

fn respond(exchange: &mut dyn Exchange, response: Response<HyperOutgoingBody>) -> HyperOutgoingBody {
    let (head, body) = response.into_parts();
    let fields: Vec<_> =
        head.headers.iter().map(|(name, value)| (name.as_str().as_bytes(), value.as_bytes())).collect();
    exchange.respond(head.status.as_u16(), &fields);
    body
}
