"""Logs that lost their end after a clean stop of Kafka, as the offset in a producer state file's name says.

`tests/fixtures/lost-end.tar.xz`: three controllers and two brokers of Kafka 3.9.2, stopped in an orderly way. The last
committed batches of nodes 1 and 2 were cut then, with the indexes that no longer fit.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from metadata_log.directory import CommittedState, read_committed_state, write_committed_state
from metadata_log.directory.clean_shutdown import CLEAN_SHUTDOWN_FILE
from metadata_log.errors import LostEndError
from metadata_log.files.os_files import OsFiles
from metadata_log.ids import TopicId
from metadata_log.offsets import Epoch, Offset
from metadata_log.storage.checkpoint import CheckpointTimes, build_checkpoint, write_checkpoint
from metadata_log.tools.check.check import check_paths
from metadata_log.tools.findings.finding import Finding, Severity
from metadata_log.tools.read.sources import find_sources
from metadata_log.tools.verify.verify_log import verify_log
from quorum.cli.main import run
from quorum.node.config.node_config import NodeConfig, config_of
from quorum.node.storage.open_replica import open_replica
from tests.support.lost_end import END, NODE_1, NODE_2, lost_end_nodes, metadata_of


@pytest.fixture
def nodes(tmp_path: Path) -> Path:
    return lost_end_nodes(tmp_path)


def _ends(*paths: Path) -> dict[int | None, Finding]:
    found = [one for one in check_paths(paths).findings if one.kind == "log_cut"]
    assert len({one.node_id for one in found}) == len(found)
    return {one.node_id: one for one in found}


def _add_checkpoint(node: Path, end: int) -> None:
    """A checkpoint of records up to `end`, of a tool that names no topic."""
    times = CheckpointTimes.at(1_795_715_997_885, last_contained_ms=0)
    batches = build_checkpoint((), epoch=Epoch(7), times=times, kraft_version=0)
    write_checkpoint(OsFiles(), f"{metadata_of(node)}/{end:020}-0000000007.checkpoint", batches)


def _config(node: Path, **more: str) -> NodeConfig:
    return config_of(
        {
            "process.roles": "controller",
            "node.id": node.name.removeprefix("node-"),
            "listeners": "CONTROLLER://127.0.0.1:1,GRPC://127.0.0.1:2",
            "log.dirs": str(node / "data"),
            **more,
        }
    )


def test_the_other_replicas_prove_that_what_is_missing_was_committed(nodes: Path) -> None:
    found = _ends(*sorted(nodes.iterdir()))

    assert {node: one.severity for node, one in found.items()} == {1: Severity.ERROR, 2: Severity.ERROR}
    assert f"ends at offset {END}, but {NODE_1:020}.snapshot proves that it reached {NODE_1}" in found[1].meaning
    assert f"all before offset {NODE_2} was committed" in found[1].meaning
    assert "do not start this node" in found[1].advice
    kinds = {one.kind for one in check_paths([nodes]).findings if one.counts}
    assert kinds == {"log_cut", "committed_lost"}


@pytest.mark.parametrize("depth", [[], ["--quick"], ["--replay"]])
def test_verify_of_all_replicas_says_the_same(
    nodes: Path, depth: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Their logs are given together, so that one proves what another has lost."""
    paths = [str(nodes / f"node-{node}") for node in (1, 2, 3)]
    assert run(["log", "verify", *depth, *paths, "-o", "jsonl"]) == 1

    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    cut = {one["node_id"]: one for one in found if one.get("kind") == "log_cut"}
    assert {node: one["severity"] for node, one in cut.items()} == {1: "error", 2: "error"}
    assert f"all before offset {NODE_2} was committed" in cut[1]["meaning"]
    assert run(["log", "verify", *depth, paths[0]]) == 0, "alone it proves nothing"


