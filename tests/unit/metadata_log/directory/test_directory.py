"""meta.properties, quorum-state, partition.metadata and the lock: Kafka's bytes, crashes, and other processes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metadata_log.directory import (
    DirectoryLock,
    MetaProperties,
    QuorumState,
    format_meta_properties,
    format_partition_metadata,
    format_quorum_state,
    parse_meta_properties,
    parse_partition_metadata,
    parse_quorum_state,
    read_meta_properties,
    read_partition_metadata,
    read_quorum_state,
    write_meta_properties,
    write_partition_metadata,
    write_quorum_state,
)
from metadata_log.errors import (
    CorruptFileError,
    DirectoryError,
    DirectoryLockedError,
    ForeignDirectoryError,
    NotFormattedError,
)
from metadata_log.files.os_files import OsFiles
from metadata_log.files.simulated_files import SimulatedCrash, SimulatedFiles
from metadata_log.ids import METADATA_TOPIC_ID, DirectoryId, NodeId, ReplicaKey, TopicId, parse_directory_id
from metadata_log.offsets import Epoch
from tests.support.other_process import HOLD, TAKE, TAKE_AS_JAVA, held_by_another

FIXTURES = Path(__file__).parents[3] / "fixtures"
PROPERTIES = sorted(FIXTURES.glob("*/node-*/data/meta.properties"))
STATES = sorted(FIXTURES.glob("*/node-*/data/__cluster_metadata-0/quorum-state"))
DIRECTORY_1 = parse_directory_id("ZGlyZWN0b3J5LWlkLTAwMQ")
MINE = MetaProperties(cluster_id="MkU3OEVBNTcwNTJENDM2Qg", node_id=NodeId(1), directory_id=DIRECTORY_1)

ids = st.binary(min_size=16, max_size=16)
node_ids = st.integers(0, 2**31 - 1).map(NodeId)


def lines_but_the_date(data: bytes) -> list[bytes]:
    return [line for index, line in enumerate(data.splitlines(keepends=True)) if index != 1]


def test_there_are_files_of_kafka() -> None:
    assert len(PROPERTIES) >= 3
    assert len(STATES) >= 3


@pytest.mark.parametrize("path", PROPERTIES, ids=lambda path: "-".join(path.parts[-4:-2]))
def test_kafkas_meta_properties_are_rewritten_alike(path: Path) -> None:
    data = path.read_bytes()
    ours = format_meta_properties(parse_meta_properties(data, str(path)), 1_795_216_087_000)
    assert lines_but_the_date(ours) == lines_but_the_date(data)


def test_the_date_is_written_as_kafka_writes_it() -> None:
    data = (FIXTURES / "basic/node-1/data/meta.properties").read_bytes()
    assert format_meta_properties(MINE, 1_795_216_087_655) == data


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), node_ids, st.none() | ids)
def test_meta_properties_come_back(cluster_id: str, node_id: NodeId, directory_id: bytes | None) -> None:
    directory = None if directory_id is None else DirectoryId(directory_id)
    properties = MetaProperties(cluster_id=cluster_id, node_id=node_id, directory_id=directory)
    assert parse_meta_properties(format_meta_properties(properties, 0), "there") == properties


def test_meta_properties_without_a_version_are_of_version_0_as_in_kafka() -> None:
    found = parse_meta_properties(b"broker.id=11\ncluster.id=c\n", "there")
    assert (found.version, found.node_id, found.cluster_id) == (0, 11, "c")


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b"", "it has no version, as of version 0, and no broker.id"),
        (b"version=0\nbroker.id=1\n", "it has no cluster.id"),
        (b"version=0\nnode.id=1\ncluster.id=c\n", "it has no broker.id"),
        (b"version=2\n", "it is of version 2, of newer software, and we know 1: use a newer kraft"),
        (b"version=one\n", "version is 'one', not a number"),
        (b"version=1\nnode.id=1\n", "it has no cluster.id"),
        (b"version=1\ncluster.id=c\nnode.id=-1\n", "node.id is '-1'"),
        (b"version=1\ncluster.id=c\nnode.id=1\ndirectory.id=x\n", "directory.id: 'x' is not an id"),
    ],
)
def test_wrong_meta_properties_are_named(data: bytes, fault: str) -> None:
    with pytest.raises(CorruptFileError, match=f"^there: {fault}"):
        parse_meta_properties(data, "there")


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
def test_meta_properties_end_their_lines_as_javas_do(end: str) -> None:
    data = end.join(["# by hand", "version=1", "\t node.id = 1", "cluster.id:c", ""]).encode()

    assert parse_meta_properties(data, "there") == msgspec.structs.replace(MINE, cluster_id="c", directory_id=None)


def test_a_cluster_id_is_escaped_as_javas_properties_escape_it() -> None:
    """The second text is what Java 17 stores for the first."""
    text = " a b\tc\\x=:#! \u00e9\u20ac\x7f\n\r\f"
    stored = rb"cluster.id=\ a b\tc\\x\=\:\#\! \u00E9\u20AC\u007F\n\r\f"
    mine = msgspec.structs.replace(MINE, cluster_id=text)

    assert format_meta_properties(mine, 0).splitlines()[-1] == stored
    assert parse_meta_properties(format_meta_properties(mine, 0), "there") == mine


def test_meta_properties_go_on_after_a_backslash_at_a_lines_end() -> None:
    data = b"version=1\nnode.\\\n    id=1\ncluster.id=one \\\r\n\ttwo\n"

    assert parse_meta_properties(data, "there").cluster_id == "one two"


def test_a_broken_escape_in_meta_properties_is_named() -> None:
    with pytest.raises(CorruptFileError, match=r"^there: line 2: \\u needs four hexadecimal digits"):
        parse_meta_properties(b"version=1\ncluster.id=\\u00\n", "there")


def test_blanks_at_the_end_belong_to_a_cluster_id_alone() -> None:
    data = b"version=1 \t\f\nnode.id=1 \ncluster.id=c \t\f\n"

    assert parse_meta_properties(data, "there").cluster_id == "c \t\f"


@pytest.mark.parametrize("other", "\v\x1c\x1d\x1e\x85\xa0")
def test_what_else_looks_like_the_end_of_a_line_is_text(other: str) -> None:
    """Java reads such a file as one line, so that the text behind the character is no key."""
    one_line = f"version=1\ncluster.id=c{other}node.id=1\n".encode("latin-1")
    before_key = f"version=1\ncluster.id=c\n{other}node.id=1\n".encode("latin-1")
    for data in (one_line, before_key):
        with pytest.raises(CorruptFileError, match=r"^there: it has no node\.id"):
            parse_meta_properties(data, "there")
    with pytest.raises(CorruptFileError, match=r"^there: node\.id is '1.*', not a number"):
        parse_meta_properties(f"version=1\nnode.id=1{other}\n".encode("latin-1") + b"cluster.id=c\n", "there")
    kept = parse_meta_properties(f"version=1\nnode.id=1\ncluster.id=c{other}\n".encode("latin-1"), "there")
    assert kept.cluster_id == f"c{other}"


def test_an_unformatted_directory_says_what_to_do() -> None:
    with pytest.raises(
        NotFormattedError,
        match=r"/data is not formatted: .* not mounted, mount it, .*; run `kraft storage",
    ):
        read_meta_properties(SimulatedFiles(), "/data")


def test_a_foreign_directory_names_both_sides() -> None:
    files = SimulatedFiles()
    files.mkdirs("/data")
    write_meta_properties(files, "/data", MINE, written_at_ms=0)
    found = read_meta_properties(files, "/data")
    found.check_own("/data", cluster_id=MINE.cluster_id, node_id=1)
    with pytest.raises(ForeignDirectoryError, match="belongs to cluster MkU3OEVBNTcwNTJENDM2Qg, not to other"):
        found.check_own("/data", cluster_id="other")
    with pytest.raises(ForeignDirectoryError, match=r"belongs to node 1, but node\.id is 2"):
        found.check_own("/data", node_id=2)


@pytest.mark.parametrize("path", STATES, ids=lambda path: "-".join(path.parts[-5:-3]))
def test_kafkas_quorum_states_are_rewritten_byte_for_byte(path: Path) -> None:
    data = path.read_bytes()
    assert format_quorum_state(parse_quorum_state(data, str(path))) == data


def test_both_versions_of_quorum_state_are_met() -> None:
    assert {parse_quorum_state(path.read_bytes(), "").data_version for path in STATES} == {0, 1}


def test_a_quorum_state_says_in_version_1_that_its_directory_was_removed() -> None:
    state = QuorumState(leader_id=2, leader_epoch=Epoch(5), was_removed=True)
    assert b'"wasRemoved":true,"data_version":1}' in format_quorum_state(state)
    assert parse_quorum_state(format_quorum_state(state), "there") == state
    assert b"wasRemoved" not in format_quorum_state(msgspec.structs.replace(state, was_removed=False))
    assert b"wasRemoved" not in format_quorum_state(msgspec.structs.replace(state, data_version=0))


@given(st.integers(-1, 99), st.integers(0, 2**31 - 1), st.none() | st.tuples(node_ids, ids), st.sampled_from([0, 1]))
def test_quorum_states_come_back(leader: int, epoch: int, vote: tuple[NodeId, bytes] | None, version: int) -> None:
    directory = bytes(16) if vote is None or version == 0 else vote[1]
    key = None if vote is None else ReplicaKey(node_id=vote[0], directory_id=DirectoryId(directory))
    state = QuorumState(leader_id=leader, leader_epoch=Epoch(epoch), voted_key=key, data_version=version)
    assert parse_quorum_state(format_quorum_state(state), "there") == state


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}",
        b"[]",
        b"null",
        b'{"data_version":7}',
        b'{"data_version":1,"leaderId":1}',
        b'{"data_version"',
        b"[" * 100_000,
        b'{"leaderId":1,"leaderEpoch":1e999,"votedId":-1,"data_version":0}',
        b'{"clusterId":7,"leaderId":1,"leaderEpoch":1,"votedId":-1,"data_version":0}',
        b'{"clusterId":"\xff","leaderId":1,"leaderEpoch":1,"votedId":-1,"data_version":0}',
    ],
)
def test_a_broken_quorum_state_is_an_error_never_an_empty_one(data: bytes) -> None:
    files = SimulatedFiles()
    files.mkdirs("/data")
    handle = files.open("/data/quorum-state", create=True)
    handle.pwrite(data, 0)
    with pytest.raises(CorruptFileError, match=r"^/data/quorum-state: "):
        read_quorum_state(files, "/data")


_VERSION_0 = {
    "clusterId": "",
    "leaderId": 1,
    "leaderEpoch": 1,
    "votedId": 1,
    "appliedOffset": 0,
    "currentVoters": [{"voterId": 1}],
    "data_version": 0,
}


@pytest.mark.parametrize("value", [True, False, 1.5, 1.0, "1", None, [1], 1 << 80])
@pytest.mark.parametrize("field", ["leaderId", "leaderEpoch", "votedId", "appliedOffset", "voterId", "data_version"])
def test_a_number_of_another_type_is_an_error(field: str, value: object) -> None:
    content = {**_VERSION_0, "currentVoters": [{"voterId": value}]} if field == "voterId" else _VERSION_0
    changed = {**content, **({} if field == "voterId" else {field: value})}
    assert parse_quorum_state(json.dumps(_VERSION_0).encode(), "there").leader_epoch == 1

    with pytest.raises(CorruptFileError, match=r"^there: "):
        parse_quorum_state(json.dumps(changed).encode(), "there")


@pytest.mark.parametrize("field", sorted(_VERSION_0))
def test_a_field_that_is_gone_is_an_error(field: str) -> None:
    content = {name: value for name, value in _VERSION_0.items() if name != field}
    with pytest.raises(CorruptFileError, match=f"it lacks {field}"):
        parse_quorum_state(json.dumps(content).encode(), "there")


@pytest.mark.parametrize("directory", [None, "x", "", 7, [], {}])
def test_a_directory_id_is_one_also_where_nobody_was_voted_for(directory: object) -> None:
    content = {"leaderId": 1, "leaderEpoch": 1, "votedId": -1, "votedDirectoryId": directory, "data_version": 1}
    with pytest.raises(CorruptFileError, match=r"^there: "):
        parse_quorum_state(json.dumps(content).encode(), "there")


def test_a_byte_order_mark_is_no_json() -> None:
    with pytest.raises(CorruptFileError, match=r"no JSON from its byte 0 on"):
        parse_quorum_state(b"\xef\xbb\xbf" + json.dumps(_VERSION_0).encode(), "there")


@pytest.mark.parametrize("value", [1 << 31, -(1 << 40)])
def test_an_epoch_is_of_32_bits(value: int) -> None:
    with pytest.raises(CorruptFileError, match=r"^there: "):
        parse_quorum_state(json.dumps({**_VERSION_0, "leaderEpoch": value}).encode(), "there")


def test_a_vote_is_there_or_not_after_a_crash_at_any_call() -> None:
    old = QuorumState(leader_id=3, leader_epoch=Epoch(4))
    new = QuorumState(leader_epoch=Epoch(5), voted_key=ReplicaKey(node_id=NodeId(2), directory_id=DIRECTORY_1))

    def start() -> SimulatedFiles:
        files = SimulatedFiles()
        files.mkdirs("/data")
        assert read_quorum_state(files, "/data") is None
        write_quorum_state(files, "/data", old)
        files.changes = 0
        return files

    counted = start()
    write_quorum_state(counted, "/data", new)
    met = set()
    for change in range(1, counted.changes + 1):
        for draw in range(40):
            files = start()
            files.crash_at = change
            with pytest.raises(SimulatedCrash):
                write_quorum_state(files, "/data", new)
            files.crash(draw)
            found = read_quorum_state(files, "/data")
            assert found in (old, new)
            met.add(found == new)
            write_quorum_state(files, "/data", new)
            files.crash(draw)
            assert read_quorum_state(files, "/data") == new
    assert met == {True, False}


def test_a_vote_that_was_written_survives_any_crash() -> None:
    state = QuorumState(leader_epoch=Epoch(5), voted_key=ReplicaKey(node_id=NodeId(2), directory_id=DIRECTORY_1))
    for draw in range(200):
        files = SimulatedFiles()
        files.mkdirs("/data")
        write_quorum_state(files, "/data", state)
        files.crash(draw)
        assert read_quorum_state(files, "/data") == state


def test_a_failed_sync_keeps_the_old_vote() -> None:
    files = SimulatedFiles()
    files.mkdirs("/data")
    old = QuorumState(leader_epoch=Epoch(4))
    write_quorum_state(files, "/data", old)
    files.fail_next_fsync()
    with pytest.raises(OSError, match="injected"):
        write_quorum_state(files, "/data", QuorumState(leader_epoch=Epoch(5)))
    assert read_quorum_state(files, "/data") == old


def test_partition_metadata_is_kafkas() -> None:
    data = (FIXTURES / "basic/node-1/data/__cluster_metadata-0/partition.metadata").read_bytes()
    assert format_partition_metadata(METADATA_TOPIC_ID) == data
    assert parse_partition_metadata(data, "") == METADATA_TOPIC_ID


@given(ids.filter(any))
def test_topic_ids_come_back(topic_id: bytes) -> None:
    files = SimulatedFiles()
    files.mkdirs("/data/t-0")
    write_partition_metadata(files, "/data/t-0", TopicId(topic_id))
    assert read_partition_metadata(files, "/data/t-0") == topic_id


@pytest.mark.parametrize(
    "data",
    [
        b"version: 1\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ",
        b"version: 0\r\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ\r\n",
        b"version:  0\ntopic_id:\tAAAAAAAAAAAAAAAAAAAAAQ\n",
        b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ\nmore: fields\n\n",
        b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ==",
    ],
)
def test_partition_metadata_that_kafka_reads_is_read(data: bytes) -> None:
    assert parse_partition_metadata(data, "there") == METADATA_TOPIC_ID


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"version: 0\n",
        b"version: -1\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ",
        b"version:0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ",
        b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ \n",
        b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA",
        b"version: 0\ntopic_id: short",
        b"\xff",
    ],
)
def test_wrong_partition_metadata_is_named(data: bytes) -> None:
    with pytest.raises(CorruptFileError, match=r"^there: "):
        parse_partition_metadata(data, "there")


@pytest.mark.parametrize("take", [TAKE, TAKE_AS_JAVA], ids=["lockf", "as Java's FileChannel.lock"])
def test_a_directory_is_for_one_process(tmp_path: Path, take: str) -> None:
    path = tmp_path / ".lock"
    with held_by_another(path, take) as holder:
        with pytest.raises(DirectoryLockedError, match=rf"{path} is locked: another process, of kraft or of Kafka"):
            DirectoryLock(OsFiles(), str(tmp_path))
        assert OsFiles().lock_holder(str(path)) == holder
    assert OsFiles().lock_holder(str(path)) is None
    lock = DirectoryLock(OsFiles(), str(tmp_path))
    lock.release()


def attempt(path: Path) -> str:
    """Return the output of another process that tries to take the lock."""
    script = HOLD.format(take=TAKE).replace("sys.stdin.read()", "")
    result = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=False)
    return result.stdout + result.stderr


def test_our_lock_keeps_others_out_and_a_second_attempt_of_ours_does_not_drop_it(tmp_path: Path) -> None:
    lock = DirectoryLock(OsFiles(), str(tmp_path))
    with pytest.raises(DirectoryLockedError):
        DirectoryLock(OsFiles(), str(tmp_path))
    assert OsFiles().lock_holder(str(tmp_path / ".lock")) is None  # no other process's
    assert "BlockingIOError" in attempt(tmp_path / ".lock")
    lock.release()
    lock.release()
    assert attempt(tmp_path / ".lock") == "held\n"
    DirectoryLock(OsFiles(), str(tmp_path)).release()


def test_asking_who_holds_a_lock_makes_no_lock_file(tmp_path: Path) -> None:
    assert OsFiles().lock_holder(str(tmp_path / ".lock")) is None
    assert not list(tmp_path.iterdir())


def test_a_simulated_lock_is_void_after_a_crash() -> None:
    files = SimulatedFiles()
    files.mkdirs("/data")
    DirectoryLock(files, "/data")
    with pytest.raises(DirectoryLockedError):
        DirectoryLock(files, "/data")
    files.crash(0)
    DirectoryLock(files, "/data").release()
    DirectoryLock(files, "/data")


@pytest.mark.parametrize("spoil", [lambda files: setattr(files, "read_only", True), lambda files: None])
def test_a_lock_that_cannot_be_made_says_why(spoil: Callable[[SimulatedFiles], None]) -> None:
    files = SimulatedFiles()
    spoil(files)
    if files.read_only:
        files.read_only = False
        files.mkdirs("/data")
        files.read_only = True
    with pytest.raises(DirectoryError, match=r"/data/\.lock cannot be locked: "):
        DirectoryLock(files, "/data")
