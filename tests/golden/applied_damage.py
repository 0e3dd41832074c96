"""Applied repairs of the damage that `kraft check` is tested with: the kinds that a repair of one directory removes.

Decides: which repair fits which damage. Must not know: how the damage is made.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from typing import Final

from metadata_log.files.port import parent_of
from metadata_log.files.simulated_files import SimulatedFiles
from tests.golden.applied import AppliedCase
from tests.golden.applied_steps import Asked, drop_snapshot, from_broker, rebuild_indexes, standalone, trim, truncate
from tests.support.all_damage import ALL_DAMAGE
from tests.support.clusters import unpack_clusters
from tests.support.damage import Damage, copy_cluster

_TARGET: Final = "/data"
_ACCEPTING: Final = Asked(loss=True, lost_vote=True)
_REBUILT: Final = (
    "no_majority", "stranger_votes", "wrong_index", "shifted_index", "wrong_time_index",
    "index_too_high", "last_index_too_high", "index_after_truncation", "epoch_file_missing", "epoch_file_shifted",
    "epoch_file_lacks_one", "epoch_file_rubbish", "epoch_file_vertical_tab", "epoch_file_spaces",
    "epoch_file_underscore", "grown_leader-epoch-checkpoint", "first_segment_gone", "leader_dropped_of_voters",
)  # fmt: skip
_DROPPED: Final = (
    "no_footer", "torn_checkpoint", "no_header", "foreign_epoch", "flipped_checkpoint", "strange_file_13",
    "strange_file_14",
)  # fmt: skip
_CUT: Final = {"torn_tail": 96, "segment_empty_within_another": 96}
"""By its name, the offset at which the log's sound part ends."""
_TRIMMED: Final = {"segment_missing": 310}
"""By its name, the offset of the checkpoint from which the log is whole."""
_ALONE: Final = (
    "torn_tail", "unwritten_tail", "shorter_than_checkpoint", "behind_a_checkpoint", "segment_empty_within_another",
    "strange_file_10", "strange_file_11", "strange_file_12", "strange_file_13", "cut_beside_time_index",
    "cut_beside_producers", "metadata_partition_file_missing", "producers_flipped", "producers_cut",
    "producers_in_metadata",
)  # fmt: skip
_OF_A_BROKER: Final = (
    "segment_missing", "first_segment_gone", "no_footer", "flipped_checkpoint", "checkpoint_named_far_later",
    "torn_tail", "shorter_than_checkpoint",
)  # fmt: skip


def damage_cases() -> Iterator[AppliedCase]:
    """Yield every case: the damage that a test plants in one node's directory, and a repair of that directory."""
    steps = {
        **{("rebuild-indexes", name): rebuild_indexes(_TARGET) for name in _REBUILT},
        **{("drop-snapshot", name): drop_snapshot(_TARGET) for name in _DROPPED},
        **{("truncate", name): truncate(_TARGET, end) for name, end in _CUT.items()},
        **{("trim", name): trim(_TARGET, begin) for name, begin in _TRIMMED.items()},
        **{("standalone", name): standalone(_TARGET, asked=_ACCEPTING) for name in _ALONE},
        **{("from-broker", name): from_broker([_TARGET], node=4, asked=_ACCEPTING) for name in _OF_A_BROKER},
    }
    planted = {damage.name: damage for damage in ALL_DAMAGE}
    for (action, name), step in steps.items():
        yield AppliedCase(name=f"{action}/damage/{name}", make=partial(_damaged, planted[name]), steps=(step,))


@cache
def _clusters() -> tempfile.TemporaryDirectory[str]:
    """Return all clusters, unpacked until this process ends."""
    place = tempfile.TemporaryDirectory(prefix="kraft-golden-")
    unpack_clusters(Path(place.name))
    return place


def _damaged(damage: Damage) -> SimulatedFiles:
    """Return the damaged node's log directory as `_TARGET`."""
    with tempfile.TemporaryDirectory(prefix="kraft-golden-") as place:
        cluster = copy_cluster(Path(_clusters().name, damage.scenario), Path(place, damage.scenario))
        file = damage.plant(cluster).file
        source = cluster.root / file.relative_to(cluster.root).parts[0] / "data"
        return _simulated(source)


def _simulated(source: Path) -> SimulatedFiles:
    files = SimulatedFiles()
    for path in sorted(path for path in source.rglob("*") if path.is_file()):
        target = f"{_TARGET}/{path.relative_to(source)}"
        files.mkdirs(parent_of(target))
        handle = files.open(target, create=True)
        handle.pwrite(path.read_bytes(), 0)
        handle.fdatasync()
        files.fsync_dir(parent_of(target))
    return files
