"""The command `kraft` in a separate process with a memory limit."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from typing import Final

ADDRESS_SPACE: Final = 512 << 20
"""In bytes; Python, the command and its libraries take about a quarter of it."""
HANG_LIMIT_S: Final = 60


def bounded_kraft(
    arguments: Sequence[str], *, address_space: int = ADDRESS_SPACE, umask: int = -1
) -> subprocess.CompletedProcess[str]:
    """Run `kraft` with these arguments and a limit of the address space in bytes."""
    return subprocess.run(
        [sys.executable, "-m", "quorum.cli.main", *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=HANG_LIMIT_S,
        check=False,
        umask=umask,
        preexec_fn=partial(resource.setrlimit, resource.RLIMIT_AS, (address_space, address_space)),
    )
