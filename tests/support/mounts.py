"""Commands with a mounted file system, such as a full disk, in a separate mount namespace."""

from __future__ import annotations

import os
import shutil
from typing import Final

import pytest

ROOT_MOUNTS: Final = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("unshare") is None, reason="only root can mount in a private namespace"
)


def mounted(script: str, *command: str) -> list[str]:
    """Return the words that run `script` in a shell there; it finds `command` in "$@"."""
    return ["unshare", "--mount", "--propagation", "private", "sh", "-c", f"set -e; {script}", "sh", *command]
