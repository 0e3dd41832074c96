"""The files that `drop-snapshot`, `rebuild-indexes` and `cluster-id` write."""

from __future__ import annotations

import struct

import msgspec
import pytest

from metadata_log.directory import read_meta_properties
from metadata_log.directory.quorum_state import read_quorum_state, write_quorum_state
from metadata_log.files.port import read_file
from metadata_log.offsets import Epoch
from metadata_log.tools.read.scan import Damage, scan
from metadata_log.voters import Endpoint
from quorum.recovery.copies.copy_reader import read_copy
from quorum.recovery.guards.liveness import EndpointState, ProbeResult
from quorum.recovery.guards.request import Proposal
from quorum.recovery.journal.errors import AlreadyDoneError, RefusedError
from quorum.recovery.journal.log_directories import find_place
from quorum.recovery.repairs.cluster_id import propose_cluster_id
from quorum.recovery.repairs.standalone import propose_standalone
from tests.support.repair_cases import (
    NEW_CLUSTER,
    NEWEST,
    drop,
    rebuild,
    two_disks,
    with_damaged_checkpoint,
    with_wrong_indexes,
)
from tests.support.repairs import load, outcome, repair, request, tree

OLD = "MkU3OEVBNTcwNTJENDM2Qg"


def test_a_damaged_checkpoint_goes_and_the_older_one_says_the_same() -> None:
    files = with_damaged_checkpoint()
    whole = read_copy(load("every-record/node-1/data"), find_place(load("every-record/node-1/data"), "/data"))
    repair(files, drop, "/data")
    assert not files.exists(NEWEST)
    after = read_copy(files, find_place(files, "/data"))
    assert after.origin is not None
    assert after.origin.name == "00000000000000000139-0000000001.checkpoint"
    assert after.image == whole.image
    with pytest.raises(AlreadyDoneError, match="no damaged checkpoint"):
        drop(files)


def test_where_no_checkpoint_is_none_is_called_whole() -> None:
    files = load("basic/node-1/data")
    for name in files.listdir("/data/__cluster_metadata-0"):
        if name.endswith(".checkpoint"):
            files.unlink(f"/data/__cluster_metadata-0/{name}")
    with pytest.raises(AlreadyDoneError, match=r"node 1 .* has no checkpoint: there is nothing to drop"):
        drop(files)


def test_indexes_are_made_as_kafka_has_them() -> None:
    whole, files = load("every-record/node-1/data"), with_wrong_indexes()
    assert tree(files, "/data") != tree(whole, "/data")
    repair(files, rebuild, "/data")
    assert tree(files, "/data") == tree(whole, "/data")


@pytest.mark.parametrize("node", ["every-record/node-11", "every-record/node-12", "static-3.9/node-3"])
def test_true_entries_may_be_nearer_or_farther_than_ours(node: str) -> None:
    files = load(f"{node}/data")
    with pytest.raises(AlreadyDoneError, match="already agree with the log"):
        rebuild(files)


def test_a_denser_time_index_that_is_true_is_no_wrong_one() -> None:
    files = load("every-record/node-1/data")
    log, index = (f"/data/__cluster_metadata-0/00000000000000000000.{end}" for end in ("log", "timeindex"))
    true: dict[int, int] = {}
    for found in scan(files.open(log)):
        if not isinstance(found, Damage) and found.header.max_timestamp > max(true, default=-1):
            true[found.header.max_timestamp] = found.header.last_offset
    entries = [struct.pack(">qi", *entry) for entry in true.items()]
    handle = files.open(index)
    handle.pwrite(b"".join(entries), 0)
    with pytest.raises(AlreadyDoneError, match="already agree with the log"):
        rebuild(files)
    handle.pwrite(struct.pack(">qi", max(true), 3), (len(entries) - 1) * 12)
    assert [change.name for change in rebuild(files).rewrites[0].changes] == [index.removeprefix("/data/")]


@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
@pytest.mark.parametrize("count", [1, 2, 3, 40])
def test_an_index_full_of_rubbish_proves_nothing_and_is_made_anew(suffix: str, count: int) -> None:
    """Entries that do not rise, or lie where no log that was cut here can have been."""
    whole, files = load("every-record/node-1/data"), load("every-record/node-1/data")
    name = f"__cluster_metadata-0/00000000000000000000{suffix}"
    handle = files.open(f"/data/{name}")
    handle.truncate(0)
    handle.pwrite(b"x" * count * (8 if suffix == ".index" else 12), 0)
    handle.fdatasync()
    own = read_copy(files, find_place(files, "/data"))
    assert (own.short, own.proved_end) == (None, own.end.offset)
    assert propose_standalone(files, "/data", [], request()).loses == ()
    repair(files, rebuild, "/data")
    assert tree(files, "/data") == tree(whole, "/data")


