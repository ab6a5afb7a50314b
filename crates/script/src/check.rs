//! Syntax checks, for a configuration or a module that is submitted; nothing is run.

use std::cell::OnceCell;

use rquickjs::function::Function;
use rquickjs::{CatchResultExt, Context, Module, Runtime};

use crate::machine::{describe, function_source};
use crate::modules::Anything;

/// Bounds what a source that is only compiled may take.
const MEMORY: usize = 64 << 20;

/// Checks that `source` is an ES module. Whether what it imports exists is only known when it is used.
///
/// # Errors
///
/// The JavaScript error, on one line.
pub fn check_module(name: &str, source: &[u8]) -> Result<(), String> {
    // Each check has a runtime of its own: modules that were declared stay.
    let context = context().map_err(|error| error.to_string())?;
    context.with(|ctx| {
        let declared = Module::declare(ctx.clone(), name, source).map(drop);
        declared.catch(&ctx).map_err(|error| describe(&error))
    })
}

/// Checks that `text`, which begins with a backtick, is a JavaScript expression.
///
/// # Errors
///
/// The JavaScript error, on one line.
pub fn check_template(text: &[u8]) -> Result<(), String> {
    thread_local! {
        static CHECKER: OnceCell<Context> = const { OnceCell::new() };
    }
    CHECKER.with(|checker| {
        if checker.get().is_none() {
            // Lost only when another call was faster, which cannot be on one thread.
            let _ = checker.set(context().map_err(|error| error.to_string())?);
        }
        let context = checker.get().expect("it was just set");
        context.with(|ctx| {
            let compiled = ctx.eval::<Function<'_>, _>(function_source(text)).map(drop);
            compiled.catch(&ctx).map_err(|error| describe(&error))
        })
    })
}

fn context() -> rquickjs::Result<Context> {
    let runtime = Runtime::new()?;
    runtime.set_memory_limit(MEMORY);
    runtime.set_loader(Anything, Anything);
    Context::full(&runtime)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn template(text: &str, expect: Result<(), &str>) {
        match (check_template(text.as_bytes()), expect) {
            (Ok(()), Ok(())) => {}
            (Err(error), Err(part)) => assert!(error.contains(part), "{error}"),
            (result, _) => panic!("{text}: {result:?}"),
        }
    }

    #[test]
    fn templates_are_checked_and_not_run() {
        template("`${uri}`", Ok(()));
        template("``", Ok(()));
        template("`a`.length", Ok(()));
        template("`a`;", Ok(()));
        template("`${nobody.knows()}`", Ok(()));
        template("`${(() => { for (;;) {} })()}`", Ok(()));
        template("`a` // comment", Ok(()));
        template("`${", Err("SyntaxError"));
        template("`${uri`", Err("SyntaxError"));
        template("`a` b", Err("SyntaxError"));
        template("`\0`", Err("NUL"));
        let nested = format!("`${{{}}}`", "(".repeat(1_000_000));
        template(&nested, Err(""));
    }

    #[test]
    fn an_error_does_not_spoil_the_next_check() {
        template("`${", Err("SyntaxError"));
        template("`${uri}`", Ok(()));
    }

    #[track_caller]
    fn module(source: &str, expect: Result<(), &str>) {
        match (check_module("m", source.as_bytes()), expect) {
            (Ok(()), Ok(())) => {}
            (Err(error), Err(part)) => assert!(error.contains(part), "{error}"),
            (result, _) => panic!("{source}: {result:?}"),
        }
    }

    #[test]
    fn modules_are_checked_and_not_run() {
        module("export default { a() { return 1 } }", Ok(()));
        module("", Ok(()));
        module("import other from 'other'; import * as all from './x.js'; export default other;", Ok(()));
        module("throw new Error('not run')", Ok(()));
        module("export default {", Err("SyntaxError"));
        module("return 1", Err("SyntaxError"));
        module("export default 1; export default 2", Err("SyntaxError"));
        module("a\0b", Err("NUL"));
        assert!(check_module("m", b"export default '\xff'").is_ok() || check_module("m", b"\xff").is_err());
        assert!(check_module("a\0b", b"").is_err());
    }
}
