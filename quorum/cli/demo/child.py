"""`python -m quorum.cli.demo.child PARENT COMMAND...`: `kraft COMMAND...` in a process that dies with its parent.

The kernel sends it SIGKILL when the process that started it ends, however that ends (Linux; elsewhere it is an ordinary
start). Asked for here and not between fork and exec, where a parent with gRPC's threads must not run code.
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
    """Tie this process to its parent, then be `kraft`."""
    parent = int(sys.argv[1])
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before we asked
        sys.exit(1)
    sys.argv[1:] = sys.argv[2:]
    main()


if __name__ == "__main__":
    run()
