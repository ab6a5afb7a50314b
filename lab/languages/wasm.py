"""WebAssembly: a component of wasi:http, which LAB_COMPONENT names, in Corral and in `wasmtime serve`."""

import os
from pathlib import Path

from .own import Corral
from .peers import Peer

COMPONENT = Path(os.environ.get("LAB_COMPONENT", "/nonexistent"))


def _missing() -> str | None:
    return None if COMPONENT.exists() else "LAB_COMPONENT=/path/to/component.wasm"


class CorralWasm(Corral):
    runtime = "wasm"

    @classmethod
    def missing(cls) -> str | None:
        return super().missing() or _missing()

    def app(self) -> dict:
        return {"type": "wasm-wasi-component", "component": str(COMPONENT)}


class WasmtimeServe(Peer):
    name, executable = "wasmtime serve", "wasmtime"
    package = "https://wasmtime.dev"

    @classmethod
    def missing(cls) -> str | None:
        return super().missing() or _missing()

    def argv(self) -> list[object]:
        return ["serve", "--addr", self.address, "-Scli", COMPONENT]
