"""Every repair of `kraft recover` on directories that need it, to be interrupted at each of its calls.

Must not know: how a repair is interrupted.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Final

from metadata_log.directory.committed_state import CommittedState, write_committed_state
from metadata_log.files.port import Files
from metadata_log.files.simulated_files import SimulatedCrash, SimulatedFiles
from metadata_log.format.batch import build_batch
from metadata_log.ids import METADATA_TOPIC_NAME, DirectoryId, NodeId, TopicId
from metadata_log.offsets import Epoch
from metadata_log.records import PartitionRecord, TopicRecord, encode_record
from metadata_log.voters import Endpoint
from quorum.recovery.copies.copy_reader import read_copy
from quorum.recovery.guards.request import Proposal
from quorum.recovery.journal.log_directories import find_place
from quorum.recovery.journal.repair_record import JOURNAL_FILE, pending, work_root_of
from quorum.recovery.repairs.cluster_id import propose_cluster_id
from quorum.recovery.repairs.drop_snapshot import propose_drop_snapshot
from quorum.recovery.repairs.from_broker import NewController, propose_from_broker
from quorum.recovery.repairs.rebuild_indexes import propose_rebuild_indexes
from quorum.recovery.repairs.standalone import propose_standalone
from quorum.recovery.repairs.static_voters import parse_static_voter, propose_static_voters
from quorum.recovery.repairs.truncate import propose_truncate
from quorum.recovery.repairs.undo import propose_undo
from quorum.recovery.repairs.voters import parse_named_voter, propose_voters
from quorum.recovery.verification import verify_directories
from tests.support.repairs import Interruptible, load, load_nodes, repair, request, tree, written_out

METADATA: Final = "/data/__cluster_metadata-0"
NEWEST: Final = f"{METADATA}/00000000000000000300-0000000001.checkpoint"
NEW_CLUSTER: Final = "b3RoZXJjbHVzdGVyaWQwMQ"
OWN_ID: Final = TopicId(bytes(range(0x40, 0x50)))
THREE: Final = ("/n1", "/n2", "/n3")


def torn() -> SimulatedFiles:
    """Return a controller whose last write was torn; no index shows that the log was closed after it."""
    files = load("every-record/node-1/data")
    last = max(name for name in files.listdir(METADATA) if name.endswith(".log"))
    for suffix in (".index", ".timeindex"):
        files.unlink(f"{METADATA}/{last.removesuffix('.log')}{suffix}")
    files.fsync_dir(METADATA)
    handle = files.open(f"{METADATA}/{last}")
    handle.truncate(handle.size() - 3)
    handle.fdatasync()
    return files


def torn_survivor() -> SimulatedFiles:
    """Return the same controller with a damaged newest checkpoint: more files change."""
    files = torn()
    files.rot(NEWEST, 200, 0x10)
    return files


def standalone(files: Files) -> Proposal:
    return propose_standalone(files, "/data", [], request())


def cut_torn(files: Files) -> Proposal:
    return propose_truncate(files, "/data", [], 380, request())


def segments() -> SimulatedFiles:
    """Return a controller whose log has several segments, and checkpoints past the cut."""
    return load("failovers/node-12/data")


def cut_segments(files: Files) -> Proposal:
    """Cut the log at 294, which removes the last segment whole."""
    return propose_truncate(files, "/data", [], 294, request(accept_data_loss=True))


def brokers_copies() -> SimulatedFiles:
    return load("failovers/node-12/data", load("failovers/node-11/data", target="/b11"), target="/b12")


def from_broker(files: Files) -> Proposal:
    new = NewController(
        log_dir="/data",
        node_id=1,
        endpoints=(Endpoint(name="CONTROLLER", host="here", port=9093),),
        directory_id=DirectoryId(bytes(range(100, 116))),
    )
    return propose_from_broker(files, ["/b11", "/b12"], [], new, request())


def three_voters() -> SimulatedFiles:
    return load_nodes("basic", 1, 2, 3)


def move_voters(files: Files) -> Proposal:
    named = [parse_named_voter(f"{node}@host{node}:9{node}") for node in (1, 2, 3)]
    return propose_voters(files, THREE, [], named, request())


def static_voters() -> SimulatedFiles:
    """Return three static voters: one went on alone, one still has its old log, and one was formatted."""
    files = load("static-3.9/node-2/data", target="/n2")
    alone = [parse_static_voter("2@host2:9093")]
    repair(files, lambda files: propose_static_voters(files, ["/n2"], [], alone, request()), "/n2")
    load("static-3.9/node-1/data", files, "/n1")
    formatted(files, "/n3", 3, "AAAAAAAAAAAAAAAAAAAx6w")
    return files


def three_static_voters(files: Files) -> Proposal:
    named = [parse_static_voter(f"{node}@host{node}:9093") for node in (1, 2, 3)]
    return propose_static_voters(files, ["/n2", "/n3", "/n1"], [], named, request())


def formatted(files: SimulatedFiles, path: str, node_id: int, directory_id: str) -> None:
    """Make a log directory that `kafka-storage format` left: an identity, and no log."""
    files.mkdirs(path)
    handle = files.open(f"{path}/meta.properties", create=True)
    handle.pwrite(
        f"version=1\ncluster.id=MkU3OEVBNTcwNTJENDM2Qg\nnode.id={node_id}\ndirectory.id={directory_id}\n".encode(), 0
    )
    handle.fdatasync()
    files.fsync_dir(path)


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
            files.rot(f"{METADATA}/{name}", 7, 0x7F)
    handle = files.open(f"{METADATA}/leader-epoch-checkpoint")
    handle.truncate(5)
    handle.fdatasync()
    return files


def rebuild(files: Files) -> Proposal:
    return propose_rebuild_indexes(files, "/data")


def two_disks() -> SimulatedFiles:
    return load("basic/node-1/data", load("every-record/node-11/data1", target="/other"))


def own_partition(own_id: TopicId) -> PartitionRecord:
    """Return the metadata topic's one partition, on broker 11."""
    return PartitionRecord(
        partition_id=0, topic_id=own_id, replicas=(NodeId(11),), isr=(NodeId(11),), removing_replicas=(),
        adding_replicas=(), leader=NodeId(11), leader_epoch=Epoch(0), partition_epoch=0,
    )  # fmt: skip


