//! The socket that carries messages.
