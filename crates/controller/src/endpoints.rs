//! The endpoints of the control API: one table, from which requests are dispatched and the OpenAPI document is written
//! (contract 3.3).

use corral_config::json::Bytes;
use hyper::Method;

/// The resource that a path names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ApiResource {
    Index,
    Config,
    History,
    Certificates,
    Scripts,
    Status,
    Metrics,
    Restart,
    Run,
    Exec,
    Workers,
    EndWorker,
    Renew,
    OpenApi,
    /// The dashboard's page and its assets.
    Page,
    Session,
    SessionTokens,
    Events,
}

/// One path with its methods.
#[derive(Debug)]
pub(crate) struct Endpoint {
    pub(crate) resource: ApiResource,
    /// `{path}` is any number of segments but none, another name in braces one segment.
    pub(crate) template: &'static str,
    pub(crate) operations: &'static [Operation],
    /// The answer to another method.
    pub(crate) otherwise: Otherwise,
}

/// One method of a path.
#[derive(Debug)]
pub(crate) struct Operation {
    pub(crate) method: Method,
    /// One line for the reader of the OpenAPI document.
    pub(crate) summary: &'static str,
    /// The body of the request.
    pub(crate) body: RequestBodyKind,
    /// The body of a successful reply.
    pub(crate) answer: ReplyBody,
}

/// The body of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestBodyKind {
    None,
    /// A whole configuration.
    Configuration,
    /// Any JSON.
    Json,
    /// PEM.
    Certificate,
    /// JavaScript.
    Script,
}

/// The body of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReplyBody {
    Configuration,
    Json,
    /// `{"success": …}`.
    Success,
    /// The formats of Prometheus.
    Metrics,
    /// Something else of this media type.
    Other(&'static str),
}

/// The reply to a method that a path does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Otherwise {
    /// 405 `Invalid method.`
    InvalidMethod,
    /// 405 `Method isn't allowed.`
    NotAllowed,
    /// 400 `Invalid certificate name.` or its like.
    InvalidName,
}

/// The access that a request needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// The request may always be made: it shows and changes nothing by itself.
    Nothing,
    Read,
    Full,
}

impl Endpoint {
    /// The endpoint for a path, and the segments behind its fixed ones.
    pub(crate) fn find(segments: &[Bytes]) -> Option<(&'static Self, &[Bytes])> {
        ENDPOINTS.iter().find_map(|endpoint| Some((endpoint, endpoint.captures(segments)?)))
    }

    /// The operation for a method; HEAD is GET without the body, where GET changes nothing.
    pub(crate) fn operation(&self, method: &Method) -> Option<&Operation> {
        let is_safe = self.resource != ApiResource::Restart;
        let method = if *method == Method::HEAD && is_safe { &Method::GET } else { method };
        self.operations.iter().find(|operation| operation.method == *method)
    }

    /// The access that this method needs, also where there is no such method.
    pub(crate) fn need(&self, method: &Method) -> Need {
        match self.resource {
            ApiResource::Page | ApiResource::Session => Need::Nothing,
            ApiResource::Restart | ApiResource::Run | ApiResource::Exec => Need::Full,
            _ if matches!(*method, Method::GET | Method::HEAD) => Need::Read,
            _ => Need::Full,
        }
    }

    /// The names of the braces in the template.
    pub(crate) fn parameters(&self) -> impl Iterator<Item = &'static str> {
        let pieces = self.template.split('/');
        pieces.filter_map(|piece| piece.strip_prefix('{')?.strip_suffix('}'))
    }

    /// The segments that the first brace of the template and all that follows it stand for.
    fn captures<'a>(&self, segments: &'a [Bytes]) -> Option<&'a [Bytes]> {
        let mut first = None;
        let mut idx = 0;
        for piece in self.template.split('/').filter(|piece| !piece.is_empty()) {
            let segment = segments.get(idx)?;
            match piece {
                "{path}" => return Some(&segments[first.unwrap_or(idx)..]),
                brace if brace.starts_with('{') => first = first.or(Some(idx)),
                fixed if **segment != *fixed.as_bytes() => return None,
                _ => {}
            }
            idx += 1;
        }
        (idx == segments.len()).then(|| &segments[first.unwrap_or(idx)..])
    }
}

