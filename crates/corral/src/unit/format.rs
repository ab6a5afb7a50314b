//! Replies as JSON, YAML or words.

use anyhow::bail;
use serde_json::Value;

/// How output is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OutputFormat {
    JsonPretty,
    Json,
    Yaml,
    Text,
}

impl OutputFormat {
    pub(super) fn parse(text: &str) -> anyhow::Result<Self> {
        Ok(match text.to_ascii_lowercase().as_str() {
            "json-pretty" => Self::JsonPretty,
            "json" => Self::Json,
            "yaml" => Self::Yaml,
            "text" => Self::Text,
            _ => bail!("\"{text}\" is not an output format: use json-pretty, json, yaml or text"),
        })
    }

    /// `body` as a whole, ending with a line end. A body that is not JSON stays as it is.
    pub(super) fn render(self, body: &[u8]) -> String {
        let text = String::from_utf8_lossy(body).replace("\r\n", "\n");
        let Ok(value) = serde_json::from_str::<Value>(&text) else { return text };
        let rendered = match self {
            Self::JsonPretty => text,
            Self::Json => value.to_string(),
            Self::Yaml => serde_saphyr::to_string(&value).unwrap_or(text),
            Self::Text => words(&value, ""),
        };
        format!("{}\n", rendered.trim_end())
    }
}

/// One line for each scalar: its path and its value.
fn words(value: &Value, path: &str) -> String {
    let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    match value {
        Value::Object(members) if !members.is_empty() => {
            members.iter().map(|(name, value)| words(value, &below(name))).collect()
        }
        Value::Array(elements) if !elements.is_empty() => {
            elements.iter().enumerate().map(|(idx, value)| words(value, &below(&idx.to_string()))).collect()
        }
        Value::String(text) if path.is_empty() => format!("{text}\n"),
        Value::String(text) => format!("{path}: {text}\n"),
        other => format!("{path}: {other}\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(format: &str, expected: &str) {
        let body = b"{\r\n\t\"a\": {\r\n\t\t\"b\": [1, \"x\"]\r\n\t}\r\n}\r\n";
        assert_eq!(OutputFormat::parse(format).unwrap().render(body), expected);
    }

    #[test]
    fn the_same_in_all_formats() {
        check("json", "{\"a\":{\"b\":[1,\"x\"]}}\n");
        check("json-pretty", "{\n\t\"a\": {\n\t\t\"b\": [1, \"x\"]\n\t}\n}\n");
        check("text", "a.b.0: 1\na.b.1: x\n");
        check("YAML", "a:\n  b:\n  - 1\n  - x\n");
        assert!(OutputFormat::parse("xml").is_err());
    }
}
