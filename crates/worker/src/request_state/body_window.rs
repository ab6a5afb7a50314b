//! How many bytes of a request's body the router may send, and whether it knows.

use corral_channel::BODY_WINDOW;

/// Bytes that the router may send and was not told of: those that the application has taken, and at first the window,
/// as nothing is sent before it is asked for.
#[derive(Debug)]
pub(crate) struct BodyWindow {
    n_untold: u32,
}

impl BodyWindow {
    /// The window of a body that is to come, or of one that is there.
    pub(crate) fn new(is_to_come: bool) -> Self {
        Self { n_untold: if is_to_come { BODY_WINDOW } else { 0 } }
    }

    /// The application has taken so many bytes.
    pub(crate) fn widen(&mut self, n_bytes: u32) {
        self.n_untold += n_bytes;
    }

    /// Bytes that the router was not told of, if they are so many.
    pub(crate) fn untold(&self, at_least: u32) -> Option<u32> {
        (self.n_untold >= at_least).then_some(self.n_untold)
    }

    /// The router has heard of them.
    pub(crate) fn told(&mut self) {
        self.n_untold = 0;
    }
}
