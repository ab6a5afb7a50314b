//! The JSON dialect of the control API (contract 4): comments and trailing commas are accepted,
//! member order and the spelling of numbers are kept, strings are bytes.
//!
//! Nothing here knows what a configuration means.

mod bytes;
pub mod edit;
mod number;
mod parse;
pub mod pointer;
mod print;

use indexmap::IndexMap;

pub use self::bytes::Bytes;
pub use self::number::{Number, NumberError};
pub use self::parse::{ParseError, parse, parse_text};

/// Deepest nesting of arrays and objects that a document may have.
pub const MAX_DEPTH: usize = 100;

/// Members of an object, in the order of the document.
pub type Object = IndexMap<Bytes, Value>;

/// One JSON value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number as it was spelled.
    Number(Number),
    /// A decoded string.
    String(Bytes),
    /// `[…]`.
    Array(Vec<Value>),
    /// `{…}`; names are unique.
    Object(Object),
}

/// The types that error messages tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonKind {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool,
    /// A number without a fraction, however it is spelled.
    Integer,
    /// A number with a fraction.
    Fraction,
    /// A string.
    String,
    /// An array.
    Array,
    /// An object.
    Object,
}

impl Value {
    /// An object without members.
    #[must_use]
    pub fn empty_object() -> Self {
        Self::Object(Object::new())
    }

    /// The value's type.
    #[must_use]
    pub fn kind(&self) -> JsonKind {
        match self {
            Self::Null => JsonKind::Null,
            Self::Bool(_) => JsonKind::Bool,
            Self::Number(number) if number.is_integer() => JsonKind::Integer,
            Self::Number(_) => JsonKind::Fraction,
            Self::String(_) => JsonKind::String,
            Self::Array(_) => JsonKind::Array,
            Self::Object(_) => JsonKind::Object,
        }
    }

    /// The bytes of a string.
    #[must_use]
    pub fn as_bytes(&self) -> Option<&Bytes> {
        if let Self::String(text) = self { Some(text) } else { None }
    }

    /// The elements of an array.
    #[must_use]
    pub fn as_array(&self) -> Option<&[Value]> {
        if let Self::Array(elements) = self { Some(elements) } else { None }
    }

    /// The members of an object.
    #[must_use]
    pub fn as_object(&self) -> Option<&Object> {
        if let Self::Object(members) = self { Some(members) } else { None }
    }

    /// The number, whole or not.
    #[must_use]
    pub fn as_number(&self) -> Option<&Number> {
        if let Self::Number(number) = self { Some(number) } else { None }
    }

    /// The member `name` of an object.
    #[must_use]
    pub fn member(&self, name: &str) -> Option<&Value> {
        self.as_object()?.get(name.as_bytes())
    }

    /// How deep arrays and objects are nested; 0 for a scalar.
    #[must_use]
    pub fn depth(&self) -> usize {
        let children: Option<usize> = match self {
            Self::Array(elements) => elements.iter().map(Self::depth).max(),
            Self::Object(members) => members.values().map(Self::depth).max(),
            _ => return 0,
        };
        1 + children.unwrap_or(0)
    }
}

/// A message with a value that may be a secret as it is written where it comes from. Values of a byte or two are not
/// secrets, and would be found everywhere.
#[must_use]
pub fn conceal(message: &str, value: &str, written: &str) -> String {
    if value.len() < 3 { message.to_owned() } else { message.replace(value, written) }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::String(Bytes::from(text))
    }
}

impl From<u64> for Value {
    /// Values above the dialect's range of numbers are printed all the same.
    fn from(number: u64) -> Self {
        Self::Number(Number::from(number))
    }
}

#[cfg(test)]
mod tests;
