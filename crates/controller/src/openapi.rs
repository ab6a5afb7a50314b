//! The OpenAPI 3.1 document of the control API, made from the table of endpoints and from the tables
//! by which configurations are validated, so that it cannot say anything else than they do.

use corral_config::json::{Bytes, Object, Value};
use corral_metrics::Format;

use crate::dashboard::session_cookie::SessionCookie;
use crate::endpoints::{ApiResource, ENDPOINTS, Endpoint, Operation, ReplyBody, RequestBodyKind};
use crate::reply::object;

/// The whole document.
pub(crate) fn document() -> Value {
    let info = object([
        ("title", Value::from("Corral control API")),
        ("version", Value::from(env!("CARGO_PKG_VERSION"))),
        ("license", object([("name", Value::from("Apache-2.0"))])),
    ]);
    let paths = ENDPOINTS.iter().map(|endpoint| (Bytes::from(endpoint.template), path_item(endpoint)));
    let schemas = object([
        ("Configuration", corral_config::configuration_schema()),
        ("Success", success_schema()),
        ("Error", error_schema()),
    ]);
    let bearer = object([("type", Value::from("http")), ("scheme", Value::from("bearer"))]);
    let cookie = object([
        ("type", Value::from("apiKey")),
        ("in", Value::from("cookie")),
        ("name", Value::from(SessionCookie::NAME)),
        (
            "description",
            Value::from(
                "Where the address of the API has a port, `_` and that port are the end of the name.",
            ),
        ),
    ]);
    let schemes = object([("token", bearer), ("session", cookie)]);
    let components = object([("schemas", schemas), ("securitySchemes", schemes)]);
    let secured = |name| object([(name, Value::Array(vec![]))]);
    object([
        ("openapi", Value::from("3.1.0")),
        ("info", info),
        // The token is only asked for when the daemon was started with one.
        ("security", Value::Array(vec![Value::empty_object(), secured("token"), secured("session")])),
        ("paths", Value::Object(paths.collect())),
        ("components", components),
    ])
}

fn path_item(endpoint: &Endpoint) -> Value {
    let mut item = Object::new();
    let parameters: Vec<_> = endpoint.parameters().map(path_parameter).collect();
    if !parameters.is_empty() {
        item.insert(Bytes::from("parameters"), Value::Array(parameters));
    }
    for operation in endpoint.operations {
        let method = operation.method.as_str().to_ascii_lowercase();
        item.insert(Bytes::from(method.as_str()), describe(endpoint, operation));
    }
    Value::Object(item)
}

fn path_parameter(name: &str) -> Value {
    let description = match name {
        "path" => {
            "Names and indices on the way to the value, with slashes between them; a slash in a name is %2F."
        }
        "pid" => "The number of a process.",
        "id" => "The number of a configuration that was in force.",
        _ => "A slash in the name is %2F.",
    };
    parameter(name, "path", "string", description)
}

fn parameter(name: &str, place: &str, kind: &str, description: &str) -> Value {
    let members = [
        ("name", Value::from(name)),
        ("in", Value::from(place)),
        ("description", Value::from(description)),
        ("required", Value::Bool(place == "path")),
        ("schema", object([("type", Value::from(kind))])),
    ];
    object(members)
}

fn describe(endpoint: &Endpoint, operation: &Operation) -> Value {
    let mut members = Object::new();
    let mut add = |name: &str, value: Value| members.insert(Bytes::from(name), value);
    add("summary", Value::from(operation.summary));
    let parameters = options(endpoint, operation);
    if !parameters.is_empty() {
        add("parameters", Value::Array(parameters));
    }
    if let Some((media_type, schema)) = request_body(operation.body) {
        let content = object([(media_type, object([("schema", schema)]))]);
        add("requestBody", object([("required", Value::Bool(true)), ("content", content)]));
    }
    let done = match operation.answer {
        ReplyBody::Configuration => response("Done.", reference("Configuration")),
        ReplyBody::Success => response("Done.", reference("Success")),
        ReplyBody::Json => response("Done.", Value::empty_object()),
        ReplyBody::Metrics => metrics(),
        ReplyBody::Other(media_type) => other(media_type),
    };
    let mut responses = vec![("200", done)];
    if operation.answer == ReplyBody::Success
        && matches!(endpoint.resource, ApiResource::Config | ApiResource::History | ApiResource::Restart)
    {
        let text = "A newer change of the same part took its place.";
        responses.push(("409", response(text, reference("Error"))));
    }
    responses.push(("default", response("Not done.", reference("Error"))));
    add("responses", object(responses));
    Value::Object(members)
}

