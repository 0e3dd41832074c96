"""One log directory that fails goes offline alone; what is removed under the agent is seen by a comparison."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from broker_agent.changes import NO_TOPIC_CHANGES, TopicChanges
from broker_agent.journal import Journal
from broker_agent.main import usable_log_dirs
from broker_agent.partitions import Partitions
from broker_agent.storage import LogDirFailedError
from metadata_log.directory import MetaProperties, read_meta_properties, write_meta_properties
from metadata_log.errors import DirectoryError
from metadata_log.files.os_files import OsFiles
from metadata_log.files.port import Files
from metadata_log.files.simulated_files import SimulatedFiles
from metadata_log.ids import METADATA_TOPIC_NAME, UNASSIGNED_DIRECTORY_ID, NodeId
from metadata_log.offsets import Offset
from metadata_log.records import RemoveTopicRecord
from quorum.node.config.node_config import NodeConfig, config_of
from tests.support.image_records import directory, image_of, partition, topic, topic_id
from tests.unit.broker_agent.test_readiness import VIEW

OWN = topic(900, METADATA_TOPIC_NAME)
CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qg"


def _formatted(files: Files, *paths: str) -> None:
    for number, path in enumerate(paths, 1):
        files.mkdirs(path)
        meta = MetaProperties(cluster_id=CLUSTER_ID, node_id=NodeId(1), directory_id=directory(number))
        write_meta_properties(files, path, meta, written_at_ms=0)


def opened_agent(files: Files, *paths: str, meta: str = "/meta", offline: dict[str, str] | None = None) -> Partitions:
    """Return an agent that has opened these log directories."""
    for path in (meta, *paths):
        files.mkdirs(path)
    now = [0]
    agent = Partitions(
        files,
        NodeId(1),
        {directory(number): path for number, path in enumerate(paths, 1) if path not in (offline or {})},
        Journal.open(files, meta, NodeId(1), log_end=Offset(9), committed_end=Offset(9)),
        delete_delay_ms=0,
        wall_ms=lambda: now[0],
        monotonic_ms=lambda: now[0],
        new_token=lambda: bytes(16),
        identity=lambda path: read_meta_properties(files, path).directory_id,
        offline=offline,
    )
    agent.open()
    return agent


def _on(number: int, disk: int) -> tuple[object, object]:
    """A topic with one replica, in a log directory of this broker's."""
    return topic(number), partition(number, directories=(directory(disk), directory(8), directory(9)))


IMAGE = image_of(OWN, *_on(1, 1), *_on(2, 2))
MORE = image_of(*_on(3, 1), *_on(4, 2), base=IMAGE)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EROFS])
def test_a_disk_that_fails_goes_offline_and_the_other_goes_on(code: int) -> None:
    files = SimulatedFiles()
    _formatted(files, "/one", "/two")
    agent = opened_agent(files, "/one", "/two")
    agent.reconcile(IMAGE, NO_TOPIC_CHANGES)
    files.fail_next("rename", path="/two", error=code)
    with capture_logs() as said:
        agent.reconcile(MORE, TopicChanges(changed=frozenset({topic_id(3), topic_id(4)})))
        agent.reconcile(MORE, TopicChanges(changed=frozenset({topic_id(4)})))
        agent.remove_due()
    assert [each.path for each in agent.in_use] == ["/one/t1-0", "/one/t3-0"]
    [told] = [line for line in said if line["log_level"] == "error"]
    assert (told["event"], told["path"]) == ("log directory is offline", "/two")
    [check] = agent.check(VIEW)
    assert check.is_ok
    assert "1 in use, OFFLINE: /two: " in check.what
    values = {family.name: family.samples[0].value for family in agent.metrics()}
    assert values["kraft_agent_log_dirs_offline"] == 1
    again = opened_agent(files, "/one", "/two")
    again.reconcile(MORE, NO_TOPIC_CHANGES)
    assert [each.name for each in again.in_use] == ["t1-0", "t3-0", "t2-0", "t4-0"], "it is back at the next start"


def test_while_one_is_offline_a_replica_that_may_be_on_it_is_not_made_elsewhere() -> None:
    files = SimulatedFiles()
    _formatted(files, "/one", "/two")
    unassigned = (UNASSIGNED_DIRECTORY_ID, directory(8), directory(9))
    image = image_of(
        OWN, topic(1), partition(1, directories=unassigned), topic(2), partition(2, directories=unassigned)
    )
    opened_agent(files, "/one", "/two").reconcile(image, NO_TOPIC_CHANGES)
    agent = opened_agent(files, "/one", "/two", offline={"/two": "not mounted"})
    later = image_of(topic(3), partition(3, directories=unassigned), base=image)
    agent.reconcile(later, NO_TOPIC_CHANGES)
    assert [each.path for each in agent.in_use] == ["/one/t1-0", "/one/t3-0"]