def with_own_id() -> SimulatedFiles:
    """Return a log of this project's controllers: the metadata topic has its id, and an agent has noted it."""
    files = load("every-record/node-1/data")
    end = read_copy(files, find_place(files, "/data")).end
    values = [
        encode_record(TopicRecord(name=METADATA_TOPIC_NAME, topic_id=OWN_ID), 0),
        encode_record(own_partition(OWN_ID), 0),
    ]
    handle = files.open(f"{METADATA}/{max(name for name in files.listdir(METADATA) if name.endswith('.log'))}")
    batch = build_batch(base_offset=end.offset, epoch=end.epoch, timestamp_ms=1_900_000_000_000, values=values)
    handle.pwrite(batch, handle.size())
    handle.fdatasync()
    write_committed_state(files, METADATA, CommittedState(high_watermark=end.offset, topic_id=OWN_ID))
    return files


def rename_own_log(files: Files) -> Proposal:
    return propose_cluster_id(files, ["/data"], NEW_CLUSTER, request(), is_a_clone=True)


def rename_cluster(files: Files) -> Proposal:
    return propose_cluster_id(files, ["/data", "/other"], NEW_CLUSTER, request(), is_a_clone=False)


def repaired() -> SimulatedFiles:
    files = torn_survivor()
    repair(files, standalone, "/data")
    return files


def interrupted_on_disk(root: Path) -> tuple[Path, dict[str, bytes]]:
    """Return a directory on a real disk whose repair is decided but not applied, and its expected content."""
    files, new = _interrupted()
    written_out(files, root)
    data = root / "data"
    _rename_in_journals(root, "/data", str(data))
    return data, dict(new)


