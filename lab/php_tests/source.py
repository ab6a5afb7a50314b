"""Debian's source package of PHP: fetched by apt with settings of its own, kept below the target folder."""

import subprocess
import tempfile
from pathlib import Path

from .. import php

PACKAGE = f"php{php.VERSION}"

# Debian's own; where there is no such file, apt trusts what is in /etc/apt.
KEYS = Path("/usr/share/keyrings/debian-archive-keyring.gpg")

# Beside the tests, scripts that they include.
WANTED = ("*/tests/*", "*/run-tests.php")


class NotFetched(Exception):
    """No sources were found; says why."""


def fetched(target: Path) -> Path:
    """The folder of the sources, of which there are the tests alone."""
    # apt takes relative names for names below its own folders.
    kept = target.resolve() / "php-tests"
    folder = kept / "source"
    if folder.is_dir():
        return folder
    kept.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=kept) as scratch:
        archive = _archive(Path(scratch))
        unpacked = Path(scratch) / "unpacked"
        unpacked.mkdir()
        command = ["tar", "--extract", "--strip-components=1", "--wildcards", "--no-same-owner"]
        _run([*command, f"--file={archive}", f"--directory={unpacked}", *WANTED])
        unpacked.rename(folder)
    return folder


def _archive(scratch: Path) -> Path:
    """The newest one that the mirrors have: they may lack the security archive's sources."""
    apt = _settings(scratch)
    _run(["apt-get", *apt, "update"])
    shown = _run(["apt-cache", *apt, "showsrc", "--only-source", PACKAGE])
    versions = [line.split()[1] for line in shown.splitlines() if line.startswith("Version: ")]
    if not versions:
        raise NotFetched(f"Debian's mirrors have no source package {PACKAGE}")
    for version in sorted(versions, reverse=True):
        download = ["apt-get", *apt, "source", "--download-only", "--only-source", f"{PACKAGE}={version}"]
        problem = subprocess.run(download, cwd=scratch, capture_output=True, text=True, check=False)
        found = list(scratch.glob("*.orig.tar.*z"))
        if problem.returncode == 0 and found:
            return found[0]
        for part in scratch.glob(f"{PACKAGE}_*"):
            part.unlink()
    raise NotFetched(f"the source package {PACKAGE} cannot be fetched: {problem.stderr.strip()}")


def _settings(scratch: Path) -> list[str]:
    """Sources from where the packages come from, without a change of the system's own lists."""
    lists, cache, sources = scratch / "lists", scratch / "cache", scratch / "sources.list"
    for folder in (lists / "partial", cache / "archives" / "partial"):
        folder.mkdir(parents=True)
    form = "$(REPO_URI) $(RELEASE) $(COMPONENT)"
    listed = _run(["apt-get", "indextargets", "--format", form, "Created-By: Packages", "Origin: Debian"])
    places = {tuple(line.split()) for line in listed.splitlines() if line.endswith(" main")}
    signed = f"[signed-by={KEYS}] " if KEYS.exists() else ""
    sources.write_text("".join(f"deb-src {signed}{uri} {release} main\n" for uri, release, _ in sorted(places)))
    return [
        f"-oDir::Etc::sourcelist={sources}", "-oDir::Etc::sourceparts=/dev/null", f"-oDir::State::lists={lists}",
        f"-oDir::Cache={cache}", "-oAPT::Sandbox::User=root", "-oAcquire::Languages=none",
    ]  # fmt: skip


def _run(command: list[str]) -> str:
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode != 0:
        raise NotFetched(f"{' '.join(command[:2])} failed: {ended.stderr.strip()}")
    return ended.stdout
