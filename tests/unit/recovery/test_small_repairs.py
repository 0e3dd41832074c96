"""Checkpoints dropped, indexes made anew, cluster ids changed: what is written, and what an interruption leaves."""

from __future__ import annotations

import pytest

from metadata_log.directory import read_meta_properties
from metadata_log.files import Files, read_file
from metadata_log.simulated_files import SimulatedCrash, SimulatedFiles
from metadata_log.voters import Endpoint
from quorum.recovery.cluster_id import propose_cluster_id
from quorum.recovery.copies import read_copy
from quorum.recovery.drop_snapshot import propose_drop_snapshot
from quorum.recovery.errors import AlreadyDoneError
from quorum.recovery.liveness import Answer, Heard
from quorum.recovery.places import find_place
from quorum.recovery.rebuild_indexes import propose_rebuild_indexes
from quorum.recovery.request import Proposal
from quorum.recovery.standalone import propose_standalone
from quorum.recovery.verify import verify_directories
from quorum.recovery.voters import parse_named_voter, propose_voters
from tests.support.repairs import (
    check_every_crash,
    check_every_full_disk,
    leftovers,
    load,
    outcome,
    repair,
    request,
    tree,
)

pytestmark = pytest.mark.timeout(300)  # 2 s of processor time; a loaded machine gives it late

METADATA = "/data/__cluster_metadata-0"
NEWEST = f"{METADATA}/00000000000000000300-0000000001.checkpoint"
OLD, NEW = "MkU3OEVBNTcwNTJENDM2Qg", "b3RoZXJjbHVzdGVyaWQwMQ"


def with_damaged_checkpoint() -> SimulatedFiles:
    files = load("every-record/node-1/data")
    files.rot(NEWEST, 200, 0x10)
    return files


def drop(files: Files) -> Proposal:
    return propose_drop_snapshot(files, "/data", [], request())


def with_wrong_indexes() -> SimulatedFiles:
    files = load("every-record/node-1/data")
    for name in files.listdir(METADATA):
        if name.endswith((".index", ".timeindex")) and files.content(f"{METADATA}/{name}"):
            files.rot(f"{METADATA}/{name}", 3, 0x7F)
    handle = files.open(f"{METADATA}/leader-epoch-checkpoint")
    handle.truncate(5)
    handle.fdatasync()
    return files


def rebuild(files: Files) -> Proposal:
    return propose_rebuild_indexes(files, "/data")


def two_disks() -> SimulatedFiles:
    return load("basic/node-1/data", load("every-record/node-11/data1", target="/other"))


def rename_cluster(files: Files) -> Proposal:
    return propose_cluster_id(files, ["/data"], NEW, request(), is_a_clone=False)


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


def test_indexes_are_made_as_kafka_has_them() -> None:
    whole, files = load("every-record/node-1/data"), with_wrong_indexes()
    assert tree(files, "/data") != tree(whole, "/data")
    repair(files, rebuild, "/data")
    assert tree(files, "/data") == tree(whole, "/data")


def test_a_clone_gets_another_cluster_id_on_all_its_disks() -> None:
    files = two_disks()
    paths = ["/data", "/other"]
    repair(files, lambda files: propose_cluster_id(files, paths, NEW, request(), is_a_clone=False), "/data")
    found = [read_meta_properties(files, path) for path in paths]
    assert [meta.cluster_id for meta in found] == [NEW, NEW]
    before = read_meta_properties(load("basic/node-1/data"), "/data")
    assert (found[0].node_id, found[0].directory_id) == (before.node_id, before.directory_id)


def test_a_living_clusters_id_is_changed_in_a_clone_only() -> None:
    def lives(endpoints: object) -> list[Answer]:
        assert Endpoint(name="CONTROLLER", host="127.0.0.1", port=29101) in list(endpoints)  # type: ignore[call-overload]
        return [Answer(address="127.0.0.1:29101", heard=Heard.LEADER, said="leader 1", node_id=1, cluster_id=OLD)]

    files = load("basic/node-1/data")
    asked = request(ask=lives)
    with pytest.raises(Exception, match=r"cluster MkU3OEVBNTcwNTJENDM2Qg lives: .*--is-a-clone"):
        propose_cluster_id(files, ["/data"], NEW, asked, is_a_clone=False)
    assert propose_cluster_id(files, ["/data"], NEW, asked, is_a_clone=True).rewrites


def test_a_crash_while_a_checkpoint_is_dropped() -> None:
    assert check_every_crash(with_damaged_checkpoint, drop) > 15


def test_a_crash_while_indexes_are_rebuilt() -> None:
    assert check_every_crash(with_wrong_indexes, rebuild) > 30


def test_a_crash_or_a_full_disk_while_a_cluster_id_is_changed() -> None:
    assert check_every_crash(lambda: load("basic/node-1/data"), rename_cluster) > 10
    assert check_every_full_disk(lambda: load("basic/node-1/data"), rename_cluster, step=101) > 5


def test_a_read_only_disk_is_said_and_left() -> None:
    files = load("basic/node-1/data")
    before = tree(files, "/data")
    files.read_only = True
    said = outcome(files, lambda files: propose_standalone(files, "/data", [], request()), "/data")
    assert said is not None
    assert "read-only file system. Nothing was changed in /data" in said
    files.read_only = False
    assert tree(files, "/data") == before


def test_a_crash_between_the_voters_directories_is_finished_by_the_next_run() -> None:
    paths = ["/n1", "/n2", "/n3"]
    named = [parse_named_voter(f"{node}@host{node}:9{node}") for node in (1, 2, 3)]

    def propose(files: Files) -> Proposal:
        return propose_voters(files, paths, [], named, request())

    files = three_voters()
    before = files.changes
    repair(files, propose, "/n1")
    for call in range(1, files.changes - before, 4):
        crashed = three_voters()
        crashed.crash_at = crashed.changes + call
        with pytest.raises(SimulatedCrash):
            repair(crashed, propose, "/n1")
        crashed.crash(call)
        crashed.calm()
        for path in paths:  # the command finishes each, and goes on
            outcome(crashed, _nothing, path)
        said = outcome(crashed, propose, "/n1")
        assert said is None or "already" in said, (call, said)
        assert verify_directories(crashed, paths).is_sound, call
        assert not [found for path in paths for found in leftovers(crashed, path)]
        states = {read_file(crashed, f"{path}/__cluster_metadata-0/quorum-state") for path in paths}
        assert len(states) == 1


def _nothing(files: Files) -> Proposal:
    return Proposal(action="nothing", rewrites=(), says=())


def three_voters() -> SimulatedFiles:
    files = SimulatedFiles()
    for node in (1, 2, 3):
        load(f"basic/node-{node}/data", files, f"/n{node}")
    return files
