//! The settings of connections to servers, and the bounds that come with them.

/// Longest head of a response, as in HTTP/1.
const MAX_HEAD: u32 = 64 * 1024;

/// Streams of one connection at a time, where the server permits as many.
pub(super) const MOST_STREAMS: usize = 128;

/// Bytes that one response holds in memory while its client takes nothing.
const STREAM_WINDOW: u32 = 64 * 1024;

/// The window of a connection is never what stops a stream: else responses that slow clients do not take would stop
/// those of all others.
const CONNECTION_WINDOW: u32 = STREAM_WINDOW * MOST_STREAMS as u32;

/// Bytes of one request's body that wait for the socket.
const SEND_BUFFER: usize = 64 * 1024;

/// Stands for the number of streams that a server permits before it has said it: no SETTINGS can.
pub(super) const UNSAID: usize = usize::MAX - 1;

pub(super) fn builder() -> h2::client::Builder {
    let mut builder = h2::client::Builder::new();
    builder
        .enable_push(false)
        .max_header_list_size(MAX_HEAD)
        .initial_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_send_buffer_size(SEND_BUFFER)
        .initial_max_send_streams(UNSAID);
    builder
}
