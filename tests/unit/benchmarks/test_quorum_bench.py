"""The benchmark's own parts: what it reads, how it condenses, and what it says when something is missing."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks.etcd import EtcdSide, MissingError
from benchmarks.measures import STAGES, Rate, Volume
from benchmarks.quorum_bench import main
from benchmarks.report import Results, SideResults, file_system, percentile, show
from benchmarks.side import cpu_seconds, resident_mb, samples


def _side(title: str, scale: float) -> SideResults:
    def rate(writes: float) -> Rate:
        return Rate(
            writes_per_second=writes * scale,
            p50_ms=1.0,
            p99_ms=2.0,
            syncs_per_write=0.5,
            leader_cores=0.75,
            follower_cores=0.25,
        )

    volume = Volume(
        writes=100_000,
        fill_per_second=1000.0,
        resident_mb=(90.0, 130.0, 110.0),
        restart_s=1.5,
        resident_after_restart_mb=95.0,
    )
    return SideResults(
        title=title,
        rates={stage.name: [rate(900.0), rate(1000.0), rate(5000.0)] for stage in STAGES},
        without_leader_ms=[30.0 * scale, 40.0 * scale, 90.0 * scale],
        volumes=[volume],
    )


def test_medians_and_ratios_are_shown() -> None:
    results = Results(
        machine="a machine",
        file_system="ext4",
        began="now",
        load_before=0.5,
        ours=_side("ours", 1.0),
        etcd=_side("etcd 3.4.23", 2.0),
    )
    out = io.StringIO()
    show(results, STAGES, Console(file=out, width=120))
    shown = out.getvalue()
    assert "etcd 3.4.23" in shown
    for stage in STAGES:
        row = next(line for line in shown.splitlines() if f" {stage.name} " in line)
        assert [cell.strip() for cell in row.split("│")[2:5]] == ["1,000", "2,000", "0.50"]
    assert any("maximum" in line and " 90 " in line and " 180 " in line for line in shown.splitlines())
    assert any("largest server" in line and " 130 " in line for line in shown.splitlines())


@pytest.mark.parametrize(("part", "expected"), [(0.0, 1.0), (0.5, 11.0), (0.99, 20.0), (1.0, 20.0)])
def test_percentiles_are_values_that_were_seen(part: float, expected: float) -> None:
    assert percentile([float(value) for value in range(20, 0, -1)], part) == expected


def test_metrics_are_read_by_name_and_labels() -> None:
    text = '# HELP a b\n# TYPE a counter\na 3\nb_count{le="+Inf"} 7.5\nc 1e+06\n'
    assert samples(text) == {"a": 3.0, 'b_count{le="+Inf"}': 7.5, "c": 1e6}


def test_a_process_is_asked_what_it_uses() -> None:
    assert 1 < resident_mb(os.getpid()) < 10_000
    assert cpu_seconds(os.getpid()) > 0


def test_the_file_system_of_memory_is_told_from_a_disks() -> None:
    assert file_system(Path("/proc/self")) == "proc"


def test_a_missing_etcd_is_named_with_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingError, match="apt-get install etcd-server"):
        EtcdSide(tmp_path)


def test_an_unknown_subject_is_refused_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--only", "rates,colours"])
    assert "unknown colours; there are rates, kills, volume" in capsys.readouterr().err
