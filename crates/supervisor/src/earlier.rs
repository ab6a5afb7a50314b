//! The main processes before this one that serve no more: they finish requests, count them, and end their commands.
//! Each talks to the process that took over from it. If that ends first, it hands the link on to its own successor.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use corral_ipc::link::Link;
use corral_ipc::message::{EarlierProcess, FromSuccessor, Status, ToSuccessor};
use corral_ipc::sums;

/// Processes that are heard at a time. Each has an upgrade behind it, and an hour at most for its requests.
const MOST_HEARD: usize = 64;

/// All of them.
#[derive(Default)]
pub(crate) struct EarlierProcesses {
    /// Processes that may say more, the newest first.
    heard: Vec<Retiring>,
    /// The counters of the others.
    ended: Status,
}

/// A main process that serves no more.
pub(crate) struct Retiring {
    link: Link,
    tells_sums: bool,
    /// Commands run there all the time.
    has_services: bool,
    /// Commands run there by a schedule, or all the time.
    has_runs: bool,
    /// The counters that it has told last.
    told: Status,
}

/// The news of one of them.
#[derive(Default)]
struct Heard {
    /// Nothing more will come.
    is_over: bool,
    /// The counters were told anew.
    has_told: bool,
    /// Others that it has handed on.
    handed_on: Vec<Retiring>,
}

impl EarlierProcesses {
    /// Listens to another one.
    pub(crate) fn add(&mut self, retiring: Retiring) {
        match self.heard.len() < MOST_HEARD {
            true => self.heard.push(retiring),
            false => self.ended.count_process(&retiring.told),
        }
    }

    /// Whether their commands are in the way of others of their kind.
    pub(crate) fn hold(&self, runs_always: bool) -> bool {
        self.heard.iter().any(|retiring| retiring.holds(runs_always))
    }

    /// Asks for the counters as they are now; the answers are heard later.
    pub(crate) fn ask_sums(&self) {
        self.heard.iter().for_each(Retiring::ask_sums);
    }

    /// The links to processes that may say more.
    pub(crate) fn links(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.heard.iter().map(|retiring| retiring.link.as_fd())
    }

    /// Hears what has ended there. Returns all their counters if some were told anew.
    pub(crate) fn hear(&mut self) -> Option<Status> {
        let mut has_told = false;
        for mut retiring in std::mem::take(&mut self.heard) {
            let heard = retiring.hear();
            has_told |= heard.has_told;
            match heard.is_over {
                true => self.ended.count_process(&retiring.told),
                false => self.heard.push(retiring),
            }
            heard.handed_on.into_iter().for_each(|retiring| self.add(retiring));
        }
        has_told.then(|| self.sums())
    }

    fn sums(&self) -> Status {
        let mut sums = self.ended.clone();
        self.heard.iter().for_each(|retiring| sums.count_process(&retiring.told));
        sums
    }

    /// The last word of this process, which has counted `own` itself, if others are still to be heard. Comes with
    /// [`EarlierProcesses::links`]. `leave_out` takes out of counters what has left the configuration.
    ///
    /// # Errors
    /// When there is no memory for it.
    pub(crate) fn hand_on(
        &self,
        mut own: Status,
        leave_out: impl Fn(&mut Status),
    ) -> anyhow::Result<Option<ToSuccessor>> {
        if self.heard.is_empty() {
            return Ok(None);
        }
        let lasting = |sums: &Status| {
            let mut sums = sums.clone();
            leave_out(&mut sums);
            sums
        };
        own.count_process(&lasting(&self.ended));
        let processes = self.heard.iter().map(|retiring| {
            let Retiring { has_services, has_runs, .. } = *retiring;
            let sums = sums::to_bytes(&lasting(&retiring.told))?;
            Ok(EarlierProcess { sums, has_services, has_runs })
        });
        let processes = processes.collect::<anyhow::Result<_>>()?;
        Ok(Some(ToSuccessor::Earlier { sums: sums::to_bytes(&own)?, processes }))
    }
}

