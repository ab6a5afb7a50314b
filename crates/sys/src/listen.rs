//! Listening sockets.
