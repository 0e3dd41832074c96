"""Exports (`kraft log export`) beside or in place of log directories count as copies that no node starts on."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from metadata_log.files.os_files import OsFiles
from metadata_log.tools.backup.export import export_replica
from quorum.cli.main import run
from quorum.recovery.inspection import inspect_copies
from tests.support.misuses import CLUSTER, HERE, NO_WAIT, Bench, exported, flipped, last_segment, metadata


def test_an_export_says_whose_log_it_is_and_counts_as_a_copy_but_not_as_a_voter(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    exports = [exported(bench, node) for node in (1, 2, 11)]
    assert run(["recover", "inspect", *map(str, exports), "-o", "json"]) == 1
    seen = json.loads(capsys.readouterr().out)
    assert seen["cluster_id"] == CLUSTER
    assert {copy["node_id"] for copy in seen["copies"]} == {1, 2, 11}
    assert all(copy["fault"] == "it is an export, which no node starts from" for copy in seen["copies"])
    assert (seen["absent_voters"], seen["absent_brokers"]) == ([3], [12])
    assert {repair["name"] for repair in seen["repairs"]} == {"from-broker"}
    assert all("a majority with voters 1, 2, 3 acknowledged" in repair["may_lose"] for repair in seen["repairs"])


def test_a_controller_is_made_of_an_export(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    export, new = exported(bench, 1), bench.root / "new"
    shutil.rmtree(bench.node("basic", 1))
    words = ["recover", "from-broker", "--broker-dir", str(export), "--dir", str(new), "--node-id", "1", *HERE]
    assert run([*words, "--missing", "2,3,11,12", "--apply", *NO_WAIT]) == 0
    assert f"from the copy of node 1 ({export})" in capsys.readouterr().out
    assert run(["recover", "verify", str(new)]) == 0
    assert f"cluster.id={CLUSTER}" in (new / "meta.properties").read_text()
    assert not (new / "__cluster_metadata-0" / "manifest.json").exists()


def test_an_export_that_is_ahead_is_compared_with(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    survivor, ahead = bench.node("failovers", 1), bench.root / "ahead"
    export_replica(bench.node("failovers", 12), ahead)
    newest = max(metadata(survivor).glob("*.log"))
    for path in metadata(survivor).glob(f"{newest.stem}.*"):
        path.unlink()
    words = ["recover", "standalone", "--dir", str(survivor), "--copy", str(ahead), "--missing", "rest", *NO_WAIT]
    assert run(words) == 1
    assert f"on node 12 ({ahead})" in capsys.readouterr().err


def test_what_a_log_had_lost_when_it_was_exported_is_known(bench: Bench) -> None:
    node, export = bench.node("basic", 1), bench.root / "export"
    with last_segment(node).open("r+b") as log:
        log.truncate(last_segment(node).stat().st_size - 300)
    export_replica(node, export)
    [copy] = inspect_copies(OsFiles(), [str(export)]).evidence.copies
    assert copy.short is not None
    assert copy.proved_end > copy.end.offset


def test_a_live_high_watermark_in_the_manifest_is_known_to_be_committed(bench: Bench) -> None:
    export = bench.root / "export"
    export_replica(bench.node("basic", 1), export, high_watermark=90)
    bounds = inspect_copies(OsFiles(), [str(export)]).evidence.bounds
    assert (bounds.lower, bounds.upper) == (90, None)
    assert bounds.because == "replica 1 gave it as its high watermark"


def test_static_voters_are_told_by_the_manifest(clusters: Path, tmp_path: Path) -> None:
    export = tmp_path / "export"
    export_replica(clusters / "static-3.9" / "node-11" / "data", export)
    known = inspect_copies(OsFiles(), [str(export)]).evidence
    assert [int(voter.node_id) for voter in known.voters] == [1, 2, 3]


def test_a_damaged_export_is_not_taken(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    export = exported(bench)
    flipped(last_segment_of(export), 2000)
    words = ["recover", "from-broker", "--broker-dir", str(export), "--dir", str(bench.root / "new"), "--node-id", "1"]
    assert run([*words, *HERE, "--missing", "rest", *NO_WAIT]) == 1
    assert "no repair changes an export: name the directory it was made of" in capsys.readouterr().err


def test_verify_starts_nothing_from_an_export(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    export = exported(bench)
    assert run(["recover", "verify", str(export)]) == 1
    wrong = [line for line in capsys.readouterr().out.splitlines() if line.startswith(f"WRONG: {export}")]
    assert wrong == [f"WRONG: {export}: it is an export, which no node starts from."]


def last_segment_of(export: Path) -> Path:
    return max(export.glob("*.log"))
