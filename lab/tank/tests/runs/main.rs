//! Whole runs of `corral-tank` against servers whose behaviour is known: counts are exact, and failures are told by
//! their kind. How fast and how punctual it is, `lab/tank/compare.py` measures.

mod nginx;
mod server;
mod tank;

mod accounting;
mod ammo;
mod counts;
mod failures;
mod http2;
mod phout;
mod stopping;
mod tls;
mod usage;