@pytest.mark.parametrize("content", [b"rubbish\n", b""])
def test_epochs_of_a_log_without_batches_are_made_anew(content: bytes) -> None:
    """Behind a checkpoint, Kafka has emptied the log; it does not start beside epochs that it cannot read."""
    files = load("every-record/node-1/data")
    metadata = "/data/__cluster_metadata-0"
    end = read_copy(files, find_place(files, "/data")).prefix.checkpoints[0].end
    for name in files.listdir(metadata):
        if name.startswith("0") and not name.startswith(f"{end.offset:020}-"):
            files.unlink(f"{metadata}/{name}")
    files.open(f"{metadata}/{end.offset:020}.log", create=True).fdatasync()
    state = read_quorum_state(files, metadata)
    assert state is not None
    write_quorum_state(files, metadata, msgspec.structs.replace(state, leader_epoch=end.epoch))
    handle = files.open(f"{metadata}/leader-epoch-checkpoint")
    handle.truncate(0)
    handle.pwrite(content, 0)
    handle.fdatasync()

    repair(files, rebuild, "/data")

    assert read_file(files, f"{metadata}/leader-epoch-checkpoint") == b"0\n0\n"
    with pytest.raises(AlreadyDoneError, match="already agree with the log"):
        rebuild(files)


def test_a_clone_gets_another_cluster_id_on_all_its_disks() -> None:
    files = two_disks()
    paths = ["/data", "/other"]
    repair(files, lambda files: propose_cluster_id(files, paths, NEW_CLUSTER, request(), is_a_clone=False), "/data")
    found = [read_meta_properties(files, path) for path in paths]
    assert [meta.cluster_id for meta in found] == [NEW_CLUSTER, NEW_CLUSTER]
    before = read_meta_properties(load("basic/node-1/data"), "/data")
    assert (found[0].node_id, found[0].directory_id) == (before.node_id, before.directory_id)


def test_a_nodes_other_log_directories_are_named() -> None:
    """The directories beside the given one show them; elsewhere, the broker's registration does."""
    files = load("every-record/node-11/data1", load("every-record/node-11/data", target="/n/data"), "/n/data1")

    def asked(*paths: str) -> Proposal:
        return propose_cluster_id(files, paths, NEW_CLUSTER, request(ask=lambda _: ()), is_a_clone=True)

    def told(found: Proposal) -> str:
        return "\n".join(found.warnings)

    alone = asked("/n/data")
    assert "/n/data1 of the same node and cluster: not named" in told(alone)
    assert alone.steps[0].commands == (
        f"kraft recover cluster-id --dir /n/data1 --to {NEW_CLUSTER} --is-a-clone --apply",
    )
    assert not any("not named" in said or "registered" in said for said in asked("/n/data", "/n/data1").warnings)
    repair(files, lambda files: asked("/n/data1"), "/n/data1")
    assert "data1" not in told(asked("/n/data"))
    elsewhere = load("every-record/node-11/data", target="/n/data")
    found = propose_cluster_id(elsewhere, ["/n/data"], NEW_CLUSTER, request(), is_a_clone=True)
    assert "broker 11 registered a log directory of id 6y6OYCbUqyddgSW8tK_XgQ, too, which is not here" in told(found)


def test_a_living_clusters_id_is_changed_in_a_clone_only() -> None:
    def lives(endpoints: object) -> list[ProbeResult]:
        assert Endpoint(name="CONTROLLER", host="127.0.0.1", port=29101) in list(endpoints)  # type: ignore[call-overload]
        return [
            ProbeResult(
                address="127.0.0.1:29101", heard=EndpointState.LEADER, said="leader 1", node_id=1, cluster_id=OLD
            )
        ]

    files = load("basic/node-1/data")
    asked = request(ask=lives)
    with pytest.raises(Exception, match=r"cluster MkU3OEVBNTcwNTJENDM2Qg lives: .*--is-a-clone"):
        propose_cluster_id(files, ["/data"], NEW_CLUSTER, asked, is_a_clone=False)
    assert propose_cluster_id(files, ["/data"], NEW_CLUSTER, asked, is_a_clone=True).rewrites


def test_a_read_only_disk_is_said_and_left() -> None:
    files = load("basic/node-1/data")
    before = tree(files, "/data")
    files.read_only = True
    said = outcome(files, lambda files: propose_standalone(files, "/data", [], request()), "/data")
    assert said is not None
    assert "read-only file system. Nothing was changed in /data: mount the file system for writing (--work" in said
    files.read_only = False
    assert tree(files, "/data") == before


def test_an_epoch_that_leaves_no_room_is_named_with_the_copy_that_has_it() -> None:
    files = load("failovers/node-1/data")
    path = "/data/__cluster_metadata-0"
    state = read_quorum_state(files, path)
    assert state is not None
    write_quorum_state(files, path, msgspec.structs.replace(state, leader_epoch=Epoch((1 << 31) - 1)))
    with pytest.raises(RefusedError, match=r"epoch 2147483647 of node 1 \(/data\) leaves no room.*quorum-state"):
        propose_standalone(files, "/data", [], request())
    write_quorum_state(files, path, msgspec.structs.replace(state, leader_epoch=Epoch((1 << 31) - 3000)))
    repair(files, lambda files: propose_standalone(files, "/data", [], request()), "/data")
    assert read_copy(files, find_place(files, "/data")).end.epoch == (1 << 31) - 2000
