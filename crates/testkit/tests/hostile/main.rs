//! Whoever says to main and to the router what he likes, with any descriptor: applications whose code is hostile, and
//! processes of the daemon itself that somebody has taken over.

mod attack;
mod closing;
mod descriptors;
mod floods;
mod frames;
mod hand;
mod insiders;
mod numbers;
mod refills;
