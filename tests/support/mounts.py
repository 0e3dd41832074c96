"""Commands where something is mounted, as a full disk is: in a namespace of their own, so that nobody else sees it."""

from __future__ import annotations

import os
import shutil
from typing import Final

import pytest

ROOT_MOUNTS: Final = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("unshare") is None, reason="only root mounts, in a namespace of its own"
)


def mounted(script: str, *command: str) -> list[str]:
    """The words of `script`, run by a shell there; it finds `command` in "$@"."""
    return ["unshare", "--mount", "--propagation", "private", "sh", "-c", f"set -e; {script}", "sh", *command]