/// The query and the fields that an operation knows.
fn options(endpoint: &Endpoint, operation: &Operation) -> Vec<Value> {
    let mut options = Vec::new();
    let is_kept = matches!(
        endpoint.resource,
        ApiResource::Config | ApiResource::History | ApiResource::Certificates | ApiResource::Scripts
    );
    let is_change = is_kept && operation.answer == ReplyBody::Success;
    if is_change {
        let text = "Check the request and change nothing.";
        options.push(parameter("dry_run", "query", "boolean", text));
    }
    if matches!(operation.body, RequestBodyKind::Certificate | RequestBodyKind::Script) {
        let text = "Take the place of one with this name, even while it is in use.";
        options.push(parameter("replace", "query", "boolean", text));
    }
    if operation.body == RequestBodyKind::Certificate {
        let text =
            "The body may be without a private key: certificates of authorities, for \"client\" and \"ca\".";
        options.push(parameter("ca", "query", "boolean", text));
    }
    let is_history = endpoint.resource == ApiResource::History;
    if endpoint.resource == ApiResource::Config || (is_history && is_change) {
        if is_change {
            options.push(parameter(
                "If-Match",
                "header",
                "string",
                "Only if the configuration has this ETag.",
            ));
            let text = "A text for the history, of at most 200 bytes.";
            options.push(parameter("comment", "query", "string", text));
        }
        let text = "Only if the configuration does not have this ETag.";
        options.push(parameter("If-None-Match", "header", "string", text));
    }
    options
}

fn request_body(body: RequestBodyKind) -> Option<(&'static str, Value)> {
    match body {
        RequestBodyKind::None => None,
        RequestBodyKind::Configuration => Some(("application/json", reference("Configuration"))),
        RequestBodyKind::Json => Some(("application/json", Value::empty_object())),
        RequestBodyKind::Certificate => {
            Some(("application/x-pem-file", object([("type", Value::from("string"))])))
        }
        RequestBodyKind::Script => Some(("text/javascript", object([("type", Value::from("string"))]))),
    }
}

fn response(description: &str, schema: Value) -> Value {
    let content = object([("application/json", object([("schema", schema)]))]);
    object([("description", Value::from(description)), ("content", content)])
}

/// Figures, in the formats that collectors ask for.
fn metrics() -> Value {
    let text = || object([("schema", object([("type", Value::from("string"))]))]);
    let formats = [Format::Prometheus, Format::OpenMetrics, Format::Protobuf];
    let content = object(formats.map(|format| (format.content_type(), text())));
    object([("description", Value::from("The figures.")), ("content", content)])
}

fn other(media_type: &str) -> Value {
    let text = object([("schema", object([("type", Value::from("string"))]))]);
    object([("description", Value::from("Done.")), ("content", object([(media_type, text)]))])
}

fn reference(name: &str) -> Value {
    object([("$ref", Value::from(format!("#/components/schemas/{name}").as_str()))])
}

fn success_schema() -> Value {
    let warning = "why the change, which is in force, is not stored";
    object([
        ("type", Value::from("object")),
        ("required", Value::Array(vec![Value::from("success")])),
        (
            "properties",
            object([
                ("success", property("string", "what was done")),
                ("warning", property("string", warning)),
            ]),
        ),
    ])
}

fn error_schema() -> Value {
    let location = object([
        ("type", Value::from("object")),
        ("description", Value::from("where the first problem is")),
        (
            "properties",
            object([
                ("path", property("string", "a JSON pointer into the configuration")),
                ("offset", property("integer", "bytes before the place in the text that was sent")),
                ("line", property("integer", "its line, from 1")),
                ("column", property("integer", "its column in characters, from 1")),
            ]),
        ),
    ]);
    let mut all = property("array", "all problems, where there are several");
    if let Value::Object(members) = &mut all {
        members.insert(Bytes::from("items"), object([("type", Value::from("object"))]));
    }
    object([
        ("type", Value::from("object")),
        ("required", Value::Array(vec![Value::from("error")])),
        (
            "properties",
            object([
                ("error", property("string", "what was not done")),
                ("detail", property("string", "the first problem, and what would be right")),
                ("location", location),
                ("suggestion", property("string", "the name that was probably meant")),
                ("errors", all),
            ]),
        ),
    ])
}

fn property(kind: &str, description: &str) -> Value {
    object([("type", Value::from(kind)), ("description", Value::from(description))])
}
