//! Questions that many may ask at a time: callers that come while one is under way share the next one.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, MutexGuard, PoisonError};

use tokio::sync::Mutex;

/// One question, put once at a time.
pub(crate) struct SharedQuestion<T> {
    /// Times that it was begun.
    n_begun: AtomicU64,
    n_waiting: AtomicUsize,
    /// Held while it is under way.
    last: Mutex<LastAnswer<T>>,
}

struct LastAnswer<T> {
    /// The number of the question that was answered last.
    number: u64,
    /// The answer to that, while others wait for one.
    answer: Option<Arc<T>>,
}

/// Questions that differ by a name, each while it is asked.
pub(crate) struct NamedQuestions<T> {
    all: std::sync::Mutex<HashMap<String, Arc<SharedQuestion<T>>>>,
}

impl<T> Default for SharedQuestion<T> {
    fn default() -> Self {
        let last = Mutex::new(LastAnswer { number: 0, answer: None });
        Self { n_begun: AtomicU64::new(0), n_waiting: AtomicUsize::new(0), last }
    }
}

impl<T> SharedQuestion<T> {
    /// An answer of a moment that is not before this call, by `ask` or by another caller's; none when there was none.
    /// A caller may give up at any time.
    pub(crate) async fn get(&self, ask: impl Future<Output = Option<T>>) -> Option<Arc<T>> {
        let n_before = self.n_begun.load(Ordering::Relaxed);
        let waiting = Waiting::new(&self.n_waiting);
        let mut last = self.last.lock().await;
        drop(waiting);
        if last.number <= n_before {
            let number = self.n_begun.fetch_add(1, Ordering::Relaxed) + 1;
            let answer = ask.await.map(Arc::new);
            // Not sooner: others must not take an older answer for that of a question that was given up.
            *last = LastAnswer { number, answer };
        }
        let answer = last.answer.clone();
        if self.n_waiting.load(Ordering::Relaxed) == 0 {
            last.answer = None;
        }
        answer
    }
}

impl<T> Default for NamedQuestions<T> {
    fn default() -> Self {
        Self { all: std::sync::Mutex::default() }
    }
}

impl<T> NamedQuestions<T> {
    /// As [`SharedQuestion::get`], shared with those that ask about the same name.
    pub(crate) async fn get(&self, name: &str, ask: impl Future<Output = Option<T>>) -> Option<Arc<T>> {
        let asked = AskedQuestion::new(self, name);
        asked.question.get(ask).await
    }

    /// Nothing can panic while the lock is held.
    fn all(&self) -> MutexGuard<'_, HashMap<String, Arc<SharedQuestion<T>>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The question about one name, which is forgotten with the last caller.
struct AskedQuestion<'q, T> {
    questions: &'q NamedQuestions<T>,
    name: &'q str,
    question: Arc<SharedQuestion<T>>,
}

impl<'q, T> AskedQuestion<'q, T> {
    fn new(questions: &'q NamedQuestions<T>, name: &'q str) -> Self {
        let question = Arc::clone(questions.all().entry(name.to_owned()).or_default());
        Self { questions, name, question }
    }
}

impl<T> Drop for AskedQuestion<'_, T> {
    fn drop(&mut self) {
        let mut all = self.questions.all();
        // The list's own and this one: others are made while the lock is held.
        if Arc::strong_count(&self.question) == 2 {
            all.remove(self.name);
        }
    }
}

/// Counts a caller that waits, also if that is given up.
struct Waiting<'w>(&'w AtomicUsize);

impl<'w> Waiting<'w> {
    fn new(n_waiting: &'w AtomicUsize) -> Self {
        n_waiting.fetch_add(1, Ordering::Relaxed);
        Self(n_waiting)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::future::pending;
    use std::pin::{Pin, pin};
    use std::task::{Context, Poll, Waker};

    use super::*;

    fn poll<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
        future.poll(&mut Context::from_waker(Waker::noop()))
    }

    fn answered<F: Future<Output = Option<Arc<u32>>>>(future: Pin<&mut F>) -> Option<u32> {
        match poll(future) {
            Poll::Ready(answer) => answer.map(|answer| *answer),
            Poll::Pending => panic!("it still waits"),
        }
    }

    /// A question whose answer, the number of the question, comes at the second look.
    async fn ask(n_asked: &Cell<u32>) -> Option<u32> {
        n_asked.set(n_asked.get() + 1);
        tokio::task::yield_now().await;
        Some(n_asked.get())
    }

    #[test]
    fn callers_share_the_next_question() {
        let (question, n_asked) = (SharedQuestion::default(), Cell::new(0));
        let mut first = pin!(question.get(ask(&n_asked)));
        assert!(poll(first.as_mut()).is_pending());
        let mut second = pin!(question.get(ask(&n_asked)));
        let mut third = pin!(question.get(ask(&n_asked)));
        assert!(poll(second.as_mut()).is_pending() && poll(third.as_mut()).is_pending());
        assert_eq!(answered(first), Some(1));
        assert!(poll(second.as_mut()).is_pending());
        assert_eq!((answered(second), answered(third)), (Some(2), Some(2)));
        assert!(question.last.try_lock().unwrap().answer.is_none(), "nothing is kept without a caller");
    }

    #[test]
    fn a_question_that_is_given_up_answers_nothing() {
        let (question, n_asked) = (SharedQuestion::default(), Cell::new(0));
        let mut first = Box::pin(question.get(pending()));
        assert!(poll(first.as_mut()).is_pending());
        let mut second = Box::pin(question.get(pending()));
        let mut third = pin!(question.get(ask(&n_asked)));
        assert!(poll(second.as_mut()).is_pending() && poll(third.as_mut()).is_pending());
        drop(first);
        assert!(poll(second.as_mut()).is_pending(), "it asks itself");
        drop(second);
        assert!(poll(third.as_mut()).is_pending(), "and so does the last one");
        assert_eq!((answered(third), n_asked.get()), (Some(1), 1));
    }

    #[test]
    fn names_have_questions_of_their_own_while_they_are_asked() {
        let (questions, n_asked) = (NamedQuestions::default(), Cell::new(0));
        let mut first = pin!(questions.get("a", ask(&n_asked)));
        let mut other = pin!(questions.get("b", ask(&n_asked)));
        assert!(poll(first.as_mut()).is_pending() && poll(other.as_mut()).is_pending());
        assert_eq!(questions.all().len(), 2);
        let mut second = Box::pin(questions.get("a", ask(&n_asked)));
        assert!(poll(second.as_mut()).is_pending());
        assert_eq!((answered(first), n_asked.get()), (Some(2), 2));
        drop(second);
        assert_eq!(questions.all().keys().collect::<Vec<_>>(), ["b"]);
        assert_eq!(answered(other), Some(2));
        assert!(questions.all().is_empty());
    }
}
