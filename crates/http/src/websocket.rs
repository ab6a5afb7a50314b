//! WebSocket connections (RFC 6455) as a server between a client and an application sees them: the client's frames are
//! taken apart, the application's go through, and the server's own come between them.

mod client_frames;
mod frames;
mod server_frames;

pub use client_frames::{ClientFrames, ClientItem, ControlFrame, MessagePart};
pub use frames::{CloseReason, Control};
pub use server_frames::{NoFrame, ServerFrames};
