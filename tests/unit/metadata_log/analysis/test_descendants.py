"""The cleanup ends every process that this one has started, also those that started during the search."""

from __future__ import annotations

import subprocess
import sys

import pytest

_PROGRAM = """
import os, subprocess
from pathlib import Path
from metadata_log.analysis import session as descendants

shell = subprocess.Popen(
    ["sh", "-c", "read _; sleep 600 & echo $!; wait"],
    stdin=subprocess.PIPE, stdout=subprocess.PIPE, **descendants.own_group(),
)
found, late = descendants._processes, []

def look():
    processes = found()
    if not late:
        shell.stdin.write(b"\\n")
        shell.stdin.flush()
        late.append(int(shell.stdout.readline()))
    return processes

descendants._processes = look
descendants.end_descendants()
left = [each.pid for each in found() if each.pid in (shell.pid, *late)]
print(*left)
for pid in left:
    os.kill(pid, 9)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is no /proc")
def test_a_process_that_is_started_after_the_look_is_ended_with_its_group() -> None:
    """The program runs in a child process, because the cleanup ends all of its children."""
    done = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout.split(), done.stderr) == (0, [], "")
