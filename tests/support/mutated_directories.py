"""Directories with random damage: bytes of files, names, and other things in place of files.

Must not know: what reads them. The same seed gives the same damage.
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from tests.support.mutations import mutate

_SPARSE: Final = 8 << 20
_NAMES: Final = (
    "00000000000000000000.log", "00000000000000000050.log", "99999999999999999999.log", "9223372036854775807.log",
    "00000000000000000050-0000000001.checkpoint", "00000000000000000000-2147483647.checkpoint", "quorum-state",
    "99999999999999999999-9999999999.checkpoint", "00000000000000000007.snapshot", "leader-epoch-checkpoint",
    "partition.metadata", "meta.properties", "manifest.json", "kraft-recover.journal", ".lock", "x" * 255,
    "\udcff\x1b[2J", "a\nb", "..\u202e.log", "00000000000000000000.index", "__cluster_metadata-0", "orders-0",
)  # fmt: skip


def damage_directory(directory: Path, draw: random.Random, others: Sequence[bytes]) -> None:
    """Make one to three changes at or below a directory."""
    for _ in range(draw.randint(1, 3)):
        files = sorted(path for path in directory.rglob("*") if path.is_file() and not path.is_symlink())
        if files:
            path = draw.choice(files)
            draw.choice(_KINDS)(path, draw, others)


def _bytes(path: Path, draw: random.Random, others: Sequence[bytes]) -> None:
    content = path.read_bytes()
    path.write_bytes(mutate(content, draw, others) if content else draw.randbytes(40))


def _text(path: Path, draw: random.Random, _: Sequence[bytes]) -> None:
    """Replace a number or a word in a sidecar file."""
    content = path.read_bytes()
    words = content.replace(b"=", b" ").replace(b":", b" ").replace(b",", b" ").split()
    if words and len(content) < 4000:
        new = draw.choice((b"-1", b"99999999999999999999", b"1e309", b"\xff\xfe", b"null", b"[]", b"\n", b"2147483648"))
        path.write_bytes(content.replace(draw.choice(words), new, 1))


def _removed(path: Path, draw: random.Random, _: Sequence[bytes]) -> None:
    path.unlink()


def _renamed(path: Path, draw: random.Random, _: Sequence[bytes]) -> None:
    target = path.with_name(draw.choice(_NAMES))
    if not target.exists():
        path.rename(target)


def _copied(path: Path, draw: random.Random, _: Sequence[bytes]) -> None:
    target = path.with_name(draw.choice(_NAMES))
    if not target.exists():
        shutil.copyfile(path, target)


def _swapped(path: Path, draw: random.Random, _: Sequence[bytes]) -> None:
    """Give a file the content of another file beside it."""
    path.write_bytes(draw.choice([one for one in path.parent.iterdir() if one.is_file()] or [path]).read_bytes())


def _empty(path: Path, draw: random.Random, _: Sequence[bytes]) -> None:
    path.write_bytes(b"")


def _sparse(path: Path, draw: random.Random, _: Sequence[bytes]) -> None:
    os.truncate(path, draw.randint(0, _SPARSE))


def _link(path: Path, draw: random.Random, _: Sequence[bytes]) -> None:
    path.unlink()
    path.symlink_to(draw.choice((path.name, "/etc/hostname", "..", "nowhere", "/dev/zero", "quorum-state")))


def _pipe(path: Path, draw: random.Random, _: Sequence[bytes]) -> None:
    path.unlink()
    os.mkfifo(path)


def _directory(path: Path, draw: random.Random, _: Sequence[bytes]) -> None:
    path.unlink()
    path.mkdir()


_KINDS: Final[tuple[Callable[[Path, random.Random, Sequence[bytes]], None], ...]] = (
    _bytes, _bytes, _bytes, _bytes, _text, _text, _removed, _renamed, _copied, _swapped, _empty, _sparse, _link, _pipe,
    _directory,
)  # fmt: skip
