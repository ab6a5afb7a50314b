//! Real PHP through the real channel: these tests start `corral-php prototype` as main does, and talk
//! to its workers as the router does.

mod host;

mod life;
mod requests;
mod responses;
mod scripts;
mod settings;
