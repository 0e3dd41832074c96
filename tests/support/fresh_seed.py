"""Seeds for suites that try new cases with every change: the seed follows from the code under test.

Two runs of the same code use the same seeds, in CI and by hand; an environment variable sets another seed.
"""

from __future__ import annotations

import hashlib
import os
import random
import subprocess
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]
_CODE = ("metadata_log", "quorum", "broker_agent")


def fresh_seed(variable: str, below: int = 1_000_000) -> int:
    """Return `$variable` if it is set; otherwise a number from the committed code, or a random one outside a
    checkout."""
    given = os.environ.get(variable)
    if given:
        return int(given)
    words = ["git", "rev-parse", *(f"HEAD:{folder}" for folder in _CODE)]
    done = subprocess.run(words, cwd=_ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return random.SystemRandom().randrange(below)
    digest = hashlib.sha256((variable + done.stdout).encode()).digest()
    return int.from_bytes(digest[:8], "big") % below
