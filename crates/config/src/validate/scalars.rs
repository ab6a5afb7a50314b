//! Checks of single numbers and booleans that many options share.

use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::ops::RangeInclusive;
use std::time::Duration;

use super::context::Context;
use super::schema::Field;
use crate::json::Value;

/// Greatest value of a C `int`, Unit's bound for most numbers.
pub(super) const INT_MAX: i64 = 2_147_483_647;

/// Longest time-out in seconds, so that its milliseconds fit a C `int`.
pub(super) const MAX_SECONDS: i64 = 2_147_483;

/// The integer, if it is inside `range`.
pub(super) fn integer(cx: &mut Context<'_>, field: Field<'_>, range: RangeInclusive<i64>) -> Option<i64> {
    let number = field.value.as_number()?.as_i64();
    let name = field.name;
    let (&least, &greatest) = (range.start(), range.end());
    if number < least && least == 0 {
        cx.problem(format!("The \"{name}\" number must not be negative."));
    } else if number < least {
        cx.problem(format!("The \"{name}\" number must be equal to or greater than {least}."));
    } else if number > greatest {
        cx.problem(format!("The \"{name}\" number must not exceed {greatest}."));
    } else {
        return Some(number);
    }
    None
}

/// A count from 1.
pub(super) fn count(cx: &mut Context<'_>, field: Field<'_>) -> Option<NonZeroU32> {
    let number = integer(cx, field, 1..=INT_MAX)?;
    u32::try_from(number).ok().and_then(NonZeroU32::new)
}

/// An amount from 1, such as of bytes.
pub(super) fn amount(cx: &mut Context<'_>, field: Field<'_>) -> Option<NonZeroU64> {
    let number = integer(cx, field, 1..=i64::MAX)?;
    u64::try_from(number).ok().and_then(NonZeroU64::new)
}

/// A count from 0, where 0 means that there is no limit.
pub(super) fn limit(cx: &mut Context<'_>, field: Field<'_>) -> Option<NonZeroU32> {
    let number = integer(cx, field, 0..=i64::MAX)?;
    NonZeroU32::new(u32::try_from(number).unwrap_or(u32::MAX))
}

/// Whole seconds inside `range`.
pub(super) fn seconds(
    cx: &mut Context<'_>,
    field: Field<'_>,
    range: RangeInclusive<i64>,
) -> Option<Duration> {
    let number = integer(cx, field, range)?;
    u64::try_from(number).ok().map(Duration::from_secs)
}

/// A size in bytes inside `range`.
pub(super) fn size(cx: &mut Context<'_>, field: Field<'_>, range: RangeInclusive<i64>) -> Option<usize> {
    let number = integer(cx, field, range)?;
    usize::try_from(number).ok()
}

/// A switch.
pub(super) fn is_true(field: Field<'_>) -> bool {
    *field.value == Value::Bool(true)
}

/// Bytes of a thread's stack, in the words of Unit.
pub(super) fn thread_stack_size(cx: &mut Context<'_>, field: Field<'_>) -> Option<NonZeroUsize> {
    let name = field.name;
    let size = integer(cx, field, LEAST_THREAD_STACK..=i64::MAX)?;
    if size % PAGE != 0 {
        cx.problem(format!("The \"{name}\" number must be a multiple of the system page size ({PAGE})."));
        return None;
    }
    usize::try_from(size).ok().and_then(NonZeroUsize::new)
}

/// `PTHREAD_STACK_MIN` of the platforms that Corral is built for.
const LEAST_THREAD_STACK: i64 = if cfg!(target_arch = "aarch64") { 131_072 } else { 16_384 };

/// Every page of a platform with larger ones is a multiple of this, and the system rounds up.
const PAGE: i64 = 4096;
