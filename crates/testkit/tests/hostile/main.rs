//! Applications whose code is hostile: it says to main and to the router what it likes, with any descriptor.

mod attack;
mod closing;
mod descriptors;
mod floods;
mod frames;
mod hand;
mod numbers;
mod refills;
