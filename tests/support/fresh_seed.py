"""Seeds of the suites that try something new each time: drawn from the code under test, so new with every change to it.

Whoever runs the same code runs the same seeds, in CI as by hand; a variable of the environment chooses another.
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
    """`$variable` where it is set, else a number that follows from the committed code; random outside a checkout."""
    given = os.environ.get(variable)
    if given:
        return int(given)
    words = ["git", "rev-parse", *(f"HEAD:{folder}" for folder in _CODE)]
    done = subprocess.run(words, cwd=_ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return random.SystemRandom().randrange(below)
    digest = hashlib.sha256((variable + done.stdout).encode()).digest()
    return int.from_bytes(digest[:8], "big") % below