impl Retiring {
    /// A process that has told these counters.
    pub(crate) fn new(link: Link, tells_sums: bool, has_background: bool, told: Status) -> Self {
        Self { link, tells_sums, has_services: has_background, has_runs: has_background, told }
    }

    fn handed_on(link: OwnedFd, process: &EarlierProcess) -> Self {
        let EarlierProcess { ref sums, has_services, has_runs } = *process;
        Self { link: link.into(), tells_sums: true, has_services, has_runs, told: read_sums(sums) }
    }

    fn holds(&self, runs_always: bool) -> bool {
        if runs_always { self.has_services } else { self.has_runs }
    }

    pub(crate) fn ask_sums(&self) {
        if self.tells_sums {
            // One that reads nothing has other troubles, and one that has ended has told all.
            let _ = self.link.try_send(&FromSuccessor::AskSums, &[]);
        }
    }

    fn hear(&mut self) -> Heard {
        let mut heard = Heard::default();
        loop {
            match self.link.try_recv::<ToSuccessor>() {
                Ok(Some((message, links))) => self.take(message, links, &mut heard),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return heard,
                Ok(None) | Err(_) => {
                    heard.is_over = true;
                    return heard;
                }
            }
        }
    }

    fn take(&mut self, message: ToSuccessor, links: Vec<OwnedFd>, heard: &mut Heard) {
        match message {
            ToSuccessor::ServicesEnded => self.has_services = false,
            ToSuccessor::RunsEnded => (self.has_services, self.has_runs) = (false, false),
            ToSuccessor::Sums { sums } => {
                self.told = read_sums(&sums);
                heard.has_told = true;
            }
            // Without room for the links, what the others had counted until now is in the sums before.
            ToSuccessor::Earlier { sums, processes } if links.len() == processes.len() => {
                self.told = read_sums(&sums);
                heard.has_told = true;
                heard.handed_on = links
                    .into_iter()
                    .zip(&processes)
                    .map(|(link, other)| Self::handed_on(link, other))
                    .collect();
            }
            _ => {}
        }
    }
}

