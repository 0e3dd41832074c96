"""The commands that read a log's history, as a user runs them: on real clusters, and on paths without a cluster."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from quorum.cli.main import run
from tests.support.clusters import unpack_clusters
from tests.support.damage import copy_cluster
from tests.support.damage_voters import at_other_port, change_controls
from tests.support.image_logs import FIXTURES
from tests.support.left_behind import GONE, checkpoint_with

BASIC = FIXTURES / "basic"
BASIC_HASH = "23504d9cb341af939c1ac75c8855ffd081dcc40836a8be6ef941639492b5a3ea"
"""Of the fixture's image at offset 83: the definition does not change."""


def test_hash_of_several_replicas(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["log", "hash", str(BASIC), "--at", "83", "-o", "json"]) == 0
    lines = json.loads(capsys.readouterr().out)["hashes"]
    assert {(line["source"], line["end_offset"], line["hash"]) for line in lines} == {
        (f"node {node}", 83, BASIC_HASH) for node in (1, 2, 3)
    }


@pytest.mark.parametrize("command", ["shell NODE ls", "log hash NODE", "log verify NODE", "log dump NODE"])
def test_without_a_log_there_is_nothing_to_ask(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    node = shutil.copytree(BASIC / "node-1", tmp_path / "node-1")
    shutil.rmtree(node / "data" / "__cluster_metadata-0")

    assert run(command.replace("NODE", str(node)).split()) == 2
    assert str(node) in capsys.readouterr().err


def test_a_timeline_of_two_hiscenarios_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """A cluster that was made again under its old id."""
    assert run(["log", "timeline", str(BASIC / "node-1"), str(FIXTURES / "static-3.9" / "node-1")]) == 1
    assert "not replicas of one log: epoch 1 begins at offset 0" in capsys.readouterr().err


def test_a_restored_directory_is_in_its_checkpoints_epoch(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    backup, place = tmp_path / "backup", tmp_path / "node"
    assert run(["snapshot", "save", str(BASIC / "node-1"), str(backup)]) == 0
    assert run(["snapshot", "restore", str(backup), str(place), "--node-id", "1"]) == 0
    capsys.readouterr()

    run(["log", "diff", str(place), str(BASIC / "node-2"), "-o", "json"])

    epochs = {line["replica"]: line["last_epoch"] for line in json.loads(capsys.readouterr().out)["replicas"]}
    assert set(epochs.values()) == {1}


def test_hash_at_the_last_common_offset(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["log", "hash", str(BASIC), "-o", "json"]) == 0
    assert len({(line["end_offset"], line["hash"]) for line in json.loads(capsys.readouterr().out)["hashes"]}) == 1


def test_hash_refuses_an_offset_that_is_no_bound(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["log", "hash", str(BASIC / "node-1"), "--at", "4"]) == 1
    assert "no state at offset 4" in capsys.readouterr().err


def test_hash_of_a_divergent_replica_differs(capsys: pytest.CaptureFixture[str]) -> None:
    before = FIXTURES / "failovers" / "divergent-before"
    after = FIXTURES / "failovers" / "divergent-after"
    ends = []
    for path in (before, after):
        assert run(["log", "hash", str(path), "-o", "json"]) == 0
        ends += [(line["end_offset"], line["hash"]) for line in json.loads(capsys.readouterr().out)["hashes"]]
    assert len(set(ends)) == 2


def test_hash_and_diff_say_what_kafka_left_behind(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    unpack_clusters(tmp_path)
    nodes = [tmp_path / "stray" / f"node-{number}" for number in (1, 2)]
    checkpoint_with(nodes[0] / "data/__cluster_metadata-0", GONE)

    assert run(["log", "hash", *map(str, nodes)]) == 1
    said = capsys.readouterr().err
    assert "differs only in configs of topics that are gone, which Kafka left behind: node 1 ('sensors-51')" in said
    assert "kraft check" in said
    assert run(["log", "diff", *map(str, nodes)]) == 0
    assert "What their checkpoints say is not compared here: kraft check does that" in capsys.readouterr().out


def test_hashes_that_differ_otherwise_lead_to_check(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    unpack_clusters(tmp_path)
    nodes = [tmp_path / "stray" / f"node-{number}" for number in (1, 2)]
    checkpoint_with(nodes[0] / "data/__cluster_metadata-0", {"users-26": {"retention.ms": "5"}})

    assert run(["log", "hash", *map(str, nodes)]) == 1
    assert "`kraft check` says in what" in capsys.readouterr().err


def test_a_start_need_not_wait_for_what_kafka_left_behind(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    unpack_clusters(tmp_path)
    disks = [tmp_path / "stray" / f"node-{number}" / "data" for number in (1, 2, 3)]
    checkpoint_with(disks[0] / "__cluster_metadata-0", GONE)

    assert run(["recover", "verify", *map(str, disks)]) == 0
    said = capsys.readouterr().out
    assert "Nothing is wrong" in said
    assert "it holds configs of topic 'sensors-51'" in said


def test_features_check(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["features", "check", str(BASIC / "node-1"), "--target", "4.3"]) == 0
    capsys.readouterr()
    assert run(["features", "check", str(BASIC / "node-1"), "--target", "3.9", "-o", "json"]) == 1
    rows = json.loads(capsys.readouterr().out)["records"]
    assert {"RegisterBrokerRecord", "PartitionRecord"} <= {row["type"] for row in rows}
    assert all(row["version"] > 1 for row in rows if row["type"] == "PartitionRecord")
    assert run(["features", "check", str(FIXTURES / "static-3.9" / "node-1"), "--target", "3.9"]) == 0
    assert run(["features", "check", str(BASIC), "--target", "9.9"]) == 2


def test_features_check_sums_up_by_type(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["features", "check", str(BASIC / "node-1"), "--target", "3.9"]
    assert run([*words, "-o", "jsonl"]) == 1
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert run(words) == 1
    summary = capsys.readouterr().out
    assert run([*words, "--verbose"]) == 1
    totals, _, details = capsys.readouterr().out.partition("\n\n")
    assert totals == summary.rstrip("\n")
    assert len(details.splitlines()) == 1 + len(rows)
    kinds = {(row["type"], row["version"], row["reason"]) for row in rows}
    assert len(summary.splitlines()) == 1 + len(kinds)
    assert sum(int(line.split()[2]) for line in summary.splitlines()[1:]) == len(rows)


@pytest.mark.parametrize("command", ["hash", "timeline"])
def test_rows_as_lines_are_those_of_the_whole(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["log", command, str(BASIC), "-o", "json"]) == 0
    whole = json.loads(capsys.readouterr().out)
    assert run(["log", command, str(BASIC), "-o", "jsonl"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    rows = whole["hashes" if command == "hash" else "events"]
    assert lines == [{"schema_version": whole["schema_version"], **row} for row in rows]


@pytest.mark.parametrize(
    "words", [["log", "dump"], ["log", "dump", "-o", "jsonl"], ["log", "timeline"], ["log", "hash"], ["log", "diff"]]
)
def test_logs_of_two_clusters_are_not_taken_for_one(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in (1, 2):
        shutil.copytree(BASIC / f"node-{number}", tmp_path / f"node-{number}")
    assert run([*words, str(tmp_path)]) == 0
    properties = tmp_path / "node-2" / "data" / "meta.properties"
    properties.write_text(properties.read_text().replace("MkU3OEVBNTcwNTJENDM2Qg", "AnotherClustersOwnIdAA"))
    capsys.readouterr()
    assert run([*words, str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert "holds logs of 2 clusters (AnotherClustersOwnIdAA: " in said
    assert said.endswith("name those of one\n")
    assert run([*words, str(tmp_path / "node-1"), str(tmp_path / "node-2")]) == 2
    assert "what was named holds logs of 2 clusters" in capsys.readouterr().err


def _copies_with_one_damaged(place: Path) -> Path:
    for number in (1, 2):
        shutil.copytree(BASIC / f"node-{number}", place / f"node-{number}")
    log = place / "node-2" / "data" / "__cluster_metadata-0" / "00000000000000000000.log"
    content = bytearray(log.read_bytes())
    content[3000] ^= 1
    log.write_bytes(content)
    return log


def test_a_timeline_goes_on_past_damage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = _copies_with_one_damaged(tmp_path)
    assert run(["log", "timeline", str(tmp_path / "node-1"), "-o", "jsonl"]) == 0
    whole = capsys.readouterr().out.splitlines()
    assert run(["log", "timeline", str(tmp_path), "-o", "jsonl"]) == 1
    out, err = capsys.readouterr()
    assert set(whole) <= set(out.splitlines())
    assert f"kraft: {log}, position 2944: " in err
    assert "--at" not in err
    assert run(["log", "timeline", str(tmp_path / "node-2"), "-o", "jsonl"]) == 1
    alone = capsys.readouterr().out.splitlines()
    assert {json.loads(line)["offset"] > 50 for line in alone} == {True, False}
    log.write_bytes(b"rubbish" * 99)
    assert run(["log", "timeline", str(tmp_path), "-o", "jsonl"]) == 1
    assert capsys.readouterr().out.splitlines() == whole
    log.unlink()
    assert run(["log", "timeline", str(tmp_path), "-o", "jsonl"]) == 1
    assert "node-2/data/__cluster_metadata-0 is left out: " in capsys.readouterr().err


def test_features_check_says_what_it_does_not_see(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = _copies_with_one_damaged(tmp_path)
    assert run(["features", "check", str(tmp_path / "node-2"), "--target", "4.3"]) == 1
    out, err = capsys.readouterr()
    assert out == "4.3-IV0 can read every record that is seen here, which is not all.\n"
    assert f"{log}, position 2944: " in err
    late = FIXTURES / "failovers" / "node-1" / "data" / "__cluster_metadata-0"
    start = min(int(file.name[:20]) for file in late.glob("*.log"))
    assert start > 0
    copied = shutil.copytree(late, tmp_path / "late" / "__cluster_metadata-0")
    assert run(["features", "check", str(copied), "--target", "4.3"]) == 0
    capsys.readouterr()
    for checkpoint in copied.glob("*.checkpoint"):
        checkpoint.unlink()
    assert run(["features", "check", str(copied), "--target", "4.3"]) == 1
    assert f"records before offset {start} are not seen" in capsys.readouterr().err


def test_the_shell_says_which_offset_it_took(capsys: pytest.CaptureFixture[str]) -> None:
    node = str(BASIC / "node-1")
    assert run(["shell", node, "--at", "4", "ls", "/quorum"]) == 0
    assert "--at 4: no state ends at offset 4: this is the one before it: offset " in capsys.readouterr().err
    assert run(["shell", node, "--at", "60", "ls", "/quorum"]) == 0
    assert capsys.readouterr().err == ""


def test_commands_that_take_an_offset_advise_one_before_the_damage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = _copies_with_one_damaged(tmp_path)
    assert run(["shell", str(tmp_path / "node-2"), "ls", "/quorum"]) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"kraft: {log}, position 2944: ")
    end = said.rpartition("--at ")[2].split()[0]
    assert run(["shell", str(tmp_path / "node-2"), "--at", end, "ls", "/quorum"]) == 0
    assert run(["log", "hash", str(tmp_path), "--at", end]) == 0


def test_storage_info_takes_kafkas_own_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    node = FIXTURES / "static-3.9" / "node-1"
    monkeypatch.chdir(node)
    assert run(["storage", "info", "--config", "server.properties", "-o", "json"]) == 0
    [row] = json.loads(capsys.readouterr().out)["directories"]
    assert (row["directory"], row["node_id"], row["problem"]) == ("data", 1, None)
    other = tmp_path / "other.properties"
    other.write_text(f"node.id=7\nlog.dirs={node / 'data'}\nnum.io.threads=8\n")
    assert run(["storage", "info", "--config", str(other)]) == 1
    other.write_text("node.id=7\n")
    assert run(["storage", "info", "--config", str(other)]) == 2


def test_a_broken_quorum_state_is_told_in_our_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = shutil.copytree(BASIC / "node-1", tmp_path / "node-1")
    state = place / "data" / "__cluster_metadata-0" / "quorum-state"
    for content, what in (
        (b"{", "no JSON from its byte 1 on"),
        (b'{"a":"\xff"}', "no text from its byte 6 on"),
        (b"{}", "it lacks data_version"),
        (b"[]", "a field in it has a value of the wrong kind"),
    ):
        state.write_bytes(content)
        assert run(["storage", "info", str(place)]) == 1
        said = capsys.readouterr().out
        assert f"{state}: it is no quorum state: {what}. Never remove it" in said
        assert "Error" not in said


def test_the_shell_answers_as_data(capsys: pytest.CaptureFixture[str]) -> None:
    def asked(*words: str) -> Any:
        assert run(["shell", str(BASIC / "node-3"), *words, "-o", "json"]) == 0
        return json.loads(capsys.readouterr().out)

    (listed,) = asked("ls", "/image/topics/byName")["directories"]
    assert listed["path"] == "/image/topics/byName"
    name = listed["names"][0]
    (told,) = asked("cat", f"/image/topics/byName/{name}/id")["texts"]
    assert told == {"path": f"/image/topics/byName/{name}/id", "text": told["text"]}
    (grown,) = asked("tree", f"/image/topics/byName/{name}")["trees"]
    assert grown["tree"]["id"] == told["text"]
    assert f"/image/topics/byName/{name}/id" in asked("find", "/image/topics/byName")["paths"]
    assert asked("hash")["end_offset"] == asked("-c", "at")["end_offset"] == 96
    moments = asked("history", f"/topics/by-name/{name}")["moments"]
    assert moments[0]["what"] == "created"
    assert moments[0]["changes"][0]["before"] is None
    parted = asked("diff", str(moments[0]["end_offset"] - 1), str(moments[0]["end_offset"]))
    assert parted["to_offset"] == moments[0]["end_offset"]
    assert told["text"] in {change["after"] for change in parted["changes"]}


@pytest.mark.parametrize("words", [(), ("-c", "pwd", "-c", "ls"), ("pwd",), ("-c", "'ls")])
def test_what_the_shell_has_no_data_for_is_wrong_use(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["shell", str(BASIC / "node-3"), *words, "-o", "json"]) == 2

    assert set(json.loads(capsys.readouterr().out)) == {"schema_version", "error"}


def test_the_shell_answers_one_command(capsys: pytest.CaptureFixture[str]) -> None:
    node = str(BASIC / "node-1")
    assert run(["shell", node, "ls", "/topics/by-name"]) == 0
    words = capsys.readouterr().out.split()
    assert "orders-3" in words
    assert run(["shell", node, "-c", "cd /topics/by-name/orders-3", "-c", "cat name"]) == 0
    assert capsys.readouterr().out == "orders-3\n"
    assert run(["shell", node, "--at", "20", "cat", "/topics/by-name/orders-3/id"]) == 1
    assert "there is no 'orders-3'" in capsys.readouterr().err
    assert run(["shell", str(BASIC), "ls"]) == 2


@pytest.mark.parametrize(
    "words",
    [
        ["log", "hash", "{}"],
        ["log", "timeline", "{}"],
        ["shell", "{}", "ls"],
        ["features", "check", "{}", "--target", "3.9"],
        ["snapshot", "save", "{}", "{}/new.backup"],
    ],
    ids=" ".join,
)
class TestBadInput:
    def test_an_empty_directory(self, words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert _said(words, tmp_path, capsys).startswith("kraft: ")

    def test_rubbish(self, words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (tmp_path / "00000000000000000000.log").write_bytes(os.urandom(50) + b"rubbish" * 100)
        assert "position 0" in _said(words, tmp_path, capsys)

    def test_rubbish_with_a_checkpoints_name(
        self, words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (tmp_path / "00000000000000000300-0000000001.checkpoint").write_bytes(b"rubbish" * 100)
        assert "checkpoint" in _said(words, tmp_path, capsys)

    def test_a_pipe(self, words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        pipe = tmp_path / "00000000000000000000.log"
        os.mkfifo(pipe)
        assert "pipe" in _said([word.replace("{}/", f"{tmp_path}/") for word in words], pipe, capsys)

    def test_nothing_there(self, words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert "does not exist" in _said(words, tmp_path / "nowhere", capsys)

    def test_a_file_of_another_kind(self, words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        other = tmp_path / "server.properties"
        other.write_text("node.id=1\n")
        assert "by its name" in _said(words, other, capsys)


def _said(words: list[str], path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    status = run([word.replace("{}", str(path)) for word in words])
    said = capsys.readouterr()
    assert "Traceback" not in said.err
    assert status in (1, 2)
    assert len(said.err.strip().splitlines()) == 1
    return said.err


def test_verify_does_not_hold_one_clusters_voters_against_another_ones(
    clusters: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two clusters that were formatted with one cluster.id."""
    one, other = (str(clusters / name / "node-1") for name in ("upgrade-path", "failovers"))

    assert run(["log", "verify", "--quick", one, other]) == 0

    cluster = copy_cluster(clusters / "failovers", tmp_path / "failovers")
    changed = next(iter(cluster.metadata(2).glob("*0244-*.checkpoint")))
    change_controls(changed, at_other_port)
    capsys.readouterr()

    assert run(["log", "verify", "--quick", one, str(cluster.root), "-o", "jsonl"]) == 1
    (found,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert (found["kind"], found["file"]) == ("checkpoint_disagrees", str(changed))
