//! `settings.http.compression` (contract 16).

use super::context::Context;
use super::scalars::integer;
use super::schema::{self, ARRAY, Field, INTEGER, Member, OBJECT, STRING, optional, required};
use super::strings::{patterns, text};
use crate::json::Value;
use crate::pattern::{Flavor, PatternSet};
use crate::settings::{Compression, Compressor, Encoding, Level};

/// Reads the object; without compressors nothing is compressed.
pub(super) fn read(cx: &mut Context<'_>, field: Field<'_>) -> Option<Compression> {
    let mut draft = CompressionDraft::default();
    schema::read_nested(cx, field, &[COMPRESSION], &mut draft);
    let CompressionDraft { types, compressors } = draft;
    (!compressors.is_empty()).then_some(Compression { types, compressors })
}

#[derive(Default)]
struct CompressionDraft {
    types: Option<PatternSet>,
    compressors: Vec<Compressor>,
}

const COMPRESSION: &[Member<CompressionDraft>] = &[
    optional("types", STRING.or(ARRAY))
        .default("all")
        .means(
            "[patterns](routes.md#conditions) on the text of `Content-Type`, parameters included: write \
             `text/html*`",
        )
        .read(|cx, field, draft| draft.types = patterns(cx, field, Flavor::CaseInsensitive)),
    optional("compressors", ARRAY.or(OBJECT))
        .default("none")
        .means("one object or several, each for an `encoding`; without any, nothing is compressed")
        .read(|cx, field, draft| draft.compressors = compressors(cx, field)),
];

/// An array, or one object.
fn compressors(cx: &mut Context<'_>, field: Field<'_>) -> Vec<Compressor> {
    let Some(elements) = field.value.as_array() else {
        return compressor(cx, field.value).into_iter().collect();
    };
    let read = |(idx, element)| cx.at_index(idx, |cx| array_element(cx, element));
    elements.iter().enumerate().filter_map(read).collect()
}

fn array_element(cx: &mut Context<'_>, element: &Value) -> Option<Compressor> {
    if element.as_object().is_none() {
        cx.problem("The \"compressors\" array must contain only object values.");
    }
    compressor(cx, element)
}

fn compressor(cx: &mut Context<'_>, value: &Value) -> Option<Compressor> {
    let mut draft = CompressorDraft::default();
    schema::read_object(cx, value.as_object()?, &[COMPRESSOR], &mut draft);
    let encoding = draft.encoding?;
    let level = draft.level.map_or(Level::Default, |level| in_range(encoding, level));
    Some(Compressor { encoding, level, min_length: draft.min_length })
}

fn in_range(encoding: Encoding, level: i64) -> Level {
    let (least, greatest) = encoding.levels();
    match i32::try_from(level) {
        Ok(level) if (least..=greatest).contains(&level) => Level::Chosen(level),
        _ => Level::OutOfRange(level),
    }
}

#[derive(Default)]
struct CompressorDraft {
    encoding: Option<Encoding>,
    level: Option<i64>,
    min_length: u64,
}

const COMPRESSOR: &[Member<CompressorDraft>] = &[
    required("encoding", STRING)
        .means("`gzip`, `deflate` (the zlib format), `zstd`, `br`, or `identity`, which does nothing")
        .read(|cx, field, draft| {
            let Some(name) = text(cx, field) else { return };
            draft.encoding = Encoding::of(&name);
            if draft.encoding.is_none() {
                let names = Encoding::NAMES.iter().map(|(name, _)| *name);
                cx.problem_with_suggestion(
                    format!("\"{name}\" is not a supported compressor."),
                    &name,
                    names,
                );
            }
        }),
    optional("level", INTEGER)
        .default("[by the encoding](#what-it-costs)")
        .means(
            "gzip and deflate -1 to 9, zstd -7 to 22, br 0 to 11; another number is reported in the log and \
             the default used",
        )
        .read(|_, field, draft| draft.level = field.value.as_number().map(|number| number.as_i64())),
    optional("min_length", INTEGER)
        .default("none")
        .means(
            "bodies with fewer bytes stay as they are; a body whose length is not known before is compressed",
        )
        .read(|cx, field, draft| {
            let least = integer(cx, field, 0..=i64::MAX).and_then(|least| u64::try_from(least).ok());
            draft.min_length = least.unwrap_or_default();
        }),
];
