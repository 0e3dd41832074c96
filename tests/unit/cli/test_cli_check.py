"""`kraft check`, `kraft log verify` and `kraft log diff` as a person and as a program use them."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from shutil import copytree

import pytest

from metadata_log.tools.backup.export import export_replica
from quorum.cli.main import run
from tests.support.damage import Cluster, copy_cluster, place_of
from tests.support.damage_log import batch_missing, flip_in_record
from tests.support.damage_voters import change_controls, in_other_directory, without_voter_2

_FIELDS = {"kind", "severity", "node_id", "file", "position", "offset", "epoch", "topic_id", "meaning", "advice"}


@pytest.fixture
def damaged(clusters: Path, tmp_path: Path) -> Cluster:
    """`basic` with a flipped bit in the log of node 2."""
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    flip_in_record(cluster)
    return cluster


@pytest.mark.parametrize("words", ["check", "log verify", "log diff"])
def test_help_gives_examples(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*words.split(), "--help"]) == 0
    said = capsys.readouterr().out
    assert f"Usage: kraft {words}" in said
    assert f"kraft {words}" in said.partition("Examples:")[2]


def test_a_sound_cluster_is_said_to_be(clusters: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", str(clusters / "basic")]) == 0
    said = capsys.readouterr().out
    assert "Nothing is wrong with 5 nodes; all before offset 96 is committed." in said
    assert "node 11" in said


def test_what_exports_leave_open_is_said(clusters: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for node_id in (1, 2, 3):
        export_replica(clusters / "basic" / f"node-{node_id}" / "data", tmp_path / str(node_id))
    assert run(["check", str(tmp_path)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "Nothing is wrong with 3 nodes" in said
    assert "Not judged: 1 kind of findings (an export lists one disk of its node). -o json lists it." in said
    assert "(there is no broker's log directory). -o json lists them." in said
    assert run(["check", str(tmp_path), "-o", "json"]) == 0
    parts = json.loads(capsys.readouterr().out)["not_judged"]
    assert {"kinds": ["partition_missing"], "reason": "an export lists one disk of its node"} in parts
    assert run(["check", str(clusters / "basic"), "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out).keys() == {"schema_version", "findings"}


def test_damage_is_shown_under_its_cause(damaged: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", str(damaged.root)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert "The log's bytes are damaged:" in lines
    (position, header) = place_of(damaged.segment(1), 20)
    where = f"node 2, {damaged.segment(2)}, position {position}, offset {header.base_offset}, epoch 1"
    assert f"  ERROR   corrupt_batch: {where}" in lines
    assert lines[-1] == "1 error in 5 nodes; all before offset 96 is committed."


def test_diff_says_first_which_replica_is_damaged(damaged: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["log", "diff", *(str(damaged.node(node_id)) for node_id in (1, 2, 3))]) == 1
    table, _, rest = capsys.readouterr().out.partition("\n\n")
    first, *others = rest.splitlines()
    assert "node 2" in table
    assert first.startswith("Damaged: node 2, at offset ")
    assert "(corrupt_batch). Its records are compared up to there, and behind it as far as they can be read." in first
    assert any(line.startswith("Apart from that, they hold the same records ") for line in others)


@pytest.mark.parametrize("name", ["quorum-state", "leader-epoch-checkpoint", "partition.metadata", "checkpoint"])
def test_diff_calls_no_log_damaged_for_a_file_beside_it(
    name: str, clusters: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster = copy_cluster(clusters / "failovers", tmp_path / "failovers")
    if name == "checkpoint":
        path = max(cluster.metadata(2).glob("*.checkpoint"))
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
    else:
        path = cluster.metadata(2) / name
        path.unlink()
        path.mkdir()

    assert run(["log", "diff", *(str(cluster.node(node_id)) for node_id in (1, 2, 3))]) == 1

    said = capsys.readouterr().out
    assert "Damaged:" not in said
    assert "They hold the same records " in said
    assert str(path) in said


def test_one_voter_of_three_proves_a_lower_bound_alone(clusters: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["check", str(clusters / "basic" / "node-1")])
    said = capsys.readouterr().out
    assert "at least all before offset " in said
    assert " is committed. The log ends at 95, but the directories of 1 of 3 voters prove no more." in said


def test_two_copies_of_a_voter_count_once(clusters: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy = shutil.copytree(clusters / "basic" / "node-1", tmp_path / "copy")
    run(["check", str(clusters / "basic" / "node-1"), str(copy)])
    assert "the directories of 1 of 3 voters prove no more." in capsys.readouterr().out


@pytest.mark.parametrize("words", [["check"], ["log", "verify"]])
def test_json_is_a_list_of_findings(words: list[str], damaged: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*words, str(damaged.root), "-o", "json"]) == 1
    (found,) = json.loads(capsys.readouterr().out)["findings"]
    assert set(found) == _FIELDS
    assert (found["kind"], found["severity"], found["node_id"]) == ("corrupt_batch", "error", 2)
    assert found["file"] == str(damaged.segment(2))


def test_jsonl_is_a_finding_a_line(clusters: Path, damaged: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    again = copy_cluster(clusters / "basic", damaged.root.parent / "again")
    batch_missing(again)
    assert run(["log", "verify", str(damaged.root), str(again.root), "-o", "jsonl"]) == 1
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [finding["kind"] for finding in found] == ["corrupt_batch", "offset_gap"]


def test_nothing_found_is_an_empty_list(clusters: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", str(clusters / "basic/node-1"), "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["findings"] == []


def test_single_files_are_verified(clusters: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = clusters / "failovers/node-11/data/__cluster_metadata-0"
    files = [str(log / "00000000000000000207.log"), str(log / "00000000000000000255-0000000003.checkpoint")]
    assert run(["log", "verify", *files]) == 0
    assert capsys.readouterr().out.startswith("Nothing is wrong with 2 files: ")


def test_quick_finds_bytes_and_order(damaged: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["log", "verify", "--quick", str(damaged.node(2))]) == 1
    assert "corrupt_batch" in capsys.readouterr().out


def test_diff_shows_both_sides(clusters: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nodes = [str(clusters / "failovers" / name) for name in ("node-1", "divergent-before/node-2", "node-3")]
    assert run(["log", "diff", *nodes]) == 0
    said = capsys.readouterr().out
    assert "They diverge at offset 309" in said
    assert "node 1, node 3 (a majority): epoch 9" in said
    assert '309: TopicRecord {"name":"lost-1"' in said
    assert "The logs' records differ harmlessly in 3 replicas (1 note). kraft check judges the rest." in said


def test_diff_claims_no_more_than_it_compared(
    clusters: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes = [copytree(clusters / "basic" / name, tmp_path / name) for name in ("node-1", "node-2")]
    (nodes[0] / "data/meta.properties").unlink()
    assert run(["check", *map(str, nodes)]) == 1
    capsys.readouterr()
    assert run(["log", "diff", *map(str, nodes)]) == 0
    assert capsys.readouterr().out.endswith("The logs' records agree in 2 replicas. kraft check judges the rest.\n")


def test_diff_fails_where_a_replica_was_not_compared(clusters: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nodes = [clusters / "failovers" / name for name in ("lagging-follower/node-2", "node-11", "node-12")]
    assert run(["log", "diff", *map(str, nodes)]) == 1
    assert capsys.readouterr().out.endswith("1 of 3 replicas could not be compared. kraft check judges each.\n")


def test_diff_is_whole_in_json(clusters: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["log", "diff", str(clusters / "basic"), "-o", "json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert set(report) == {"schema_version", "replicas", "voters", "common_end", "bounds", "partings", "findings"}
    assert report["common_end"] == 83


def test_diff_as_lines_has_the_same_parts(clusters: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nodes = [str(clusters / "failovers" / name) for name in ("node-1", "divergent-before/node-2", "node-3")]
    assert run(["log", "diff", *nodes, "-o", "json"]) == 0
    whole = json.loads(capsys.readouterr().out)
    assert run(["log", "diff", *nodes, "-o", "jsonl"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    parts = [("replica", one) for one in whole["replicas"]] + [("bounds", whole["bounds"])]
    parts += [("parting", one) for one in whole["partings"]] + [("finding", one) for one in whole["findings"]]
    assert lines == [{"schema_version": whole["schema_version"], "what": what, **part} for what, part in parts]


def test_diff_says_that_a_log_is_damaged_by_itself(damaged: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["log", "diff", str(damaged.node(1)), str(damaged.node(2))]) == 1
    said = capsys.readouterr().out
    assert str(damaged.node(2)) in said
    assert "corrupt_batch" in said
    assert "Nothing is wrong" not in said
    assert run(["log", "diff", str(damaged.node(1)), str(damaged.node(2)), "-o", "json"]) == 1
    assert "corrupt_batch" in [one["kind"] for one in json.loads(capsys.readouterr().out)["findings"]]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["check"], "NODE_DIR"),
        (["check", "/does/not/exist"], "does not exist"),
        (["log", "verify", "/does/not/exist"], "does not exist"),
        (["log", "diff", "/does/not/exist"], "does not exist"),
        (["log", "verify", "--quick", "--replay", "/"], "exclude each other"),
        (["check", "/dev/null"], "a pipe cannot be read twice"),
        (["check", "/etc/hostname"], "by its name"),
    ],
)
def test_a_mistake_is_named(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(words) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert said in " ".join(captured.err.replace("│", " ").split())


@pytest.mark.parametrize("words", [["check"], ["log", "verify"], ["log", "diff"]])
def test_an_empty_directory_is_named(words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*words, str(tmp_path)]) == 2
    assert "holds no metadata log" in capsys.readouterr().err


def test_one_log_is_not_compared(clusters: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["log", "diff", str(clusters / "basic/node-1")]) == 2
    assert "two or more nodes" in capsys.readouterr().err


def test_a_disk_without_a_log_is_named(clusters: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["log", "verify", str(clusters / "every-record/node-11/data1")]) == 2
    assert "another disk" in capsys.readouterr().err


def test_a_named_pipe_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pipe = tmp_path / "00000000000000000000.log"
    os.mkfifo(pipe)
    assert run(["log", "verify", str(pipe)]) == 2
    assert "a pipe cannot be read twice" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["check"], ["log", "diff"], ["log", "verify"], ["log", "verify", "--replay"]])
def test_voters_of_a_checkpoint_are_compared(
    words: list[str], clusters: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The log of node 2 begins with it, so that only the others know better."""
    cluster = copy_cluster(clusters / "failovers", tmp_path / "failovers")
    path = cluster.metadata(2) / "00000000000000000244-0000000001.checkpoint"
    change_controls(path, without_voter_2)

    assert run([*words, *(str(cluster.node(node_id)) for node_id in (1, 2, 3))]) == 1

    said = " ".join(capsys.readouterr().out.split())
    assert path.name in said
    assert "node 2 is no voter in it, and one in checkpoints of node 1 and node 3" in said


def test_voters_of_other_clusters_are_not_compared(clusters: Path, tmp_path: Path) -> None:
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    properties = cluster.disk(2) / "meta.properties"
    properties.write_text(properties.read_text().replace("cluster.id=MkU3OEVB", "cluster.id=AkU3OEVB"))
    for path in (cluster.segment(2), cluster.metadata(2) / "00000000000000000000-0000000000.checkpoint"):
        change_controls(path, in_other_directory)

    assert run(["log", "verify", str(cluster.node(1)), str(cluster.node(2))]) == 0
