"""Digests of simulated files: equal states behave alike, so a test tries only one of them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from metadata_log.files.simulated_files import SimulatedFiles


def state_of(files: SimulatedFiles) -> bytes:
    """Return a digest of all directories, all files with their contents, and the locks that are held."""
    digest = hashlib.blake2b(repr(sorted(files._locks)).encode())
    for path, content in sorted(_everything(files, "")):
        digest.update(repr((path, None if content is None else len(content))).encode())
        digest.update(content or b"")
    return digest.digest()


def _everything(files: SimulatedFiles, directory: str) -> Iterator[tuple[str, bytes | None]]:
    """Yield each path below a directory with its content; a directory has none."""
    for name in files.listdir(directory or "/"):
        path = f"{directory}/{name}"
        is_dir = files.is_dir(path)
        yield path, None if is_dir else files.content(path)
        if is_dir:
            yield from _everything(files, path)
