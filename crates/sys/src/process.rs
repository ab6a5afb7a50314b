//! This process: title, limits, subreaper.
