"""Inspect calls no copy sound by whose files, as `kraft check` finds, Kafka does not start or ends its log early."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from metadata_log.directory import METADATA_DIRECTORY
from metadata_log.storage.segment import segment_file
from quorum.cli.main import run
from tests.support.misuses import Bench


def inspected(capsys: pytest.CaptureFixture[str], *nodes: Path) -> tuple[int, str]:
    status = run(["recover", "inspect", *map(str, nodes)])
    return status, " ".join(capsys.readouterr().out.split())


def checked(capsys: pytest.CaptureFixture[str], *nodes: Path) -> str:
    run(["check", *map(str, nodes)])
    return " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("name", ["foo.log", "1.log", f"{244:020}.index"])
def test_a_file_in_the_way_is_moved_before_the_start(
    name: str, bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    voters = [bench.node("failovers", each) for each in (2, 3)]
    path = voters[0] / METADATA_DIRECTORY / name
    if name.endswith(".index"):
        path.unlink()
        path.mkdir()
    else:
        path.touch()
    status, said = inspected(capsys, *voters)
    assert status == 1
    assert "Start controllers" not in said
    assert "Then start controllers" in said
    moved = re.search(r"mv (\S+) (\S+)", said)
    assert moved is not None
    Path(moved[1]).rename(moved[2])
    assert inspected(capsys, *voters)[0] == 0


def test_an_empty_segment_within_the_log_is_moved_before_the_start(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    """The other voter lost its last segment: with both as they are, the log would end there."""
    voters = [bench.node("failovers", each) for each in (2, 3)]
    for voter in voters:
        (voter / METADATA_DIRECTORY / segment_file(320)).write_bytes(b"")
    status, said = inspected(capsys, *voters)
    assert status == 1
    assert "Start controllers" not in said
    assert f"mv {voters[1] / METADATA_DIRECTORY / segment_file(320)} " in said


def test_zeros_behind_a_closed_segment_are_a_fault_that_hides_nothing(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    voters = [bench.node("failovers", each) for each in (1, 2, 3)]
    with (voters[1] / METADATA_DIRECTORY / segment_file(244)).open("ab") as segment:
        segment.write(bytes(4096))
    said = checked(capsys, *voters)
    assert "it hides nothing where the next segment begins at offset 320" in said
    assert "is lost" not in said
    said = inspected(capsys, *voters)[1]
    assert "(2 of 3: controllers 1, 3)" in said
    assert "4096 bytes are no sound batch: zeros" in said
