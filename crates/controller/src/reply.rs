//! Replies of the control API: a status and a JSON value (contract 3.4).

use std::time::Duration;

use corral_config::json::edit;
use corral_config::json::{Bytes, Number, Object, ParseError, Value};
use corral_config::{Problem, Stage};
use hyper::StatusCode;
use hyper::header::{CACHE_CONTROL, HeaderName, HeaderValue};

use crate::dashboard::viewers::EventBody;

/// One reply.
#[derive(Debug)]
pub(crate) struct ApiReply {
    pub(crate) status: StatusCode,
    pub(crate) body: Value,
    /// The entity tag of the configuration, where the reply is about it.
    pub(crate) tag: Option<String>,
    /// Something else in the place of JSON.
    pub(crate) content: Option<ReplyContent>,
    /// The body of a reply that has no end yet, in the place of all that.
    pub(crate) stream: Option<EventBody>,
    /// Fields besides those that all replies have.
    pub(crate) fields: Vec<(HeaderName, HeaderValue)>,
}

/// Bytes with the value of `Content-Type`.
#[derive(Debug)]
pub(crate) struct ReplyContent {
    pub(crate) media_type: &'static str,
    pub(crate) bytes: bytes::Bytes,
}

impl ApiReply {
    /// The value itself.
    pub(crate) fn value(body: Value) -> Self {
        Self { status: StatusCode::OK, body, tag: None, content: None, stream: None, fields: Vec::new() }
    }

    /// A text, or something else that is not JSON.
    pub(crate) fn text(media_type: &'static str, text: impl Into<bytes::Bytes>) -> Self {
        Self::content(media_type, text.into())
    }

    /// Bytes that are not JSON.
    pub(crate) fn content(media_type: &'static str, bytes: bytes::Bytes) -> Self {
        Self { content: Some(ReplyContent { media_type, bytes }), ..Self::value(Value::Null) }
    }

    /// A reply that goes on.
    pub(crate) fn stream(media_type: &'static str, body: EventBody) -> Self {
        Self { stream: Some(body), ..Self::content(media_type, bytes::Bytes::new()) }
    }

    /// With another field.
    pub(crate) fn with_field(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.fields.push((name, value));
        self
    }

    /// For no cache to keep.
    pub(crate) fn uncached(self) -> Self {
        self.with_field(CACHE_CONTROL, HeaderValue::from_static("no-store"))
    }

    /// The part of a value outside the configuration that stands at a path.
    pub(crate) fn part(value: &Value, path: &[Bytes]) -> Self {
        match edit::get(value, path) {
            Ok(value) => Self::value(value.clone()),
            Err(_) => Self::error(StatusCode::NOT_FOUND, "Invalid path."),
        }
    }

    /// Something was done.
    pub(crate) fn success(title: &str) -> Self {
        Self::value(object([("success", Value::from(title))]))
    }

    /// Something went wrong.
    pub(crate) fn error(status: StatusCode, title: &str) -> Self {
        Self { status, ..Self::value(object([("error", Value::from(title))])) }
    }

    /// Something went wrong, and this is why.
    pub(crate) fn error_with_detail(status: StatusCode, title: &str, detail: &str) -> Self {
        Self::error(status, title).with("detail", Value::from(detail))
    }

    /// The reader has what there is; the body is not sent.
    pub(crate) fn not_modified() -> Self {
        Self { status: StatusCode::NOT_MODIFIED, ..Self::value(Value::Null) }
    }

    /// With the entity tag of the configuration.
    pub(crate) fn tagged(mut self, tag: &str) -> Self {
        self.tag = Some(tag.to_owned());
        self
    }

    /// The path leads nowhere.
    pub(crate) fn missing() -> Self {
        Self::error(StatusCode::NOT_FOUND, "Value doesn't exist.")
    }

    /// The method has no meaning for this resource.
    pub(crate) fn invalid_method() -> Self {
        Self::error(StatusCode::METHOD_NOT_ALLOWED, "Invalid method.")
    }

    /// The method has no meaning for the value at this path.
    pub(crate) fn method_not_allowed() -> Self {
        Self::error(StatusCode::METHOD_NOT_ALLOWED, "Method isn't allowed.")
    }

    /// The query says something that cannot be meant.
    pub(crate) fn invalid_query(detail: &str) -> Self {
        Self::error_with_detail(StatusCode::BAD_REQUEST, "Invalid query.", detail)
    }

