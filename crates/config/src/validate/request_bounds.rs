//! Bounds of a request, which `settings.http` has for all and actions for their own.

use std::marker::PhantomData;

use super::bounds;
use super::context::Context;
use super::scalars::{INT_MAX, MAX_SECONDS, integer, is_true, seconds, size};
use super::schema::{BOOL, Field, INTEGER, Member, optional};
use crate::bounds::RequestBound;
use crate::route::ActionOptions;
use crate::settings::HttpSettings;

/// A draft that takes bounds of requests.
pub(super) trait TakesBounds: 'static {
    /// Where there is no word, that of an outer action counts, and at last that of `settings.http`.
    const INHERITS: bool;

    fn take(&mut self, bound: RequestBound);
}

impl TakesBounds for HttpSettings {
    const INHERITS: bool = false;

    fn take(&mut self, bound: RequestBound) {
        self.bounds.set(bound);
    }
}

impl TakesBounds for ActionOptions {
    const INHERITS: bool = true;

    fn take(&mut self, bound: RequestBound) {
        self.bounds.push(bound);
    }
}

/// The rows for a draft.
pub(super) struct BoundsTable<D>(PhantomData<D>);

impl<D: TakesBounds> BoundsTable<D> {
    pub(super) const TIMEOUTS: &'static [Member<D>] = &[
        optional("body_read_timeout", INTEGER)
            .default(shown::<D>("30"))
            .means("seconds between two pieces of a request body; then 408")
            .read(|cx, field, draft| {
                give(draft, seconds(cx, field, 1..=MAX_SECONDS), RequestBound::BodyReadTimeout);
            }),
        optional("send_timeout", INTEGER)
            .default(shown::<D>("30"))
            .means("seconds between two successful writes to the client; then the connection is closed")
            .read(|cx, field, draft| {
                give(draft, seconds(cx, field, 1..=MAX_SECONDS), RequestBound::SendTimeout);
            }),
    ];

    pub(super) const SIZES: &'static [Member<D>] = &[
        optional("max_body_size", INTEGER)
            .default(shown::<D>("8388608"))
            .means("bytes of a request body; larger ones get 413")
            .read(|cx, field, draft| give(draft, body_size(cx, field), RequestBound::MaxBodySize)),
        optional("body_buffer_size", INTEGER)
            .at_most(bounds::IN_MEMORY)
            .default(shown::<D>("65536 (Unit: 16384)"))
            .means("bodies up to this many bytes are kept in memory, larger ones in an unlinked file")
            .read(|cx, field, draft| {
                give(draft, size(cx, field, 0..=INT_MAX), RequestBound::BodyBufferSize);
            }),
        optional("request_buffering", BOOL)
            .default(shown::<D>("`false`"))
            .means(
                "`true`: an application or another server gets a request when all of its body has come, so that none \
                 waits for a slow client. Without it those that can take bodies as they come get them so (beyond Unit)",
            )
            .read(|_, field, draft| draft.take(RequestBound::RequestBuffering(is_true(field)))),
    ];
}

/// The default as the manual has it.
const fn shown<D: TakesBounds>(default: &'static str) -> &'static str {
    if D::INHERITS { "that of [outside](#what-holds-inside)" } else { default }
}

/// Takes a value, unless it is wrong.
fn give<D: TakesBounds, T>(draft: &mut D, value: Option<T>, bound: fn(T) -> RequestBound) {
    if let Some(value) = value {
        draft.take(bound(value));
    }
}

fn body_size(cx: &mut Context<'_>, field: Field<'_>) -> Option<u64> {
    integer(cx, field, 0..=i64::MAX).and_then(|size| u64::try_from(size).ok())
}
