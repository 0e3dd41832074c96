"""A map of which the newest version is a plain dict, and every older one what has been replaced since.

Decides: how versions that follow one another share their entries. Must not know: what is kept in it.

It is for whoever goes on from one version to the next and lets go of those before: a node that follows the log. There
each version costs what it changes, in two dicts of that size, and a look-up in the newest one is a dict's. Nodes of a
tree (`maps.Map`) are copied for each change instead, some hundred for a batch of a hundred topics, and Python's garbage
collector goes through them: together a third of the work of a controller under load.

The price: a look-up in an older version goes through the versions since; one that is asked much, or gone through, gets
a dict of its own, which takes 3 ms for 100,000 entries; so does one that is changed though it is not the newest. Tools,
which keep many versions side by side and come back to them, have `maps.Map`.

The way of doing it is Baker's for arrays ("Shallow binding makes functional arrays fast", 1991), but that an older
version never takes the newest one's place. Not for more than one thread.

Iteration follows the order in which keys came, which differs between nodes. Sort before anything is written, sent or
decided by it.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, Mapping, ValuesView
from typing import Any, Final, Generic, TypeVar, overload

_K = TypeVar("_K")
_V = TypeVar("_V")
_D = TypeVar("_D")

_NOTHING: Final[Any] = object()
"""In the place of a value: there is no entry."""
_SAME: Final[Any] = object()
"""In the place of a value: nothing was changed."""


class VersionedMap(Mapping[_K, _V]):
    """One version. It never changes as far as anybody can tell; the next one comes of `mutate`."""

    __slots__ = ("_entries", "_length", "_next", "_replaced", "_steps")

    def __init__(self, entries: Mapping[_K, _V] | None = None) -> None:
        self._entries: dict[_K, _V] | None = {} if entries is None else dict(entries.items())
        """Of the newest version, and of older ones that have their own by now."""
        self._replaced: dict[_K, _V] = {}
        """Of an older one: what the next one has otherwise, as it is here."""
        self._next: VersionedMap[_K, _V] | None = None
        self._length = 0
        self._steps = 0
        """How many later versions were gone through for look-ups in this one."""

    @overload
    def get(self, key: _K, /) -> _V | None: ...
    @overload
    def get(self, key: _K, /, default: _V | _D) -> _V | _D: ...
    def get(self, key: _K, /, default: Any = None) -> Any:
        """As a dict's."""
        entries = self._entries
        if entries is not None:
            return entries.get(key, default)
        found = self._look_up(key)
        return default if found is _NOTHING else found

    def __getitem__(self, key: _K) -> _V:
        entries = self._entries
        if entries is not None:
            return entries[key]
        found: _V = self._look_up(key)
        if found is _NOTHING:
            raise KeyError(key)
        return found

    def __contains__(self, key: object) -> bool:
        entries = self._entries
        return key in entries if entries is not None else self._look_up(key) is not _NOTHING

    def __len__(self) -> int:
        return self._length if self._entries is None else len(self._entries)

    def __iter__(self) -> Iterator[_K]:
        return iter(tuple(self._all()))

    def values(self) -> ValuesView[_V]:
        """As a dict's, of this version whatever comes after it."""
        return self._all().copy().values()

    def items(self) -> ItemsView[_K, _V]:
        """As a dict's, of this version whatever comes after it."""
        return self._all().copy().items()

    def __eq__(self, other: object) -> bool:
        if isinstance(other, VersionedMap):
            return self is other or (len(self) == len(other) and self._all() == other._all())
        return self._all() == dict(other.items()) if isinstance(other, Mapping) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"VersionedMap({self._all()!r})"

    def mutate(self) -> Changes[_K, _V]:
        """To make the next version."""
        return Changes(self)

    def _look_up(self, key: Any) -> Any:
        """In an older version; `_NOTHING` where it has no such entry."""
        version, steps, found = self, self._steps, _NOTHING
        while version._entries is None:
            steps += 1
            found = version._replaced.get(key, _SAME)
            if found is not _SAME:
                break
            version = version._later
        else:
            found = version._entries.get(key, _NOTHING)
        self._steps = steps
        if steps > self._length:
            self._all()  # as much work as this was done already
        return found

    @property
    def _later(self) -> VersionedMap[_K, _V]:
        if self._next is None:
            raise RuntimeError("the newest version has its entries")
        return self._next

    def _all(self) -> dict[_K, _V]:
        """The entries, not to be changed; an older version has a dict of its own from now on."""
        if self._entries is None:
            self._entries = self._copy()
            self._replaced, self._next = {}, None
        return self._entries

    def _copy(self) -> dict[_K, _V]:
        between, version = list[dict[_K, _V]](), self
        while version._entries is None:
            between.append(version._replaced)
            version = version._later
        entries = version._entries.copy()
        for replaced in reversed(between):
            _write(entries, replaced)
        return entries

    def _followed_by(self, changed: dict[_K, _V]) -> VersionedMap[_K, _V]:
        after, entries = VersionedMap[_K, _V](), self._entries
        if entries is None:
            entries = self._copy()
        else:
            self._replaced = {key: entries.get(key, _NOTHING) for key in changed}
            self._next, self._length, self._entries = after, len(entries), None
        after._entries = entries
        _write(entries, changed)
        return after


def _write(entries: dict[_K, _V], changed: dict[_K, _V]) -> None:
    entries.update(changed)
    for key, value in changed.items():
        if value is _NOTHING:
            del entries[key]


class Changes(Generic[_K, _V]):
    """What the next version has otherwise than the one before; nothing happens to that one before `finish`."""

    __slots__ = ("_before", "_changed")

    def __init__(self, before: VersionedMap[_K, _V]) -> None:
        self._before = before
        self._changed: dict[_K, _V] = {}

    @overload
    def get(self, key: _K, /) -> _V | None: ...
    @overload
    def get(self, key: _K, /, default: _V | _D) -> _V | _D: ...
    def get(self, key: _K, /, default: Any = None) -> Any:
        """As a dict's."""
        found = self._changed.get(key, _SAME)
        if found is _SAME:
            return self._before.get(key, default)
        return default if found is _NOTHING else found

    def __setitem__(self, key: _K, value: _V) -> None:
        self._changed[key] = value

    def __delitem__(self, key: _K) -> None:
        if self.get(key, _NOTHING) is _NOTHING:
            raise KeyError(key)
        self._changed[key] = _NOTHING

    def pop(self, key: _K, default: _D) -> _V | _D:
        """As a dict's."""
        found = self.get(key, _NOTHING)
        if found is _NOTHING:
            return default
        self._changed[key] = _NOTHING
        return found

    def finish(self) -> VersionedMap[_K, _V]:
        """The next version; the one before where nothing was changed."""
        return self._before._followed_by(self._changed) if self._changed else self._before
