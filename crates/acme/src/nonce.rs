//! Nonces that an authority does not take (RFC 8555 section 6.5).

/// Sends a request again for as long as the authority does not take its nonce. instant-acme tries thrice, which is too
/// few where nonces get lost. A macro, because a future that borrows from its caller cannot be made twice by a closure.
macro_rules! patiently {
    ($request:expr) => {{
        let mut n_tries = 0;
        loop {
            match $request.await {
                Err(error)
                    if $crate::failure::is_bad_nonce(&error) && n_tries < $crate::nonce::MOST_NONCES =>
                {
                    n_tries += 1
                }
                result => break result,
            }
        }
    }};
}
pub(crate) use patiently;

/// Nonces in a row that an authority may refuse.
pub(crate) const MOST_NONCES: u32 = 10;
