"""The outcome of a full comparison of an agent's disks with the image, for `kraft agent verify`.

Decides: which directories count as appeared. Must not know: how the disks were read. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import msgspec

from broker_agent.reconciler import Plan
from broker_agent.storage import PartitionDirectory


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a full comparison of the disks with the image. Each entry is a path."""

    directories: int
    """Partition directories in use afterwards."""
    gone: tuple[str, ...]
    appeared: tuple[str, ...]
    """Directories that another process put there, and that this comparison staged or quarantined."""
    made: tuple[str, ...]
    staged: tuple[str, ...]
    set_aside: tuple[str, ...]
    offline: tuple[tuple[str, str], ...]
    """Log directories that are offline, each with the reason."""


def compared(
    before: Mapping[str, PartitionDirectory],
    in_use: Mapping[str, PartitionDirectory],
    gone: Collection[str],
    done: Plan,
    offline: Mapping[str, str],
) -> Comparison:
    """Return the outcome.

    Args:
        before: directories in use before the comparison, by path.
        in_use: directories in use afterwards, by path.
        gone: paths of directories that were lost.
        done: the plan that was carried out.
        offline: log directories that are offline, and why.
    """
    staged = tuple(each.directory.path for each in done.stage)
    aside = tuple(each.directory.path for each in done.set_aside)
    return Comparison(
        directories=len(in_use),
        gone=tuple(gone),
        appeared=tuple(sorted({*staged, *aside} - before.keys())),
        made=tuple(f"{make.log_dir}/{make.topic}-{make.partition}" for make in done.make),
        staged=staged,
        set_aside=aside,
        offline=tuple(sorted(offline.items())),
    )
