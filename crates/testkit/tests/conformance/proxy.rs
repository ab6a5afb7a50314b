//! `proxy` and `upstreams`: what servers are asked, and what becomes of their answers.

mod beyond;
mod in_step;
mod requests;
mod upstreams;
