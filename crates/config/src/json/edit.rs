//! Reading and changing a document by the path of a request (contract 3.2 and 3.5).

use corral_syntax::escaped_byte;

use crate::json::{Bytes, MAX_DEPTH, Value};

/// Why a part of a document could not be read or changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// The path leads nowhere.
    #[error("the document has no value at this path")]
    Missing,
    /// The value at the path does not allow this operation.
    #[error("the value at this path does not allow the operation")]
    NotAllowed,
    /// The document would be nested too deeply.
    #[error("the document would be nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
}

/// Names and indices on the way from the root to a value; empty for the root.
pub type Path = [Bytes];

/// Splits the path of a request, as it stands in the request line, into decoded segments.
///
/// Escapes are decoded twice, as Unit does it: once in the path except `%2F` and `%25`, then
/// dot segments and repeated slashes are resolved, then once more in each segment. `None` for a
/// broken escape, for a path that does not start with a slash or climbs above the root.
#[must_use]
pub fn segments(target: &[u8]) -> Option<Vec<Bytes>> {
    let end = target.iter().position(|byte| matches!(byte, b'?' | b'#')).unwrap_or(target.len());
    let path = decode_once(target[..end].strip_prefix(b"/")?)?;
    let mut segments = Vec::new();
    for raw in path.split(|&byte| byte == b'/') {
        match raw {
            b"" | b"." => {}
            b".." => {
                segments.pop()?;
            }
            _ => segments.push(Bytes::from(crate::percent::decode(raw)?.into_owned())),
        }
    }
    Some(segments)
}

/// Decodes escapes but those of `/` and `%`.
fn decode_once(path: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(path.len());
    let mut rest = path;
    while let Some((&byte, tail)) = rest.split_first() {
        if byte != b'%' {
            out.push(byte);
            rest = tail;
            continue;
        }
        match escaped_byte(tail)? {
            b'/' | b'%' => out.extend_from_slice(&rest[..3]),
            decoded => out.push(decoded),
        }
        rest = &tail[2..];
    }
    Some(out)
}

/// The value at `path`.
///
/// # Errors
///
/// `Missing`.
pub fn get<'a>(root: &'a Value, path: &Path) -> Result<&'a Value, EditError> {
    let step = |value: &'a Value, segment: &Bytes| match value {
        Value::Object(members) => members.get(segment),
        Value::Array(elements) => elements.get(index(segment)?),
        _ => None,
    };
    path.iter().try_fold(root, step).ok_or(EditError::Missing)
}

/// Replaces the value at `path`. A missing last segment adds a member, and the index behind the last
/// element adds an element.
///
/// # Errors
///
/// `Missing` or `TooDeep`; `root` is then unchanged.
pub fn put(root: &mut Value, path: &Path, value: Value) -> Result<(), EditError> {
    check_depth(path.len(), &value)?;
    let Some((last, parents)) = path.split_last() else {
        *root = value;
        return Ok(());
    };
    match get_mut(root, parents)? {
        Value::Object(members) => {
            members.insert(last.clone(), value);
        }
        Value::Array(elements) => match index(last).ok_or(EditError::Missing)? {
            idx if idx == elements.len() => elements.push(value),
            idx => *elements.get_mut(idx).ok_or(EditError::Missing)? = value,
        },
        _ => return Err(EditError::Missing),
    }
    Ok(())
}

/// Appends to the array at `path`.
///
/// # Errors
///
/// `Missing`, `TooDeep`, or `NotAllowed` when there is no array; `root` is then unchanged.
pub fn post(root: &mut Value, path: &Path, value: Value) -> Result<(), EditError> {
    check_depth(path.len() + 1, &value)?;
    match get_mut(root, path)? {
        Value::Array(elements) if !path.is_empty() => elements.push(value),
        _ => return Err(EditError::NotAllowed),
    }
    Ok(())
}

/// Removes the value at `path`; the root becomes an empty object.
///
/// # Errors
///
/// `Missing`; `root` is then unchanged.
pub fn delete(root: &mut Value, path: &Path) -> Result<(), EditError> {
    let Some((last, parents)) = path.split_last() else {
        *root = Value::empty_object();
        return Ok(());
    };
    match get_mut(root, parents)? {
        Value::Object(members) => {
            members.shift_remove(last).ok_or(EditError::Missing)?;
        }
        Value::Array(elements) => {
            let idx = index(last).filter(|&idx| idx < elements.len()).ok_or(EditError::Missing)?;
            elements.remove(idx);
        }
        _ => return Err(EditError::Missing),
    }
    Ok(())
}

fn get_mut<'a>(root: &'a mut Value, path: &Path) -> Result<&'a mut Value, EditError> {
    let step = |value: &'a mut Value, segment: &Bytes| match value {
        Value::Object(members) => members.get_mut(segment),
        Value::Array(elements) => elements.get_mut(index(segment)?),
        _ => None,
    };
    path.iter().try_fold(root, step).ok_or(EditError::Missing)
}

/// An array index: decimal digits, at most 2^31-1.
fn index(segment: &[u8]) -> Option<usize> {
    let text = std::str::from_utf8(segment).ok()?;
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let idx: u32 = text.parse().ok().filter(|_| is_number)?;
    usize::try_from(idx).ok().filter(|&idx| idx <= MAX_INDEX)
}

/// Refuses what the parser would refuse to read back.
fn check_depth(n_parents: usize, value: &Value) -> Result<(), EditError> {
    if n_parents + value.depth() > MAX_DEPTH { Err(EditError::TooDeep) } else { Ok(()) }
}

const MAX_INDEX: usize = 0x7fff_ffff;

#[cfg(test)]
mod tests;
