"""Our node opens the directories of controllers of real clusters, as a restarting node does.

Log end, epoch and voters are those that Kafka's own dump tool prints.
"""

from __future__ import annotations

import gzip
import json
import re
import shutil
from pathlib import Path

import pytest

from metadata_log.directory.quorum_state import read_quorum_state
from metadata_log.errors import CorruptFileError, LostVoteError
from metadata_log.files.os_files import OsFiles
from metadata_log.ids import id_text
from quorum.node.config.node_config import NodeConfig, config_of
from quorum.node.config.properties import parse_properties
from quorum.node.storage.open_replica import open_replica
from quorum.raft.config import RaftConfig
from quorum.raft.inputs import Clock, Start
from quorum.raft.machine import RaftMachine
from quorum.raft.transitions import Role
from tests.support.clusters import SCENARIOS, node_directories

ORACLES = Path(__file__).parents[3] / "fixtures"
_BATCH = re.compile(r"^baseOffset: \d+ lastOffset: (\d+) .*?partitionLeaderEpoch: (\d+) ", re.MULTILINE)
_VOTERS = re.compile(r"KRaftVoters (\{.*\})$", re.MULTILINE)


def _controllers(root: Path) -> list[Path]:
    """Return the controllers that have started at least once."""
    found = [node for node in node_directories(root) if "process.roles=controller" in _properties_text(node)]
    assert len(found) >= 20
    return found


def _properties_text(node: Path) -> str:
    return (node / "server.properties").read_text()


def _config(node: Path, log_dir: Path) -> NodeConfig:
    theirs = parse_properties(_properties_text(node), source=str(node)).values
    return config_of(
        {
            "process.roles": "controller",
            "node.id": theirs["node.id"],
            "listeners": "CONTROLLER://127.0.0.1:1,GRPC://127.0.0.1:2",
            "log.dirs": str(log_dir),
            "controller.quorum.voters": theirs.get("controller.quorum.voters", ""),
        }
    )


def _open(node: Path, target: Path) -> tuple[RaftMachine, list[tuple[int, str]]]:
    """Open a copy of the node and start it; return it with its voter sets and their offsets."""
    shutil.copytree(node / "data", target)
    opened = open_replica(OsFiles(), _config(node, target))
    machine = RaftMachine(opened.replica, RaftConfig(), opened.storage)
    machine.on_input(Start(draw=1), Clock(monotonic_ms=1, wall_ms=1))
    opened.abandon()
    return machine, [(voter.key.node_id, id_text(voter.key.directory_id)) for voter in machine.voters]


def _dumps(scenario: str, node: str) -> list[str]:
    """Return the output of Kafka's tool for the node's segments, in order."""
    paths = sorted((ORACLES / scenario / "oracle" / "dump" / node).glob("*.log.txt.gz"))
    return [gzip.decompress(path.read_bytes()).decode() for path in paths]


def test_every_controllers_directory_opens(clusters: Path, tmp_path: Path) -> None:
    for number, node in enumerate(_controllers(clusters)):
        state = read_quorum_state(OsFiles(), f"{node}/data/__cluster_metadata-0")
        machine, voters = _open(node, tmp_path / str(number))
        assert state is not None
        assert machine.epoch >= state.leader_epoch
        assert machine.role is not Role.LEADER or len(voters) == 1
        assert len(voters) >= 1, node
        is_static = "controller.quorum.voters" in _properties_text(node)
        assert machine.kraft_version == (0 if state.data_version == 0 and is_static else 1), node


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_it_ends_where_kafkas_dump_ends_and_goes_by_its_last_voters(
    clusters: Path, tmp_path: Path, scenario: str
) -> None:
    checked = 0
    for node in sorted((clusters / scenario).glob("node-?")):
        dumps = _dumps(scenario, node.name)
        if not dumps or "process.roles=controller" not in _properties_text(node):
            continue
        machine, voters = _open(node, tmp_path / node.name)
        last_offset, epoch = _BATCH.findall(dumps[-1])[-1]
        assert (machine.log_end.offset, machine.log_end.epoch) == (int(last_offset) + 1, int(epoch)), node
        said = [match for dump in dumps for match in _VOTERS.findall(dump)]
        if said:
            theirs = [(voter["voterId"], voter["voterDirectoryId"]) for voter in json.loads(said[-1])["voters"]]
            assert sorted(voters) == sorted(theirs), node
        checked += 1
    assert checked


def test_it_opens_no_log_without_a_quorum_state_as_a_controller(clusters: Path, tmp_path: Path) -> None:
    node = shutil.copytree(clusters / "static-3.9" / "node-1", tmp_path / "node-1")
    (node / "data" / "__cluster_metadata-0" / "quorum-state").unlink()
    with pytest.raises(LostVoteError, match="kraft recover inspect"):
        _open(node, tmp_path / "opened")


@pytest.mark.parametrize("value", ["true", "1.5"])
def test_it_refuses_a_quorum_state_whose_numbers_are_none(value: str, clusters: Path, tmp_path: Path) -> None:
    """A node that read epoch 1 from it would forget every later vote."""
    node = shutil.copytree(clusters / "failovers" / "node-1", tmp_path / "node-1")
    state = node / "data" / "__cluster_metadata-0" / "quorum-state"
    state.write_text(state.read_text().replace('"leaderEpoch":9', f'"leaderEpoch":{value}'))

    with pytest.raises(CorruptFileError, match="a field in it has a value of the wrong kind"):
        _open(node, tmp_path / "opened")


def test_it_opens_with_what_quorum_state_says_of_its_removal(clusters: Path, tmp_path: Path) -> None:
    """Behind a checkpoint nothing else says it: the node would join again by itself."""
    node = shutil.copytree(clusters / "failovers" / "node-1", tmp_path / "node-1")
    state = node / "data" / "__cluster_metadata-0" / "quorum-state"
    for said in (False, True):
        if said:
            state.write_text(state.read_text().replace('"data_version"', '"wasRemoved":true,"data_version"'))
        opened = open_replica(OsFiles(), _config(node, node / "data"))
        opened.abandon()
        assert opened.storage.quorum_state is not None
        assert opened.storage.quorum_state.was_removed is said


@pytest.mark.parametrize("begin", ["a segment", "no segment"])
def test_it_opens_no_received_checkpoint_without_a_quorum_state(begin: str, clusters: Path, tmp_path: Path) -> None:
    """A voter that came by checkpoint has an empty log: it has voted all the same."""
    node = shutil.copytree(clusters / "failovers" / "node-3", tmp_path / "node-3")
    directory = node / "data" / "__cluster_metadata-0"
    newest = max(directory.glob("*.checkpoint"))
    for path in directory.iterdir():
        if path.name not in (newest.name, "partition.metadata"):
            path.unlink()
    if begin == "a segment":
        (directory / f"{newest.name[:20]}.log").touch()

    with pytest.raises(LostVoteError, match=f"{newest.name} and no quorum-state"):
        open_replica(OsFiles(), _config(node, node / "data"))
    assert not (directory / "quorum-state").exists()
