//! PHP as a script and its visitors see it.

mod body;
mod environment;
mod errors;
mod limits;
mod output;
mod scaling;
mod scripts;
