"""Logs that are missing, cut or emptied, beside files that prove a greater historical extent; and torn logs."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from random import Random

from metadata_log.directory import METADATA_DIRECTORY, QUORUM_STATE_FILE
from metadata_log.format.batch import parse_header
from metadata_log.format.epoch_file import EPOCH_FILE
from metadata_log.ids import ZERO_DIRECTORY_ID, id_text
from tests.support.damage import Cluster, Damage, Planted, place_of, split, write

_HIT = 2
"""The damaged follower of `basic`; its log is one segment of one epoch, closed cleanly."""
_EMPTY_PRODUCERS = bytes.fromhex("0001 48674bc7 00000000")
"""A producer state file as Kafka leaves it beside every metadata log."""
_CUT = frozenset({"log_cut"})
_ALONE = frozenset({"committed_lost"})
"""The last record of `basic` is on nodes 2 and 3 alone: if node 2 loses it, a majority lacks it."""


def bare(cluster: Cluster, node_id: int, *suffixes: str) -> None:
    """Remove files beside the log, by their suffixes or names."""
    for path in cluster.metadata(node_id).iterdir():
        if path.name.endswith(suffixes):
            path.unlink()


def cut_at(cluster: Cluster, node_id: int, offset: int) -> tuple[int, int]:
    """End the only segment before `offset`, between batches; return the ends of log and file."""
    path = cluster.segment(node_id)
    write(path, [batch for batch in split(path) if parse_header(batch).base_offset < offset])
    _, last = place_of(path, -1)
    return int(last.next_offset), path.stat().st_size


def segment_gone(cluster: Cluster) -> Planted:
    """A missing segment whose indexes are still there."""
    cluster.segment(_HIT).unlink()
    return Planted("log_missing", _HIT, cluster.metadata(_HIT), 0, also=_ALONE)


def segment_and_indexes_gone(cluster: Cluster) -> Planted:
    """A log directory with nothing but the sidecar files."""
    bare(cluster, _HIT, ".log", ".index", ".timeindex")
    return Planted("log_missing", _HIT, cluster.metadata(_HIT), 0)


def first_segment_gone(cluster: Cluster) -> Planted:
    """A log without the first of three segments, whose indexes are still there."""
    cluster.segment(11, 98).unlink()
    return Planted("missing_segment", 11, cluster.segment(11, 207), 98, 0)


def directory_gone(cluster: Cluster) -> Planted:
    """A missing metadata directory; meta.properties still names the node."""
    shutil.rmtree(cluster.disk(_HIT) / METADATA_DIRECTORY)
    return Planted("voter_without_log", _HIT, cluster.node(_HIT))


def log_emptied(cluster: Cluster) -> Planted:
    """An empty segment beside its indexes."""
    path = cluster.segment(_HIT)
    path.write_bytes(b"")
    return Planted("log_cut", _HIT, path, 0, 0, _ALONE)


def log_and_proofs_emptied(cluster: Cluster) -> Planted:
    """An empty segment, and nothing beside it but the epoch's line."""
    path = cluster.segment(_HIT)
    path.write_bytes(b"")
    bare(cluster, _HIT, ".index", ".timeindex")
    return Planted("voter_without_log", _HIT, path, 0)


def log_zeroed(cluster: Cluster) -> Planted:
    """A segment of zeros."""
    path = cluster.segment(_HIT)
    path.write_bytes(bytes(path.stat().st_size))
    return Planted("log_cut", _HIT, path, 0, 0, _ALONE | {"corrupt_batch"})


def cut_beside_time_index(cluster: Cluster) -> Planted:
    """A log without its second half, cut between two batches: the index that was closed with it shows the end."""
    end, position = cut_at(cluster, _HIT, 60)
    return Planted("log_cut", _HIT, cluster.segment(_HIT), end, position, _ALONE)


def cut_beside_producers(cluster: Cluster) -> Planted:
    """The same without indexes: a producer state file is named after the end."""
    (cluster.metadata(_HIT) / "00000000000000000096.snapshot").write_bytes(_EMPTY_PRODUCERS)
    bare(cluster, _HIT, ".index", ".timeindex")
    end, position = cut_at(cluster, _HIT, 60)
    return Planted("log_cut", _HIT, cluster.segment(_HIT), end, position, _ALONE)


def cut_in_the_last_batch(cluster: Cluster) -> Planted:
    """A log that is a few bytes short: torn, unless the node stopped cleanly, as its index proves."""
    path = cluster.segment(_HIT)
    position, header = place_of(path, -1)
    path.write_bytes(path.read_bytes()[:-7])
    return Planted("corrupt_batch", _HIT, path, int(header.base_offset), position, _ALONE)


def cut_beside_epochs(cluster: Cluster) -> Planted:
    """A log that ends before an epoch in its epoch file, without indexes."""
    bare(cluster, 1, ".index", ".timeindex", ".trimmed")
    path = cluster.segment(1, 294)
    path.unlink()
    last = cluster.segment(1, 207)
    position = last.stat().st_size
    return Planted("log_cut", 1, last, 294, position)


