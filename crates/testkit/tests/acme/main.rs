//! Certificates that the daemon orders by itself.

mod router;
