//! One request to the control API.

use hyper::Method;

use crate::conditions::Conditions;

/// One request, as the server has read it.
#[derive(Debug)]
pub(crate) struct ApiRequest<'a> {
    pub(crate) method: &'a Method,
    /// Path and query as they stand in the request line.
    pub(crate) target: &'a str,
    pub(crate) conditions: Conditions,
    /// The values of `Accept`, with commas between them.
    pub(crate) accept: &'a str,
    pub(crate) body: &'a [u8],
    /// Fields are there that browsers send, on a socket that browsers reach.
    pub(crate) is_from_browser: bool,
    /// The user of the process that asks, where the kernel says that.
    pub(crate) uid: Option<u32>,
}
