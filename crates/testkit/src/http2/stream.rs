//! One stream of a client: a request and its response, piece by piece.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Poll, ready};

use bytes::Bytes;
use h2::client::ResponseFuture;
use h2::{Error, Reason, RecvStream, SendStream};
use http::{HeaderName, HeaderValue};
use tokio::runtime::Runtime;

use super::connection::in_time;
use super::{body, head};
use crate::response::Response;

/// A stream that has begun.
#[derive(Debug)]
pub struct Http2Stream {
    pub(super) runtime: Arc<Runtime>,
    pub(super) response: ResponseFuture,
    pub(super) sending: SendStream<Bytes>,
    /// Behind the head of the response.
    pub(super) receiving: Option<RecvStream>,
}

impl Http2Stream {
    /// The stream's number.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.sending.stream_id().as_u32()
    }

    /// Sends a piece of the body.
    #[track_caller]
    pub fn write(&mut self, bytes: impl AsRef<[u8]>) {
        self.try_write(bytes).unwrap_or_else(|error| panic!("send a piece: {error}"));
    }

    /// Sends a piece of the body, or says why not.
    ///
    /// # Errors
    /// When the stream or the connection has ended.
    pub fn try_write(&mut self, bytes: impl AsRef<[u8]>) -> Result<(), Error> {
        let bytes = Bytes::copy_from_slice(bytes.as_ref());
        in_time(&self.runtime, "the server takes the body", body::send(&mut self.sending, bytes))
    }

    /// Ends the request.
    #[track_caller]
    pub fn finish(&mut self) {
        self.sending.send_data(Bytes::new(), true).unwrap_or_else(|error| panic!("end the stream: {error}"));
    }

    /// Ends the request with trailers.
    #[track_caller]
    pub fn finish_with(&mut self, trailers: &[(&str, &str)]) {
        let trailers = trailers.iter().map(|(name, value)| {
            let name = HeaderName::from_bytes(name.as_bytes()).expect("a name");
            (name, HeaderValue::from_str(value).expect("a value"))
        });
        self.sending.send_trailers(trailers.collect()).unwrap_or_else(|error| panic!("trailers: {error}"));
    }

    /// Gives the stream up.
    pub fn reset(&mut self, reason: Reason) {
        self.sending.send_reset(reason);
    }

    /// Waits until the server has given the stream up.
    #[track_caller]
    pub fn expect_reset(&mut self, reason: Reason) {
        let sending = &mut self.sending;
        let reset = poll_fn(|context| sending.poll_reset(context));
        let found = in_time(&self.runtime, "the server resets the stream", reset);
        assert_eq!(found.unwrap_or_else(|error| panic!("{error}")), reason);
    }

    /// The next interim response.
    #[track_caller]
    pub fn interim(&mut self) -> Response {
        let response = &mut self.response;
        let interim = in_time(&self.runtime, "an interim response", async { next(response).await });
        match interim.unwrap_or_else(|error| panic!("{error}")) {
            Next::Interim(interim) => interim,
            Next::Final(head, _) => panic!("a final response\n{head}"),
        }
    }

    /// The head of the response; interim ones are passed over.
    #[track_caller]
    pub fn head(&mut self) -> Response {
        self.try_head().unwrap_or_else(|error| panic!("{error}"))
    }

    /// The head of the response, or why there is none.
    ///
    /// # Errors
    /// When the stream or the connection has ended.
    #[track_caller]
    pub fn try_head(&mut self) -> Result<Response, Error> {
        let response = &mut self.response;
        let head = async {
            loop {
                if let Next::Final(head, body) = next(response).await? {
                    return Ok::<_, Error>((head, body));
                }
            }
        };
        let (head, body) = in_time(&self.runtime, "the head of a response", head)?;
        self.receiving = Some(body);
        Ok(head)
    }

    /// The next piece of the response's body; empty at the end. The head has been read.
    #[track_caller]
    pub fn read_some(&mut self) -> Vec<u8> {
        self.try_read().unwrap_or_else(|error| panic!("{error}")).unwrap_or_default()
    }

    /// The next piece of the response's body, none at the end, or why there is none.
    ///
    /// # Errors
    /// When the stream or the connection has ended early.
    ///
    /// # Panics
    /// Without a head, and when nothing comes.
    #[track_caller]
    pub fn try_read(&mut self) -> Result<Option<Vec<u8>>, Error> {
        let receiving = self.receiving.as_mut().expect("the head has been read");
        let piece = async {
            loop {
                match body::receive(receiving).await? {
                    // The end may be a frame of its own.
                    Some(piece) if piece.is_empty() => {}
                    piece => return Ok(piece.map(|piece| piece.to_vec())),
                }
            }
        };
        in_time(&self.runtime, "a piece of the body", piece)
    }

    /// The trailers behind the response's body, all of which has been read.
    ///
    /// # Errors
    /// When the stream or the connection has ended early.
    ///
    /// # Panics
    /// Without a head, and when nothing comes.
    #[track_caller]
    pub fn trailers(&mut self) -> Result<Vec<(String, String)>, Error> {
        let receiving = self.receiving.as_mut().expect("the head has been read");
        let trailers = in_time(&self.runtime, "trailers or none", body::trailers(receiving))?;
        Ok(head::lines(&trailers).collect())
    }

    /// The whole response.
    #[track_caller]
    pub fn response(mut self) -> Response {
        self.try_response().unwrap_or_else(|error| panic!("{error}"))
    }

    /// The whole response, or why there is none.
    ///
    /// # Errors
    /// When the stream or the connection has ended early.
    #[track_caller]
    pub fn try_response(&mut self) -> Result<Response, Error> {
        let mut response = self.try_head()?;
        while let Some(piece) = self.try_read()? {
            response.body.extend(piece);
        }
        response.trailers = self.trailers()?;
        Ok(response)
    }
}

/// The next event of a response.
pub(super) enum Next {
    Interim(Response),
    Final(Response, RecvStream),
}

/// Waits for the next head.
pub(super) async fn next(response: &mut ResponseFuture) -> Result<Next, Error> {
    poll_fn(|context| {
        if let Some(interim) = ready!(response.poll_informational(context)) {
            let interim = interim?;
            return Poll::Ready(Ok(Next::Interim(head::response(interim.status(), interim.headers()))));
        }
        Pin::new(&mut *response).poll(context).map(|last| {
            let (parts, body) = last?.into_parts();
            Ok(Next::Final(head::response(parts.status, &parts.headers), body))
        })
    })
    .await
}
