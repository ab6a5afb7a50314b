//! Test support: starts real daemons and real servers, speaks raw HTTP, waits with deadlines.
