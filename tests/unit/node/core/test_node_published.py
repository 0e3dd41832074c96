"""When committed batches are replayed: in slices, and not while others wait for this replica."""

from __future__ import annotations

import pytest

from metadata_log.errors import NewerLevelError, OlderReleaseError
from metadata_log.format.batch import build_batch
from metadata_log.image import MetadataImage
from metadata_log.image.features import METADATA_VERSION
from metadata_log.image.replayer import Replayer
from metadata_log.offsets import Epoch, Offset
from metadata_log.records import FeatureLevelRecord, NoOpRecord, encode_record
from quorum.node.core.ports import ImagePublished
from quorum.node.core.published import MOST_LAG, RECORDS_A_SLICE, Published
from tests.support.image_records import image_of, level

NOTHING = encode_record(NoOpRecord(), 0)
A_BATCH = 100


class _Log:
    """Batches of `A_BATCH` records each, and what was published of them."""

    def __init__(self, batches: int) -> None:
        self.data = [
            build_batch(base_offset=Offset(at * A_BATCH), epoch=Epoch(1), timestamp_ms=at, values=[NOTHING] * A_BATCH)
            for at in range(batches)
        ]
        self.events: list[ImagePublished] = []
        self.published = Published(Replayer.follow(MetadataImage.empty()), self._read, self.events.append)

    def _read(self, offset: Offset, max_bytes: int) -> bytes:
        return b"".join(self.data[offset // A_BATCH :])[:max_bytes]


def test_replay_is_due_as_far_as_is_committed() -> None:
    log = _Log(2)
    published = log.published
    assert not published.is_due(must_hurry=False)
    published.advance(Offset(A_BATCH))
    assert published.is_due(must_hurry=False)
    published.step()
    assert not published.is_due(must_hurry=False)
    assert [event.after.offset_and_epoch.offset for event in log.events] == [A_BATCH]


def test_replay_gives_way_to_what_others_wait_for_until_much_is_left_to_do() -> None:
    log = _Log(MOST_LAG // A_BATCH)
    log.published.advance(Offset(MOST_LAG - 1))
    assert not log.published.is_due(must_hurry=True)
    log.published.advance(Offset(MOST_LAG))
    assert log.published.is_due(must_hurry=True)
    log.published.step()
    assert not log.published.is_due(must_hurry=True)


def test_a_slice_is_bounded() -> None:
    log = _Log(10)
    log.published.advance(Offset(10 * A_BATCH))
    log.published.step()
    assert 0 < log.published.end_offset <= RECORDS_A_SLICE
    assert log.published.is_due(must_hurry=False)


def test_a_snapshot_at_a_level_of_a_later_release_is_not_followed() -> None:
    log = _Log(1)
    later = image_of(level(METADATA_VERSION, 34))

    with pytest.raises(NewerLevelError, match=r"finalises metadata\.version 4\.5-IV0 \(34\)"):
        log.published.reset(later)

    assert log.events == []


def _of_levels(*levels: int) -> _Log:
    log = _Log(0)
    for at, low in enumerate(levels):
        value = encode_record(FeatureLevelRecord(name=METADATA_VERSION, feature_level=low), 0)
        values = [value, *[NOTHING] * (A_BATCH - 1)]
        log.data.append(build_batch(base_offset=Offset(at * A_BATCH), epoch=Epoch(1), timestamp_ms=at, values=values))
    return log


def test_a_level_that_is_too_low_stops_the_replay_at_its_end() -> None:
    log = _of_levels(4)
    log.published.advance(Offset(A_BATCH))
    with pytest.raises(OlderReleaseError, match=r"metadata\.version is 3\.3-IV0 \(4\)"):
        log.published.step()
    assert not log.events


def test_a_low_level_that_was_raised_stops_nothing() -> None:
    log = _of_levels(4, 7)
    log.published.advance(Offset(2 * A_BATCH))
    log.published.step()
    assert [event.after.features.metadata_version for event in log.events] == [7]


def test_a_snapshot_of_a_low_level_is_not_gone_on_from() -> None:
    with pytest.raises(OlderReleaseError):
        _Log(1).published.reset(image_of(level(METADATA_VERSION, 6)))
