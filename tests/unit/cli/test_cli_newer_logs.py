"""Logs of a later release: every reading command shows what it knows, names the rest, and finds nothing wrong."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from metadata_log.ids import id_text
from metadata_log.records import NoOpRecord, TopicRecord
from quorum.cli.main import run
from tests.support.damage import append, copy_cluster
from tests.support.damage_records import NEW_ID
from tests.support.newer_logs import NEWER_LOGS, NEWER_NAMES, NewerLog, plant_newer

_BESIDE_THE_STATE = ("quorum_state_version", "leader_change_v2")
"""Parts that change neither the metadata nor the quorum: what shows those lacks nothing."""
_STATE_ONLY = ("quorum_state_version", "unknown_tag", "checkpoint_type_30", "checkpoint_frame_v1")
"""Parts that are no record of a log, or need the level to be known for one."""


@dataclass(frozen=True)
class Planted:
    """A case, and the nodes of its cluster."""

    case: NewerLog
    root: Path

    @property
    def controllers(self) -> list[str]:
        return [str(self.root / f"node-{node_id}") for node_id in (1, 2, 3)]

    @property
    def node(self) -> str:
        return self.controllers[0]

    @property
    def broker(self) -> Path:
        return self.root / "node-11"


@pytest.fixture(scope="module", params=NEWER_LOGS, ids=NEWER_NAMES)
def newer(request: pytest.FixtureRequest, clusters: Path, tmp_path_factory: pytest.TempPathFactory) -> Planted:
    case: NewerLog = request.param
    root = tmp_path_factory.mktemp(case.name) / "cluster"
    plant_newer(case, clusters, root)
    return Planted(case=case, root=root)


def _is_named(planted: Planted, text: str, *, not_in: tuple[str, ...]) -> bool:
    """Return True if the text has the one note of a later release, with the part in it, where it is due."""
    if planted.case.name == "unknown_tag":
        return "metadata.version 4.5-IV0 (34)" in text
    if planted.case.name in not_in:
        return True
    return text.count("written by a release after 4.4") == 1 and planted.case.says in text


@pytest.mark.parametrize(
    "command",
    [
        "tree /image",
        "cat /image/features/metadataVersion",
        "ls /image/features -o json",
        "find /image/topics",
        "history /image/features",
        "diff start end",
        "hash",
        "at end -o json",
    ],
)
def test_the_shell_shows_what_it_knows(command: str, newer: Planted, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["shell", newer.node, *command.split()]) == 0
    said = capsys.readouterr()
    assert said.out
    assert _is_named(newer, said.err, not_in=_BESIDE_THE_STATE)


def test_a_hash_says_what_it_does_not_cover(newer: Planted, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["log", "hash", *newer.controllers, "-o", "json"]) == 0
    said = capsys.readouterr()
    rows = json.loads(said.out)["hashes"]
    assert len({row["hash"] for row in rows}) == 1
    assert _is_named(newer, said.err, not_in=_BESIDE_THE_STATE)
    for row in rows:
        assert ("not_hashed" in row) == (newer.case.name not in _BESIDE_THE_STATE)
        assert _is_named(newer, row.get("not_hashed", ""), not_in=_BESIDE_THE_STATE)


def test_hashes_that_lack_records_are_not_compared(
    clusters: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = (
        copy_cluster(clusters / "basic", tmp_path / name).segment(1) for name in ("records-of-later", "topic-of-today")
    )
    append(first, [b"\x01\x1e\x00\x00", NoOpRecord()])
    append(second, [TopicRecord(name="today", topic_id=NEW_ID), NoOpRecord()])

    assert run(["log", "hash", str(first), str(second)]) == 1
    said = capsys.readouterr().err
    assert "the hashes differ, which says nothing here" in said
    assert "records of type 30" in said
    assert "the metadata up to" not in said


def test_replicas_do_not_differ(newer: Planted, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["log", "diff", *newer.controllers, str(newer.broker)]) == 0
    assert "They hold the same records" in capsys.readouterr().out


@pytest.mark.parametrize("form", ["table", "json", "jsonl"])
def test_a_timeline_passes_over_what_it_does_not_know(
    form: str, newer: Planted, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["log", "timeline", *newer.controllers, "-o", form]) == 0
    said = capsys.readouterr()
    assert "leads, by the votes of" in said.out
    assert _is_named(newer, said.err, not_in=_STATE_ONLY)
    if form == "json":
        assert _is_named(newer, json.loads(said.out).get("not_shown", ""), not_in=_STATE_ONLY)


def test_a_picture_names_what_it_does_not_show(newer: Planted, tmp_path: Path) -> None:
    picture = tmp_path / "cluster.svg"
    assert run(["log", "timeline", newer.node, "--picture", str(picture)]) == 0
    assert _is_named(newer, picture.read_text().replace("&#x27;", "'"), not_in=_STATE_ONLY)


def test_features_check_names_the_records(newer: Planted, capsys: pytest.CaptureFixture[str]) -> None:
    is_readable = newer.case.name == "quorum_state_version"
    assert run(["features", "check", newer.node, "--target", "4.4"]) == (0 if is_readable else 1)
    said = capsys.readouterr()
    assert "4.3" not in said.out
    assert ("4.4-IV2 could not read" in said.err) == (not is_readable)


@pytest.mark.parametrize("form", [[], ["-o", "json"], ["-o", "jsonl"]], ids=["text", "json", "jsonl"])
def test_a_dump_goes_on_to_the_end(form: list[str], newer: Planted, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["log", "dump", newer.node, *form]) == 0
    assert capsys.readouterr().out


def test_an_export_is_the_log_as_it_is(newer: Planted, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["log", "export", newer.node, str(tmp_path / "export")]) == 0
    capsys.readouterr()
    assert run(["check", newer.node, str(tmp_path / "export")]) == 0
    for segment in Path(newer.node).glob("data/__cluster_metadata-0/*.log"):
        assert (tmp_path / "export" / segment.name).read_bytes() == segment.read_bytes()


def test_no_backup_lacks_a_part_of_the_metadata(
    newer: Planted, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "cluster.backup"
    is_whole = newer.case.name in _BESIDE_THE_STATE
    assert run(["snapshot", "save", newer.node, str(target)]) == (0 if is_whole else 1)
    assert target.exists() == is_whole
    said = capsys.readouterr().err
    assert is_whole or _is_named(newer, said, not_in=())
    assert is_whole or "kraft log export" in said


def test_an_audit_judges_only_by_whole_metadata(newer: Planted, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["storage", "audit", str(newer.broker)]) == (1 if newer.case.hides_metadata else 0)
    said = capsys.readouterr()
    assert newer.case.says in said.err
    assert ("no directory can be judged" in said.err) == newer.case.hides_metadata
    assert ("keeps it" in said.out) != newer.case.hides_metadata


def test_a_quarantine_moves_nothing(newer: Planted, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broker = Path(shutil.copytree(newer.broker, tmp_path / "node-11"))
    gone = broker / "data" / "gone-0"
    gone.mkdir()
    (gone / "partition.metadata").write_text("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAx6g")
    before = sorted(broker.rglob("*"))
    assert run(["storage", "audit", str(broker), "--quarantine"]) == 1
    assert newer.case.says in capsys.readouterr().err
    assert sorted(broker.rglob("*")) == before


def test_storage_info_shows_what_it_knows(newer: Planted, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["storage", "info", newer.node]) == 0
    said = capsys.readouterr()
    assert "segment" in said.out
    assert ("not shown" in said.err) == (newer.case.name == "quorum_state_version")


def test_directories_are_not_judged_without_the_metadata(newer: Planted, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", *newer.controllers, str(newer.broker), "-o", "json"]) == 0
    found = {one["kind"] for one in json.loads(capsys.readouterr().out)["findings"]}
    assert ("partitions_not_judged" in found) == newer.case.hides_metadata
    assert "newer_release" in found


@pytest.mark.parametrize("name", [case.name for case in NEWER_LOGS if case.hides_metadata and case.scenario == "basic"])
def test_no_image_of_a_shorter_log_judges_directories(
    name: str, clusters: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A topic whose creation was passed over is on the broker's disk, and one replica's log ends before it."""
    case = next(case for case in NEWER_LOGS if case.name == name)
    cluster = plant_newer(case, clusters, tmp_path / "cluster")
    shutil.rmtree(cluster.node(2))
    shutil.copytree(clusters / "basic" / "node-2", cluster.node(2))
    made = cluster.disk(11) / "later-0"
    made.mkdir()
    (made / "partition.metadata").write_text(f"version: 0\ntopic_id: {id_text(NEW_ID)}")

    assert run(["check", *(str(cluster.node(node_id)) for node_id in (1, 2, 3, 11)), "-o", "json"]) == 0
    kinds = [one["kind"] for one in json.loads(capsys.readouterr().out)["findings"]]
    assert "partitions_not_judged" in kinds
    assert not [kind for kind in kinds if kind.startswith("partition_")]
    assert run(["storage", "audit", str(cluster.node(11)), "--image", str(cluster.node(2))]) == 1
    assert "no directory can be judged" in capsys.readouterr().err
