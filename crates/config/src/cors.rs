//! Cross-origin resource sharing, as the router runs it (the Fetch standard, section 3.3; beyond Unit).

mod origin;

pub use self::origin::{OriginError, OriginPattern};

/// Which pages of other sites may read replies, and what their requests may have in them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cors {
    /// The origins that may read replies.
    pub origins: Origins,
    /// Requests may carry cookies and other credentials. Never together with `Origins::Any`.
    pub credentials: bool,
    /// The methods of requests.
    pub methods: Permitted,
    /// The names of request headers.
    pub headers: Permitted,
    /// The names of the response headers that scripts may read, beside those that all may; in one line.
    pub expose: Option<String>,
    /// Seconds for which a browser remembers the answer to a preflight request.
    pub max_age: Option<u32>,
}

/// The word of an action on other sites.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CorsRule {
    /// No site is let in, whatever an outer action says.
    Off,
    /// Some are.
    On(Box<Cors>),
}

/// The origins that may read replies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origins {
    /// Every page of the web.
    Any,
    /// Pages of these alone.
    Listed(Vec<OriginPattern>),
}

/// The methods, or the headers, that requests of other sites may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Permitted {
    /// Whatever a preflight request asks for.
    Asked,
    /// These alone, in one line.
    Listed(String),
}

impl Cors {
    /// The permissions where nothing more is said than that other sites may read replies.
    #[must_use]
    pub fn of_any_origin() -> Self {
        Self {
            origins: Origins::Any,
            credentials: false,
            methods: Permitted::Listed(METHODS.to_owned()),
            headers: Permitted::Asked,
            expose: None,
            max_age: None,
        }
    }

    /// Value of `Access-Control-Allow-Origin` for a request of this origin; none if its pages may not read the reply.
    #[must_use]
    pub fn permits<'o>(&self, origin: Option<&'o [u8]>) -> Option<&'o [u8]> {
        match &self.origins {
            Origins::Any => Some(b"*"),
            Origins::Listed(patterns) => {
                origin.filter(|origin| patterns.iter().any(|pattern| pattern.matches(origin)))
            }
        }
    }

    /// Whether replies differ by the origin of the request.
    #[must_use]
    pub fn depends_on_origin(&self) -> bool {
        self.origins != Origins::Any
    }
}

/// Methods that are permitted where none are listed.
const METHODS: &str = "GET, HEAD, POST, PUT, PATCH, DELETE";
