"""WebAssembly: a component of wasi:http, in Corral and in `wasmtime serve`."""

import os
import shutil
import subprocess
from pathlib import Path

from .own import Corral
from .peers import Peer

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "crates/testkit/tests/fixtures/wasm/Cargo.toml"
# The same folder as that of the tests' components.
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "components"
BUILT = TARGET / "wasm32-wasip2/release/contest.wasm"


def build(apps: Path) -> None:
    """Compiles the component into the folder of the applications, which every user may read."""
    command = ["cargo", "build", "--quiet", "--locked", "--release", "--package", "contest", "--manifest-path", SOURCE]
    subprocess.run([*command, "--target", "wasm32-wasip2", "--target-dir", TARGET], check=True)
    shutil.copyfile(BUILT, apps / "contest.wasm")


def missing_target() -> str | None:
    found = shutil.which("rustc") and subprocess.run(["rustc", "--print", "sysroot"], capture_output=True, text=True)
    target = Path(found.stdout.strip() if found else "/") / "lib/rustlib/wasm32-wasip2"
    return None if target.exists() else "rustc's target wasm32-wasip2 (scripts/setup bench)"


class CorralWasm(Corral):
    runtime = "wasm"

    @classmethod
    def missing(cls) -> str | None:
        return super().missing() or missing_target()

    def app(self) -> dict:
        return {"type": "wasm-wasi-component", "component": str(self.setup.apps / "contest.wasm")}


class WasmtimeServe(Peer):
    name, executable = "wasmtime serve", "wasmtime"
    package = "https://wasmtime.dev"

    @classmethod
    def missing(cls) -> str | None:
        return super().missing() or missing_target()

    def argv(self) -> list[object]:
        return ["serve", "--addr", self.address, "-Scli", self.setup.apps / "contest.wasm"]