/// The sums of another version may be of no use: counters begin anew then, as collectors expect of a restart.
pub(crate) fn read_sums(bytes: &[u8]) -> Status {
    sums::from_bytes(bytes).unwrap_or_else(|error| {
        tracing::info!("counters begin anew: read those of the process before: {error}");
        Status::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(requests: u64) -> Status {
        Status { requests, ..Status::default() }
    }

    fn told(requests: u64) -> ToSuccessor {
        ToSuccessor::Sums { sums: sums::to_bytes(&status(requests)).unwrap() }
    }

    /// Processes that have told so many requests, and their ends of the links.
    fn processes(requests: &[u64], has_background: bool) -> (EarlierProcesses, Vec<Link>) {
        let mut earlier = EarlierProcesses::default();
        let links = requests.iter().map(|requests| {
            let (theirs, ours) = Link::pair().unwrap();
            earlier.add(Retiring::new(ours, true, has_background, status(*requests)));
            theirs
        });
        let links = links.collect();
        (earlier, links)
    }

    #[track_caller]
    fn expect_requests(earlier: &mut EarlierProcesses, expected: Option<u64>) {
        assert_eq!(earlier.hear().map(|sums| sums.requests), expected);
    }

    /// Says goodbye for a process that has counted `own` requests itself.
    fn hand_on(earlier: &EarlierProcesses, own: u64, link: &Link) {
        let message = earlier.hand_on(status(own), |_| {}).unwrap().expect("others are heard");
        link.send(&message, &earlier.links().collect::<Vec<_>>()).unwrap();
    }

    #[test]
    fn the_newest_sums_of_each_count() {
        let (mut earlier, links) = processes(&[3, 20], false);
        expect_requests(&mut earlier, None);
        for requests in [4, 5] {
            links[0].send(&told(requests), &[]).unwrap();
        }
        expect_requests(&mut earlier, Some(25));
        links[1].send(&told(30), &[]).unwrap();
        drop(links);
        expect_requests(&mut earlier, Some(35));
        assert_eq!(earlier.links().count(), 0);
        expect_requests(&mut earlier, None);
        assert_eq!(earlier.sums().requests, 35);
    }

    #[test]
    fn a_process_that_ends_hands_on_those_before_it() {
        let (first, first_link) = processes(&[100], false);
        let (mut last, last_link) = processes(&[105], false);
        hand_on(&first, 5, &last_link[0]);
        drop((first, last_link));
        expect_requests(&mut last, Some(105));
        assert_eq!(last.links().count(), 1);
        last.ask_sums();
        assert!(matches!(first_link[0].recv(), Ok(Some((FromSuccessor::AskSums, _)))));
        first_link[0].send(&told(101), &[]).unwrap();
        expect_requests(&mut last, Some(106));
        // And once more.
        let (mut newest, newest_link) = processes(&[116], false);
        hand_on(&last, 10, &newest_link[0]);
        drop((last, newest_link));
        first_link[0].send(&told(102), &[]).unwrap();
        drop(first_link);
        expect_requests(&mut newest, Some(116));
        expect_requests(&mut newest, Some(117));
        assert_eq!(newest.links().count(), 0);
    }

    #[test]
    fn what_has_left_the_configuration_is_not_handed_on() {
        let (earlier, _links) = processes(&[100], false);
        let message = earlier.hand_on(status(5), |sums| sums.requests = 0).unwrap();
        let Some(ToSuccessor::Earlier { sums, processes }) = message else { panic!("{message:?}") };
        assert_eq!((read_sums(&sums).requests, read_sums(&processes[0].sums).requests), (5, 0));
    }

    #[test]
    fn a_process_without_others_before_it_hands_nothing_on() {
        let (mut earlier, links) = processes(&[100], false);
        drop(links);
        expect_requests(&mut earlier, None);
        assert!(earlier.hand_on(status(5), |_| {}).unwrap().is_none());
    }

    #[test]
    fn links_that_did_not_come_leave_the_sums_as_they_were() {
        let (first, _first_link) = processes(&[100], false);
        let (mut last, last_link) = processes(&[105], false);
        last_link[0].send(&first.hand_on(status(5), |_| {}).unwrap().unwrap(), &[]).unwrap();
        drop(last_link);
        expect_requests(&mut last, None);
        assert_eq!(last.sums().requests, 105);
    }

    #[test]
    fn more_than_are_heard_count_with_what_they_have_told() {
        let (mut earlier, _links) = processes(&[1; MOST_HEARD + 3], false);
        assert_eq!(earlier.links().count(), MOST_HEARD);
        expect_requests(&mut earlier, None);
        assert_eq!(earlier.sums().requests, MOST_HEARD as u64 + 3);
    }

    #[test]
    fn sums_that_are_not_understood_are_none() {
        assert_eq!(read_sums(b"\xc1").requests, 0);
    }

    #[test]
    fn commands_are_in_the_way_until_they_have_ended() {
        for (words, expected) in [
            (&[][..], (true, true)),
            (&[ToSuccessor::ServicesEnded], (false, true)),
            (&[ToSuccessor::RunsEnded], (false, false)),
        ] {
            let (mut earlier, links) = processes(&[0], true);
            words.iter().for_each(|word| links[0].send(word, &[]).unwrap());
            expect_requests(&mut earlier, None);
            assert_eq!((earlier.hold(true), earlier.hold(false)), expected);
            // The one that takes over knows it as well.
            let (mut last, last_link) = processes(&[0], false);
            hand_on(&earlier, 0, &last_link[0]);
            last.hear();
            assert_eq!((last.hold(true), last.hold(false)), expected);
        }
        let (earlier, _links) = processes(&[0], false);
        assert!(!earlier.hold(true) && !earlier.hold(false));
    }
}
