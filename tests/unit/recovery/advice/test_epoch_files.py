"""A `leader-epoch-checkpoint` that Kafka cannot read stops its node at the start; the log has all of its content."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from quorum.cli.main import run
from tests.support.misuses import Bench, appended, metadata, newer_record


def inspected(capsys: pytest.CaptureFixture[str], status: int, *dirs: Path) -> Any:
    capsys.readouterr()
    assert run(["recover", "inspect", *map(str, dirs), "-o", "json"]) == status
    return json.loads(capsys.readouterr().out)


def written_wrong(node: Path) -> Path:
    path = metadata(node) / "leader-epoch-checkpoint"
    path.write_text("0\nrubbish\n")
    return path


@pytest.mark.parametrize(("wrong", "status"), [(1, 0), (3, 1)])
def test_it_is_made_anew_before_anything_starts(
    wrong: int, status: int, clusters: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bench = Bench(clusters, tmp_path)
    dirs = [bench.node("basic", node) for node in (1, 2, 3)]
    paths = [written_wrong(one) for one in dirs[:wrong]]
    found = inspected(capsys, status, *dirs)
    faults = {one["path"]: one["fault"] for one in found["copies"]}
    for one, path in zip(dirs, paths, strict=False):
        assert (
            faults[str(one)]
            == f"{path}: it is no leader epoch checkpoint: it does not begin with version 0 and a count"
        )
    assert "A majority of the voters is here and sound (3 of 3" in found["situation"]
    assert "no metadata is lost" in found["situation"]
    first, then = found["steps"][:wrong], found["steps"][wrong]
    assert sorted(step["commands"][0] for step in first) == [
        f"kraft recover rebuild-indexes --dir {one} --apply" for one in dirs[:wrong]
    ]
    assert then["text"].startswith("Then start controllers ")
    assert run(["recover", "verify", *map(str, dirs)]) == 1
    assert f"WRONG: {dirs[0]}: {paths[0]}: it is no leader" in capsys.readouterr().out
    for step in first:
        assert run(shlex.split(step["commands"][0])[1:]) == 0
    after = inspected(capsys, 0, *dirs)
    assert not any(one["fault"] for one in after["copies"])
    assert after["steps"][0]["text"].startswith("Start controllers ")


def test_it_goes_with_a_torn_write(clusters: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bench = Bench(clusters, tmp_path)
    dirs = [bench.node("basic", node) for node in (1, 2, 3)]
    written_wrong(dirs[0])
    appended(bench, lambda offset: newer_record(offset)[:-7])
    first = inspected(capsys, 0, *dirs)["steps"][0]["commands"][0]
    assert first.startswith("kraft recover truncate ")
    assert run([*shlex.split(first)[1:], "--timeout", "0.3"]) == 0
    assert not any(one["fault"] for one in inspected(capsys, 0, *dirs)["copies"])
