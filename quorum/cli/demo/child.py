"""`python -m quorum.cli.demo.child PARENT COMMAND...`: `kraft COMMAND...` in a process that dies with its parent.

On Linux the kernel sends it SIGKILL when its parent ends, in whatever way. The child itself asks for that: a parent
with gRPC's threads must not run code between fork and exec.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from typing import Final

from quorum.cli.main import main

_PR_SET_PDEATHSIG: Final = 1


def run() -> None:
    """Tie this process to its parent, then run `kraft`."""
    parent = int(sys.argv[1])
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before we asked
        sys.exit(1)
    sys.argv[1:] = sys.argv[2:]
    main()


if __name__ == "__main__":
    run()
