"""The number of processes that a test may keep busy at once: the machine's cores, divided among the test workers."""

from __future__ import annotations

import os
from typing import Final

CORES: Final = max(1, (os.cpu_count() or 1) // int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")))