def test_verify_heeds_a_brokers_clean_shutdown(nodes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (nodes / "node-12" / "data" / CLEAN_SHUTDOWN_FILE).write_text(f'{{"version":0,"brokerEpoch":{END}}}')

    assert run(["log", "verify", str(nodes / "node-1"), str(nodes / "node-12"), "-o", "jsonl"]) == 1

    assert "node 12 was stopped in an orderly way" in capsys.readouterr().out


def test_verify_heeds_no_log_that_is_another(nodes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A log of the same cluster's id that shares no batch with it proves nothing of it."""
    other = Path(__file__).parents[4] / "fixtures" / "basic" / "node-1" / "data" / "__cluster_metadata-0"
    for path in metadata_of(nodes / "node-3").glob("*.*"):
        path.unlink()
    for path in other.iterdir():
        (metadata_of(nodes / "node-3") / path.name).write_bytes(path.read_bytes())

    run(["log", "verify", str(nodes / "node-1"), str(nodes / "node-3"), "-o", "jsonl"])

    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    (cut,) = (one for one in found if one.get("kind") == "log_cut" and one["node_id"] == 1)
    assert cut["severity"] == "note"


def test_alone_it_is_a_note_to_check_and_to_verify(nodes: Path) -> None:
    """A follower that is killed as it truncates an uncommitted tail may leave such a file, too."""
    report = check_paths([nodes / "node-1"])
    (source,) = find_sources([nodes / "node-1"]).nodes
    verified = verify_log(source)

    assert report.is_sound
    for found in (report.findings, verified.findings):
        (one,) = found
        assert (one.kind, one.severity, one.offset) == ("log_cut", Severity.NOTE, END)
        assert f"{NODE_1:020}.snapshot" in one.meaning
        assert "give kraft check the directories of all voters" in one.advice


@pytest.mark.parametrize(("epoch", "severity"), [(END - 1, Severity.NOTE), (END, Severity.ERROR)])
def test_a_brokers_clean_shutdown_proves_its_registration(nodes: Path, epoch: int, severity: Severity) -> None:
    """Its epoch is the offset of a registration that was committed."""
    (nodes / "node-12" / "data" / CLEAN_SHUTDOWN_FILE).write_text(f'{{"version":0,"brokerEpoch":{epoch}}}')

    found = _ends(nodes / "node-1", nodes / "node-12")

    assert found[1].severity is severity
    assert ("node 12 was stopped in an orderly way" in found[1].meaning) is (severity is Severity.ERROR)


def test_a_checkpoint_past_the_end_proves_it(nodes: Path) -> None:
    _add_checkpoint(nodes / "node-1", END + 1)

    assert _ends(nodes / "node-1")[1].severity is Severity.ERROR


def _keep_committed(node: Path, end: int) -> None:
    write_committed_state(OsFiles(), str(metadata_of(node)), CommittedState(high_watermark=Offset(end)))


@pytest.mark.parametrize(("end", "severity"), [(END, Severity.NOTE), (END + 1, Severity.ERROR)])
def test_what_an_agent_kept_as_committed_proves_it(nodes: Path, end: int, severity: Severity) -> None:
    _keep_committed(nodes / "node-12", end)

    found = _ends(nodes / "node-1", nodes / "node-12")

    assert found[1].severity is severity
    said = f"all before offset {end} was committed (replica 12 gave it as its high watermark)"
    assert (said in found[1].meaning) is (severity is Severity.ERROR)


def test_what_an_agent_kept_as_committed_is_lost_where_the_voters_lack_it(nodes: Path) -> None:
    for node in (1, 2):
        for name in metadata_of(nodes / f"node-{node}").glob("*.snapshot"):
            name.unlink()
    given = [nodes / f"node-{node}" for node in (1, 2, 12)]
    assert not [one for one in check_paths(given).findings if one.counts]

    _keep_committed(nodes / "node-12", END + 2)

    report = check_paths(given)
    assert report.bounds.lower == END + 2
    assert [(one.kind, one.node_id) for one in report.findings] == [("committed_lost", 1), ("committed_lost", 2)]


@pytest.mark.parametrize("end", [END, END + 1])
def test_a_log_shorter_than_its_own_committed_state_was_cut(
    end: int, nodes: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in metadata_of(nodes / "node-1").glob("*.snapshot"):
        name.unlink()
    _keep_committed(nodes / "node-1", end)
    meaning = f"the log ends at offset {END}, but committed-state proves that it reached {END + 1}"

    code = run(["log", "verify", str(metadata_of(nodes / "node-1"))])

    assert (meaning in capsys.readouterr().out, code) == (end > END, int(end > END))
    assert [one.meaning for one in check_paths([nodes / "node-1"]).findings] == [meaning] * (end > END)
    run(["recover", "inspect", str(nodes / "node-1" / "data"), "-o", "json"])
    said = json.loads(capsys.readouterr().out)
    assert said["copies"][0]["fault"] == (meaning if end > END else None)
    assert said["committed"]["lower"] == end


def test_a_checkpoint_that_holds_all_that_was_committed_lacks_nothing(nodes: Path) -> None:
    """A node that is killed after it received a checkpoint, and before its log begins there, leaves this."""
    _add_checkpoint(nodes / "node-1", NODE_1)
    before = [(one.kind, one.meaning) for one in check_paths([nodes / "node-1"]).findings]
    _keep_committed(nodes / "node-1", NODE_1)

    assert [(one.kind, one.meaning) for one in check_paths([nodes / "node-1"]).findings] == before


def test_a_committed_state_that_says_nothing_is_reported(nodes: Path) -> None:
    (metadata_of(nodes / "node-12") / "committed-state").write_text("{")

    (found,) = [one for one in check_paths([nodes / "node-12"]).findings if one.counts]

    assert (found.kind, found.severity) == ("corrupt_file", Severity.ERROR)
    assert "it is no committed state: move the metadata log's directory aside" in found.meaning


def test_inspect_names_both_offsets(nodes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["recover", "inspect", *(str(nodes / f"node-{node}" / "data") for node in (1, 2, 3)), "-o", "json"])

    said = json.loads(capsys.readouterr().out)
    faults = {copy["node_id"]: copy["fault"] for copy in said["copies"]}
    assert faults[3] is None
    assert f"ends at offset {END}, but {NODE_1:020}.snapshot" in faults[1]
    assert f"ends at offset {END}, but {NODE_2:020}.snapshot" in faults[2]
    assert f"all before offset {NODE_2} was committed" in faults[1], "as a majority once held it"
    assert not said["is_whole"]


def test_inspect_of_an_end_that_nothing_proves_is_a_note(nodes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The plan starts such a copy only behind the others."""
    (metadata_of(nodes / "node-2") / f"{NODE_2:020}.snapshot").unlink()
    short = metadata_of(nodes / "node-1") / f"{NODE_1:020}.snapshot"
    short.rename(short.with_name(f"{NODE_2 + 1:020}.snapshot"))
    whole = (metadata_of(nodes / "node-3") / f"{0:020}.log").read_bytes()
    (metadata_of(nodes / "node-2") / f"{0:020}.log").write_bytes(whole)
    (metadata_of(nodes / "node-1") / f"{0:020}.log").write_bytes(whole)
    paths = [str(nodes / f"node-{node}" / "data") for node in (1, 2, 3)]

    status = run(["recover", "inspect", *paths, "-o", "json"])

    said = json.loads(capsys.readouterr().out)
    copies = {copy["node_id"]: copy for copy in said["copies"]}
    note = f"ends at offset {NODE_2}, but {NODE_2 + 1:020}.snapshot"
    assert status == 0
    assert said["is_whole"]
    assert [copies[node]["fault"] for node in (1, 2, 3)] == [None, None, None]
    assert note in copies[1]["note"]
    assert copies[3]["note"] is None
    (start,) = (step["text"] for step in said["steps"] if note in step["text"])
    assert start.startswith("Start node 1")
    assert "only once the others lead" in start
    run(["recover", "inspect", *paths])
    (line,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("NOTE: "))
    assert note in line


def test_truncate_removes_the_file_with_the_records(nodes: Path) -> None:
    words = ["recover", "truncate", "--dir", str(nodes / "node-1" / "data"), "--to", str(END), "--missing", "rest"]

    assert run([*words, "--accept-data-loss", "--timeout", "1", "--apply"]) == 0

    assert not list(metadata_of(nodes / "node-1").glob("*.snapshot"))
    assert _ends(nodes / "node-1") == {}


def test_truncate_lowers_the_committed_state_that_proved_more(nodes: Path) -> None:
    """Else the node would be refused, and called damaged, for what was accepted to be lost."""
    node, files, topic_id = nodes / "node-1", OsFiles(), TopicId(bytes(range(16)))
    state = CommittedState(high_watermark=Offset(NODE_1), topic_id=topic_id)
    write_committed_state(files, str(metadata_of(node)), state)
    words = ["recover", "truncate", "--dir", str(node / "data"), "--to", str(END), "--missing", "rest"]

    assert run([*words, "--accept-data-loss", "--timeout", "1", "--apply"]) == 0

    left = read_committed_state(files, str(metadata_of(node)))
    assert left == CommittedState(high_watermark=Offset(END), topic_id=topic_id, received_end=Offset(END))
    assert _ends(node) == {}
    open_replica(files, _config(node)).abandon()


def test_truncate_keeps_the_files_before_the_new_end(nodes: Path) -> None:
    """Files past the end go, and the others stay: Kafka truncates so, too."""
    metadata = metadata_of(nodes / "node-1")
    (whole,) = metadata.glob("*.snapshot")
    to = 96
    for offset in (50, to, to + 1, END):
        (metadata / f"{offset:020}.snapshot").write_bytes(whole.read_bytes())
    words = ["recover", "truncate", "--dir", str(nodes / "node-1" / "data"), "--to", str(to), "--missing", "rest"]

    assert run([*words, "--accept-data-loss", "--timeout", "1", "--apply"]) == 0

    assert sorted(int(path.stem) for path in metadata.glob("*.snapshot")) == [50, to]


def test_a_controller_starts_with_one_warning_that_names_both_offsets(nodes: Path) -> None:
    opened = open_replica(OsFiles(), _config(nodes / "node-1"))
    opened.abandon()

    (warning,) = opened.recovery.warnings
    assert f"the log ends at offset {END}, and {NODE_1:020}.snapshot beside it says that it reached {NODE_1}" in warning
    assert "Run kraft check over the directories of all voters" in warning
    whole = open_replica(OsFiles(), _config(nodes / "node-3"))
    whole.abandon()
    assert whole.recovery.warnings == ()


def test_a_controller_refuses_where_its_own_directory_proves_the_loss(nodes: Path) -> None:
    path = nodes / "node-1" / "data" / CLEAN_SHUTDOWN_FILE
    path.write_text(f'{{"version":0,"brokerEpoch":{END}}}')
    with pytest.raises(LostEndError, match=f"ends at offset {END}, .* all before offset {END + 1} was committed"):
        open_replica(OsFiles(), _config(nodes / "node-1"))

    path.write_text(f'{{"version":0,"brokerEpoch":{END - 1}}}')
    open_replica(OsFiles(), _config(nodes / "node-1")).abandon()


def test_a_controller_refuses_beside_a_checkpoint_of_what_is_missing(nodes: Path) -> None:
    _add_checkpoint(nodes / "node-1", END + 1)
    before = {path.name: path.read_bytes() for path in metadata_of(nodes / "node-1").iterdir()}

    with pytest.raises(LostEndError, match=f"all before offset {END + 1} was committed"):
        open_replica(OsFiles(), _config(nodes / "node-1"))

    assert {path.name: path.read_bytes() for path in metadata_of(nodes / "node-1").iterdir()} == before


@pytest.mark.parametrize("has_snapshot", [True, False])
def test_a_controller_refuses_beside_a_committed_state_of_what_is_missing(has_snapshot: bool, nodes: Path) -> None:
    """Its node was an agent once, or its log was made from an agent's."""
    node, files = nodes / "node-1", OsFiles()
    if not has_snapshot:
        (metadata_of(node) / f"{NODE_1:020}.snapshot").unlink()
    _keep_committed(node, NODE_1)
    said = f"ends at offset {END}, and committed-state beside it says that it reached {NODE_1}"

    with pytest.raises(LostEndError, match=said):
        open_replica(files, _config(node))

    _keep_committed(node, END)
    open_replica(files, _config(node)).abandon()
    (metadata_of(node) / "committed-state").write_text("{")
    open_replica(files, _config(node)).abandon()


def test_an_agent_has_no_vote_and_starts(nodes: Path) -> None:
    (nodes / "node-1" / "data" / CLEAN_SHUTDOWN_FILE).write_text(f'{{"version":0,"brokerEpoch":{END}}}')
    config = _config(
        nodes / "node-1",
        **{
            "process.roles": "broker",
            "listeners": "GRPC://b:9096",
            "controller.quorum.bootstrap.servers": "c1:9094",
        },
    )

    opened = open_replica(OsFiles(), config)
    opened.abandon()

    assert len(opened.recovery.warnings) == 1


def test_our_own_truncation_leaves_no_such_file(nodes: Path) -> None:
    opened = open_replica(OsFiles(), _config(nodes / "node-3"))
    opened.writer.execute([opened.log.stage_truncate(opened.log.log_end_offset - 1)])
    opened.abandon()

    assert not list(metadata_of(nodes / "node-3").glob("*.snapshot"))
    again = open_replica(OsFiles(), _config(nodes / "node-3"))
    again.abandon()
    assert again.recovery.warnings == ()
