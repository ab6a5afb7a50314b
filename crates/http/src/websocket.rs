//! WebSocket connections (RFC 6455) as a server between a client and an application sees them: the client's frames are
//! taken apart, the application's go through, and the server's own come between them.

mod frames;
mod incoming;
mod outgoing;

pub use frames::{Closing, Control};
pub use incoming::{ControlFrame, Incoming, Item, Part};
pub use outgoing::{NoFrame, Outgoing};
