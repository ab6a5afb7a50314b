//! `if`: a template whose text says yes or no (contract 9.1 and 18).

use crate::template::{Exception, Template, Variables};

/// A condition as it is written: a template, negated by a leading `!`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    template: Template,
    /// The text that the condition needs to hold: one that says yes, or one that says no.
    expected: bool,
}

impl Condition {
    /// Reads the text of `if`, its `!` left out, with `parse`.
    ///
    /// # Errors
    ///
    /// Returns the errors of `parse`.
    pub fn parse<E>(text: &[u8], parse: impl FnOnce(&[u8]) -> Result<Template, E>) -> Result<Self, E> {
        let body = text.strip_prefix(b"!").unwrap_or(text);
        Ok(Self { template: parse(body)?, expected: body.len() == text.len() })
    }

    /// Whether the condition holds.
    ///
    /// # Errors
    ///
    /// When a script of the template throws.
    pub fn holds(&self, variables: &mut dyn Variables) -> Result<bool, Exception> {
        if let Some(text) = self.template.is_constant() {
            return Ok(says_yes(text) == self.expected);
        }
        let mut text = Vec::new();
        self.template.render(variables, &mut text)?;
        Ok(says_yes(&text) == self.expected)
    }
}

fn says_yes(text: &[u8]) -> bool {
    !matches!(text, b"" | b"0" | b"false" | b"null" | b"undefined")
}

#[cfg(test)]
mod tests {
    use super::Condition;
    use crate::template::{Template, TemplateError, Variable, Variables};

    /// Every variable has this value.
    struct Same(&'static str);

    impl Variables for Same {
        fn append(&mut self, _: &Variable, out: &mut Vec<u8>) {
            out.extend_from_slice(self.0.as_bytes());
        }
    }

    #[track_caller]
    fn check(condition: &str, value: &'static str, expect: bool) {
        let condition = Condition::parse(condition.as_bytes(), Template::parse).unwrap();
        assert_eq!(condition.holds(&mut Same(value)), Ok(expect));
    }

    #[test]
    fn some_texts_say_no() {
        for text in ["", "0", "false", "null", "undefined"] {
            check("$uri", text, false);
            check("!$uri", text, true);
            check(text, "", false);
            check(&format!("!{text}"), "", true);
        }
    }

    #[test]
    fn all_others_say_yes() {
        for text in ["1", "00", "False", " ", "no", "0.0", "-0", "nulll"] {
            check("$uri", text, true);
            check("!$uri", text, false);
            check(text, "", true);
            check(&format!("!{text}"), "", false);
        }
        check("${uri}x", "", true);
        check("${uri}0", "", false);
        // Only the first character negates.
        check("!!", "", false);
        check("$uri", "!", true);
    }

    #[test]
    fn faults_are_those_of_the_template() {
        let error = Condition::parse(b"!$", Template::parse).unwrap_err();
        assert_eq!(error, TemplateError::InvalidVariable(0));
    }
}
