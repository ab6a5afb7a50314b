//! Trailers behind the body of a response (`http.response.trailers`): collected until all of them are there.

use corral_channel::message;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::events::{self, Field};

/// How far a response is with it.
#[derive(Default)]
pub(super) enum Trailers {
    /// The response has no trailers.
    #[default]
    Unannounced,
    /// Trailers will follow once the body has ended.
    Announced,
    /// The body has ended.
    Collected(Vec<Field>),
}

impl Trailers {
    /// The announcement in the event that begins a response.
    pub(super) fn announced(event: &Bound<'_, PyDict>) -> PyResult<Self> {
        let is_announced = events::flag(event, "trailers")?;
        Ok(if is_announced { Self::Announced } else { Self::Unannounced })
    }

    /// Whether the response ends with its body.
    pub(super) fn are_none(&self) -> bool {
        matches!(self, Self::Unannounced)
    }

    /// The body has ended. True when the response has, too.
    pub(super) fn end_body(&mut self) -> bool {
        let ends = self.are_none();
        if !ends {
            *self = Self::Collected(Vec::new());
        }
        ends
    }

    /// The application has left it at that. Whether the response ends with its body, else the fields behind it.
    pub(super) fn conclude(&mut self) -> (bool, Vec<Field>) {
        match std::mem::take(self) {
            Self::Unannounced => (true, Vec::new()),
            Self::Announced => (false, Vec::new()),
            Self::Collected(fields) => (false, fields),
        }
    }

    /// Whether they come next.
    pub(super) fn are_next(&self) -> bool {
        matches!(self, Self::Collected(_))
    }

    /// Adds the fields of an event. Gives all of them back if these were the last.
    pub(super) fn add(&mut self, event: TrailersEvent) -> Option<Vec<Field>> {
        let Self::Collected(fields) = self else { return None };
        fields.extend(event.fields);
        (!event.has_more).then(|| std::mem::take(fields))
    }
}

/// Some of them.
pub(super) struct TrailersEvent {
    fields: Vec<Field>,
    /// Others will follow.
    has_more: bool,
}

impl TrailersEvent {
    /// # Errors
    /// `ValueError` for fields that must not be behind a body.
    pub(super) fn read(event: &Bound<'_, PyDict>) -> PyResult<Self> {
        let fields = events::headers(event)?;
        let checked = message::check_trailers(fields.iter().map(|(name, value)| (&name[..], &value[..])));
        checked.map_err(|error| PyValueError::new_err(format!("trailers that cannot be sent: {error}")))?;
        Ok(Self { fields, has_more: events::flag(event, "more_trailers")? })
    }
}
