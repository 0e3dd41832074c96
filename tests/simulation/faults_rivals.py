"""Rival leaders whose logs diverge again and again; and a leader whose long log is older than the committed records.

Must not know: the invariants.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.simulation.plans import Plan

if TYPE_CHECKING:
    from tests.simulation.cluster import Cluster
    from tests.simulation.node import Node


def rival_leaders(cluster: Cluster, bits: int) -> None:
    """Let two voters lead in turn while cut off, and die with a tail that no other replica has.

    The last one comes back to the voter that has the others' votes. Every second time the first leads twice.
    """
    first = cluster.active
    if first is None or not 3 <= len(cluster.voters) <= 4 or any(node.is_held for node in cluster.voters):
        return
    _Rivals(cluster, first, leads_twice=bool(bits % 2), is_cut_short=bool(bits // 2 % 2)).begin()


class _Rivals(Plan):
    def __init__(self, cluster: Cluster, first: Node, *, leads_twice: bool, is_cut_short: bool) -> None:
        super().__init__(cluster)
        self._first = first
        self._second: Node | None = None
        self._leads_twice = leads_twice
        self._is_cut_short = is_cut_short

    def begin(self) -> None:
        self.mute(self._first)
        base = self._first.executor.machine.log_end_offset
        self.when(lambda: self._first.durable.end > base, self._first_has_tail)

    def _first_has_tail(self) -> None:
        self.take_down(self._first)
        self.when(lambda: self.new_leader(self._first) is not None, self._second_leads)

    def _second_leads(self) -> None:
        second = self._second = self.new_leader(self._first)
        if second is None:
            self.over()
            return
        self.mute(second)
        self.when(lambda: second.durable.end >= second.executor.machine.log_end_offset, self._second_has_tail)

    def _second_has_tail(self) -> None:
        second = self._second
        if second is None:
            return
        self.take_down(second)
        self.bring_back(self._first)
        self.when(lambda: self.new_leader(second) is self._first, self._first_leads_again)

    def _first_leads_again(self) -> None:
        first = self._first
        if not self._leads_twice or self._second is None:
            self._bring_back_last(self._second)
            return
        self.mute(first)
        self.when(lambda: first.durable.end >= first.executor.machine.log_end_offset, self._first_is_last)

    def _first_is_last(self) -> None:
        second = self._second
        if second is None:
            return
        self.take_down(self._first)
        self.bring_back(second)
        self.when(lambda: self.new_leader(self._first) is second, lambda: self._bring_back_last(self._first))

    def _bring_back_last(self, last: Node | None) -> None:
        if last is None:
            self.over()
            return
        before = last.durable.end
        self.bring_back(last)
        self.over()
        if self._is_cut_short:  # its power fails after it has cut its log and begun to write other batches
            self.when(lambda: last.durable.end < before, lambda: self._blink_when_it_grows(last))

    def _blink_when_it_grows(self, node: Node) -> None:
        self.when(lambda: bool(node.durable.added), lambda: self._blink(node))

    def _blink(self, node: Node) -> None:
        if node.is_up:
            node.end(power=True)
            node.start()


def old_tail(cluster: Cluster, bits: int) -> None:
    """Let a leader go on alone for a while, and kill it; kill the next leader once its epoch has a commit.

    The first leader's log is longer still. When it comes back, it must not lead.
    """
    first = cluster.active
    if first is None or not 3 <= len(cluster.voters) <= 4 or any(node.is_held for node in cluster.voters):
        return
    _OldTail(cluster, first, alone_ms=(2, 10, 40, 150)[bits % 4]).begin()


class _OldTail(Plan):
    def __init__(self, cluster: Cluster, first: Node, *, alone_ms: int) -> None:
        super().__init__(cluster)
        self._first = first
        self._alone_ms = alone_ms

    def begin(self) -> None:
        self.mute(self._first)
        self.after(self._alone_ms, self._first_has_tail)

    def _first_has_tail(self) -> None:
        self.take_down(self._first)
        self.when(lambda: self.new_leader(self._first) is not None, self._second_leads)

    def _second_leads(self) -> None:
        second = self.new_leader(self._first)
        if second is None:
            self.over()
            return
        self.when(lambda: self._has_committed(second), lambda: self._second_has_committed(second))

    def _has_committed(self, second: Node) -> bool:
        return self._cluster.checkers.committed.last_epoch >= second.executor.machine.epoch

    def _second_has_committed(self, second: Node) -> None:
        if second.is_up:
            self.take_down(second)
        self.bring_back(self._first)
        self.after(150, self.over)
