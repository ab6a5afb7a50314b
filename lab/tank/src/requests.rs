//! The requests of a run: all of them, and the order in which they are made, over and over.

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use http::Method;

use crate::message::Message;
use crate::origin::Origin;

/// The longest cycle that weights may make.
const MOST_IN_ORDER: u64 = 1_000_000;

/// One request, ready to be sent.
#[derive(Debug)]
pub(crate) struct Request {
    /// The index of the server.
    pub(crate) origin: usize,
    /// The name that ammo gives the request; empty without one.
    pub(crate) tag: String,
    /// The answer has no body, whatever its head says.
    pub(crate) is_head: bool,
    pub(crate) form: Form,
}

/// How a request goes over the wire.
#[derive(Debug)]
pub(crate) enum Form {
    Http1(Vec<u8>),
    Http2 { head: Box<http::Request<()>>, body: Bytes },
}

impl Request {
    pub(crate) fn new(
        message: &Message,
        tag: String,
        origin: (usize, &Origin),
        protocol: Protocol,
    ) -> Result<Self> {
        let (index, server) = origin;
        let form = match protocol {
            Protocol::Http1 { keep_alive } => Form::Http1(message.http1(&server.authority, keep_alive)),
            Protocol::Http2 => {
                let head = Box::new(message.http2(&server.authority, server.is_tls)?);
                Form::Http2 { head, body: message.body.clone() }
            }
        };
        Ok(Self { origin: index, tag, is_head: message.method == Method::HEAD, form })
    }
}

/// The protocol that all requests of a run are made in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    Http1 { keep_alive: bool },
    Http2,
}

/// All requests of a run.
#[derive(Debug)]
pub(crate) struct Requests {
    pub(crate) list: Vec<Request>,
    pub(crate) origins: Vec<Origin>,
    /// Indices of `list`, at least one.
    order: Vec<u32>,
}

impl Requests {
    /// Requests that are made in their order.
    pub(crate) fn in_order(list: Vec<Request>, origins: Vec<Origin>) -> Result<Self> {
        let n_requests = u32::try_from(list.len()).context("more requests than 32 bits can count")?;
        if n_requests == 0 {
            bail!("there is no request to make");
        }
        Ok(Self { order: (0..n_requests).collect(), list, origins })
    }

    /// Requests that are made as often as their weights say, evenly mixed.
    pub(crate) fn weighted(list: Vec<(u64, Request)>, origins: Vec<Origin>) -> Result<Self> {
        let (weights, list): (Vec<_>, Vec<_>) = list.into_iter().unzip();
        Ok(Self { order: mixed(&weights)?, ..Self::in_order(list, origins)? })
    }

    /// The index of the request with this number. Numbers of all threads together count from 0.
    pub(crate) fn pick(&self, number: u64) -> usize {
        self.order[(number % self.order.len() as u64) as usize] as usize
    }
}

/// One cycle in which each index is as often as its weight says, and as evenly apart as can be.
fn mixed(weights: &[u64]) -> Result<Vec<u32>> {
    let divisor = weights.iter().copied().fold(0, gcd).max(1);
    let total = weights.iter().try_fold(0, |sum: u64, weight| sum.checked_add(weight / divisor));
    let total = total.filter(|total| *total <= MOST_IN_ORDER);
    total.with_context(|| format!("weights add up to more than {MOST_IN_ORDER}"))?;
    let mut moments = Vec::new();
    for (index, weight) in (0..).zip(weights.iter().map(|weight| weight / divisor)) {
        // The middle of each of its shares of the cycle, in parts of a whole that products fit in.
        let moment = |share: u64| (u128::from(2 * share + 1) << 64) / u128::from(2 * weight);
        moments.extend((0..weight).map(|share| (moment(share), index)));
    }
    moments.sort_unstable();
    Ok(moments.into_iter().map(|(_, index)| index).collect())
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(weights: &[u64], expected: &[u32]) {
        assert_eq!(mixed(weights).expect("they are few"), expected, "{weights:?}");
    }

    #[test]
    fn weights_are_mixed_evenly() {
        check(&[1], &[0]);
        check(&[7, 7], &[0, 1]);
        check(&[3, 1], &[0, 0, 1, 0]);
        check(&[4, 2], &[0, 1, 0]);
        check(&[1, 0, 1], &[0, 2]);
    }

    #[test]
    fn a_cycle_has_a_bound() {
        assert!(mixed(&[1, 999_999]).is_ok());
        assert!(mixed(&[1, 1_000_000]).is_err());
        assert!(mixed(&[1, u64::MAX]).is_err());
    }
}
