//! How many bytes of a request's body the router may send, and when it hears of more.

use corral_channel::BODY_WINDOW;

/// Bytes that the router may send and was not told of: those that the application has taken, and at first the window,
/// as nothing is sent before it is asked for.
#[derive(Debug)]
pub(crate) struct BodyWindow {
    n_untold: u32,
    /// Bytes from which on the router is told while it goes on sending.
    worth_telling: u32,
}

impl BodyWindow {
    /// The window of a body that is to come.
    pub(crate) fn new(worth_telling: u32) -> Self {
        Self { n_untold: BODY_WINDOW, worth_telling }
    }

    /// The window when there is nothing to come.
    pub(crate) fn closed(worth_telling: u32) -> Self {
        Self { n_untold: 0, worth_telling }
    }

    /// The application has taken so many bytes.
    pub(crate) fn widen(&mut self, n_bytes: u32) {
        self.n_untold += n_bytes;
    }

    /// Bytes that the router is to hear of, if they are worth a frame.
    pub(crate) fn news(&self) -> Option<u32> {
        (self.n_untold >= self.worth_telling).then_some(self.n_untold)
    }

    /// The router has heard of them.
    pub(crate) fn told(&mut self) {
        self.n_untold = 0;
    }
}
