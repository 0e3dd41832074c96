"""Two replicas of one log: how that is shown, or denied."""

from __future__ import annotations

from typing import cast

import msgspec
import pytest

from metadata_log.ids import TopicId
from metadata_log.image import MetadataImage
from metadata_log.image.maps import Map
from metadata_log.image.topics import TopicImage, TopicsImage
from metadata_log.tools.read.batch_sums import BatchSums
from metadata_log.tools.read.contents import EpochSpan
from metadata_log.tools.replicas.same_log import SameLog, Traces, same_log


class _Sums:
    """Batches by their numbers."""

    def __init__(self, *batches: int) -> None:
        self.batches = set(batches)

    def shares_batch(self, other: _Sums) -> bool:
        return not self.batches.isdisjoint(other.batches)


def traces(*batches: int, span: tuple[int, int] = (0, 10), topic: str | None = None, is_unread: bool = False) -> Traces:
    image = MetadataImage()
    if topic is not None:
        held = TopicImage(topic_id=TopicId(topic.encode() * 16), name=topic)
        topics = TopicsImage(by_id=Map({held.topic_id: held}), by_name=Map({topic: held.topic_id}))
        image = msgspec.structs.replace(image, topics=topics)
    return Traces(
        sums=None if is_unread else cast(BatchSums, _Sums(*batches)),
        spans=(EpochSpan(epoch=1, start_offset=span[0], end_offset=span[1]),),
        image=image,
        committed_before=0,
        hides_metadata=False,
    )


@pytest.mark.parametrize(
    ("one", "other", "known"),
    [
        (traces(1, 2), traces(2, 3), SameLog.SHOWN),
        (traces(1, topic="a"), traces(2, topic="a"), SameLog.SHOWN),
        (traces(1, topic="a"), traces(2, topic="b"), SameLog.DENIED),
        (traces(1), traces(2, span=(10, 20)), SameLog.UNKNOWN),
        (traces(1, is_unread=True), traces(2), SameLog.UNKNOWN),
        (traces(1, topic="a", is_unread=True), traces(2, topic="a"), SameLog.SHOWN),
    ],
    ids=["a batch", "a topic", "other batches at one offset", "no common offset", "unread", "unread with a topic"],
)
def test_how_it_is_known_that_two_replicas_are_of_one_log(one: Traces, other: Traces, known: SameLog) -> None:
    assert same_log(one, other) is known
    assert same_log(other, one) is known