def led_and_lost(cluster: Cluster) -> Planted:
    """A log without a record of the epoch that its own node led; no file shows that it was closed at its end."""
    bare(cluster, _HIT, ".snapshot")
    path = cluster.metadata(_HIT) / QUORUM_STATE_FILE
    nobody = {"votedId": -1, "votedDirectoryId": id_text(ZERO_DIRECTORY_ID)}
    said = json.loads(path.read_text()) | {"leaderId": _HIT, "leaderEpoch": 3, **nobody}
    path.write_text(json.dumps(said, separators=(",", ":")))
    segment = cluster.segment(_HIT)
    return Planted("log_cut", _HIT, segment, 96, segment.stat().st_size)


def random_log(cluster: Cluster) -> Planted:
    """A segment of random bytes, which no interrupted write leaves."""
    path = cluster.segment(_HIT)
    path.write_bytes(Random(4).randbytes(path.stat().st_size))
    bare(cluster, _HIT, ".index", ".timeindex")
    return Planted("corrupt_batch", _HIT, path, 0, 0)


def random_half(cluster: Cluster) -> Planted:
    """A log whose second half is random, from the start of a batch on; no index shows it."""
    path = cluster.segment(_HIT)
    position, header = place_of(path, len(split(path)) // 2)
    data = path.read_bytes()
    path.write_bytes(data[:position] + Random(5).randbytes(len(data) - position))
    bare(cluster, _HIT, ".index", ".timeindex")
    return Planted("corrupt_batch", _HIT, path, int(header.base_offset), position)


def zeroed_half(cluster: Cluster) -> Planted:
    """A log whose second half is zeros, from within a batch and a sector; no index shows it."""
    path = cluster.segment(_HIT)
    position, header = place_of(path, len(split(path)) // 2)
    data = path.read_bytes()
    at = position + 30 if (position + 30) % 512 < 400 else position + 200
    path.write_bytes(data[:at] + bytes(len(data) - at))
    bare(cluster, _HIT, ".index", ".timeindex")
    return Planted("corrupt_batch", _HIT, path, int(header.base_offset), position)


def cut_on_majority(cluster: Cluster) -> Planted:
    """Two of three logs that end validly, where an index beside them proves a later end."""
    for node_id in (1, _HIT):
        end, _ = cut_at(cluster, node_id, 60)
    return Planted("committed_lost", _HIT, cluster.segment(_HIT), end, also=_CUT)


def emptied_on_majority(cluster: Cluster) -> Planted:
    """Two of three logs that are empty, and no file beside them shows more."""
    for node_id in (1, _HIT):
        cluster.segment(node_id).write_bytes(b"")
        bare(cluster, node_id, ".index", ".timeindex", EPOCH_FILE, QUORUM_STATE_FILE)
    return Planted("committed_lost", _HIT, cluster.segment(_HIT), 0)


def gone_on_majority(cluster: Cluster) -> Planted:
    """Two of three metadata directories that are missing."""
    for node_id in (1, _HIT):
        shutil.rmtree(cluster.disk(node_id) / METADATA_DIRECTORY)
    return Planted("committed_lost", _HIT, cluster.node(_HIT), 0)


def far_ahead(cluster: Cluster) -> Planted:
    """A quorum-state of an epoch far above that of any log."""
    path = cluster.metadata(_HIT) / QUORUM_STATE_FILE
    path.write_text(path.read_text().replace('"leaderEpoch":1,', '"leaderEpoch":99,'))
    return Planted("quorum_state_ahead", _HIT, path)


def _empty_beside(name: str, kind: str, offset: int | None = None) -> Callable[[Cluster], Planted]:
    """An empty file in the log's directory."""

    def plant(cluster: Cluster) -> Planted:
        path = cluster.metadata(_HIT) / name
        path.write_bytes(b"")
        return Planted(kind, _HIT, path, offset)

    return plant


REACH_DAMAGE = [
    Damage("segment_empty_within_another", "basic", _empty_beside(f"{60:020}.log", "offset_repeated", 60)),
    *(
        Damage(f"strange_file_{number}", "basic", _empty_beside(name, "strange_file"))
        for number, name in enumerate(
            (
                f"{0:020}.log.swap",
                "copy.log",
                "96.log",
                ".00000000000000000000.log",
                f"copy-of-{96:020}.snapshot",
                "old.index",
                "bootstrap.checkpoint",
                f"{96:020}.checkpoint",
                f"{2**63:020}.log",
                f"{'9' * 20}.log",
                f"{'9' * 20}.index",
                f"{'9' * 20}.timeindex",
                f"{'9' * 20}.snapshot",
                f"{'9' * 20}-{1:010}.checkpoint",
                f"{96:020}-{'9' * 10}.checkpoint",
            )
        )
    ),
    *(
        Damage(plant.__name__, "basic", plant)
        for plant in (
            segment_gone,
            segment_and_indexes_gone,
            directory_gone,
            log_emptied,
            log_and_proofs_emptied,
            log_zeroed,
            cut_beside_time_index,
            cut_beside_producers,
            cut_in_the_last_batch,
            led_and_lost,
            random_log,
            random_half,
            zeroed_half,
            cut_on_majority,
            emptied_on_majority,
            gone_on_majority,
            far_ahead,
        )
    ),
    Damage("cut_beside_epochs", "failovers", cut_beside_epochs),
    Damage("first_segment_gone", "failovers", first_segment_gone),
]
