"""A persistent map whose newest version is a plain dict; an older version has the entries that were replaced since.

It is for a reader that moves from version to version and drops the older ones: a node that follows the log. There each
version costs two dicts of the size of its changes, and a look-up in the newest one is a dict's. Instead, a tree
(`maps.Map`) copies some hundred nodes for a batch of a hundred topics, and the garbage collector traverses them. That
is a third of the work of a controller under load.

The price: a look-up in an older version searches the versions since. An older version that is read often, iterated or
changed gets its own dict, which takes 3 ms for 100,000 entries. Tools keep many versions side by side, so they use
`maps.Map`.

The method is Baker's for arrays ("Shallow binding makes functional arrays fast", 1991), but an older version never
becomes the newest one again. It is not thread-safe.

Iteration follows the order of insertion, which differs between nodes. Sort before a write, a message or a decision
depends on it.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, Mapping, ValuesView
from typing import Any, Final, Generic, TypeVar, overload

_K = TypeVar("_K")
_V = TypeVar("_V")
_D = TypeVar("_D")

_NOTHING: Final[Any] = object()
"""In place of a value: there is no entry."""
_SAME: Final[Any] = object()
"""In place of a value: the entry did not change."""


class VersionedMap(Mapping[_K, _V]):
    """One version. Its content never changes; `mutate` makes the next one."""

    __slots__ = ("_entries", "_length", "_next", "_replaced", "_steps")

    def __init__(self, entries: Mapping[_K, _V] | None = None) -> None:
        self._entries: dict[_K, _V] | None = {} if entries is None else dict(entries.items())
        """All entries, in the newest version and in an older one that has its own dict; otherwise None."""
        self._replaced: dict[_K, _V] = {}
        """In an older version: this version's values for the keys that the next one changed."""
        self._next: VersionedMap[_K, _V] | None = None
        self._length = 0
        self._steps = 0
        """The number of later versions that look-ups in this one have searched."""

    @overload
    def get(self, key: _K, /) -> _V | None: ...
    @overload
    def get(self, key: _K, /, default: _V | _D) -> _V | _D: ...
    def get(self, key: _K, /, default: Any = None) -> Any:
        """Do as `dict` does."""
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
        """Return the values of this version, as a dict does."""
        return self._all().copy().values()

    def items(self) -> ItemsView[_K, _V]:
        """Return the items of this version, as a dict does."""
        return self._all().copy().items()

    def __eq__(self, other: object) -> bool:
        if isinstance(other, VersionedMap):
            return self is other or (len(self) == len(other) and self._all() == other._all())
        return self._all() == dict(other.items()) if isinstance(other, Mapping) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"VersionedMap({self._all()!r})"

    def mutate(self) -> Changes[_K, _V]:
        """Return the changes that make the next version."""
        return Changes(self)

    def _look_up(self, key: Any) -> Any:
        """Return a value of an older version, or `_NOTHING` without such an entry."""
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
            self._all()  # look-ups have cost as much as a copy by now, so make one
        return found

    @property
    def _later(self) -> VersionedMap[_K, _V]:
        if self._next is None:
            raise RuntimeError("the newest version has its entries")
        return self._next

    def _all(self) -> dict[_K, _V]:
        """Return the entries, which the caller must not change. An older version has its own dict from now on."""
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
    """The changes that make the next version; the version before is unaffected until `finish`."""

    __slots__ = ("_before", "_changed")

    def __init__(self, before: VersionedMap[_K, _V]) -> None:
        self._before = before
        self._changed: dict[_K, _V] = {}

    @overload
    def get(self, key: _K, /) -> _V | None: ...
    @overload
    def get(self, key: _K, /, default: _V | _D) -> _V | _D: ...
    def get(self, key: _K, /, default: Any = None) -> Any:
        """Do as `dict` does."""
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
        """Do as `dict` does."""
        found = self.get(key, _NOTHING)
        if found is _NOTHING:
            return default
        self._changed[key] = _NOTHING
        return found

    def finish(self) -> VersionedMap[_K, _V]:
        """Return the next version, or the one before if nothing was changed."""
        return self._before._followed_by(self._changed) if self._changed else self._before
