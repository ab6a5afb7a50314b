//! The main process that this one takes over from: what it hands over, and what it is told.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::rc::Rc;

use anyhow::{Context, bail};
use corral_config::address::ListenAddress;
use corral_ipc::link::Link;
use corral_ipc::message::{FromSuccessor, StartPolicy, Status, ToSuccessor};

use crate::earlier::{Retiring, read_sums};
use crate::given::GivenSockets;
use crate::listeners::BoundListener;

/// Set in the environment of a process that is to take over; its link is open then.
pub(crate) const MARK: &str = "CORRAL_TAKES_OVER";

/// The value of [`MARK`]: a number that says which questions the process knows that set it. The first did not know any.
pub(crate) const LANGUAGE: &str = "2";

/// From this number on, the process tells its sums.
const TELLS_SUMS: u32 = 2;

/// Everything that a predecessor has handed over. Its sockets' files are its own until it is told.
pub(crate) struct Predecessor {
    link: Link,
    pub(crate) control: Option<(ListenAddress, OwnedFd)>,
    pub(crate) listeners: Vec<Rc<BoundListener>>,
    /// The sockets that a service manager has made.
    pub(crate) given: GivenSockets,
    /// How much of the stored configuration has to work.
    pub(crate) start_policy: StartPolicy,
    /// The counters that go on in this process.
    pub(crate) sums: Status,
    tells_sums: bool,
    /// The predecessor runs commands that no listener reaches.
    has_background: bool,
    /// To be written when this process serves; set once the options have been read.
    pub(crate) pid_file: Option<PathBuf>,
}

impl Predecessor {
    /// Takes everything over, if this process was started for that.
    ///
    /// # Errors
    /// When the other process has ended meanwhile or speaks another language.
    pub(crate) fn meet() -> anyhow::Result<Option<Self>> {
        let Some(mark) = std::env::var_os(MARK) else { return Ok(None) };
        let link = Link::inherited().with_context(|| format!("{MARK} is for the daemon's own use"))?;
        Self::receive(link, tells_sums(&mark)).context("take over from the running daemon").map(Some)
    }

    fn receive(link: Link, tells_sums: bool) -> anyhow::Result<Self> {
        let (mut control, mut listeners, mut given) = (None, Vec::new(), GivenSockets::default());
        let (mut has_background, mut policy, mut sums) = (false, None, None);
        if tells_sums {
            link.send(&FromSuccessor::AskSums, &[])?;
        } else {
            sums = Some(Status::default());
        }
        loop {
            if let (Some(start_policy), Some(sums)) = (policy, sums.as_mut()) {
                let sums = std::mem::take(sums);
                return Ok(Self {
                    link,
                    control,
                    listeners,
                    given,
                    start_policy,
                    sums,
                    tells_sums,
                    has_background,
                    pid_file: None,
                });
            }
            let received = link.recv::<ToSuccessor>()?;
            if let Some((message, sockets)) = &received
                && sockets.is_empty()
                && message.is_about_sockets()
            {
                bail!("no descriptor is left for its sockets");
            }
            match received {
                Some((ToSuccessor::Control { address }, mut sockets)) => {
                    control = sockets.pop().map(|socket| (address, socket));
                }
                Some((ToSuccessor::Listener { address }, sockets)) => {
                    listeners.push(Rc::new(BoundListener::handed_over(address, sockets)));
                }
                Some((ToSuccessor::Given { address }, sockets)) => given.add_listener(address, sockets),
                Some((ToSuccessor::GivenControl { address }, mut sockets)) => {
                    given.control = sockets.pop().map(|socket| (address, socket));
                }
                Some((ToSuccessor::HasBackground, _)) => has_background = true,
                // It serves, and ends nothing.
                Some((
                    ToSuccessor::ServicesEnded | ToSuccessor::RunsEnded | ToSuccessor::Earlier { .. },
                    _,
                )) => {}
                Some((ToSuccessor::Begin { start_policy }, _)) => policy = Some(start_policy),
                Some((ToSuccessor::Sums { sums: told }, _)) => sums = Some(read_sums(&told)),
                None => bail!("it has ended"),
            }
        }
    }

    /// Tells it why this process cannot take over.
    pub(crate) fn failed(&self, reason: &str) {
        let reason = corral_ipc::reason::cut(reason.to_owned());
        // It goes on in any case.
        let _ = self.link.send(&FromSuccessor::Failed { reason }, &[]);
    }

