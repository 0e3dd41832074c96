"""The benchmark's own parts: what it reads, how it condenses, and what it says when something is missing or fails."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks import quorum_bench
from benchmarks.etcd import EtcdSide
from benchmarks.kafka import KafkaSide
from benchmarks.load import Figures, LoadError, Plan
from benchmarks.ours import KraftSide
from benchmarks.report import Results, file_system, percentile, show
from benchmarks.rows import ROWS, snapshot_pause
from benchmarks.side import MissingError, Side, cpu_seconds, resident_mb, samples, send_signal
from benchmarks.zookeeper import ZooKeeperSide


def _results(**rows: dict[str, list[Figures]]) -> Results:
    return Results(
        machine="a machine",
        file_system="ext4",
        began="now",
        load_before=0.5,
        sides=["ours", "theirs"],
        missing={"zookeeper": "java is not installed"},
        failed=["killed, round 1, etcd: nothing was acknowledged"],
        rows=rows,
    )


def _shown(results: Results) -> str:
    out = io.StringIO()
    show(results, {"rates": "Creates a second", "memory": "Memory"}, Console(file=out, width=120))
    return out.getvalue()


def test_medians_with_the_least_and_the_most_are_shown_a_column_a_side() -> None:
    ours: list[Figures] = [{"1 client: a second": value, "syncs": 0.5} for value in (900.0, 5000.0, 1000.0)]
    theirs: list[Figures] = [{"1 client: a second": 2000.0, "syncs": None}]
    shown = _shown(_results(rates={"ours": ours, "theirs": theirs}, memory={"ours": []}))
    rows = {
        cells[0]: cells[1:]
        for line in shown.splitlines()
        if line.startswith("│")
        for cells in [[cell.strip() for cell in line.strip("│").split("│")]]
    }
    assert rows == {"1 client: a second": ["1,000 [900..5,000]", "2,000"], "syncs": ["0.50 [0.50..0.50]", "-"]}
    assert "Creates a second: median [least..most] of 3" in shown
    assert "Memory" not in shown


def test_what_is_missing_and_what_failed_is_said() -> None:
    shown = _shown(_results())
    assert "Not measured: zookeeper: java is not installed" in shown
    assert "Failed: killed, round 1, etcd: nothing was acknowledged" in shown


@pytest.mark.parametrize(("part", "expected"), [(0.0, 1.0), (0.5, 11.0), (0.99, 20.0), (1.0, 20.0)])
def test_percentiles_are_values_that_were_seen(part: float, expected: float) -> None:
    assert percentile([float(value) for value in range(20, 0, -1)], part) == expected


def test_metrics_are_read_by_name_and_labels() -> None:
    text = '# HELP a b\n# TYPE a counter\na 3\nb_count{le="+Inf"} 7.5\nc 1e+06\n'
    assert samples(text) == {"a": 3.0, 'b_count{le="+Inf"}': 7.5, "c": 1e6}


def test_a_process_is_asked_what_it_uses() -> None:
    assert 1 < resident_mb(os.getpid()) < 10_000
    assert cpu_seconds(os.getpid()) > 0


def test_a_signal_that_ends_a_process_is_waited_for() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        assert send_signal(process, signal.SIGSTOP) < send_signal(process, signal.SIGKILL)
        assert process.returncode == -signal.SIGKILL


def test_the_file_system_of_memory_is_told_from_a_disks() -> None:
    assert file_system(Path("/proc/self")) == "proc"


def test_a_write_belongs_to_a_checkpoint_that_was_written_while_it_was_under_way() -> None:
    spans = [(10_000_000, 20_000_000)]
    writes = [(9_000_000, 1.0), (12_000_000, 5.0), (21_000_000, 0.5), (25_000_000, 9.0)]
    assert snapshot_pause._divided(writes, spans) == ([5.0, 9.0], [1.0, 0.5])


@pytest.mark.parametrize(
    ("side", "package"),
    [(EtcdSide, "etcd-server"), (ZooKeeperSide, "default-jdk-headless"), (KafkaSide, "default-jdk-headless")],
)
def test_a_missing_peer_is_named_with_its_package(
    side: type, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    arguments = (tmp_path, tmp_path) if side is KafkaSide else (tmp_path,)
    with pytest.raises(MissingError, match=f"apt-get install {package}"):
        side(*arguments)


def test_every_row_is_named_as_it_is_asked_for() -> None:
    for name, row in ROWS.items():
        assert name == row.NAME
        assert row.TITLE.format(topics=1)
        assert row.__doc__


@pytest.mark.parametrize(("option", "known"), [("--only", "rates, producer-ids"), ("--sides", "ours, ours-kafka")])
def test_an_unknown_name_is_refused_with_those_that_there_are(
    option: str, known: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        quorum_bench.main([option, "ours,colours" if option == "--sides" else "rates,colours"])
    said = capsys.readouterr().err
    assert f"{option}: unknown colours" in said
    assert known in said


def test_a_run_that_fails_is_named_and_the_others_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Row:
        NAME = TITLE = "row"

        @staticmethod
        def measure(side: Side, loadgen: Path, plan: Plan) -> Iterator[Figures]:
            if side is sides["etcd"]:
                raise LoadError("refused")
            yield {"a second": 7.0}

    sides = {"ours": KraftSide(tmp_path / "ours"), "etcd": KraftSide(tmp_path / "etcd")}
    monkeypatch.setitem(ROWS, "row", Row)  # type: ignore[arg-type]
    results = _results()
    results.failed.clear()
    quorum_bench._measure("row", sides, tmp_path, Plan(), 2, results, Console(file=io.StringIO()))
    assert results.rows["row"]["this project"] == [{"a second": 7.0}, {"a second": 7.0}]
    assert results.failed == ["row, round 1, etcd: refused", "row, round 2, etcd: refused"]
