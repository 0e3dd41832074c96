"""Every checkpoint of real clusters is what their logs replay to: from offset 0, or from an earlier one of any node.

Record set for record set, and image for image. Those that no log of the scenario reaches are listed by name.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

from metadata_log.errors import MetadataLogError
from metadata_log.image import MetadataImage, records_of
from metadata_log.offsets import OffsetAndEpoch
from metadata_log.tools.read.history import (
    HistoryError,
    LogHistory,
    RemovedMeanwhileError,
    open_history,
    state_of_checkpoint,
)
from tests.support.clusters import SCENARIOS
from tests.support.damage import copy_cluster

OUT_OF_REACH = {
    # Both brokers joined by it; the controllers' logs begin later, and no node kept an earlier checkpoint.
    "failovers/node-11/00000000000000000173-0000000001.checkpoint",
    "failovers/node-12/00000000000000000173-0000000001.checkpoint",
    # The controllers' logs begin at 98, or at it; the one that begins at 0, that of the lagging follower, ends at 42.
    *(
        f"failovers-4.4/{node}/00000000000000000159-0000000001.checkpoint"
        for node in ("node-1", "node-2", "node-3", "divergent-before/node-1", "divergent-after/node-1")
    ),
}
WAYS = 3


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_checkpoint_is_what_the_log_gives(scenario: str, clusters: Path) -> None:
    logs = _logs(clusters / scenario)
    checkpoints = {path: end for log in logs for end, path in log.checkpoints}
    alone = set()
    for path, end in checkpoints.items():
        expected = state_of_checkpoint(end, path).image
        found = list(_replayed(logs, checkpoints, end))
        for image in found[:WAYS]:
            assert _records(image) == _records(expected)
            assert image == expected
        if not found:
            alone.add(f"{path.relative_to(clusters).parents[2]}/{path.name}")
    assert alone == {name for name in OUT_OF_REACH if name.startswith(f"{scenario}/")}


def test_another_offset_gives_another_image(clusters: Path) -> None:
    """The comparison above can fail: a batch earlier, or later, the metadata is not that of the checkpoint."""
    log = next(log for log in _logs(clusters / "failovers") if log.checkpoints and log.segments)
    (end, path), *_ = log.checkpoints
    expected = state_of_checkpoint(end, path).image
    later = log.state_from(int(end.offset) + 40).image
    assert later.offset_and_epoch.offset > end.offset
    assert _records(later) != _records(expected)


def test_replay_leaves_the_collector_as_it_was(clusters: Path) -> None:
    log = next(log for log in _logs(clusters / "basic") if log.segments)
    assert gc.isenabled()
    log.state_at()
    assert gc.isenabled()
    damaged = LogHistory(path=log.path, segments=((0, log.path / "missing"),), checkpoints=())
    with pytest.raises(RemovedMeanwhileError):
        damaged.state_at()
    assert gc.isenabled()


def _logs(scenario: Path) -> list[LogHistory]:
    found = []
    for directory in sorted(scenario.rglob("__cluster_metadata-0")):
        try:
            found.append(open_history(directory))
        except HistoryError:
            continue
    return found


def _replayed(
    logs: list[LogHistory], checkpoints: dict[Path, OffsetAndEpoch], end: OffsetAndEpoch
) -> Iterator[MetadataImage]:
    """Yield each log's image at `end`, replayed from its first offset or from an earlier checkpoint of any node."""
    earlier = {at: path for path, at in checkpoints.items() if at.offset < end.offset}
    for log in logs:
        if not log.segments:
            continue
        begin = log.segments[0][0]
        origins: list[tuple[tuple[OffsetAndEpoch, Path], ...]] = [((at, path),) for at, path in earlier.items()]
        for origin in [()] if begin == 0 else [way for way in origins if begin <= way[0][0].offset]:
            try:
                state = LogHistory(path=log.path, segments=log.segments, checkpoints=origin).exact(int(end.offset))
            except MetadataLogError:  # this log does not reach from there to here
                continue
            if state.image.offset_and_epoch == end:
                yield state.image


def _records(image: MetadataImage) -> set[str]:
    return set(map(repr, records_of(image)))


def test_a_log_whose_checkpoint_is_gone_says_what_is_missing(clusters: Path, tmp_path: Path) -> None:
    cluster = copy_cluster(clusters / "failovers", tmp_path / "failovers")
    for checkpoint in cluster.metadata(1).glob("*.checkpoint"):
        checkpoint.unlink()
    log = open_history(cluster.metadata(1))
    with pytest.raises(HistoryError, match="begins at offset 207 and has no checkpoint"):
        _ = log.start_offset
    with pytest.raises(HistoryError, match="begins at offset 207 and has no checkpoint"):
        log.origin(300)


def test_no_state_at_a_time_before_all_that_is_left(clusters: Path) -> None:
    """The first state that is left is a later one; where the log begins at offset 0, there was nothing before."""
    (node,) = (clusters / "failovers" / "node-1").glob("*/__cluster_metadata-0")
    history = open_history(node)
    written_ms = history.state_at(history.end_at(2**62)).image.last_contained_timestamp_ms
    assert history.end_at(written_ms) > 207
    with pytest.raises(HistoryError, match=r"with what was written until 2026-11-20T.*no state at 2020-01-01T00:00:00"):
        history.end_at(1_577_836_800_000)
    (whole,) = (clusters / "basic" / "node-1").glob("*/__cluster_metadata-0")
    assert open_history(whole).end_at(1_577_836_800_000) == 0
