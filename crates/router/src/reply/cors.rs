//! Fields that let scripts of other sites read a reply (the Fetch standard, section 3.3).

use corral_config::cors::{Cors, Permitted};

use crate::reply::ReplyFields;
use crate::reply::compression::add_vary;

const ORIGIN: &[u8] = b"Access-Control-Allow-Origin";
const CREDENTIALS: &[u8] = b"Access-Control-Allow-Credentials";
const EXPOSE: &[u8] = b"Access-Control-Expose-Headers";
const METHODS: &[u8] = b"Access-Control-Allow-Methods";
const HEADERS: &[u8] = b"Access-Control-Allow-Headers";
const MAX_AGE: &[u8] = b"Access-Control-Max-Age";

/// The question of a preflight request.
pub(crate) struct Preflight<'r> {
    /// The values of `Access-Control-Request-Method` and `Access-Control-Request-Headers`.
    pub(crate) method: &'r [u8],
    pub(crate) headers: &'r [u8],
}

/// Puts these fields in the place of those that the reply has. Without any, browsers keep the reply from scripts.
pub(crate) fn apply(
    fields: &mut ReplyFields,
    cors: &Cors,
    origin: Option<&[u8]>,
    preflight: Option<&Preflight<'_>>,
) {
    [ORIGIN, CREDENTIALS, EXPOSE, METHODS, HEADERS, MAX_AGE].iter().for_each(|name| fields.remove_all(name));
    if cors.depends_on_origin() {
        add_vary(fields, b"Origin");
    }
    let Some(permitted) = cors.permits(origin) else { return };
    fields.push(ORIGIN, permitted);
    if cors.credentials {
        fields.push(CREDENTIALS, b"true");
    }
    match preflight {
        Some(preflight) => answer(fields, cors, preflight),
        None => cors.expose.iter().for_each(|names| fields.push(EXPOSE, names.as_bytes())),
    }
}

fn answer(fields: &mut ReplyFields, cors: &Cors, preflight: &Preflight<'_>) {
    permit(fields, METHODS, &cors.methods, (b"Access-Control-Request-Method", preflight.method));
    permit(fields, HEADERS, &cors.headers, (b"Access-Control-Request-Headers", preflight.headers));
    if let Some(seconds) = cors.max_age {
        fields.push(MAX_AGE, itoa::Buffer::new().format(seconds).as_bytes());
    }
}

/// The browser compares the names with those of its request.
fn permit(fields: &mut ReplyFields, name: &[u8], permitted: &Permitted, (asked_by, asked): (&[u8], &[u8])) {
    let names = match permitted {
        Permitted::Listed(names) => names.as_bytes(),
        // A star would not do for all: with credentials it stands for itself.
        Permitted::Asked => {
            add_vary(fields, asked_by);
            asked
        }
    };
    if !names.is_empty() {
        fields.push(name, names);
    }
}
