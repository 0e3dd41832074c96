"""The program around Porcupine: histories that it accepts and rejects, small enough to see why."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tests.chaos.checker import check
from tests.chaos.history import Operation

pytestmark = pytest.mark.campaign


def _history(path: Path, *lines: str) -> Path:
    """Write a history; each line has client, request and response time, kind, outcome, and the id if there is one."""
    operations = []
    for line in lines:
        client, called, returned, kind, outcome, *topic_id = line.split()
        operations.append(
            Operation(
                client=int(client),
                kind=kind,  # type: ignore[arg-type]
                name="a",
                called=int(called),
                returned=int(returned),
                outcome=outcome,  # type: ignore[arg-type]
                topic_id="".join(topic_id),
            )
        )
    path.write_bytes(b"\n".join(map(msgspec.json.encode, operations)) + b"\n")
    return path


LEGAL = {
    "one after another": ["0 1 2 create ok X", "0 3 4 read ok X", "0 5 6 delete ok X", "0 7 8 read absent"],
    "two at once, one wins": ["0 1 5 create exists", "1 2 6 create ok X"],
    "unknown, and done": ["0 1 2 create unknown", "1 3 4 read ok X", "1 5 6 create exists"],
    "unknown, and not done": ["0 1 2 create unknown", "1 3 4 read absent", "1 5 6 create ok X"],
    "unknown, and done later": ["0 1 2 create unknown", "1 3 4 read absent", "1 5 6 read ok X"],
    "a deletion of unknown outcome, done later": [
        "0 1 2 create ok X", "1 3 4 delete unknown", "0 5 6 read ok X", "0 7 8 read absent",
    ],
    "a read that is said to be stale is not looked at": [
        "0 1 2 create ok X", "0 3 4 delete ok X", "1 5 6 read-at-least ok X",
    ],
}  # fmt: skip
ILLEGAL = {
    "lost": ["0 1 2 create ok X", "0 3 4 read absent"],
    "stale": ["0 1 2 create ok X", "0 3 4 delete ok X", "1 5 6 read ok X"],
    "back and forth": ["0 1 9 create ok X", "1 2 3 read ok X", "1 4 5 read absent"],
    "created twice": ["0 1 2 create ok X", "1 3 4 create ok Y"],
    "another id": ["0 1 2 create ok X", "0 3 4 read ok Y"],
    "an unknown one cannot have the id of another": [
        "0 1 2 create unknown", "1 3 4 read ok X", "1 5 6 delete ok X", "0 7 8 create ok X",
    ],
    "an unknown one is done at most once": [
        "0 1 2 create unknown", "1 3 4 delete ok X", "1 5 6 read ok Y",
    ],
    "what was not done may not show": ["0 1 2 create not-done", "1 3 4 create exists"],
}  # fmt: skip


@pytest.mark.parametrize("lines", LEGAL.values(), ids=LEGAL)
def test_linearizable(tmp_path: Path, lines: list[str]) -> None:
    verdict = check(_history(tmp_path / "history.jsonl", *lines), pictures=tmp_path)
    assert (verdict.illegal, verdict.undecided) == ([], [])


@pytest.mark.parametrize("lines", ILLEGAL.values(), ids=ILLEGAL)
def test_not_linearizable(tmp_path: Path, lines: list[str]) -> None:
    verdict = check(_history(tmp_path / "history.jsonl", *lines), pictures=tmp_path)
    assert verdict.illegal == ["a"]
    assert (tmp_path / "a.html").exists()


def test_a_history_that_cannot_be_read_is_no_verdict(tmp_path: Path) -> None:
    (tmp_path / "history.jsonl").write_text('{"kind": 3}\n')
    with pytest.raises(RuntimeError, match="ended with 2"):
        check(tmp_path / "history.jsonl", pictures=tmp_path)
