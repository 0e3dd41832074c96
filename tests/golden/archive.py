"""Archives of goldens: texts by name, in one compressed file a command whose bytes depend on the texts alone.

Decides: the form, and how a difference is shown. Must not know: where texts come from.
"""

from __future__ import annotations

import difflib
import io
import json
import tarfile
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parent
SUFFIX: Final = ".tar.xz"
_MOST_LINES: Final = 120
_WRITE: Final = ".venv/bin/python -m tests.golden --write --only"


def archive_path(command: str) -> Path:
    """Return the archive of a command, `log-verify` say."""
    return FOLDER / f"{command}{SUFFIX}"


def archived_commands() -> list[str]:
    """Return the commands that have an archive, sorted."""
    return sorted(path.name.removesuffix(SUFFIX) for path in FOLDER.glob(f"*{SUFFIX}"))


@cache
def read_archive(command: str) -> Mapping[str, str]:
    """Return a command's texts by name; none where it has no archive."""
    path = archive_path(command)
    return unpacked(path.read_bytes()) if path.exists() else {}


def write_archive(command: str, texts: Mapping[str, str]) -> bool:
    """Write a command's texts, unless its archive holds the same ones; return True if it was written."""
    if texts == read_archive(command) and texts:
        return False
    path = archive_path(command)
    if texts:
        path.write_bytes(packed(texts))
    else:
        path.unlink(missing_ok=True)
    read_archive.cache_clear()
    return True


def packed(texts: Mapping[str, str]) -> bytes:
    """Return the archive of these texts: sorted by name, without times and owners."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:xz", format=tarfile.GNU_FORMAT, preset=6) as archive:
        for name in sorted(texts):
            data = texts[name].encode()
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return out.getvalue()


def unpacked(data: bytes) -> dict[str, str]:
    """Return the texts of an archive by name."""
    found: dict[str, str] = {}
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:xz") as archive:
        for entry in archive:
            reading = archive.extractfile(entry)
            assert reading is not None, entry.name
            found[entry.name] = reading.read().decode()
    return found


def difference(command: str, name: str, golden: str | None, found: str | None) -> str | None:
    """Return how an output differs from its golden, as a unified diff, or None if they are equal.

    `golden` None: the case has no golden. `found` None: the golden belongs to no case.
    """
    if golden == found:
        return None
    title = f"{command}/{name}"
    if golden is None:
        return f"{title}: this case has no golden"
    if found is None:
        return f"{title}: this golden belongs to no case"
    before, after = _readable(golden), _readable(found)
    if before == after:
        before, after = golden, found
    lines = list(
        difflib.unified_diff(before.split("\n"), after.split("\n"), f"{title} (golden)", f"{title} (now)", lineterm="")
    )
    more = len(lines) - _MOST_LINES
    shown = [*lines[:_MOST_LINES], f"... and {more} more lines"] if more > 0 else lines
    return "\n".join(shown)


def remedy(commands: Iterable[str]) -> str:
    """Return the command that stores today's outputs of these commands."""
    return f"If that is meant: {_WRITE} {' --only '.join(sorted(set(commands)))}"


def _readable(text: str) -> str:
    """Return the text with each line of JSON indented, so that a diff shows the values that differ."""
    return "\n".join(map(_indented, text.split("\n")))


def _indented(line: str) -> str:
    if not line.startswith(("{", "[")):
        return line
    try:
        return json.dumps(json.loads(line), indent=1, ensure_ascii=False)
    except ValueError:
        return line
