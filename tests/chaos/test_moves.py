"""Controllers that come back under other addresses, as pods do, can lead at once (`LONG=1`: 20 times).

If the others looked for a leader under its former address, it would be elected and deposed again and again.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Final

import msgspec
import pytest

from tests.chaos import enter
from tests.chaos.moves import Moves

_TIMES: Final = 20 if os.environ.get("LONG") else 2
_MOVE_S: Final = 120

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(_TIMES * _MOVE_S + 60)]


@pytest.mark.parametrize("protocol", [(), ("--by-kafkas",)], ids=["grpc", "kafka"])
def test_a_controller_leads_at_once_under_another_address(tmp_path: Path, protocol: tuple[str, ...]) -> None:
    done = subprocess.run(
        enter.command(["-m", "tests.chaos.moves", str(tmp_path), "--times", str(_TIMES), *protocol]),
        env=enter.environment(), capture_output=True, text=True, check=False, timeout=_TIMES * _MOVE_S,
    )  # fmt: skip
    print(done.stdout)
    assert done.returncode == 0, f"{done.stdout[-6000:]}{done.stderr[-3000:]}"
    moves = msgspec.json.decode(done.stdout, type=Moves).moves
    elected = [(each.handed_over, each.leader_died) for each in moves]
    assert elected == [(1, 1)] * _TIMES, "leaders were elected and lost"
