"""A log directory whose repair was interrupted: the repair comes first, and nothing there is changed by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from metadata_log.directory.repair_files import HELD_SUFFIX, REPAIR_JOURNAL_FILE
from metadata_log.tools.check.check import check_paths
from metadata_log.tools.findings.finding import Severity
from quorum.cli.main import run
from tests.support.damage import Cluster, copy_cluster


@pytest.fixture
def cluster(clusters: Path, tmp_path: Path) -> Cluster:
    return copy_cluster(clusters / "basic", tmp_path / "basic")


def _hold(disk: Path) -> Path:
    meta = disk / "meta.properties"
    return meta.rename(disk / f"meta.properties{HELD_SUFFIX}")


@pytest.mark.parametrize("is_held", [False, True])
@pytest.mark.parametrize("has_journal", [False, True])
def test_check_sends_to_the_repair(is_held: bool, has_journal: bool, cluster: Cluster) -> None:
    disk = cluster.disk(2)
    files = [disk / REPAIR_JOURNAL_FILE] if has_journal else []
    for path in files:
        path.write_text("{}")
    files += [_hold(disk)] if is_held else []

    report = check_paths([cluster.root])

    assert report.is_sound == (not files)
    assert [(one.kind, one.severity, one.file) for one in report.findings if one.counts] == [
        ("repair_unfinished", Severity.ERROR, str(path)) for path in files[:1]
    ]
    said = "".join(one.advice for one in report.findings)
    assert "by hand: cluster.id" not in said
    assert (f"kraft recover inspect {disk}" in said) == bool(files)


def test_what_else_is_wrong_there_waits(cluster: Cluster) -> None:
    disk = cluster.disk(2)
    (disk / REPAIR_JOURNAL_FILE).write_text("{}")
    log = next(cluster.metadata(2).glob("*.log"))
    data = bytearray(log.read_bytes())
    data[len(data) // 2] ^= 1
    log.write_bytes(data)

    others = [one for one in check_paths([cluster.root]).findings if one.counts and one.kind != "repair_unfinished"]

    assert others
    assert {one.advice for one in others} == {"nothing before the repair is finished or undone"}


@pytest.mark.parametrize("is_held", [False, True])
def test_storage_info_sends_to_the_repair(is_held: bool, cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    disk = cluster.disk(2)
    (disk / REPAIR_JOURNAL_FILE).write_text("{}")
    if is_held:
        _hold(disk)

    assert run(["storage", "info", str(disk), "-o", "json"]) == 1

    (row,) = json.loads(capsys.readouterr().out)["directories"]
    assert f"kraft recover inspect {disk}" in row["problem"]
    assert "restore that file" not in row["problem"]
