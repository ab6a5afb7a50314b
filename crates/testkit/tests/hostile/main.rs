//! Hostile peers that send main and the router anything, with any descriptor: applications with hostile code, and
//! processes of the daemon itself that were taken over.

mod attack;
mod closing;
mod descriptors;
mod floods;
mod frames;
mod hand;
mod insiders;
mod numbers;
mod refills;
