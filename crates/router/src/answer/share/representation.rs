//! Which form of a file answers a request: the file, a compressed sibling, or a compressed form that is made of it.

use std::borrow::Cow;
use std::rc::Rc;

use corral_http::encoding::{Accepted, ContentCoding};
use corral_http::request::KnownField;
use smallvec::SmallVec;

use crate::exchange::request::RoutedRequest;
use crate::files::{CacheTime, ConfinedPath, OpenFile};
use crate::reply::compression::{self, ChosenCompressor, CompressionChoice, Compressors};

/// A file as it answers a request.
pub(super) struct FileRepresentation<'a> {
    /// The file, or the sibling that takes its place.
    pub(super) file: Rc<OpenFile>,
    pub(super) form: RepresentationForm,
    /// The choice depends on the request's Accept-Encoding.
    pub(super) varies: bool,
    pub(super) content_type: Option<&'a [u8]>,
    pub(super) cache_control: Option<Vec<u8>>,
}

/// The bytes that are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RepresentationForm {
    /// The bytes of the file.
    Plain,
    /// The bytes of the file, whose texts are replaced on their way.
    Changed,
    /// The bytes of the sibling, which are in this coding.
    Sibling(ContentCoding),
    /// The bytes that a compressor makes of the file.
    Compressed(ChosenCompressor),
    /// No form that the client takes.
    Unacceptable,
}

impl<'a> FileRepresentation<'a> {
    /// A file whose texts are replaced on their way.
    pub(super) fn changed(
        file: Rc<OpenFile>,
        content_type: Option<&'a [u8]>,
        cache_control: Option<Vec<u8>>,
    ) -> Self {
        Self { file, form: RepresentationForm::Changed, varies: false, content_type, cache_control }
    }

    /// The entity tag: weak for what a compressor makes, since other versions of it may make other bytes, and for a
    /// file that may still change within the tick of the clock in which it has changed.
    pub(super) fn etag(&self) -> Cow<'_, [u8]> {
        let etag = self.file.etag.as_bytes();
        match self.form {
            RepresentationForm::Compressed(_) | RepresentationForm::Changed => {
                Cow::Owned(compression::weakened(etag))
            }
            _ if !self.file.has_settled() => Cow::Owned(compression::weakened(etag)),
            _ => Cow::Borrowed(etag),
        }
    }

    pub(super) fn coding(&self) -> ContentCoding {
        match self.form {
            RepresentationForm::Sibling(coding) => coding,
            RepresentationForm::Compressed(chosen) => chosen.coding,
            RepresentationForm::Plain | RepresentationForm::Changed | RepresentationForm::Unacceptable => {
                ContentCoding::Identity
            }
        }
    }
}

/// Takes the form that the client wants most; among equally wanted ones a sibling, which costs nothing.
pub(super) fn choose<'a>(
    request: &RoutedRequest<'_>,
    (place, moment): (&ConfinedPath<'_>, CacheTime),
    file: Rc<OpenFile>,
    content_type: Option<&'a [u8]>,
    cache_control: Option<Vec<u8>>,
) -> FileRepresentation<'a> {
    let has_choice = request.received.head.has(KnownField::AcceptEncoding);
    let siblings = file.siblings(place, moment, has_choice);
    let compression = compression_for(request, &file, content_type, cache_control.as_deref());
    let varies = compression.is_some() || !siblings.is_empty();
    let plain =
        FileRepresentation { file, form: RepresentationForm::Plain, varies, content_type, cache_control };
    if !varies || !has_choice {
        return plain;
    }
    let decision =
        compression.map_or(CompressionChoice::Plain(0), |compression| compression.decide(&request.received));
    let wanted = match decision {
        CompressionChoice::Plain(weight) | CompressionChoice::Compressed(_, weight) => weight,
        CompressionChoice::NotAcceptable => 0,
    };
    if let Some((file, coding)) = best_sibling(request, siblings, wanted) {
        return FileRepresentation { file, form: RepresentationForm::Sibling(coding), ..plain };
    }
    let form = match decision {
        CompressionChoice::Plain(_) => RepresentationForm::Plain,
        CompressionChoice::NotAcceptable => RepresentationForm::Unacceptable,
        // Ranges are those of the file: of what a compressor makes there are none.
        CompressionChoice::Compressed(..) if asks_for_range(request) => RepresentationForm::Plain,
        CompressionChoice::Compressed(chosen, _) if plain.file.size < chosen.min_length => {
            RepresentationForm::Plain
        }
        CompressionChoice::Compressed(chosen, _) => RepresentationForm::Compressed(chosen),
    };
    FileRepresentation { form, ..plain }
}

fn compression_for<'c>(
    request: &RoutedRequest<'c>,
    file: &OpenFile,
    content_type: Option<&[u8]>,
    cache_control: Option<&[u8]>,
) -> Option<&'c Compressors> {
    let compression = request.request_settings().compression.as_ref()?;
    let is_forbidden = cache_control.is_some_and(compression::forbids_transformation);
    let applies = file.size > 0 && !is_forbidden && compression.applies_to(content_type?);
    applies.then_some(compression)
}

/// The sibling that the client wants most, if it wants it no less than what has this weight.
fn best_sibling(
    request: &RoutedRequest<'_>,
    siblings: SmallVec<[(ContentCoding, Rc<OpenFile>); 3]>,
    least: u16,
) -> Option<(Rc<OpenFile>, ContentCoding)> {
    if siblings.is_empty() {
        return None;
    }
    let accepted =
        Accepted::parse(request.received.head.values(request.received.bytes, KnownField::AcceptEncoding));
    let is_there = |coding: &ContentCoding| siblings.iter().any(|(known, _)| known == coding);
    let best = accepted.preferred().take_while(|&coding| coding != ContentCoding::Identity).find(is_there)?;
    let (coding, file) = siblings.into_iter().find(|(known, _)| *known == best)?;
    (accepted.weight(coding) >= least).then_some((file, coding))
}

fn asks_for_range(request: &RoutedRequest<'_>) -> bool {
    request.received.head.has(KnownField::Range) && !request.is_head()
}
