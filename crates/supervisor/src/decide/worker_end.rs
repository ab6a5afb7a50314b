//! Why a worker has ended, for the figures.

use corral_ipc::message::{EndCause, Exit};

/// All that is known of the end of a worker.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WorkerEnd {
    /// How its process has ended.
    pub(crate) exit: Exit,
    /// Why it was to end, if it was.
    pub(crate) noted: Option<EndCause>,
    /// The process was told to end, for whatever reason.
    pub(crate) was_told: bool,
    /// All processes of its instance were told to end.
    pub(crate) is_stopping: bool,
    /// The worker ends by itself after some requests.
    pub(crate) has_share: bool,
}

impl WorkerEnd {
    /// The reason that counts.
    pub(crate) fn cause(self) -> EndCause {
        match (self.noted, self.exit) {
            (Some(cause), _) => cause,
            (None, _) if self.is_stopping => EndCause::Restart,
            (None, Exit::Code(0)) if self.has_share => EndCause::Requests,
            (None, Exit::Signal(_)) if self.was_told && self.has_share => EndCause::Requests,
            (None, Exit::Signal(_)) if !self.was_told => EndCause::Signal,
            (None, Exit::Code(_) | Exit::Signal(_)) => EndCause::Exit,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The flags are those of `WorkerEnd`, in their order.
    #[track_caller]
    fn check(exit: Exit, noted: Option<EndCause>, flags: [bool; 3], expect: EndCause) {
        let [was_told, is_stopping, has_share] = flags;
        let end = WorkerEnd { exit, noted, was_told, is_stopping, has_share };
        assert_eq!(end.cause(), expect, "{end:?}");
    }

    #[test]
    fn a_reason_that_is_known_counts_and_else_the_process() {
        let (well, badly, killed) = (Exit::Code(0), Exit::Code(1), Exit::Signal(9));
        for exit in [well, badly, killed] {
            check(exit, Some(EndCause::Memory), [true, true, true], EndCause::Memory);
            check(exit, None, [true, true, true], EndCause::Restart);
        }
        check(well, None, [false, false, true], EndCause::Requests);
        check(well, None, [false, false, false], EndCause::Exit);
        check(badly, None, [false, false, true], EndCause::Exit);
        check(killed, None, [false, false, true], EndCause::Signal);
        check(killed, None, [true, false, true], EndCause::Requests);
        check(killed, None, [true, false, false], EndCause::Exit);
    }
}
