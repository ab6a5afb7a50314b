//! From a file to code: once for an application, in a process of its own, which may have threads and leaves nothing
//! behind.

use std::fs;
use std::io::{self, Read, Write};
use std::path::Path;

use anyhow::{Context, anyhow, bail};
use corral_sys::process;
use corral_sys::signal::{self, Signal};
use corral_sys::spawn::{self, Fork};
use wasmtime::Engine;
use wasmtime::component::Component;

/// The first bytes of a binary, and what tells a component from a module.
const MAGIC: &[u8] = b"\0asm";
const MODULE: &[u8] = &[1, 0, 0, 0];
const COMPONENT: &[u8] = &[0x0d, 0, 1, 0];

/// Compiles a component. This process must have one thread.
///
/// # Errors
/// When there is no component in the file, or none that can be compiled.
pub(crate) fn compile(engine: &Engine, path: &Path) -> anyhow::Result<Component> {
    let binary = fs::read(path).context("read it")?;
    check_kind(&binary)?;
    let code = in_child(|| Ok(engine.precompile_component(&binary)?))?;
    // SAFETY: this program has made it a moment ago, with this engine, and no other process could write to the pipe.
    Ok(unsafe { Component::deserialize(engine, code) }?)
}

fn check_kind(binary: &[u8]) -> anyhow::Result<()> {
    match binary.strip_prefix(MAGIC) {
        Some(rest) if rest.starts_with(COMPONENT) => Ok(()),
        Some(rest) if rest.starts_with(MODULE) => bail!(
            "it is a core module, not a component: build it for wasm32-wasip2, or make a component of it with \
             `wasm-tools component new`"
        ),
        Some(_) => bail!("it is WebAssembly of a version that is not known"),
        None => bail!("it is not WebAssembly"),
    }
}

const DONE: u8 = 0;
const FAILED: u8 = 1;

/// The result of `work`, done by a copy of this process.
fn in_child(work: impl FnOnce() -> anyhow::Result<Vec<u8>>) -> anyhow::Result<Vec<u8>> {
    let (mut reader, writer) = io::pipe()?;
    let pid = match spawn::fork().context("fork")? {
        Fork::Child => {
            drop(reader);
            answer(writer, work());
        }
        Fork::Parent(pid) => pid,
    };
    drop(writer);
    let mut answer = Vec::new();
    let read = reader.read_to_end(&mut answer);
    let ended = signal::wait_for(pid)?;
    read?;
    if answer.is_empty() {
        bail!("the compiler ended without a word ({ended:?})");
    }
    match answer.remove(0) {
        DONE => Ok(answer),
        _ => Err(anyhow!("{}", String::from_utf8_lossy(&answer))),
    }
}

fn answer(mut pipe: io::PipeWriter, result: anyhow::Result<Vec<u8>>) -> ! {
    // A child whose result is not awaited any more need not go on.
    let _ = process::set_parent_death_signal(Signal::KILL);
    let (kind, bytes) = match result {
        Ok(bytes) => (DONE, bytes),
        Err(error) => (FAILED, format!("{error:#}").into_bytes()),
    };
    let sent = pipe.write_all(&[kind]).and_then(|()| pipe.write_all(&bytes));
    std::process::exit(i32::from(sent.is_err()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(binary: &[u8], expected: &str) {
        let error = check_kind(binary).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }

    #[test]
    fn only_components_are_taken() {
        assert!(check_kind(b"\0asm\x0d\0\x01\0 and so on").is_ok());
        check(b"\0asm\x01\0\0\0 and so on", "it is a core module");
        check(b"\0asm\x02\0\0\0", "it is WebAssembly of a version");
        check(b"\0asm", "it is WebAssembly of a version");
        check(b"(component)", "it is not WebAssembly");
        check(b"", "it is not WebAssembly");
    }
}
