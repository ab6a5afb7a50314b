//! Requests in the protocols of FastCGI and its kin: variables in their form, and the health check that is made of
//! them.

use corral_cgi::fastcgi::{DecodeEvent, Decoder, MAX_PARAMS};
use corral_cgi::response::Head;
use corral_cgi::{fastcgi, scgi, uwsgi};
use corral_config::protocol::Protocol;

use crate::upstream::failure::ServerFailure;

/// A name and its value.
pub(crate) type GatewayParam<'v> = (&'v [u8], &'v [u8]);

/// Variables that a protocol cannot say.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotRepresentable {
    #[error(transparent)]
    HasNul(#[from] scgi::HasNul),
    #[error(transparent)]
    TooLarge(#[from] uwsgi::TooLarge),
    #[error("the request's variables take more than the {MAX_PARAMS} bytes that servers of FastCGI read")]
    TooMany,
}

/// Appends the variables of a request, up to where its body begins, which has so many bytes.
pub(crate) fn encode<'v>(
    protocol: Protocol,
    length: Option<u64>,
    variables: impl Iterator<Item = GatewayParam<'v>> + Clone,
    out: &mut Vec<u8>,
) -> Result<(), NotRepresentable> {
    match protocol {
        Protocol::FastCgi => {
            let mut pairs = Vec::new();
            for (name, value) in variables {
                fastcgi::append_pair(name, value, &mut pairs);
            }
            if pairs.len() > MAX_PARAMS {
                return Err(NotRepresentable::TooMany);
            }
            fastcgi::append_params(&pairs, out);
        }
        Protocol::Scgi => {
            let variables = variables.filter(|(name, _)| *name != b"CONTENT_LENGTH");
            scgi::append_head(length.unwrap_or(0), variables, out)?;
        }
        Protocol::Uwsgi => uwsgi::append_head(variables, out)?,
    }
    Ok(())
}

/// A GET without a body, as one whole.
pub(super) fn get(protocol: Protocol, target: &str, host: &str) -> Result<Vec<u8>, NotRepresentable> {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    // php-fpm answers its `ping.path` by the name of the script, others by the path.
    let variables = [
        ("REQUEST_METHOD", "GET"),
        ("REQUEST_URI", target),
        ("SCRIPT_NAME", if protocol == Protocol::FastCgi { path } else { "" }),
        ("SCRIPT_FILENAME", path),
        ("PATH_INFO", path),
        ("QUERY_STRING", query),
        ("SERVER_PROTOCOL", "HTTP/1.1"),
        ("SERVER_NAME", host),
        ("SERVER_PORT", "80"),
        ("HTTP_HOST", host),
        ("GATEWAY_INTERFACE", "CGI/1.1"),
    ];
    let variables = variables.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes()));
    let mut request = Vec::new();
    if protocol == Protocol::FastCgi {
        fastcgi::append_begin(false, &mut request);
    }
    encode(protocol, None, variables, &mut request)?;
    if protocol == Protocol::FastCgi {
        let mut stdin = fastcgi::Stdin::default();
        request.extend_from_slice(stdin.next(0, true).0);
    }
    Ok(request)
}

/// The answer to a check on its way in.
pub(super) struct CheckResponse {
    decoder: Option<Decoder>,
    output: Vec<u8>,
}

impl CheckResponse {
    pub(super) fn new(protocol: Protocol) -> Self {
        Self { decoder: (protocol == Protocol::FastCgi).then(Decoder::default), output: Vec::new() }
    }

    /// The status, as soon as it is there.
    pub(super) fn take(&mut self, mut received: &[u8]) -> Result<Option<u16>, ServerFailure> {
        match &mut self.decoder {
            None => self.output.extend_from_slice(received),
            Some(decoder) => {
                while let Some(event) = decoder.next(&mut received)? {
                    if let DecodeEvent::Stdout(output) = event {
                        self.output.extend_from_slice(output);
                    }
                }
            }
        }
        Ok(Head::parse(&self.output, 0)?.map(|head| head.status()))
    }
}
