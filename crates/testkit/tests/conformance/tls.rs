//! TLS (UNIT-COMPAT 7), and certificates of clients.
