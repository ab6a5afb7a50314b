//! Real PHP through the real channel: these tests start `corral-php prototype` as main does, and talk
//! to its workers as the router does.

// `cfg(test)` always holds here; it tells clippy that these helpers are tests too.
#[cfg(test)]
mod host;
#[cfg(test)]
mod life;
#[cfg(test)]
mod messages;
#[cfg(test)]
mod requests;
#[cfg(test)]
mod responses;
#[cfg(test)]
mod scripts;
#[cfg(test)]
mod settings;