const fn operation(
    method: Method,
    body: RequestBodyKind,
    answer: ReplyBody,
    summary: &'static str,
) -> Operation {
    Operation { method, summary, body, answer }
}

/// All there is.
pub(crate) const ENDPOINTS: &[Endpoint] = &[
    Endpoint {
        resource: ApiResource::Index,
        template: "/",
        operations: &[operation(
            Method::GET,
            RequestBodyKind::None,
            ReplyBody::Json,
            "Everything in one object.",
        )],
        otherwise: Otherwise::InvalidMethod,
    },
    Endpoint {
        resource: ApiResource::Config,
        template: "/config",
        operations: &[
            operation(
                Method::GET,
                RequestBodyKind::None,
                ReplyBody::Configuration,
                "The configuration in force.",
            ),
            operation(
                Method::PUT,
                RequestBodyKind::Configuration,
                ReplyBody::Success,
                "Puts a whole configuration in force.",
            ),
            operation(
                Method::DELETE,
                RequestBodyKind::None,
                ReplyBody::Success,
                "Puts an empty configuration in force.",
            ),
        ],
        otherwise: Otherwise::NotAllowed,
    },
    Endpoint {
        resource: ApiResource::History,
        template: "/config/history",
        operations: &[operation(
            Method::GET,
            RequestBodyKind::None,
            ReplyBody::Json,
            "The configurations that were in force, newest first: when, by whom, and what differs.",
        )],
        otherwise: Otherwise::NotAllowed,
    },
    Endpoint {
        resource: ApiResource::History,
        template: "/config/history/{id}",
        operations: &[
            operation(
                Method::GET,
                RequestBodyKind::None,
                ReplyBody::Json,
                "One of them, with the configuration.",
            ),
            operation(Method::POST, RequestBodyKind::None, ReplyBody::Success, "Puts it in force again."),
        ],
        otherwise: Otherwise::NotAllowed,
    },
    Endpoint {
        resource: ApiResource::Config,
        template: "/config/{path}",
        operations: &[
            operation(Method::GET, RequestBodyKind::None, ReplyBody::Json, "A part of the configuration."),
            operation(
                Method::PUT,
                RequestBodyKind::Json,
                ReplyBody::Success,
                "Replaces a part, or adds a member or an element.",
            ),
            operation(Method::POST, RequestBodyKind::Json, ReplyBody::Success, "Appends to an array."),
            operation(Method::DELETE, RequestBodyKind::None, ReplyBody::Success, "Removes a part."),
        ],
        otherwise: Otherwise::NotAllowed,
    },
    Endpoint {
        resource: ApiResource::Certificates,
        template: "/certificates",
        operations: &[operation(
            Method::GET,
            RequestBodyKind::None,
            ReplyBody::Json,
            "All certificate bundles by name.",
        )],
        otherwise: Otherwise::InvalidName,
    },
    Endpoint {
        resource: ApiResource::Certificates,
        template: "/certificates/{name}",
        operations: &[
            operation(
                Method::GET,
                RequestBodyKind::None,
                ReplyBody::Json,
                "What a certificate bundle consists of.",
            ),
            operation(
                Method::PUT,
                RequestBodyKind::Certificate,
                ReplyBody::Success,
                "Uploads a certificate chain with its private key.",
            ),
            operation(
                Method::DELETE,
                RequestBodyKind::None,
                ReplyBody::Success,
                "Removes a bundle that is not in use.",
            ),
        ],
        otherwise: Otherwise::InvalidMethod,
    },
    Endpoint {
        resource: ApiResource::Certificates,
        template: "/certificates/{name}/{path}",
        operations: &[operation(
            Method::GET,
            RequestBodyKind::None,
            ReplyBody::Json,
            "A part of what is told about a bundle.",
        )],
        otherwise: Otherwise::InvalidName,
    },
    Endpoint {
        resource: ApiResource::Scripts,
        template: "/js_modules",
        operations: &[operation(
            Method::GET,
            RequestBodyKind::None,
            ReplyBody::Json,
            "All JavaScript modules by name.",
        )],
        otherwise: Otherwise::InvalidName,
    },
    Endpoint {
        resource: ApiResource::Scripts,
        template: "/js_modules/{name}",
        operations: &[
            operation(
                Method::GET,
                RequestBodyKind::None,
                ReplyBody::Json,
                "The source of a module, as a string.",
            ),
            operation(
                Method::PUT,
                RequestBodyKind::Script,
                ReplyBody::Success,
                "Uploads a JavaScript module.",
            ),
            operation(
                Method::DELETE,
                RequestBodyKind::None,
                ReplyBody::Success,
                "Removes a module that is not in use.",
            ),
        ],
        otherwise: Otherwise::InvalidMethod,
    },
    Endpoint {
        resource: ApiResource::Scripts,
        template: "/js_modules/{name}/{path}",
        operations: &[operation(
            Method::GET,
            RequestBodyKind::None,
            ReplyBody::Json,
            "Nothing: a module has no parts.",
        )],
        otherwise: Otherwise::InvalidName,
    },
    Endpoint {
        resource: ApiResource::Status,
        template: "/status",
        operations: &[operation(
            Method::GET,
            RequestBodyKind::None,
            ReplyBody::Json,
            "Figures of the running server.",
        )],
        otherwise: Otherwise::InvalidMethod,
    },
    Endpoint {
        resource: ApiResource::Status,
        template: "/status/{path}",
        operations: &[operation(
            Method::GET,
            RequestBodyKind::None,
            ReplyBody::Json,
            "A part of the figures.",
        )],
        otherwise: Otherwise::InvalidMethod,
    },
    Endpoint {
        resource: ApiResource::Metrics,
        template: "/metrics",
        operations: &[operation(
            Method::GET,
            RequestBodyKind::None,
            ReplyBody::Metrics,
            "Figures for Prometheus, as OpenMetrics if that is accepted.",
        )],
        otherwise: Otherwise::InvalidMethod,
    },
    Endpoint {
        resource: ApiResource::Restart,
        template: "/control/applications/{name}/restart",
        operations: &[
            operation(
                Method::POST,
                RequestBodyKind::None,
                ReplyBody::Success,
                "Replaces the processes of an application, without losing a request.",
            ),
            operation(
                Method::GET,
                RequestBodyKind::None,
                ReplyBody::Success,
                "The same, for tools of Unit; not for browsers.",
            ),
        ],
        otherwise: Otherwise::NotAllowed,
    },
    Endpoint {
        resource: ApiResource::Run,
        template: "/control/applications/{name}/run",
        operations: &[operation(
            Method::POST,
            RequestBodyKind::None,
            ReplyBody::Success,
            "Runs a command at once that has a schedule.",
        )],
        otherwise: Otherwise::NotAllowed,
    },
    Endpoint {
        resource: ApiResource::Exec,
        template: "/control/applications/{name}/exec",
        operations: &[operation(
            Method::GET,
            RequestBodyKind::None,
            ReplyBody::Json,
            "For `corral exec` of the same version, and its user: what a command is run with.",
        )],
        otherwise: Otherwise::NotAllowed,
    },
    Endpoint {
        resource: ApiResource::Renew,
        template: "/control/certificates/{name}/renew",
        operations: &[operation(
            Method::POST,
            RequestBodyKind::None,
            ReplyBody::Success,
            "Orders an automatic certificate now.",
        )],
        otherwise: Otherwise::NotAllowed,
    },
    Endpoint {
        resource: ApiResource::Page,
        template: "/dashboard",
        operations: &[operation(
            Method::GET,
            RequestBodyKind::None,
            ReplyBody::Other("text/html"),
            "The dashboard, a page for browsers.",
        )],
        otherwise: Otherwise::InvalidMethod,
    },
    Endpoint {
        resource: ApiResource::Page,
        template: "/dashboard/assets/{path}",
        operations: &[operation(
            Method::GET,
            RequestBodyKind::None,
            ReplyBody::Other("application/octet-stream"),
            "Parts of the page.",
        )],
        otherwise: Otherwise::InvalidMethod,
    },
    Endpoint {
        resource: ApiResource::Session,
        template: "/dashboard/session",
        operations: &[
            operation(
                Method::GET,
                RequestBodyKind::None,
                ReplyBody::Json,
                "What the client may do: see everything, or change it too.",
            ),
            operation(
                Method::POST,
                RequestBodyKind::Json,
                ReplyBody::Json,
                "Begins a session with a token: the browser gets a cookie.",
            ),
            operation(Method::DELETE, RequestBodyKind::None, ReplyBody::Success, "Ends the session."),
        ],
        otherwise: Otherwise::NotAllowed,
    },
    Endpoint {
        resource: ApiResource::SessionTokens,
        template: "/dashboard/tokens",
        operations: &[operation(
            Method::POST,
            RequestBodyKind::None,
            ReplyBody::Json,
            "A token that begins one session, within a minute.",
        )],
        otherwise: Otherwise::NotAllowed,
    },
    Endpoint {
        resource: ApiResource::Events,
        template: "/events",
        operations: &[operation(
            Method::GET,
            RequestBodyKind::None,
            ReplyBody::Other("text/event-stream"),
            "All figures at first, and once a second what has changed, as server-sent events.",
        )],
        otherwise: Otherwise::InvalidMethod,
    },
    Endpoint {
        resource: ApiResource::Workers,
        template: "/control/applications/{name}/workers",
        operations: &[operation(
            Method::GET,
            RequestBodyKind::None,
            ReplyBody::Json,
            "The processes of an application, by their numbers, and the requests that they run now.",
        )],
        otherwise: Otherwise::NotAllowed,
    },
    Endpoint {
        resource: ApiResource::EndWorker,
        template: "/control/applications/{name}/workers/{pid}/drain",
        operations: &[operation(
            Method::POST,
            RequestBodyKind::None,
            ReplyBody::Success,
            "Gives a process of an application no more requests; it ends after those that it has.",
        )],
        otherwise: Otherwise::NotAllowed,
    },
    Endpoint {
        resource: ApiResource::EndWorker,
        template: "/control/applications/{name}/workers/{pid}/end",
        operations: &[operation(
            Method::POST,
            RequestBodyKind::None,
            ReplyBody::Success,
            "Ends a process of an application at once. The requests that it runs are answered with 503.",
        )],
        otherwise: Otherwise::NotAllowed,
    },
    Endpoint {
        resource: ApiResource::OpenApi,
        template: "/openapi.json",
        operations: &[operation(Method::GET, RequestBodyKind::None, ReplyBody::Json, "This description.")],
        otherwise: Otherwise::InvalidMethod,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    /// The template that a path leads to, and what its braces stand for.
    #[track_caller]
    fn check(path: &str, expect: Option<(&str, &[&str])>) {
        let segments: Vec<_> = path.split('/').filter(|piece| !piece.is_empty()).map(Bytes::from).collect();
        let found = Endpoint::find(&segments).map(|(endpoint, captured)| {
            (endpoint.template, captured.iter().map(|segment| segment.to_str().unwrap()).collect::<Vec<_>>())
        });
        assert_eq!(found.as_ref().map(|(template, captured)| (*template, captured.as_slice())), expect);
    }

    #[test]
    fn paths_lead_to_endpoints() {
        check("/", Some(("/", &[])));
        check("/config", Some(("/config", &[])));
        check("/config/a/b", Some(("/config/{path}", &["a", "b"])));
        check("/config/history", Some(("/config/history", &[])));
        check("/config/history/12", Some(("/config/history/{id}", &["12"])));
        check("/config/history/12/x", Some(("/config/{path}", &["history", "12", "x"])));
        check("/certificates/n", Some(("/certificates/{name}", &["n"])));
        check("/certificates/n/chain/0", Some(("/certificates/{name}/{path}", &["n", "chain", "0"])));
        check(
            "/control/applications/a/restart",
            Some(("/control/applications/{name}/restart", &["a", "restart"])),
        );
        check(
            "/control/applications/a/workers/12/drain",
            Some(("/control/applications/{name}/workers/{pid}/drain", &["a", "workers", "12", "drain"])),
        );
        check("/control/applications/a/workers/12", None);
        check("/control/applications/a/workers/12/stop", None);
        check("/control/applications/a/restart/x", None);
        check("/control/applications/restart", None);
        check("/configuration", None);
        check("/openapi.json", Some(("/openapi.json", &[])));
        check("/openapi.json/x", None);
    }
}
