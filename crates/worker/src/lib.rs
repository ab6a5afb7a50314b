//! A worker's loop over its channel, the prototype that forks it, and the Runtime trait.
