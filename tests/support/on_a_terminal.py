"""Commands of `kraft` on a pseudo-terminal: their output byte for byte."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import tty
from collections.abc import Sequence
from typing import Final

_SEPARATOR: Final = b"\n==== next command ====\n"
_DRIVER: Final = """
import json, sys
from quorum.cli.streams import prepare
prepare()
from quorum.cli.main import run
for words in json.loads(sys.argv[1]):
    run(words)
    print("\\n==== next command ====", flush=True)
"""
HANG_LIMIT_S: Final = 100


def on_a_terminal(commands: Sequence[Sequence[str]], **environment: str) -> list[bytes]:
    """Run the commands one after the other in one process, and return the output of each, errors included.

    NO_COLOR is set, unless `environment` has another value.
    """
    ours, theirs = pty.openpty()
    tty.setraw(theirs)  # otherwise the terminal would write a return before each new line
    process = subprocess.Popen(
        [sys.executable, "-c", _DRIVER, json.dumps(commands)],
        stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "200", "PYTHONUTF8": "1", "NO_COLOR": "1", **environment},
    )  # fmt: skip
    os.close(theirs)
    said = bytearray()
    try:
        while chunk := _read(ours):
            said += chunk
        process.wait(HANG_LIMIT_S)
    finally:
        process.kill()
        os.close(ours)
    *found, rest = bytes(said).split(_SEPARATOR)
    assert len(found) == len(commands), rest.decode(errors="replace")
    return found


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 1 << 16)
    except OSError:  # the other end is closed
        return b""
