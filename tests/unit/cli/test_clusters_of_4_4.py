"""Sound clusters of Kafka 4.4: no command that looks at them finds anything, and each says what their logs hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from quorum.cli.main import run
from tests.support.clusters import SCENARIOS, node_directories

OF_4_4 = [scenario for scenario in SCENARIOS if scenario.endswith("-4.4")]
FROM_THE_START = ["basic-4.4", "every-record-4.4"]
CONTROLLERS = (1, 2, 3)

pytestmark = pytest.mark.parametrize("scenario", OF_4_4)


def _rows(capsys: pytest.CaptureFixture[str], *words: str | Path, status: int = 0) -> Any:
    """Run a command, which must end with `status` and no complaint, and return its JSON."""
    assert run([*map(str, words), "-o", "json"]) == status
    said = capsys.readouterr()
    assert status or said.err == ""
    return json.loads(said.out)


def _last(clusters: Path, scenario: str) -> list[Path]:
    """Return the nodes' directories at the scenario's last moment."""
    return sorted((clusters / scenario).glob("node-*"))


def _moments(clusters: Path, scenario: str) -> list[Path]:
    return node_directories(clusters / scenario)


def test_there_is_one_of_each_kind(scenario: str, clusters: Path) -> None:
    assert len(OF_4_4) == 3
    assert {path.name for path in _last(clusters, scenario)} >= {"node-1", "node-2", "node-3", "node-11", "node-12"}


def test_check_and_verify_find_nothing(scenario: str, clusters: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _rows(capsys, "check", clusters / scenario)["findings"] == []
    assert _rows(capsys, "log", "verify", clusters / scenario, "--replay")["findings"] == []
    for node in _moments(clusters, scenario):
        assert _rows(capsys, "check", node)["findings"] == []
        assert _rows(capsys, "log", "verify", node, "--replay")["findings"] == []


def test_replicas_agree_record_by_record_and_in_their_hash(
    scenario: str, clusters: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes = _last(clusters, scenario)
    assert run(["log", "diff", str(clusters / scenario)]) == 0
    assert f"The logs' records agree in {len(nodes)} replicas." in capsys.readouterr().out

    hashes = _rows(capsys, "log", "hash", clusters / scenario)["hashes"]

    assert len(hashes) == len(nodes)
    assert len({row["hash"] for row in hashes}) == 1


def test_the_shell_shows_the_image_at_its_level(
    scenario: str, clusters: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = {
        "/image/features/metadataVersion": "Optional[4.4-IV2]\n",
        "/image/features/finalized_share.version": "2\n",
    }
    for node in _last(clusters, scenario):
        for path, value in shown.items():
            assert run(["shell", str(node), "cat", path]) == 0
            assert capsys.readouterr() == (value, "")


def test_the_timeline_has_the_levels_of_a_log_or_of_the_checkpoint_that_it_begins_with(
    scenario: str, clusters: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    events = _rows(capsys, "log", "timeline", clusters / scenario)["events"]

    assert "election" in {event["kind"] for event in events}
    kind = "feature" if scenario in FROM_THE_START else "state"
    said = {(event["kind"], event["text"]) for event in events}
    assert {(kind, "metadata.version is 4.4-IV2 (33)"), (kind, "share.version is 2")} <= said


def test_no_partition_of_a_broker_is_out_of_place(
    scenario: str, clusters: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    images = [word for node in CONTROLLERS for word in ("--image", str(clusters / scenario / f"node-{node}"))]
    for broker in sorted((clusters / scenario).glob("node-1?")):
        rows = _rows(capsys, "storage", "audit", broker, *images)["directories"]
        assert {row["verdict"] for row in rows if not row["directory"].endswith("-delete")} == {"keep"}
        assert {row["when_kafka_starts"] for row in rows} <= {"keeps it", "deletes it after a minute"}


def test_software_of_4_4_reads_every_record_and_that_of_4_3_stops_at_its_levels(
    scenario: str, clusters: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["features", "check", str(clusters / scenario), "--target", "4.4"]) == 0
    assert capsys.readouterr() == ("4.4-IV2 can read every record.\n", "")

    rows = _rows(capsys, "features", "check", clusters / scenario, "--target", "4.3", status=1)["records"]

    assert {row["reason"] for row in rows} == {
        "it finalises metadata.version 4.4-IV2 (33), above 4.3-IV0",
        "4.3-IV0 has share.version up to 1",
    }


def test_inspect_knows_the_voters_and_can_repair_from_each_copy(
    scenario: str, clusters: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = _rows(capsys, "recover", "inspect", *(node / "data" for node in _last(clusters, scenario)))
    assert [voter["node_id"] for voter in whole["voters"]] == [1, 2, 3]
    assert (whole["absent_voters"], {copy["fault"] for copy in whole["copies"]}) == ([], {None})
    for node in _moments(clusters, scenario):
        seen = _rows(capsys, "recover", "inspect", node / "data", status=1)
        assert [voter["node_id"] for voter in seen["voters"]] == [1, 2, 3]
        assert [copy["fault"] for copy in seen["copies"]] == [None]
        assert len(seen["repairs"]) == 1