@lru_cache
def _interrupted() -> tuple[SimulatedFiles, dict[str, bytes]]:
    """Return the same in simulated files, which are only read."""
    whole = torn_survivor()
    repair(whole, standalone, "/data")
    for call in range(1, 200):
        files = torn_survivor()
        files.crash_at = files.changes + call
        try:
            repair(files, standalone, "/data")
        except SimulatedCrash:
            files.crash(0)
            files.calm()
            if pending(files, "/data") is not None and not files.exists("/data/meta.properties"):
                break
    return files, tree(whole, "/data")


def _rename_in_journals(root: Path, old: str, new: str) -> None:
    for path in (root / "data" / JOURNAL_FILE, *root.glob("data.recovery/*/audit.json")):
        path.write_text(path.read_text().replace(f'"{old}', f'"{new}'))


def undo(files: Files) -> Proposal:
    return propose_undo(files, "/data", work_root_of("/data"))


def check_one_quorum(files: SimulatedFiles) -> None:
    """Check that all directories hold the same log, end and votes, and could elect a leader, by one repair."""
    found = verify_directories(files, THREE)
    assert found.is_sound, found
    assert len({(one.epoch, one.end_offset, one.voters) for one in found.directories}) == 1
    copies = [read_copy(files, find_place(files, path)) for path in THREE]
    repairs = {sum(election.is_repairs for election in copy.prefix.elections) for copy in copies}
    assert repairs == {2 if copies[0].kraft_version == 0 else 1}, "the static voters began with one"
    assert len({files.content(f"{path}/__cluster_metadata-0/quorum-state") for path in THREE}) == 1


def check_renamed(files: SimulatedFiles) -> None:
    for path in ("/data", "/other"):
        assert f"cluster.id={NEW_CLUSTER}".encode() in files.content(f"{path}/meta.properties")


CASES: Final = (
    Interruptible(
        name="standalone",
        make=torn_survivor,
        propose=standalone,
        words="standalone --dir /data --missing rest",
    ),
    Interruptible(
        name="from-broker",
        make=brokers_copies,
        propose=from_broker,
        words="from-broker --broker-dir /b11 --broker-dir /b12 --dir /data --node-id 1 --missing rest "
        "--endpoint CONTROLLER://here:9093",
    ),
    Interruptible(
        name="voters",
        make=three_voters,
        propose=move_voters,
        words="voters --dir /n1 --dir /n2 --dir /n3 --set 1@host1:91 --set 2@host2:92 --set 3@host3:93 --missing rest",
        log_dirs=THREE,
        is_done=check_one_quorum,
    ),
    Interruptible(
        name="static-voters",
        make=static_voters,
        propose=three_static_voters,
        words="static-voters --dir /n2 --dir /n3 --dir /n1 --set 1@host1:93 --set 2@host2:93 --set 3@host3:93 "
        "--missing rest",
        log_dirs=THREE,
        is_done=check_one_quorum,
    ),
    Interruptible(
        name="truncate a torn tail",
        make=torn,
        propose=cut_torn,
        words="truncate --dir /data --to 380 --missing rest",
    ),
    Interruptible(
        name="truncate whole segments",
        make=segments,
        propose=cut_segments,
        words="truncate --dir /data --to 294 --missing rest --accept-data-loss",
    ),
    Interruptible(
        name="drop-snapshot",
        make=with_damaged_checkpoint,
        propose=drop,
        words="drop-snapshot --dir /data --missing rest",
    ),
    Interruptible(
        name="rebuild-indexes",
        make=with_wrong_indexes,
        propose=rebuild,
        words="rebuild-indexes --dir /data",
    ),
    Interruptible(
        name="cluster-id",
        make=two_disks,
        propose=rename_cluster,
        words=f"cluster-id --dir /data --dir /other --to {NEW_CLUSTER}",
        log_dirs=("/data", "/other"),
        is_done=check_renamed,
    ),
    Interruptible(
        name="cluster-id with an own id",
        make=with_own_id,
        propose=rename_own_log,
        words=f"cluster-id --dir /data --to {NEW_CLUSTER} --is-a-clone",
    ),
    Interruptible(
        name="undo",
        make=repaired,
        propose=undo,
        words="undo --dir /data",
    ),
)
