//! The viewers of the stream, and what each has not read yet: bounded, however slowly it reads.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use bytes::Bytes;
use hyper::body::{Body, Frame};
use tokio::sync::Notify;

use super::log_rank::LogRank;
use crate::permission::Permission;

/// Most viewers at a time.
pub(crate) const MOST_VIEWERS: usize = 32;

/// A viewer that has not read so many bytes, or for so long, is dropped. The first message, which may be longer, does
/// not count.
const MOST_BACKLOG: usize = 1024 * 1024;
const LONGEST_BACKLOG: Duration = Duration::from_secs(30);

/// A line at least this often shows that the connection works.
const LONGEST_SILENCE: Duration = Duration::from_secs(15);

/// All viewers. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct Viewers {
    shared: Arc<ViewersState>,
}

#[derive(Default)]
struct ViewersState {
    list: Mutex<ViewerList>,
    changed: Notify,
}

#[derive(Default)]
struct ViewerList {
    all: Vec<Arc<Viewer>>,
    /// A task serves them.
    is_served: bool,
    /// The process is about to end.
    is_closed: bool,
}

/// The things that a viewer wants to see.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ViewerWish {
    /// The application whose workers are told.
    pub(crate) application: Option<String>,
    /// The least important lines of the log that are told.
    pub(crate) log: Option<LogRank>,
}

/// One viewer.
pub(crate) struct Viewer {
    pub(crate) wish: ViewerWish,
    permission: Permission,
    /// Ends the connection.
    abort: Arc<Notify>,
    backlog: Mutex<Backlog>,
}

/// Messages that wait to be read.
#[derive(Default)]
struct Backlog {
    messages: VecDeque<(Instant, Bytes)>,
    /// Without the first message.
    n_bytes: usize,
    /// When a message was added last.
    last: Option<Instant>,
    /// Nothing is added any more.
    is_over: bool,
    waker: Option<Waker>,
}

/// The body of the reply to a viewer.
pub(crate) struct EventBody {
    viewer: Arc<Viewer>,
}

/// The reason why a client may not watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JoinError {
    TooMany,
    Closed,
}

impl Viewers {
    /// Takes one more. Returns what it reads, and whether a task has to be started that serves them.
    pub(crate) fn join(
        &self,
        wish: ViewerWish,
        permission: Permission,
        abort: Arc<Notify>,
    ) -> Result<(EventBody, bool), JoinError> {
        let mut list = self.list();
        list.room()?;
        let viewer = Arc::new(Viewer { wish, permission, abort, backlog: Mutex::default() });
        list.all.push(Arc::clone(&viewer));
        let must_start = !std::mem::replace(&mut list.is_served, true);
        drop(list);
        self.shared.changed.notify_one();
        Ok((EventBody { viewer }, must_start))
    }

    /// Whether one more could be taken now.
    pub(crate) fn room(&self) -> Result<(), JoinError> {
        self.list().room()
    }

    /// Waits for another viewer.
    pub(super) async fn changed(&self) {
        self.shared.changed.notified().await;
    }

    /// All that go on. Where there is none, the task that serves them has to end now: another one is started for the
    /// next viewer.
    pub(super) fn all(&self, now: Instant) -> Vec<Arc<Viewer>> {
        let mut list = self.list();
        let ended = list.all.iter().filter(|viewer| !viewer.permission.is_alive(now));
        ended.for_each(|viewer| viewer.end());
        list.all.retain(|viewer| !viewer.is_over());
        if list.all.is_empty() {
            list.is_served = false;
        }
        list.all.clone()
    }

    /// Ends all streams, so that their clients ask another process.
    pub(crate) fn close(&self) {
        self.list().is_closed = true;
        self.end_all();
    }

    /// Ends all streams. The next viewer needs another task.
    pub(super) fn end_all(&self) {
        let mut list = self.list();
        list.is_served = false;
        list.all.drain(..).for_each(|viewer| viewer.end());
    }