    pub(crate) fn has_background(&self) -> bool {
        self.has_background
    }

    /// Tells it that this process serves now, by which it has nothing left but what it has begun.
    pub(crate) fn relieve(self) -> Retiring {
        // One that has died meanwhile needs not be told.
        let _ = self.link.send(&FromSuccessor::Serving, &[]);
        let Self { link, tells_sums, has_background, sums, .. } = self;
        let retiring = Retiring::new(link, tells_sums, has_background, sums);
        retiring.ask_sums();
        retiring
    }
}

/// Whether a process that has set this mark tells its sums.
fn tells_sums(mark: &OsStr) -> bool {
    mark.to_str().and_then(|mark| mark.parse::<u32>().ok()).is_some_and(|mark| mark >= TELLS_SUMS)
}

#[cfg(test)]
mod tests {
    use corral_ipc::sums;

    use super::*;
    use crate::earlier::EarlierProcesses;

    fn told(requests: u64) -> ToSuccessor {
        let sums = sums::to_bytes(&Status { requests, ..Status::default() }).unwrap();
        ToSuccessor::Sums { sums }
    }

    const BEGIN: ToSuccessor = ToSuccessor::Begin { start_policy: StartPolicy::WhatStarts };

    /// A process that takes over after these words of another, and that one's end of the link.
    #[track_caller]
    fn meet(tells_sums: bool, words: &[ToSuccessor]) -> (anyhow::Result<Predecessor>, Link) {
        let (before, after) = Link::pair().unwrap();
        words.iter().for_each(|word| before.send(word, &[]).unwrap());
        (Predecessor::receive(after, tells_sums), before)
    }

    fn next(before: &Link) -> Option<FromSuccessor> {
        before.try_recv().ok().flatten().map(|(message, _)| message)
    }

    #[test]
    fn a_process_that_knows_the_question_is_asked_for_its_sums() {
        for (mark, tells) in [("1", false), ("2", true), ("17", true), ("", false), ("yes", false)] {
            assert_eq!(tells_sums(OsStr::new(mark)), tells, "{mark}");
        }
        assert!(tells_sums(OsStr::new(LANGUAGE)));
        let (met, before) = meet(false, &[BEGIN]);
        assert_eq!(met.unwrap().sums.requests, 0);
        assert!(next(&before).is_none(), "an older one would kill what says unknown words");
    }

    #[test]
    fn sums_are_waited_for_and_the_newest_count() {
        for words in [[BEGIN, told(3)], [told(3), BEGIN]] {
            let (met, before) = meet(true, &words);
            assert_eq!(met.unwrap().sums.requests, 3);
            assert!(matches!(next(&before), Some(FromSuccessor::AskSums)));
        }
        let (met, before) = meet(true, &[BEGIN, told(3)]);
        before.send(&told(4), &[]).unwrap();
        let mut earlier = EarlierProcesses::default();
        earlier.add(met.unwrap().relieve());
        before.send(&told(5), &[]).unwrap();
        assert_eq!(earlier.hear().map(|sums| sums.requests), Some(5));
        let words: Vec<_> = std::iter::from_fn(|| next(&before)).collect();
        assert!(
            matches!(words[..], [FromSuccessor::AskSums, FromSuccessor::Serving, FromSuccessor::AskSums]),
            "{words:?}"
        );
    }

    #[test]
    fn a_process_that_ends_before_it_has_told_all_is_not_taken_over_from() {
        let (before, after) = Link::pair().unwrap();
        before.send(&BEGIN, &[]).unwrap();
        drop(before);
        assert!(Predecessor::receive(after, true).is_err());
    }

    #[test]
    fn sums_that_are_not_understood_are_none() {
        let (met, _before) = meet(true, &[BEGIN, ToSuccessor::Sums { sums: b"\xc1".to_vec() }]);
        assert_eq!(met.unwrap().sums.requests, 0);
    }

    #[test]
    fn commands_of_the_process_are_in_the_way() {
        for (words, has_background) in [(&[ToSuccessor::HasBackground, BEGIN][..], true), (&[BEGIN], false)] {
            let (met, _before) = meet(false, words);
            let met = met.unwrap();
            assert_eq!(met.has_background(), has_background);
            let mut earlier = EarlierProcesses::default();
            earlier.add(met.relieve());
            assert_eq!((earlier.hold(true), earlier.hold(false)), (has_background, has_background));
        }
    }
}
