from __future__ import annotations

from metadata_log.offsets import Offset
from quorum.api.calls import ClientAnswer, ClientCall
from quorum.api.context import RequestContext
from quorum.node.controller.purgatory import CommitPurgatory, ReadPurgatory, WaitingAnswer


def _ignore(answer: ClientAnswer) -> None:
    """Nobody asked."""


def _call(at_least: int = -1) -> ClientCall:
    return ClientCall(request=None, context=RequestContext(), respond=_ignore, at_least_offset=Offset(at_least))


def _answer(offset: int, deadline_ms: int = 1000) -> WaitingAnswer:
    return WaitingAnswer(
        call=_call(), response=offset, offset=Offset(offset), deadline_ms=deadline_ms, writes_from=None
    )


def test_answers_leave_in_order_once_their_offset_is_committed() -> None:
    purgatory = CommitPurgatory()
    for offset in (3, 5, 5, 9):
        purgatory.add(_answer(offset))
    assert [answer.offset for answer in purgatory.take_committed(Offset(4))] == [3]
    assert [answer.offset for answer in purgatory.take_committed(Offset(5))] == [5, 5]
    assert [answer.offset for answer in purgatory.take_all()] == [9]
    assert (len(purgatory), purgatory.next_deadline_ms()) == (0, None)


def test_what_waits_too_long_is_given_up_and_the_rest_stays() -> None:
    purgatory = CommitPurgatory()
    for offset, deadline in ((1, 50), (2, 20), (3, 90)):
        purgatory.add(_answer(offset, deadline))
    assert purgatory.next_deadline_ms() == 20
    assert purgatory.take_expired(19) == []
    assert [answer.offset for answer in purgatory.take_expired(60)] == [1, 2]
    assert purgatory.next_deadline_ms() == 90
    assert [answer.offset for answer in purgatory.take_committed(Offset(3))] == [3]


def test_reads_leave_when_the_image_has_reached_them() -> None:
    purgatory = ReadPurgatory()
    for offset in (9, 4, 6):
        purgatory.add(_call(offset), Offset(offset), 100)
    purgatory.add(_call(5), Offset(5), 30)
    assert purgatory.next_deadline_ms() == 30
    assert [call.at_least_offset for call in purgatory.take_reached(Offset(4))] == [4]
    assert [call.at_least_offset for call in purgatory.take_expired(40)] == [5]
    assert [call.at_least_offset for call in purgatory.take_reached(Offset(100))] == [6, 9]
    assert (len(purgatory), purgatory.next_deadline_ms()) == (0, None)
