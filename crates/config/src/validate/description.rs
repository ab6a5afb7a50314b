//! The description of an option in a schema, from the texts that the manual has of it.

use std::fmt;

use super::label::Label;
use super::plain;
use super::recorder::{Property, RecordedNode};
use crate::json::{self, Value};

/// Texts about one option; there are several where applications of different types have an option of this name.
#[derive(Debug, Default)]
pub(super) struct OptionTexts(Vec<OptionText>);

#[derive(Debug)]
struct OptionText {
    text: String,
    /// The owners of the option that the text is about, such as applications of some types.
    owners: Vec<String>,
}

impl OptionTexts {
    /// The texts of the rows. An option without one of its own is told by its members, or by the object `around` it.
    pub(super) fn of(property: &Property, around: &Self) -> Self {
        let texts = property.voices.iter().flat_map(|voice| {
            let told = |text| vec![OptionText { text, owners: voice.owners.clone() }];
            match voice.label.meaning {
                "" if property.node.properties.is_empty() => around.heard_by(&voice.owners),
                "" => told(members(&property.node)),
                _ => told(with_default(&voice.label)),
            }
        });
        Self(texts.collect())
    }

    fn heard_by(&self, owners: &[String]) -> Vec<OptionText> {
        let texts = self.0.iter().filter_map(|text| {
            let is_heard = |owner: &&String| owners.contains(owner);
            let owners: Vec<_> = text.owners.iter().filter(is_heard).cloned().collect();
            (!owners.is_empty()).then(|| OptionText { text: text.text.clone(), owners })
        });
        texts.collect()
    }
}

/// One paragraph for each text.
impl fmt::Display for OptionTexts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [only] = &*self.0 {
            return f.write_str(&only.text);
        }
        for (idx, OptionText { text, owners }) in self.0.iter().enumerate() {
            let gap = if idx == 0 { "" } else { "\n\n" };
            write!(f, "{gap}{}: {text}", owners.join(", "))?;
        }
        Ok(())
    }
}

fn members(node: &RecordedNode) -> String {
    let names: Vec<_> = node.properties.keys().map(|name| format!("`{name}`")).collect();
    format!("an object with {}", names.join(", "))
}

/// The text of a row, with the default if a schema cannot say it.
fn with_default(label: &Label) -> String {
    let default = plain::text(label.default);
    let meaning = match label.bound {
        Some(bound) => format!("{}; {} at most", plain::text(label.meaning), bound.most),
        None => plain::text(label.meaning),
    };
    match &*default {
        "" => meaning,
        "required" => format!("{meaning} (required)"),
        _ if default_value(label).is_some() => meaning,
        _ => format!("{meaning} (default: {default})"),
    }
}

/// The default if it is a value: the manual sets it as code, and may add Unit's.
pub(super) fn default_value(label: &Label) -> Option<Value> {
    let own = label.default.split(" (Unit: ").next()?;
    let value = json::parse(own.trim_matches('`').as_bytes()).ok()?;
    label.accepts(&value).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::super::schema::optional;
    use super::super::types::{BOOL, INTEGER, STRING, Types};
    use super::*;

    #[track_caller]
    fn check_default(types: Types, default: &'static str, expect: Option<&str>) {
        let found = default_value(&optional("timeout", types).default(default));
        let found = found.map(|value| String::from_utf8(value.compact()).unwrap());
        assert_eq!(found.as_deref(), expect, "{default}");
    }

    #[test]
    fn defaults_are_values_where_they_can_be() {
        check_default(INTEGER, "30", Some("30"));
        check_default(BOOL, "`false`", Some("false"));
        check_default(BOOL, "`true` (Unit: `false`)", Some("true"));
        check_default(STRING, "`\"report\"`", Some("\"report\""));
        check_default(STRING, "`--tmpdir`", None);
        check_default(STRING, "none", None);
        check_default(STRING, "", None);
        check_default(STRING, "1", None);
        check_default(INTEGER, "3600; 30 with `\"switch\"`", None);
    }

    #[test]
    fn the_text_has_the_default_that_is_no_value() {
        let label = optional("timeout", INTEGER).means("[seconds](a.md)");
        assert_eq!(with_default(&label), "seconds");
        assert_eq!(with_default(&label.default("30")), "seconds");
        assert_eq!(with_default(&label.default("[a day](b.md)")), "seconds (default: a day)");
    }
}
