"""The rule by which a replica holds, over facts alone."""

from __future__ import annotations

import pytest

from metadata_log.format.batch import build_batch
from metadata_log.ids import METADATA_TOPIC_NAME, NodeId, TopicId
from metadata_log.offsets import Epoch, Offset
from metadata_log.records import MetadataRecord, RemoveTopicRecord, TopicRecord, encode_record
from quorum.node.core.log_fence import LASTS_MS, Hold, HoldReason, LeaderAndEpoch, Offered, OwnLog, judge, names_in

X, Y, Z = (TopicId(bytes([n]) * 16) for n in (1, 2, 3))
OWN = OwnLog(ids=(X,), committed_end=Offset(30))


def _reason(own: OwnLog, offered: Offered) -> HoldReason | None:
    hold = judge(own, offered)
    return None if hold is None else hold.reason


def _batch(*records: MetadataRecord, base: int = 0) -> bytes:
    values = [encode_record(record, 0) for record in records]
    return build_batch(base_offset=Offset(base), epoch=Epoch(1), timestamp_ms=0, values=values)


def test_a_log_with_another_own_id_is_another_log() -> None:
    assert judge(OWN, Offered(ids=(Y,))) == Hold(
        reason=HoldReason.OTHER_TOPIC,
        what="the other log's metadata topic is AgICAgICAgICAgICAgICAg, ours is AQEBAQEBAQEBAQEBAQEBAQ: it is another "
        "quorum",
        own_id=X,
        other_id=Y,
    )


@pytest.mark.parametrize(
    ("own", "offered"),
    [
        (OWN, Offered(ids=(X,))),
        (OWN, Offered()),
        (OWN, Offered(ids=(Y, X))),
        (OwnLog(ids=(X, Y), committed_end=Offset(30)), Offered(ids=(Y,))),
        (OwnLog(ids=(), committed_end=Offset(0)), Offered(ids=(Y,), names=(Y,))),
        (OwnLog(ids=(), committed_end=Offset(30)), Offered(ids=(Y,), end_wanted=Offset(30))),
        (OWN, Offered(ids=(Y,), names=(None, Y))),
        (OwnLog(ids=(X,), committed_end=Offset(30), names_later=(None, Y)), Offered(ids=(Y,))),
        (OWN, Offered(ids=(X,), names=(None, Y, None, Z))),
    ],
    ids=[
        "the same",
        "its id is not known",
        "it held ours before",
        "we held its before: it is still loading",
        "none is committed here",
        "none is committed here, and all that is stays",
        "the change is in what it sends",
        "the change is in our log, not known to be committed",
        "two changes are in what it sends",
    ],
)
def test_what_does_not_fence(own: OwnLog, offered: Offered) -> None:
    assert judge(own, offered) is None


def test_a_second_topic_record_without_a_removal_is_another_logs() -> None:
    """Over Kafka's protocol no answer names the id."""
    assert _reason(OWN, Offered(names=(Y,))) is HoldReason.OTHER_TOPIC
    assert _reason(OWN, Offered(names=(None, Y, Z))) is HoldReason.OTHER_TOPIC
    assert _reason(OWN, Offered(names=(X,))) is None


def test_nothing_committed_is_cut_with_or_without_an_id() -> None:
    below = Offered(end_wanted=Offset(29))
    assert _reason(OWN, Offered(ids=(X,), lacks_committed=True)) is HoldReason.BELOW_COMMITTED
    assert _reason(OWN, below) is HoldReason.BELOW_COMMITTED
    assert _reason(OwnLog(ids=(), committed_end=Offset(30)), below) is HoldReason.BELOW_COMMITTED
    assert _reason(OWN, Offered(end_wanted=Offset(30))) is None
    assert _reason(OWN, Offered(ids=(Y,), end_wanted=Offset(29))) is HoldReason.OTHER_TOPIC, "it says more"


def test_a_log_that_lacks_a_batch_of_ours_below_our_end_is_of_another_history() -> None:
    """Known to be committed or not: it has our end and its epoch, so that it would have every batch before."""
    assert _reason(OWN, Offered(ids=(X,), has_other_batch=True)) is HoldReason.OTHER_HISTORY
    assert _reason(OwnLog(ids=(), committed_end=Offset(0)), Offered(has_other_batch=True)) is HoldReason.OTHER_HISTORY
    both = Offered(ids=(X,), lacks_committed=True, has_other_batch=True)
    assert _reason(OWN, both) is HoldReason.BELOW_COMMITTED, "it says more"


def test_the_own_id_is_found_in_batches() -> None:
    other = TopicRecord(name="orders", topic_id=Z)
    assert names_in(_batch(other), X) == ()
    named = TopicRecord(name=METADATA_TOPIC_NAME, topic_id=Y)
    assert names_in(_batch(other) + _batch(other, named, base=1), X) == (Y,)
    removed = RemoveTopicRecord(topic_id=X)
    assert names_in(_batch(RemoveTopicRecord(topic_id=Z), removed, named), X) == (None, Y)
    assert names_in(_batch(removed), None) == ()
    assert names_in(_batch(named)[:-1], X) == (), "the append refuses it"


def test_two_leaders_of_one_epoch_are_of_two_histories() -> None:
    own = OwnLog(ids=(X,), committed_end=Offset(30), leader=_leads(1, 7))
    assert _reason(own, Offered(ids=(X,), leader=_leads(2, 7))) is HoldReason.OTHER_LEADER
    assert _reason(own, Offered(leader=_leads(2, 7))) is None, "its id is not known yet"
    for leader in (None, _leads(1, 7), _leads(2, 8), _leads(2, 6)):
        assert _reason(own, Offered(ids=(X,), leader=leader)) is None
    assert _reason(OWN, Offered(ids=(X,), leader=_leads(2, 7))) is None


def test_a_leader_of_a_lower_epoch_is_of_an_earlier_time_if_it_lasts() -> None:
    own = OwnLog(ids=(X,), committed_end=Offset(30), epoch=Epoch(7))
    lasting = Offered(ids=(X,), leader=_leads(2, 6), lower_for_ms=LASTS_MS)
    assert _reason(own, lasting) is HoldReason.LOWER_EPOCH
    assert _reason(own, Offered(ids=(X,), leader=_leads(2, 6), lower_for_ms=LASTS_MS - 1)) is None
    assert _reason(own, Offered(ids=(X,), leader=_leads(2, 7), lower_for_ms=LASTS_MS)) is None
    assert _reason(own, Offered(leader=_leads(2, 6), lower_for_ms=LASTS_MS)) is None, "its id is not known yet"


def _leads(node_id: int, epoch: int) -> LeaderAndEpoch:
    return LeaderAndEpoch(leader_id=NodeId(node_id), epoch=Epoch(epoch))
