//! Users and groups by name.
