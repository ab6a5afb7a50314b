//! The body of a request, read as far as its path has a use for it: some paths are there for all clients.

use std::future::poll_fn;
use std::pin::Pin;
use std::time::Duration;

use corral_config::json::edit;
use hyper::StatusCode;
use hyper::body::{Body, Bytes};
use tokio::time::timeout;

use crate::endpoints::{ApiResource, Endpoint};
use crate::reply::ApiReply;

/// How much is read, and how long that may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BodyLimit {
    n_bytes: usize,
    /// Between two pieces.
    pause: Duration,
    time: Duration,
}

impl BodyLimit {
    /// A page is only read.
    const NOTHING: Self = Self { n_bytes: 0, ..Self::TOKEN };
    /// Room for a token.
    const TOKEN: Self = Self { n_bytes: 4096, pause: SHORT, time: SHORT };
    /// Far above any configuration, far below what would hurt. Only for clients that may do something.
    const WHOLE: Self =
        Self { n_bytes: 64 * 1024 * 1024, pause: Duration::from_secs(60), time: Duration::MAX };

    /// The limit for a path and query.
    pub(crate) fn of(target: &str) -> Self {
        let segments = edit::segments(target.as_bytes()).unwrap_or_default();
        match Endpoint::find(&segments).map(|(endpoint, _)| endpoint.resource) {
            Some(ApiResource::Page) => Self::NOTHING,
            Some(ApiResource::Session) => Self::TOKEN,
            _ => Self::WHOLE,
        }
    }
}

/// For clients of which nothing is known.
const SHORT: Duration = Duration::from_secs(10);

/// The whole body, or the answer in place of one.
pub(crate) async fn read<B>(body: B, limit: BodyLimit) -> Result<Vec<u8>, ApiReply>
where
    B: Body<Data = Bytes> + Unpin,
{
    match timeout(limit.time, read_pieces(body, limit)).await {
        Ok(read) => read,
        Err(_) => Err(timed_out()),
    }
}

async fn read_pieces<B>(mut body: B, limit: BodyLimit) -> Result<Vec<u8>, ApiReply>
where
    B: Body<Data = Bytes> + Unpin,
{
    if body.size_hint().lower() > limit.n_bytes as u64 {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    loop {
        let frame = timeout(limit.pause, poll_fn(|cx| Pin::new(&mut body).poll_frame(cx))).await;
        let frame = match frame {
            Err(_) => return Err(timed_out()),
            Ok(Some(Err(_))) => {
                return Err(ApiReply::error(StatusCode::BAD_REQUEST, "Invalid request body."));
            }
            Ok(Some(Ok(frame))) => frame,
            Ok(None) => return Ok(bytes),
        };
        let Ok(data) = frame.into_data() else { continue };
        if bytes.len() + data.len() > limit.n_bytes {
            return Err(too_large());
        }
        bytes.extend_from_slice(&data);
    }
}

fn too_large() -> ApiReply {
    ApiReply::error(StatusCode::PAYLOAD_TOO_LARGE, "Request body is too large.")
}

fn timed_out() -> ApiReply {
    ApiReply::error(StatusCode::REQUEST_TIMEOUT, "Request timed out.")
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::task::{Context, Poll};

    use hyper::body::Frame;

    use super::*;

    /// A body of so many bytes that is sent byte by byte, with a pause before each.
    struct Dribble {
        n_left: usize,
        pause: Duration,
        sleep: Option<Pin<Box<tokio::time::Sleep>>>,
    }

    impl Body for Dribble {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            cx: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            if self.n_left == 0 {
                return Poll::Ready(None);
            }
            let pause = self.pause;
            let sleep = self.sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep(pause)));
            if sleep.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            self.sleep = None;
            self.n_left -= 1;
            Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b"x")))))
        }
    }

    /// Reads a body of so many bytes with a pause in front of each, in milliseconds.
    #[track_caller]
    fn check(n_bytes: usize, pause: u64, limit: BodyLimit, expected: Result<usize, u16>) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let read = runtime.block_on(async {
            let body = Dribble { n_left: n_bytes, pause: Duration::from_millis(pause), sleep: None };
            read(body, limit).await
        });
        let found = read.map(|bytes| bytes.len()).map_err(|reply| reply.status.as_u16());
        assert_eq!(found, expected);
    }

    #[test]
    fn a_body_has_so_many_bytes_and_so_much_time() {
        let limit = |n_bytes: usize, pause: u64, time: u64| BodyLimit {
            n_bytes,
            pause: Duration::from_millis(pause),
            time: Duration::from_millis(time),
        };
        check(0, 0, limit(0, 10_000, 10_000), Ok(0));
        check(3, 0, limit(3, 10_000, 10_000), Ok(3));
        check(4, 0, limit(3, 10_000, 10_000), Err(413));
        check(1, 0, limit(0, 10_000, 10_000), Err(413));
        check(3, 10_000, limit(3, 20, 10_000), Err(408));
        check(1000, 10, limit(3000, 10_000, 50), Err(408));
    }

    #[test]
    fn a_length_that_is_too_much_is_not_waited_for() {
        struct Announced;
        impl Body for Announced {
            type Data = Bytes;
            type Error = Infallible;

            fn poll_frame(
                self: Pin<&mut Self>,
                _: &mut Context<'_>,
            ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
                panic!("it is not read")
            }

            fn size_hint(&self) -> hyper::body::SizeHint {
                hyper::body::SizeHint::with_exact(4097)
            }
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let refused = runtime.block_on(read(Announced, BodyLimit::TOKEN)).unwrap_err();
        assert_eq!(refused.status, StatusCode::PAYLOAD_TOO_LARGE);
    }

    #[test]
    fn clients_that_are_not_known_have_little_room() {
        for (target, expected) in [
            ("/dashboard", BodyLimit::NOTHING),
            ("/dashboard/assets/a.js", BodyLimit::NOTHING),
            ("/dashboard/session", BodyLimit::TOKEN),
            ("/%64ashboard//session?a=b", BodyLimit::TOKEN),
            ("/dashboard/tokens", BodyLimit::WHOLE),
            ("/config", BodyLimit::WHOLE),
            ("/nothing", BodyLimit::WHOLE),
        ] {
            assert_eq!(BodyLimit::of(target), expected, "{target}");
        }
    }
}