    /// The body is not JSON.
    pub(crate) fn invalid_json(error: &ParseError) -> Self {
        let mut location = object_of([("offset", number(error.offset))]);
        if let Some((line, column)) = error.position {
            location.insert(Bytes::from("line"), number(line));
            location.insert(Bytes::from("column"), number(column));
        }
        Self::error_with_detail(StatusCode::BAD_REQUEST, "Invalid JSON.", &error.detail)
            .with("location", Value::Object(location))
    }

    /// The document is JSON and no configuration. The first problem stands where Unit's clients look
    /// for it; when there are more, all of them are in `errors`.
    pub(crate) fn invalid_configuration(problems: &[Problem]) -> Self {
        let first = problems.iter().find(|problem| problem.stage == Stage::Validation);
        let reply = match first {
            Some(_) => Self::error(StatusCode::BAD_REQUEST, "Invalid configuration."),
            None => Self::error(StatusCode::INTERNAL_SERVER_ERROR, NOT_APPLIED),
        };
        let Some(first) = first.or(problems.first()) else { return reply };
        let mut reply = reply;
        if let Value::Object(members) = &mut reply.body {
            members.extend(describe(first));
        }
        if problems.len() == 1 {
            return reply;
        }
        let all = problems.iter().map(|problem| Value::Object(describe(problem)));
        reply.with("errors", Value::Array(all.collect()))
    }

    /// Main could not put the configuration in force.
    pub(crate) fn not_applied(reason: &str) -> Self {
        Self::error_with_detail(StatusCode::INTERNAL_SERVER_ERROR, NOT_APPLIED, reason)
    }

    /// The permission of a request ended before its turn came.
    pub(crate) fn too_late() -> Self {
        let detail = "The session has ended, or the tokens have changed, since the request began.";
        Self::error_with_detail(StatusCode::UNAUTHORIZED, "Unauthorized.", detail).uncached()
    }

    /// A newer change was made instead.
    pub(crate) fn superseded() -> Self {
        let detail =
            "A newer change of the same part took its place before it was in force; nothing of it remains.";
        Self::error_with_detail(StatusCode::CONFLICT, "The change was superseded.", detail)
    }

    /// A success with a warning.
    pub(crate) fn with_warning(self, text: &str) -> Self {
        self.with("warning", Value::from(text))
    }

    fn with(mut self, name: &str, value: Value) -> Self {
        if let Value::Object(members) = &mut self.body {
            members.insert(Bytes::from(name), value);
        }
        self
    }
}

/// `detail`, `location` and `suggestion` of one problem.
fn describe(problem: &Problem) -> Object {
    let mut members = object_of([
        ("detail", Value::from(problem.explanation().as_str())),
        ("location", object([("path", Value::from(problem.pointer.as_str()))])),
    ]);
    if let Some(suggestion) = &problem.suggestion {
        members.insert(Bytes::from("suggestion"), Value::from(suggestion.as_str()));
    }
    members
}

/// A JSON object of these members, in this order.
pub(crate) fn object<'a>(members: impl IntoIterator<Item = (&'a str, Value)>) -> Value {
    Value::Object(object_of(members))
}

fn object_of<'a>(members: impl IntoIterator<Item = (&'a str, Value)>) -> Object {
    members.into_iter().map(|(name, value)| (Bytes::from(name), value)).collect()
}

fn number(number: usize) -> Value {
    Value::from(u64::try_from(number).unwrap_or(u64::MAX))
}

/// Seconds with their thousandths, as far as there is room for these.
pub(crate) fn seconds(duration: Duration) -> Value {
    let spelling = format!("{}.{:03}", duration.as_secs(), duration.subsec_millis());
    let number = Number::scan(spelling.as_bytes()).map(|(number, _)| number);
    Value::Number(number.unwrap_or_else(|_| Number::from(duration.as_secs())))
}

const NOT_APPLIED: &str = "Failed to apply new configuration.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_time_is_still_a_number() {
        let spelled = |time: Duration| String::from_utf8(seconds(time).compact()).unwrap();
        assert_eq!(spelled(Duration::from_millis(61_004)), "61.004");
        assert_eq!(spelled(Duration::MAX), u64::MAX.to_string());
    }
}