def test_the_last_log_directory_and_the_metadatas_own_end_the_agent() -> None:
    files = SimulatedFiles()
    _formatted(files, "/one", "/two")
    agent = opened_agent(files, "/one", "/two")
    files.fail_next("rename", path="/one")
    files.fail_next("rename", path="/two")
    with pytest.raises(LogDirFailedError, match="no other log directory is left"):
        agent.reconcile(IMAGE, NO_TOPIC_CHANGES)
    agent = opened_agent(files, "/one", "/two", meta="/two")
    files.fail_next("rename", path="/two/deleting")
    with pytest.raises(LogDirFailedError, match="log directory /two has failed"):
        agent.reconcile(IMAGE, NO_TOPIC_CHANGES)


def test_a_failure_while_something_is_staged_or_removed_takes_its_disk_offline() -> None:
    files = SimulatedFiles()
    _formatted(files, "/one", "/two")
    agent = opened_agent(files, "/one", "/two")
    agent.reconcile(IMAGE, NO_TOPIC_CHANGES)
    gone = image_of(RemoveTopicRecord(topic_id=topic_id(1)), RemoveTopicRecord(topic_id=topic_id(2)), base=IMAGE)
    files.fail_next("rename", path="/two")
    agent.reconcile(gone, TopicChanges(changed=frozenset({topic_id(1), topic_id(2)})))
    assert list(agent.offline) == ["/two"]
    assert [each.log_dir for each in agent.staged] == ["/one"]
    assert agent.remove_due() is None
    assert files.listdir("/one") == ["meta.properties"]


def _removed(path: Path) -> None:
    shutil.rmtree(path)


def _unmounted(path: Path) -> None:
    """The mount point is there, and empty."""
    shutil.rmtree(path)
    path.mkdir()


def _another_disk(path: Path) -> None:
    shutil.rmtree(path)
    _formatted(OsFiles(), str(path))


@pytest.mark.parametrize("lose", [_removed, _unmounted, _another_disk])
@pytest.mark.parametrize("is_seen_by_a_comparison", [True, False])
def test_a_disk_that_is_gone_is_offline_and_nothing_is_made_in_its_place(
    tmp_path: Path, lose: Callable[[Path], None], is_seen_by_a_comparison: bool
) -> None:
    one, two = str(tmp_path / "one"), str(tmp_path / "two")
    _formatted(OsFiles(), one, two)
    agent = opened_agent(OsFiles(), one, two, meta=str(tmp_path))
    agent.reconcile(IMAGE, NO_TOPIC_CHANGES)
    lose(tmp_path / "two")
    before = {path for path in tmp_path.rglob("*") if "two" in path.parts}
    if is_seen_by_a_comparison:
        found = agent.compare(IMAGE)
        assert [path for path, _ in found.offline] == [two]
        assert not found.gone
    else:
        agent.reconcile(MORE, TopicChanges(changed=frozenset({topic_id(3), topic_id(4)})))
    assert list(agent.offline) == [two]
    assert {each.log_dir for each in agent.in_use} == {one}
    assert {path for path in tmp_path.rglob("*") if "two" in path.parts} == before


def test_a_comparison_sees_what_was_removed_and_what_was_put_there(tmp_path: Path) -> None:
    one = str(tmp_path / "one")
    _formatted(OsFiles(), one)
    agent = opened_agent(OsFiles(), one, meta=str(tmp_path))
    image = image_of(OWN, *_on(1, 1), *_on(5, 1))
    agent.reconcile(image, NO_TOPIC_CHANGES)
    assert agent.compare(image).gone == ()
    shutil.rmtree(f"{one}/t1-0")
    (tmp_path / "one" / "foreign-0").mkdir()
    with capture_logs() as said:
        found = agent.compare(image)
    assert found.gone == found.made == (f"{one}/t1-0",)
    assert found.appeared == found.set_aside == (f"{one}/foreign-0",)
    assert found.directories == 2
    assert agent.lost == 1
    assert [line["path"] for line in said if line["log_level"] == "error"] == [f"{one}/t1-0"]


def _config(*paths: Path, metadata: Path) -> NodeConfig:
    return config_of(
        {
            "process.roles": "broker",
            "node.id": "1",
            "listeners": "GRPC://localhost:9096",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,GRPC:PLAINTEXT",
            "controller.quorum.bootstrap.servers": "localhost:9094",
            "log.dirs": ",".join(map(str, paths)),
            "metadata.log.dir": str(metadata),
        }
    )


@pytest.mark.parametrize("lose", [_removed, _unmounted])
def test_a_disk_that_is_not_there_at_the_start_is_offline(tmp_path: Path, lose: Callable[[Path], None]) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    _formatted(OsFiles(), str(one), str(two))
    config = _config(one, two, metadata=one)
    assert usable_log_dirs(OsFiles(), config) == (config, {})
    lose(two)
    with capture_logs() as said:
        left, offline = usable_log_dirs(OsFiles(), config)
    assert left.log_dirs == (str(one),)
    assert list(offline) == [str(two)]
    assert offline[str(two)].count("mount it") <= 1
    assert [line["log_level"] for line in said] == ["error"]
    assert not (two / ".lock").exists()


def test_without_any_log_directory_it_does_not_start(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    with pytest.raises(DirectoryError, match="no log directory of"):
        usable_log_dirs(OsFiles(), _config(one, two, metadata=tmp_path))
