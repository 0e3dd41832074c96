"""Directories of Kafka 3.3 to 3.6 have no directory id: a node gives each one as it starts, as Kafka from 3.7 on does.

`KafkaRaftServer.initializeLogDirs` of Kafka 3.9 and 4.4 sets one where the file has none, and writes it again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
import structlog.testing

from metadata_log.directory import (
    MetaProperties,
    read_meta_properties,
    write_meta_properties,
)
from metadata_log.errors import LostDirectoryIdError, LostVoteError
from metadata_log.files.os_files import OsFiles
from metadata_log.ids import DirectoryId, id_text, is_reserved_directory_id
from metadata_log.tools.check.check import check_paths
from quorum.api.calls import PeerCall, PeerResponse
from quorum.api.error_codes import Error
from quorum.api.voter_messages import UpgradeKRaftVersionRequest, UpgradeKRaftVersionResponse
from quorum.node.config.node_config import NodeConfig, config_of
from quorum.node.storage.open_replica import open_replica
from tests.support.field import field_nodes
from tests.support.running_nodes import RunningNodes, until

FILES = OsFiles()
STATIC = "1@c1:9093,2@c2:9093,3@c3:9093"
_MOST_ROUNDS = 50


@pytest.fixture
def nodes(tmp_path: Path) -> list[Path]:
    """Three controllers and two brokers, none of which has a directory id."""
    return field_nodes("F01", tmp_path)


def _controller(node: Path, *more: Path) -> NodeConfig:
    return config_of(
        {
            "process.roles": "controller",
            "node.id": node.name.removeprefix("node-"),
            "listeners": "CONTROLLER://c1:9093,GRPC://c1:9094",
            "log.dirs": ",".join(map(str, (node / "data", *more))),
            "metadata.log.dir": str(node / "data"),
            "controller.quorum.voters": STATIC,
        }
    )


def _identity(directory: Path) -> MetaProperties:
    return read_meta_properties(FILES, str(directory))


def _copied_identity(directory: Path, change: Callable[[MetaProperties], MetaProperties]) -> None:
    write_meta_properties(FILES, str(directory), change(_identity(directory)), written_at_ms=0)


def test_each_directory_gets_an_id_at_the_start(nodes: list[Path], tmp_path: Path) -> None:
    spare = tmp_path / "spare"
    spare.mkdir()
    (spare / "meta.properties").write_bytes((nodes[0] / "data" / "meta.properties").read_bytes())
    before = _identity(nodes[0] / "data")
    assert before.directory_id is None
    opened = open_replica(FILES, _controller(nodes[0], spare))
    opened.abandon()
    given = [_identity(directory) for directory in (nodes[0] / "data", spare)]
    ids = [one.directory_id for one in given]
    assert len(set(ids)) == 2
    assert all(one is not None and not is_reserved_directory_id(one) for one in ids)
    assert [msgspec.structs.replace(one, directory_id=None) for one in given] == [before, before]
    assert opened.replica.directory_id == ids[0]
    lines = (spare / "meta.properties").read_text().splitlines()[2:]
    assert [line.split("=")[0] for line in lines] == ["node.id", "directory.id", "version", "cluster.id"]


def test_an_id_stays_at_each_later_start(nodes: list[Path]) -> None:
    path = nodes[0] / "data" / "meta.properties"
    open_replica(FILES, _controller(nodes[0])).abandon()
    first = path.read_bytes()
    open_replica(FILES, _controller(nodes[0])).abandon()
    assert path.read_bytes() == first


def test_the_file_of_a_broker_that_was_migrated_keeps_its_version(nodes: list[Path]) -> None:
    data = nodes[0] / "data"
    _copied_identity(data, lambda own: msgspec.structs.replace(own, version=0))
    open_replica(FILES, _controller(nodes[0])).abandon()
    assert (_identity(data).version, _identity(data).directory_id is None) == (0, False)


def test_a_directory_of_an_agent_gets_one(nodes: list[Path]) -> None:
    broker = nodes[4]
    config = config_of(
        {
            "process.roles": "broker",
            "node.id": broker.name.removeprefix("node-"),
            "listeners": "GRPC://127.0.0.1:2",
            "log.dirs": f"{broker}/data",
            "controller.quorum.bootstrap.servers": "127.0.0.1:1",
        }
    )
    open_replica(FILES, config).abandon()
    assert _identity(broker / "data").directory_id is not None


def test_a_directory_that_is_refused_gets_none(nodes: list[Path]) -> None:
    (nodes[0] / "data" / "__cluster_metadata-0" / "quorum-state").unlink()
    path = nodes[0] / "data" / "meta.properties"
    before = path.read_bytes()
    with pytest.raises(LostVoteError):
        open_replica(FILES, _controller(nodes[0]))
    assert path.read_bytes() == before


def test_a_voter_whose_id_is_lost_does_not_start(tmp_path: Path) -> None:
    running = RunningNodes(tmp_path)
    data = Path(running.directory(2))
    named = id_text(_identity(data).directory_id or DirectoryId(bytes(16)))
    _copied_identity(data, lambda own: msgspec.structs.replace(own, directory_id=None))
    before = (data / "meta.properties").read_bytes()
    config = config_of(
        {
            "process.roles": "controller",
            "node.id": "2",
            "listeners": "CONTROLLER://c2:9093,GRPC://c2:9094",
            "log.dirs": str(data),
        }
    )
    with pytest.raises(LostDirectoryIdError, match=f"write directory.id={named} into it") as refused:
        open_replica(FILES, config)
    assert "write a new id there" in str(refused.value)
    assert (data / "meta.properties").read_bytes() == before


class _FieldNodes(RunningNodes):
    """Our controllers on directories that Kafka 3.5 has left."""

    def __init__(self, path: Path, nodes: list[Path]) -> None:
        super().__init__(path / "unused", properties={"controller.quorum.voters": STATIC})
        self._nodes = nodes

    def directory(self, node_id: int) -> str:
        own = getattr(self, "_nodes", None)
        return super().directory(node_id) if own is None else str(own[node_id - 1] / "data")


async def _upgrade(running: RunningNodes) -> PeerResponse:
    """Ask the leader for kraft.version 1."""
    answered: list[PeerResponse] = []
    call = PeerCall(request=UpgradeKRaftVersionRequest(kraft_version=1), cluster_id=None)
    (await running.elect()).driver.peer_request(call, answered.append)
    await until(lambda: bool(answered))
    return answered[0]


async def _moves_its_voters_into_the_log(running: RunningNodes) -> None:
    for node_id in (1, 2, 3):
        running.start(node_id)
    leader = await running.elect()
    for _ in range(_MOST_ROUNDS):  # until all followers have named their directories to the leader
        said = await _upgrade(running)
        if isinstance(said, UpgradeKRaftVersionResponse) and said.error is Error.NONE:
            break
        seen = leader.driver.executor.machine.high_watermark
        await until(lambda: leader.driver.executor.machine.high_watermark > seen)  # noqa: B023  (awaited at once)
    assert isinstance(said, UpgradeKRaftVersionResponse)
    assert (said.error, said.error_message) == (Error.NONE, None)
    voters = {int(voter.key.node_id): voter.key.directory_id for voter in leader.driver.executor.machine.voters}
    await running.stop()
    assert voters == {n: _identity(Path(running.directory(n))).directory_id for n in (1, 2, 3)}


def test_a_quorum_of_such_directories_is_as_any_other(nodes: list[Path], tmp_path: Path) -> None:
    with structlog.testing.capture_logs() as lines:
        asyncio.run(_moves_its_voters_into_the_log(_FieldNodes(tmp_path, nodes)))
    assert [line for line in lines if line["event"] == "refusal"] == []
    assert check_paths(nodes[:3]).findings == ()
