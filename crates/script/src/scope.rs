//! The request as a script sees it, and its conversion to JavaScript values.

use std::cell::RefCell;
use std::rc::Rc;

use rquickjs::function::Function;
use rquickjs::{Array, Ctx, Object, Result, String as JsString, Value};

use crate::text;

/// A name and its value.
pub type ScopePair<'a> = (&'a [u8], &'a [u8]);

/// Answers questions for variables by name while a script runs: appends the value, or returns false when
/// there is no such variable.
pub type Lookup = Box<dyn FnMut(&str, &mut Vec<u8>) -> bool>;

/// The request that a template is rendered for.
pub trait ScopeRequest {
    /// Appends the value of a variable that is not specific to a name: `uri`, `host`, `remote_addr`.
    fn append(&mut self, variable: &str, out: &mut Vec<u8>);

    /// Calls `visit` with each parameter of the query, decoded, in order.
    fn arguments(&mut self, visit: &mut dyn FnMut(ScopePair<'_>));

    /// Calls `visit` with each request field as it was received, in order.
    fn headers(&mut self, visit: &mut dyn FnMut(ScopePair<'_>));

    /// Calls `visit` with each cookie, in order.
    fn cookies(&mut self, visit: &mut dyn FnMut(ScopePair<'_>));

    /// Everything that `vars` may be asked for, owned, since scripts know no borrowing.
    fn variables(&mut self) -> Lookup;
}

/// The names in scope of a template, in the order of its function's parameters.
pub(crate) const PARAMETERS: [&str; 7] = ["uri", "host", "remoteAddr", "args", "headers", "cookies", "vars"];

/// Which parameters a template mentions; the others are not worth their making.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Needs([bool; 7]);

impl Needs {
    /// The names that `source` mentions. Names may be written with escapes; there is no `eval` that could build one.
    pub(crate) fn of(source: &[u8]) -> Self {
        let mentions = |name: &str| source.windows(name.len()).any(|part| part == name.as_bytes());
        let escaped = mentions("\\u");
        Self(PARAMETERS.map(|name| escaped || mentions(name)))
    }
}

/// Where the native part of `vars` finds the request of the script that runs.
pub(crate) type CurrentLookup = Rc<RefCell<Option<Lookup>>>;

/// The function behind `vars`: a name to a string, or to undefined.
pub(crate) fn lookup_function<'js>(ctx: &Ctx<'js>, current: CurrentLookup) -> Result<Function<'js>> {
    Function::new(ctx.clone(), move |ctx: Ctx<'js>, name: String| {
        let mut value = Vec::new();
        let mut current = current.borrow_mut();
        let found = current.as_mut().is_some_and(|lookup| lookup(&name, &mut value));
        if found {
            Ok(string(&ctx, &value)?.into_value())
        } else {
            Ok::<_, rquickjs::Error>(Value::new_undefined(ctx))
        }
    })
}

/// The arguments of a template's function.
pub(crate) fn arguments<'js>(
    ctx: &Ctx<'js>,
    needs: Needs,
    request: &mut dyn ScopeRequest,
    vars: &Value<'js>,
    current: &CurrentLookup,
) -> Result<[Value<'js>; 7]> {
    let mut values = std::array::from_fn(|_| Value::new_undefined(ctx.clone()));
    for (idx, value) in values.iter_mut().enumerate().filter(|(idx, _)| needs.0[*idx]) {
        *value = match PARAMETERS[idx] {
            "uri" => variable(ctx, request, "uri")?,
            "host" => variable(ctx, request, "host")?,
            "remoteAddr" => variable(ctx, request, "remote_addr")?,
            "args" => repeated(ctx, |visit| request.arguments(visit))?,
            "headers" => first_of_each(ctx, |visit| request.headers(visit))?,
            "cookies" => first_of_each(ctx, |visit| request.cookies(visit))?,
            _ => {
                *current.borrow_mut() = Some(request.variables());
                vars.clone()
            }
        };
    }
    Ok(values)
}

fn variable<'js>(ctx: &Ctx<'js>, request: &mut dyn ScopeRequest, name: &str) -> Result<Value<'js>> {
    let mut value = Vec::new();
    request.append(name, &mut value);
    Ok(string(ctx, &value)?.into_value())
}

/// An object with a property for each name; the first value counts.
fn first_of_each<'js>(
    ctx: &Ctx<'js>,
    each: impl FnOnce(&mut dyn FnMut(ScopePair<'_>)),
) -> Result<Value<'js>> {
    collect(
        ctx,
        each,
        |object, name, value| {
            if object.contains_key(name.clone())? { Ok(()) } else { object.set(name, value) }
        },
    )
}

/// An object with a property for each name; several values are an array.
fn repeated<'js>(ctx: &Ctx<'js>, each: impl FnOnce(&mut dyn FnMut(ScopePair<'_>))) -> Result<Value<'js>> {
    collect(ctx, each, |object, name, value| {
        let before: Value<'js> = object.get(name.clone())?;
        if before.is_undefined() {
            return object.set(name, value);
        }
        if let Some(values) = before.as_array() {
            return values.set(values.len(), value);
        }
        let values = Array::new(object.ctx().clone())?;
        values.set(0, before)?;
        values.set(1, value)?;
        object.set(name, values)
    })
}

fn collect<'js>(
    ctx: &Ctx<'js>,
    each: impl FnOnce(&mut dyn FnMut(ScopePair<'_>)),
    add: impl Fn(&Object<'js>, JsString<'js>, JsString<'js>) -> Result<()>,
) -> Result<Value<'js>> {
    // Without a prototype for now, so that every name is an ordinary one, `__proto__` too.
    let object = Object::new_proto(ctx.clone(), None)?;
    let mut result = Ok(());
    each(&mut |(name, value)| {
        if result.is_ok() {
            let pair = string(ctx, name).and_then(|name| Ok((name, string(ctx, value)?)));
            result = pair.and_then(|(name, value)| add(&object, name, value));
        }
    });
    result?;
    let plain = Object::new(ctx.clone())?;
    object.set_prototype(plain.get_prototype().as_ref())?;
    Ok(object.into_value())
}

/// Bytes that are not UTF-8 become lone surrogates, and what a script makes of those becomes the same bytes again.
fn string<'js>(ctx: &Ctx<'js>, bytes: &[u8]) -> Result<JsString<'js>> {
    match str::from_utf8(bytes) {
        Ok(text) => JsString::from_str(ctx.clone(), text),
        Err(_) => ctx.eval::<Function<'_>, _>(text::UNFOLD)?.call((text::fold(bytes),)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_mentioned_is_needed() {
        let needs = |source: &str| Needs::of(source.as_bytes()).0;
        assert_eq!(needs("`a`"), [false; 7]);
        assert_eq!(needs("`${uri}`"), [true, false, false, false, false, false, false]);
        assert_eq!(needs("`${vars.host}`"), [false, true, false, false, false, false, true]);
        assert_eq!(needs("`${\\u0075ri}`"), [true; 7]);
    }
}
