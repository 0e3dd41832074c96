"""The image hash: one for a log and its checkpoint, one for all equal replicas, kept change by change."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import msgspec
import pytest

from metadata_log.image.hash import ImageHash, image_hash
from metadata_log.tools.read.history import LogHistory, State, open_history, state_of_checkpoint
from tests.support.image_logs import log_directories, scenario_of

DIRECTORIES = log_directories()


def _of(state: State) -> ImageHash:
    return image_hash(state.image, state.quorum.kraft_version, state.quorum.voters)


def _has_level(state: State) -> bool:
    return state.image.features.metadata_version is not None


@pytest.mark.parametrize("directory", DIRECTORIES, ids=str)
def test_a_checkpoint_hashes_as_the_log_up_to_it(directory: Path) -> None:
    history = open_history(directory)
    known = {history.start_offset: history.first_state()}
    known |= {state.end: state for state in history.states(history.first_state())}
    for end, path in history.checkpoints:
        if end.offset in known:
            assert _of(state_of_checkpoint(end, path)).hex == _of(known[end.offset]).hex


@pytest.mark.parametrize("directory", DIRECTORIES, ids=str)
def test_kept_change_by_change_it_is_that_from_scratch(directory: Path) -> None:
    history = open_history(directory)
    before = history.first_state()
    kept = _of(before) if _has_level(before) else None
    steps = 0
    for index, state in enumerate(history.states(before)):
        if kept is None:
            kept = _of(state) if _has_level(state) else None
        else:
            kept = kept.after(before.image, state.image, state.replayer.changes)
            kept = kept.with_quorum(state.quorum.kraft_version, state.quorum.voters)
            if index % 7 == 0 or state.replayer.changes.other or state.replayer.changes.features:
                assert kept == _of(state)
                steps += 1
        before = state
    assert kept == _of(before)
    assert steps > 0 or len(history.segments) == 0 or history.start_offset > 0


def test_replicas_of_one_cluster_hash_alike_where_they_hold_the_same() -> None:
    by_end: dict[tuple[str, int, int], set[str]] = defaultdict(set)
    seen: dict[tuple[str, int, int], int] = defaultdict(int)
    for directory in DIRECTORIES:
        if "divergent-before" in directory.parts:
            continue
        history = open_history(directory)
        for end, path in history.checkpoints:
            state = state_of_checkpoint(end, path)
            by_end[scenario_of(directory), end.offset, end.epoch].add(_of(state).hex)
            seen[scenario_of(directory), end.offset, end.epoch] += 1
        _collect(history, scenario_of(directory), by_end, seen)
    assert sum(count > 1 for count in seen.values()) > 10
    assert [key for key, hashes in by_end.items() if len(hashes) > 1] == []


def _collect(
    history: LogHistory,
    scenario: str,
    by_end: dict[tuple[str, int, int], set[str]],
    seen: dict[tuple[str, int, int], int],
) -> None:
    for index, state in enumerate(history.states(history.first_state())):
        if (state.replayer.changes.topics or index % 20 == 0) and _has_level(state):
            end = state.image.offset_and_epoch
            by_end[scenario, end.offset, end.epoch].add(_of(state).hex)
            seen[scenario, end.offset, end.epoch] += 1


def test_every_part_counts() -> None:
    state = open_history(next(path for path in DIRECTORIES if "every-record" in path.parts)).state_at()
    whole = _of(state)
    empty = type(state.image).empty()
    for part in ("topics", "cluster", "configs", "client_quotas", "producer_ids", "acls", "scram"):
        without = msgspec.structs.replace(state.image, **{part: getattr(empty, part)})
        assert image_hash(without, state.quorum.kraft_version, state.quorum.voters).hex != whole.hex, part
    assert whole.with_quorum(0, None).hex != whole.hex
    assert whole.with_quorum(state.quorum.kraft_version, None).hex != whole.hex


def test_the_order_of_voters_and_endpoints_means_nothing() -> None:
    state = open_history(next(path for path in DIRECTORIES if "basic" in path.parts)).state_at()
    voters = state.quorum.voters
    assert voters is not None
    turned = msgspec.structs.replace(voters, voters=tuple(reversed(voters.voters)))
    assert _of(state).with_quorum(1, turned) == _of(state).with_quorum(1, voters)
