//! All client traffic: listeners, connections, routing, static files, hand-over to applications.
