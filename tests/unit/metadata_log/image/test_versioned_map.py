"""Versions of a map: each stays what it was, whatever is made of it, in whatever order they are asked."""

from __future__ import annotations

import gc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metadata_log.image.maps import Map
from metadata_log.image.versioned_map import VersionedMap

_keys = st.integers(0, 9)
_change = st.tuples(_keys, st.one_of(st.none(), st.integers()))
_step = st.tuples(st.integers(0, 30), st.lists(_change, max_size=6), st.lists(st.tuples(st.integers(0, 30), _keys)))


def _holds(version: VersionedMap[int, int], model: dict[int, int]) -> None:
    assert len(version) == len(model)
    assert set(version) == set(version.keys()) == set(model)
    assert dict(version.items()) == model
    assert sorted(version.values()) == sorted(model.values())
    assert version == model
    assert version == Map(model)
    assert version == VersionedMap(model)


def _answers(version: VersionedMap[int, int], model: dict[int, int], key: int) -> None:
    assert version.get(key) == model.get(key)
    assert version.get(key, -1) == model.get(key, -1)
    assert (key in version) == (key in model)
    if key in model:
        assert version[key] == model[key]
    else:
        with pytest.raises(KeyError):
            version[key]


@settings(max_examples=300)
@given(steps=st.lists(_step, max_size=12), looks_at_all=st.booleans())
def test_every_version_stays_what_it_was(
    steps: list[tuple[int, list[tuple[int, int | None]], list[tuple[int, int]]]], *, looks_at_all: bool
) -> None:
    versions: list[VersionedMap[int, int]] = [VersionedMap()]
    models: list[dict[int, int]] = [{}]
    for base, changes, questions in steps:
        at = len(versions) - 1 - base if base < len(versions) else -1
        change, model = versions[at].mutate(), dict(models[at])
        for key, value in changes:
            assert change.get(key, -1) == model.get(key, -1)
            if value is not None:
                change[key] = model[key] = value
            elif key % 2:
                assert change.pop(key, -1) == model.pop(key, -1)
            elif key in model:
                del change[key]
                del model[key]
            else:
                with pytest.raises(KeyError):
                    del change[key]
        if looks_at_all:
            _holds(versions[at], models[at])
        versions.append(change.finish())
        models.append(model)
        for number, key in questions:
            _answers(versions[number % len(versions)], models[number % len(models)], key)
    for version, model in zip(versions, models, strict=True):
        _holds(version, model)


def _with(version: VersionedMap[int, int], key: int, value: int) -> VersionedMap[int, int]:
    change = version.mutate()
    change[key] = value
    return change.finish()


def test_what_was_begun_to_be_gone_through_does_not_change() -> None:
    first = VersionedMap({1: 1, 2: 2, 3: 3})
    keys, values, items = iter(first), iter(first.values()), iter(first.items())
    _with(_with(first, 1, 7), 4, 4)
    assert [list(keys), list(values), list(items)] == [[1, 2, 3], [1, 2, 3], [(1, 1), (2, 2), (3, 3)]]


def test_without_a_change_there_is_no_other_version() -> None:
    first = VersionedMap({1: 1})
    assert first.mutate().finish() is first
    assert first != VersionedMap({1: 2})
    assert first != 1


def _holds_on_to_the_next(version: VersionedMap[int, int]) -> bool:
    return any(isinstance(each, VersionedMap) for each in gc.get_referents(version))


def test_one_that_is_asked_much_goes_through_later_ones_no_more() -> None:
    first = newest = VersionedMap({number: number for number in range(1_000)})
    for number in range(100):
        newest = _with(newest, number, -1)
    assert (first[999], first[0]) == (999, 0)
    assert _holds_on_to_the_next(first)
    assert [first[number] for number in range(1_000)] == list(range(1_000))
    assert not _holds_on_to_the_next(first)
    assert newest[0] == -1


def test_hundreds_of_thousands_of_versions_are_let_go_at_once() -> None:
    first = newest = VersionedMap({0: 0})
    for number in range(300_000):
        newest = _with(newest, 1, number)
    assert (0 in first, len(first), len(newest)) == (True, 1, 2)
    del first
    assert newest[1] == 299_999
