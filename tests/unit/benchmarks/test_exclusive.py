"""One benchmark runs at a time."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.exclusive import BusyError, exclusive


def test_two_benchmarks_do_not_run_at_once(tmp_path: Path) -> None:
    with (
        exclusive(tmp_path / "lock"),
        pytest.raises(BusyError, match="another benchmark is running"),
        exclusive(tmp_path / "lock"),
    ):
        pass
    with exclusive(tmp_path / "lock"):
        pass
