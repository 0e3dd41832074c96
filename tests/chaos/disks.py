"""Disks that can be made to fail: a small tmpfs that fills up, and a file system on a loop file whose backing fills up.

Decides: how a disk fails and recovers. Must not know: which node uses it. Mounts are private to this process.
"""

from __future__ import annotations

import errno
import os
import subprocess
from pathlib import Path
from typing import Final

_TMPFS_MB: Final = 192
_LOOP_MB: Final = 192
"""The size that the file system believes to have."""
_CORRECTED: Final = 1
_CHUNK: Final = bytes(1 << 20)


class SmallDisk:
    """A tmpfs at `path`; when full, it rejects every write of a new page with ENOSPC."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._filler = path / "filler"
        path.mkdir(parents=True)
        _run("mount", "-t", "tmpfs", "-o", f"size={_TMPFS_MB}m", "tmpfs", str(path))

    def fail(self) -> None:
        """Fill it to the last page."""
        fill(self._filler)

    def mend(self) -> None:
        """Make room. The node on it has ended."""
        self._filler.unlink()


_FEATURES: Final = "^has_journal,^extent,^64bit,^metadata_csum"
"""Without a journal a failed write fails the sync, and not the whole file system. Block maps replace extents.

A tree of extents that outgrows its inode moves the old extents into a new block, whose write fails with all others
here. Then fsck empties the file, and the synced bytes are lost. A map only adds blocks.
"""


class LoopDisk:
    """An ext4 in a sparse file on a tmpfs. If the tmpfs is full, a write succeeds, its sync fails, and synced bytes
    stay."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._backing = path.with_name(path.name + "-backing")
        self._filler = self._backing / "filler"
        self._image = self._backing / "disk.img"
        for directory in (path, self._backing):
            directory.mkdir(parents=True)
        _run("mount", "-t", "tmpfs", "-o", f"size={_LOOP_MB}m", "tmpfs", str(self._backing))
        with self._image.open("wb") as image:
            image.truncate(_LOOP_MB << 20)
        _run("mkfs.ext4", "-q", "-b", "4096", "-O", _FEATURES, str(self._image))
        self._mount()

    def fail(self) -> None:
        """Fill the tmpfs below it."""
        fill(self._filler)

    def mend(self) -> None:
        """Make room, run fsck, and mount it again. The node on it has ended."""
        _run("umount", str(self.path))
        self._filler.unlink()
        done = subprocess.run(["e2fsck", "-y", "-f", str(self._image)], capture_output=True, text=True, check=False)
        if done.returncode > _CORRECTED:
            raise RuntimeError(f"e2fsck -y {self._image} ended with {done.returncode}: {done.stdout}{done.stderr}")
        self._mount()

    def _mount(self) -> None:
        _run("mount", "-o", "loop,errors=continue", str(self._image), str(self.path))
        device = next(
            line.split()[0]
            for line in Path("/proc/self/mounts").read_text().splitlines()
            if line.split()[1] == str(self.path)
        )
        # If the tmpfs cuts a write short, the loop driver takes it for whole, and its sync succeeds.
        # A write of one page cannot be cut short: it fails.
        Path(f"/sys/block/{Path(device).name}/queue/max_sectors_kb").write_text("4")


def fill(path: Path) -> None:
    """Write a file until its file system is full."""
    with path.open("wb", buffering=0) as filler:
        for size in (len(_CHUNK), 4096, 1):
            _write_all(filler.fileno(), _CHUNK[:size])


def _write_all(descriptor: int, piece: bytes) -> None:
    while True:
        try:
            os.write(descriptor, piece)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            return


def _run(*words: str) -> None:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr.strip()}")