    /// Nothing can panic while the lock is held.
    fn list(&self) -> MutexGuard<'_, ViewerList> {
        self.shared.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ViewerList {
    fn room(&mut self) -> Result<(), JoinError> {
        self.all.retain(|viewer| !viewer.is_over());
        match self.is_closed {
            true => Err(JoinError::Closed),
            false if self.all.len() >= MOST_VIEWERS => Err(JoinError::TooMany),
            false => Ok(()),
        }
    }
}

impl Viewer {
    /// Whether nothing was sent yet.
    pub(super) fn is_new(&self) -> bool {
        self.backlog().last.is_none()
    }

    /// Adds a message, or drops the viewer if it has too many.
    pub(super) fn send(&self, message: Bytes, now: Instant) {
        let mut backlog = self.backlog();
        if backlog.is_over {
            return;
        }
        let waited = backlog.messages.front().map(|(since, _)| now.duration_since(*since));
        if backlog.n_bytes > MOST_BACKLOG || waited.is_some_and(|waited| waited > LONGEST_BACKLOG) {
            backlog.end();
            drop(backlog);
            tracing::debug!("a viewer of the dashboard does not read what it is told: dropped");
            return self.abort.notify_one();
        }
        if backlog.last.replace(now).is_some() {
            backlog.n_bytes += message.len();
        }
        backlog.messages.push_back((now, message));
        backlog.wake();
    }

    /// Says that the connection works, if nothing was said for long.
    pub(super) fn break_silence(&self, now: Instant) {
        let last = self.backlog().last;
        if last.is_some_and(|last| now.duration_since(last) >= LONGEST_SILENCE) {
            self.send(Bytes::from_static(b":\n\n"), now);
        }
    }

    fn is_over(&self) -> bool {
        self.backlog().is_over
    }

    /// The messages that wait are still read, and then the reply ends.
    fn end(&self) {
        let mut backlog = self.backlog();
        backlog.is_over = true;
        backlog.wake();
    }

    /// Nothing can panic while the lock is held.
    fn backlog(&self) -> MutexGuard<'_, Backlog> {
        self.backlog.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Backlog {
    /// Nothing is kept.
    fn end(&mut self) {
        self.is_over = true;
        self.messages = VecDeque::new();
        self.n_bytes = 0;
        self.wake();
    }

    fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }

