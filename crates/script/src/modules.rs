//! Modules that scripts find besides their own: those that njs brings, by the same names, and its globals.

mod bytes;
#[cfg(test)]
mod tests;

use rquickjs::loader::{BuiltinLoader, BuiltinResolver, ImportAttributes, Loader, ModuleLoader, Resolver};
use rquickjs::module::Declared;
use rquickjs::{Ctx, Error, Module};

use self::bytes::Bytes;
use crate::engine;

/// The beginning of imports of this server's own modules; configurations cannot import by such a name.
const OWN: &str = "njs:";

const GLOBALS: &str = "njs:globals";

/// Modules in JavaScript, by their own names.
const SOURCES: [(&str, &str); 5] = [
    ("njs:buffer", include_str!("modules/buffer.js")),
    ("njs:crypto", include_str!("modules/crypto.js")),
    ("njs:querystring", include_str!("modules/querystring.js")),
    ("njs:text", include_str!("modules/text.js")),
    (GLOBALS, include_str!("modules/globals.js")),
];

/// Modules that scripts may import.
const SHARED: [&str; 3] = ["buffer", "crypto", "querystring"];

/// Further ones of njs, and why they are not here.
const REFUSED: [(&str, &str); 3] = [
    ("fs", "scripts have no files: \"share\" serves them, and \"js_module\" takes what scripts need of them"),
    ("xml", "njs's module \"xml\" is not part of this server"),
    ("zlib", "njs's module \"zlib\" is not part of this server: see \"settings.http.compression\""),
];

/// Finds the modules of a configuration, and those of njs that none of them takes the name of.
pub(crate) fn loader(modules: &[engine::LoadedModule]) -> (Finder, (BuiltinLoader, ModuleLoader)) {
    let mut own = BuiltinResolver::default();
    let mut sources = BuiltinLoader::default();
    for (name, source) in SOURCES {
        sources.add_module(name, source);
    }
    for module in modules {
        own.add_module(&*module.name);
        sources.add_module(&*module.name, &*module.source);
    }
    (Finder { own }, (sources, ModuleLoader::default().with_module("njs:bytes", Bytes)))
}

/// Puts `Buffer`, `TextEncoder`, `TextDecoder` and `njs` where every script finds them.
pub(crate) fn install_globals(ctx: &Ctx<'_>) -> rquickjs::Result<()> {
    Module::import(ctx, GLOBALS)?.finish()
}

pub(crate) struct Finder {
    own: BuiltinResolver,
}

impl Resolver for Finder {
    fn resolve<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        base: &str,
        name: &str,
        attributes: Option<ImportAttributes<'js>>,
    ) -> rquickjs::Result<String> {
        if name == GLOBALS || (base.starts_with(OWN) && name.starts_with(OWN)) {
            return Ok(name.to_owned());
        }
        let found = self.own.resolve(ctx, base, name, attributes);
        if found.is_err() && SHARED.contains(&name) {
            return Ok(format!("{OWN}{name}"));
        }
        let refused = REFUSED.iter().find(|(refused, _)| *refused == name);
        match (found, refused) {
            (Err(_), Some((_, reason))) => Err(Error::new_resolving_message(base, name, *reason)),
            (found, _) => found,
        }
    }
}

/// Answers every import with an empty module, for a check whether a source compiles.
pub(crate) struct Anything;

impl Resolver for Anything {
    fn resolve<'js>(
        &mut self,
        _: &Ctx<'js>,
        _: &str,
        name: &str,
        _: Option<ImportAttributes<'js>>,
    ) -> rquickjs::Result<String> {
        Ok(format!("import {name}"))
    }
}

impl Loader for Anything {
    fn load<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        name: &str,
        _: Option<ImportAttributes<'js>>,
    ) -> rquickjs::Result<Module<'js, Declared>> {
        Module::declare(ctx.clone(), name, "")
    }
}