    fn pop(&mut self) -> Option<Bytes> {
        let (_, message) = self.messages.pop_front()?;
        // The first message is never among several that count.
        self.n_bytes = self.n_bytes.min(self.messages.iter().map(|(_, message)| message.len()).sum());
        Some(message)
    }
}

impl Body for EventBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let mut backlog = self.viewer.backlog();
        match backlog.pop() {
            Some(message) => Poll::Ready(Some(Ok(Frame::data(message)))),
            None if backlog.is_over => Poll::Ready(None),
            None => {
                backlog.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl Drop for EventBody {
    /// The client has gone.
    fn drop(&mut self) {
        self.viewer.backlog().end();
    }
}

impl std::fmt::Debug for EventBody {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EventBody").field("wish", &self.viewer.wish).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::permission::TokenLife;

    const SECOND: Duration = Duration::from_secs(1);

    fn join(viewers: &Viewers) -> Result<(EventBody, bool), JoinError> {
        viewers.join(ViewerWish::default(), Permission::default(), Arc::default())
    }

    /// The messages that can be read, and whether there may be more.
    fn read(body: &mut EventBody) -> (Vec<Bytes>, bool) {
        let mut context = Context::from_waker(Waker::noop());
        let mut found = Vec::new();
        loop {
            match Pin::new(&mut *body).poll_frame(&mut context) {
                Poll::Ready(Some(Ok(frame))) => found.push(frame.into_data().unwrap()),
                Poll::Ready(Some(Err(never))) => match never {},
                Poll::Ready(None) => return (found, false),
                Poll::Pending => return (found, true),
            }
        }
    }

    #[test]
    fn messages_reach_a_viewer_in_their_order() {
        let (viewers, now) = (Viewers::default(), Instant::now());
        let (mut body, must_start) = join(&viewers).unwrap();
        assert!(must_start);
        let viewer = viewers.all(now).remove(0);
        assert!(viewer.is_new());
        for text in ["a", "b"] {
            viewer.send(Bytes::from(text), now);
        }
        assert!(!viewer.is_new());
        assert_eq!(read(&mut body), (vec![Bytes::from("a"), Bytes::from("b")], true));
        viewer.break_silence(now + 14 * SECOND);
        assert_eq!(read(&mut body).0.len(), 0);
        viewer.break_silence(now + 15 * SECOND);
        assert_eq!(read(&mut body).0, [&b":\n\n"[..]]);
    }

    #[test]
    fn a_viewer_watches_while_it_may() {
        let (viewers, now) = (Viewers::default(), Instant::now());
        let tokens = TokenLife::default();
        let permission = Permission::new(None, tokens.clone());
        let (mut body, _) = viewers.join(ViewerWish::default(), permission, Arc::default()).unwrap();
        let (mut other, _) = join(&viewers).unwrap();
        assert_eq!(viewers.all(now).len(), 2);
        tokens.revoke();
        assert_eq!(viewers.all(now).len(), 1);
        assert_eq!((read(&mut body).1, read(&mut other).1), (false, true));
    }

    #[test]
    fn a_task_serves_while_there_is_a_viewer() {
        let (viewers, now) = (Viewers::default(), Instant::now());
        let (one, must_start) = join(&viewers).unwrap();
        let (other, again) = join(&viewers).unwrap();
        assert!(must_start && !again);
        drop(one);
        assert_eq!(viewers.all(now).len(), 1);
        drop(other);
        assert!(viewers.all(now).is_empty());
        assert!(join(&viewers).unwrap().1, "another task is needed");
    }

    #[test]
    fn there_are_so_many_viewers_and_no_more() {
        let viewers = Viewers::default();
        let mut bodies: Vec<_> = (0..MOST_VIEWERS).map(|_| join(&viewers).unwrap()).collect();
        assert_eq!(join(&viewers).unwrap_err(), JoinError::TooMany);
        bodies.pop();
        bodies.push(join(&viewers).unwrap());
        viewers.close();
        assert!(bodies.iter_mut().all(|(body, _)| !read(body).1), "all have ended");
        assert_eq!(join(&viewers).unwrap_err(), JoinError::Closed);
    }

    /// Sends messages of so many bytes each second to a viewer that reads nothing.
    #[track_caller]
    fn check_dropped(first: usize, bytes: usize, at: u64) {
        let (viewers, now) = (Viewers::default(), Instant::now());
        let abort = Arc::new(Notify::new());
        let (mut body, _) =
            viewers.join(ViewerWish::default(), Permission::default(), Arc::clone(&abort)).unwrap();
        let viewer = viewers.all(now).remove(0);
        viewer.send(Bytes::from(vec![b'x'; first]), now);
        let dropped = (1..100).find(|second| {
            viewer.send(Bytes::from(vec![b'x'; bytes]), now + SECOND * *second);
            viewer.is_over()
        });
        assert_eq!(dropped, Some(u32::try_from(at).unwrap()), "{bytes} bytes a second");
        assert!(viewer.backlog().messages.is_empty(), "nothing is kept");
        assert!(viewers.all(now).is_empty());
        assert_eq!(read(&mut body), (vec![], false));
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(abort.notified());
    }

    #[test]
    fn a_viewer_that_does_not_read_is_dropped() {
        check_dropped(10, 10, 31);
        check_dropped(10, 300 * 1024, 5);
        check_dropped(8 * MOST_BACKLOG, 10, 31);
    }

    #[test]
    fn a_viewer_that_reads_goes_on() {
        let (viewers, now) = (Viewers::default(), Instant::now());
        let (mut body, _) = join(&viewers).unwrap();
        let viewer = viewers.all(now).remove(0);
        for second in 0..1000 {
            viewer.send(Bytes::from(vec![b'x'; 300 * 1024]), now + SECOND * second);
            assert_eq!(read(&mut body).0.len(), 1);
        }
        assert_eq!(viewer.backlog().n_bytes, 0);
    }
}
